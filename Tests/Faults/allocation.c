// The memory of row 42: an allocation fails. The file FAULT_MEMORY holds a counter; while it is above 0 each allocation takes
// one from it, and the one that takes the last gets nothing.
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static long *left;
__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("FAULT_MEMORY"), O_RDWR | O_CLOEXEC);
    void *place = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (place != MAP_FAILED) left = place;
}
static int fails(void) {
    if (!left || __atomic_load_n(left, __ATOMIC_RELAXED) <= 0 || __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) != 0) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (!made) return ENOMEM;
    *out = made;
    return 0;
}
