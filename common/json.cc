#include "signpost/common/json.h"
