#include "engine/kernels/packed.h"
