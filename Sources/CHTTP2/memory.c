/* Two thirds of what nghttp2 allocates for a session are two blocks that it takes when the session is made: the table of streams, and
   the buffer in which a frame is put together. */
#include "CHTTP2.h"
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

/* In front of each block: the bytes behind it. nghttp2's objects hold pointers and numbers, which eight bytes align. */
typedef struct block_head {
    size_t size;
} block_head;

/* A block that nobody has. */
typedef struct free_block {
    struct free_block *next;
} free_block;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED
#endif
#endif

/* The sanitizer sees no use of a block that is kept. */
recast_http2_blocks *recast_http2_blocks_make(void) {
#ifdef IS_SANITIZED
    return NULL;
#else
    return calloc(1, sizeof(recast_http2_blocks));
#endif
}

void recast_http2_blocks_free(recast_http2_blocks *blocks) {
    if (!blocks) return;
    for (size_t at = 0; at < BLOCK_SIZES; at++) {
        for (free_block *block = blocks->first[at], *next; block; block = next) {
            next = block->next;
            free((block_head *)block - 1);
        }
    }
    free(blocks);
}

/* Which of the sizes has room for so many bytes. */
static size_t place_of(size_t count) { return (count + 7) / 16; }

static void *take_block(recast_http2_blocks *blocks, size_t count) {
    size_t size = count;
    if (count <= LARGEST_KEPT) {
        size_t place = place_of(count);
        size = 16 * place + 8;
        free_block *block = blocks ? blocks->first[place] : NULL;
        if (block) {
            blocks->first[place] = block->next;
            blocks->kept -= size;
            return block;
        }
    }
    block_head *head = count < SIZE_MAX - sizeof *head ? malloc(sizeof *head + size) : NULL;
    if (!head) return NULL;
    head->size = size;
    return head + 1;
}

static void give_block(recast_http2_blocks *blocks, void *given) {
    if (!given) return;
    block_head *head = (block_head *)given - 1;
    if (!blocks || head->size > LARGEST_KEPT || blocks->kept + head->size > MOST_KEPT) {
        free(head);
        return;
    }
    free_block *block = given;
    size_t place = place_of(head->size);
    block->next = blocks->first[place];
    blocks->first[place] = block;
    blocks->kept += head->size;
}

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
    if (count != FRAME_BYTES || memory->is_made || memory->has_frame || !has_pages(memory)) {
        return take_block(memory->blocks, count);
    }
    memory->has_frame = true;
    return frame_of(memory);
}

static void *take_zeroed(size_t number, size_t size, void *user) {
    session_memory *memory = user;
    size_t count;
    if (__builtin_mul_overflow(number, size, &count)) return NULL;
    if (count != TABLE_BYTES || memory->is_made || memory->has_table || !has_pages(memory)) {
        void *block = take_block(memory->blocks, count);
        return block ? memset(block, 0, count) : NULL;
    }
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
    session_memory *memory = user;
    if (!leave(memory, block)) give_block(memory->blocks, block);
}

static void *resize(void *block, size_t count, void *user) {
    /* So nghttp2 takes the buffer of a frame. */
    if (!block) return take(count, user);
    session_memory *memory = user;
    bool is_table = memory->has_table && block == table_of(memory);
    bool is_frame = memory->has_frame && block == frame_of(memory);
    size_t before = is_table ? TABLE_BYTES : is_frame ? FRAME_BYTES : ((block_head *)block - 1)->size;
    void *moved = take_block(memory->blocks, count);
    if (!moved) return NULL;
    memcpy(moved, block, before < count ? before : count);
    give(block, user);
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
