#include "engine/base/status.h"
