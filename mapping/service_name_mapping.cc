#include "signpost/mapping/service_name_mapping.h"
