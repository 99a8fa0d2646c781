/* See CEvent.h. */
#ifdef __swift__
#pragma clang module import SwiftGlibc
#endif
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <malloc.h>
#include <stdlib.h>

/* What a decoder has allocated, so that it can be counted: all of it, and the largest piece, which is the window where there is
   a large one. */
struct recast_brotli_memory {
    size_t all, largest;
};

static inline void *recast_brotli_take(void *memory, size_t size) {
    struct recast_brotli_memory *counts = memory;
    void *piece = malloc(size);
    size_t taken = malloc_usable_size(piece);
    counts->all += taken;
    if (taken > counts->largest) counts->largest = taken;
    return piece;
}

static inline void recast_brotli_give(void *memory, void *piece) {
    struct recast_brotli_memory *counts = memory;
    size_t given = malloc_usable_size(piece);
    counts->all -= given;
    if (given == counts->largest) counts->largest = 0;
    free(piece);
}

/* A decoder that counts in `memory`, which must outlive it; NULL without memory. */
static inline BrotliDecoderState *recast_brotli_decoder(struct recast_brotli_memory *memory) {
    return BrotliDecoderCreateInstance(recast_brotli_take, recast_brotli_give, memory);
}
