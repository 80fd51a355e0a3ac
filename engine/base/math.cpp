#include "engine/base/math.h"
