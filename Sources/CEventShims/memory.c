#define _GNU_SOURCE
#include "CEventShims.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* Makes `folder` and those above it that are missing, for this user alone. A file that stands in the way is ENOTDIR. */
static bool make_folders(const char *folder) {
    char path[PATH_MAX];
    size_t length = strlen(folder);
    if (length >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t at = 1; at <= length; at++) {
        if (at < length && folder[at] != '/') continue;
        memcpy(path, folder, at);
        path[at] = 0;
        if (mkdir(path, 0700) == 0 || errno == EEXIST) continue;
        /* Above the missing ones are some that can't be written, and needn't be. */
        if (errno == ENOENT || at == length || access(path, F_OK) != 0) return false;
    }
    return true;
}

static int temporary_file(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return open_named(folder);
    return -1;
}

int recast_temporary_file(const char *folder) {
    int file = temporary_file(folder);
    if (file >= 0 || errno != ENOENT || !make_folders(folder)) return file;
    return temporary_file(folder);
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

static int release_pages_of(struct dl_phdr_info *object, size_t size, void *argument) {
    (void)size;
    uintptr_t page = *(const uintptr_t *)argument;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        /* What can be written to may have been, and isn't in the file. */
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0) continue;
        uintptr_t start = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
        /* The kernel's own object isn't a file and refuses. */
        if (end > start) (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void recast_release_program_pages(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)dl_iterate_phdr(release_pages_of, &page);
}
