#include "signpost/common/clock.h"
