#define _GNU_SOURCE
#include "CEventShims.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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
