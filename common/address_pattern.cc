#include "signpost/common/address_pattern.h"
