#include "CEventShims.h"
