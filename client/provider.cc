#include "signpost/client/provider.h"
