#include "engine/run/sampler.h"
