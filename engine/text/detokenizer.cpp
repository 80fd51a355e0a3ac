#include "engine/text/detokenizer.h"
