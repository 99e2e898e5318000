#include "signpost/common/call_options.h"
