#include "signpost/common/backoff.h"
