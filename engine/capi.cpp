#include "engine/capi.h"
