#include "engine/kernels/kernel.h"
