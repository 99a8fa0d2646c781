#ifndef RECAST_CEVENT_SHIMS_H
#define RECAST_CEVENT_SHIMS_H
#include <event2/event.h>
#endif
