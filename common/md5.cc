#include "signpost/common/md5.h"
