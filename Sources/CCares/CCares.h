/* First, so that this module and Swift's Glibc see the same layout of fd_set whatever comes later. */
#include <sys/types.h>
#include <ares.h>
