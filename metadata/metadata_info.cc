#include "signpost/metadata/metadata_info.h"
