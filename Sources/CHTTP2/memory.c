/* Two thirds of what nghttp2 allocates for a session are two blocks that it takes when the session is made: the table of streams, and
   the buffer in which a frame is put together. */
#include "memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    /* 256 places of 16 bytes. A table that grows is another block, from the heap. */
    TABLE_BYTES = 4096,
    /* The largest frame that is sent, its head, and a byte for the length of its padding. What is behind the last whole page stays. */
    FRAME_BYTES = 16384 + 9 + 1
};

static uint8_t *table_of(const session_memory *memory) { return memory->pages; }

static uint8_t *frame_of(const session_memory *memory) { return memory->pages + TABLE_BYTES; }

static bool has_pages(session_memory *memory) {
    if (memory->pages) return true;
    void *pages;
    if (posix_memalign(&pages, PAGE_BYTES, TABLE_BYTES + FRAME_BYTES)) return false;
    memory->pages = pages;
    return true;
}

static void *take(size_t count, void *user) {
    session_memory *memory = user;
    if (count != FRAME_BYTES || memory->is_made || memory->has_frame || !has_pages(memory)) return malloc(count);
    memory->has_frame = true;
    return frame_of(memory);
}

static void *take_zeroed(size_t number, size_t size, void *user) {
    session_memory *memory = user;
    size_t count;
    if (__builtin_mul_overflow(number, size, &count)) return NULL;
    if (count != TABLE_BYTES || memory->is_made || memory->has_table || !has_pages(memory)) return calloc(number, size);
    memory->has_table = true;
    return memset(table_of(memory), 0, TABLE_BYTES);
}

/* Whether `block` is one of the two, which it is not any more then. */
static bool leave(session_memory *memory, const uint8_t *block) {
    if (memory->has_table && block == table_of(memory)) {
        memory->has_table = false;
        return true;
    }
    if (memory->has_frame && block == frame_of(memory)) {
        memory->has_frame = false;
        return true;
    }
    return false;
}

static void give(void *block, void *user) {
    if (!leave(user, block)) free(block);
}

static void *resize(void *block, size_t count, void *user) {
    /* So nghttp2 takes the buffer of a frame. */
    if (!block) return take(count, user);
    session_memory *memory = user;
    bool is_table = memory->has_table && block == table_of(memory);
    bool is_frame = memory->has_frame && block == frame_of(memory);
    if (!is_table && !is_frame) return realloc(block, count);
    size_t before = is_table ? TABLE_BYTES : FRAME_BYTES;
    void *moved = malloc(count);
    if (!moved) return NULL;
    memcpy(moved, block, before < count ? before : count);
    leave(memory, block);
    return moved;
}

nghttp2_mem session_memory_functions(session_memory *memory) {
    return (nghttp2_mem){.mem_user_data = memory, .malloc = take, .free = give, .calloc = take_zeroed, .realloc = resize};
}

void session_memory_free(session_memory *memory) { free(memory->pages); }

static bool is_empty(const uint8_t *table) { return table[0] == 0 && memcmp(table, table + 1, TABLE_BYTES - 1) == 0; }

size_t session_memory_give_back(session_memory *memory, bool is_frame_over) {
    /* Of larger pages, parts would be others'. */
    if (!memory->pages || sysconf(_SC_PAGESIZE) != PAGE_BYTES) return 0;
    /* Of a table that is all zeros nobody can tell that it was given back: it is all zeros again. */
    uint8_t *start = memory->has_table && is_empty(table_of(memory)) ? table_of(memory) : frame_of(memory);
    uint8_t *end = memory->has_frame && is_frame_over ? frame_of(memory) + FRAME_BYTES / PAGE_BYTES * PAGE_BYTES : frame_of(memory);
    if (start == end || madvise(start, (size_t)(end - start), MADV_DONTNEED)) return 0;
    return (size_t)(end - start);
}
