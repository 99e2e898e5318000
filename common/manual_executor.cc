#include "signpost/common/manual_executor.h"
