#include "engine/base/thread_pool.h"
