#include "signpost/common/service_instance.h"
