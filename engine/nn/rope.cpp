#include "engine/nn/forward.h"
