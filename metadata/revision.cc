#include "signpost/metadata/revision.h"
