#include "signpost/common/address_list.h"
