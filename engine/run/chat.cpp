#include "engine/run/chat.h"
