#define _GNU_SOURCE
#include "CEventShims.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Some file systems (NFS, FUSE, old overlays) have no unnamed files: there a name is made and removed at once. */
static int open_named(const char *folder) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/recast-spool-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int file = mkostemp(path, O_CLOEXEC); /* 0600 */
    if (file < 0) return -1;
    if (unlink(path) == 0) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

int recast_temporary_file(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return open_named(folder);
    return -1;
}

/* The Swift runtime's own switch (stdlib/public/runtime/Exclusivity.cpp), which debuggers set, too. */
extern bool _swift_disableExclusivityChecking;

void recast_trust_accesses(void) {
    _swift_disableExclusivityChecking = true;
}

void recast_tune_allocator(size_t large, int arenas) {
    /* Setting either threshold also ends glibc's habit of raising it after the first large free. */
    (void)mallopt(M_MMAP_THRESHOLD, (int)large);
    (void)mallopt(M_TRIM_THRESHOLD, (int)large);
    (void)mallopt(M_ARENA_MAX, arenas);
}

void recast_trim_allocator(void) { (void)malloc_trim(0); }
