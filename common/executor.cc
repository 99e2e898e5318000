#include "signpost/common/executor.h"
