#include "signpost/client/client.h"
