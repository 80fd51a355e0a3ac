#include "engine/nn/kv_cache.h"
