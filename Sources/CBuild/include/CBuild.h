/* What the build was told of the sources. */
#ifndef RECAST_CBUILD_H
#define RECAST_CBUILD_H

/* The commit of the sources and its date, as 1a2b3c4 and 2026-01-31; NULL where the build was not told. */
const char *recast_build_commit(void);
const char *recast_build_date(void);
#endif
