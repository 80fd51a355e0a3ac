#include "engine/kernels/registry.h"
