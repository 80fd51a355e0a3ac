#include "engine/base/hash.h"
