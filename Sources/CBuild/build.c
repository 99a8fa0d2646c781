#include "CBuild.h"
#include <stddef.h>

/* Package.swift defines these two where the environment has them; it takes digits, letters and hyphens only. */
#define TEXT(value) #value
#define TEXT_OF(value) TEXT(value)

const char *recast_build_commit(void) {
#ifdef RECAST_COMMIT
    return TEXT_OF(RECAST_COMMIT);
#else
    return NULL;
#endif
}

const char *recast_build_date(void) {
#ifdef RECAST_DATE
    return TEXT_OF(RECAST_DATE);
#else
    return NULL;
#endif
}
