#include "signpost/common/snapshot_cell.h"
