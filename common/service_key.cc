#include "signpost/common/service_key.h"
