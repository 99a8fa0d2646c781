// Counts what a program allocates: preloaded into it, it stands in front of glibc's malloc and its relatives and keeps the
// number of calls and the bytes asked for in the file that RECAST_ALLOCATIONS names, which others map and read at any time.
// A count in the program itself would need a request or a signal to be read, and that would allocate.

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

struct counts {
    _Atomic uint64_t calls;
    _Atomic uint64_t bytes;
};

static struct counts unread; // what is allocated before the file is mapped
static struct counts *counts = &unread;

__attribute__((constructor)) static void map_counts(void) {
    const char *path = getenv("RECAST_ALLOCATIONS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "allocations: %s: %s\n", path ? path : "RECAST_ALLOCATIONS", strerror(path ? errno : EINVAL));
        _exit(1);
    }
    close(fd);
    counts = mapped;
}

static void count(size_t size) {
    atomic_fetch_add_explicit(&counts->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->bytes, size, memory_order_relaxed);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size); // a product that overflows is refused by the callee
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count(size);
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    count(size);
    void *block = __libc_memalign(alignment, size);
    if (block == NULL) return ENOMEM;
    *result = block;
    return 0;
}
