#include "signpost/registry/application/application_registry.h"
