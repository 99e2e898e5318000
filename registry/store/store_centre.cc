#include "signpost/registry/store/store_centre.h"
