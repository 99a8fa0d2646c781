// The memory of sessions. Small blocks, of which each stream takes some, go from one stream to the next, whosever it is. What of a
// session holds nothing while no stream is open lies in pages of its own, which can go back to the system for that time.
#pragma once
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* The largest block that is kept, and its head: what is larger is taken for sessions, not for streams. */
    LARGEST_KEPT = 520,
    /* A block has 8, 24, 40 … bytes behind its head, so that the allocator's own blocks are filled. */
    BLOCK_SIZES = LARGEST_KEPT / 16 + 1,
    /* Bytes of blocks that nobody has, at most. */
    MOST_KEPT = 256 * 1024
};

/* Blocks that nobody has, for all sessions of one thread. */
struct recast_http2_blocks {
    struct free_block *first[BLOCK_SIZES];
    size_t kept;
};

typedef struct session_memory {
    struct recast_http2_blocks *blocks;
    /* NULL where nghttp2 has taken neither yet. */
    uint8_t *pages;
    bool has_table;
    bool has_frame;
    /* Whether the session is made: what is as large as the buffer of a frame is something else from there on. */
    bool is_made;
} session_memory;

/* Functions for nghttp2; `memory` must outlive its session. */
nghttp2_mem session_memory_functions(session_memory *memory);
/* Call it when the session is deleted. */
void session_memory_free(session_memory *memory);
/* Gives the pages back that hold nothing: the buffer's if `is_frame_over`, the table's where they are empty. Returns the bytes. */
size_t session_memory_give_back(session_memory *memory, bool is_frame_over);
