#include "signpost/client/directory.h"
