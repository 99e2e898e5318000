#include "signpost/common/url.h"
