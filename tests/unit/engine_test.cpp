#include "tests/unit/catch.h"
