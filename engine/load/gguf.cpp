#include "engine/load/gguf.h"
