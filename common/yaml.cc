#include "signpost/common/yaml.h"
