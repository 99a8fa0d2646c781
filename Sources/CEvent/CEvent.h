/* Before libevent's headers: event-config.h defines _GNU_SOURCE, and once the C library's features are settled that has
   no effect any more. Otherwise this module and Swift's Glibc would see two different layouts of fd_set. */
#include <sys/types.h>
#include <event2/event.h>
