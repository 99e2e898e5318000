#include "signpost/router/router_chain.h"
