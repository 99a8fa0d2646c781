// Counts the allocations of a thread. A program that links this target has its own malloc, calloc, realloc and aligned
// forms, which count and pass the call on to the C library's; programs that don't are not changed by it.
#ifndef C_ALLOCATIONS_H
#define C_ALLOCATIONS_H

#include <stdint.h>

// The number of allocations and reallocations of the calling thread since it began.
uint64_t allocations_of_thread(void);

// Whether they are counted at all: not under a sanitizer, which has an allocator of its own, and not without glibc.
int allocations_are_counted(void);

#endif
