#include "signpost/common/log.h"
