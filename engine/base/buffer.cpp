#include "engine/base/buffer.h"
