#include "signpost/common/gate.h"
