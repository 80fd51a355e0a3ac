#include "engine/nn/weights.h"
