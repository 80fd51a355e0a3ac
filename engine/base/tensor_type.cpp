#include "engine/base/tensor_type.h"
