#include "engine/load/config.h"
