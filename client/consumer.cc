#include "signpost/client/consumer.h"
