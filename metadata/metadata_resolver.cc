#include "signpost/metadata/metadata_resolver.h"
