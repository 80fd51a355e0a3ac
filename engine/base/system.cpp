#include "engine/base/system.h"
