#include "signpost/common/status.h"
