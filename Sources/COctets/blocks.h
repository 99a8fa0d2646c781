/* What the loops for AVX2 have in common. Every processor that has it also has BMI and BMI2, but a virtual one may hide them. */
#ifndef RECAST_BLOCKS_H
#define RECAST_BLOCKS_H
#include "COctets.h"
#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define INLINED static inline __attribute__((always_inline))

/* Sixteen bytes in both halves: what looks bytes up does so within its half. */
#define BOTH(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

/* The bytes of a block that a form escapes: a byte is a letter, a digit, '-', '.' or '_' when its low and its high four bits
   have a bit in common. The bits stand for a high half of: 1: 2, 2: 3, 4: 4 and 6, 8: 5, 16: 7. */
AVX2 static inline __m256i is_escaped(__m256i block) {
    const __m256i by_low = BOTH(26, 30, 30, 30, 30, 30, 30, 30, 30, 30, 28, 4, 4, 5, 5, 12);
    const __m256i by_high = BOTH(0, 0, 1, 2, 4, 8, 4, 16, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i low_bits = _mm256_set1_epi8(0x0F);
    __m256i high = _mm256_and_si256(_mm256_srli_epi32(block, 4), low_bits);
    __m256i low = _mm256_and_si256(block, low_bits);
    __m256i is_plain = _mm256_and_si256(_mm256_shuffle_epi8(by_high, high), _mm256_shuffle_epi8(by_low, low));
    return _mm256_cmpeq_epi8(is_plain, _mm256_setzero_si256());
}

AVX2 static inline void copy_block(uint8_t *to, const uint8_t *from) {
    _mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
}

/* Writes a block of a text, of whose bytes those in `kept` count, and returns how far it has moved what is behind it. */
AVX2 static inline size_t write_block(const uint8_t *text, uint32_t kept, __m256i block, uint8_t *to, const uint32_t *table) {
    uint8_t *const start = to;
    _mm256_storeu_si256((__m256i *)to, block);
    if (!table) return 0;
    uint32_t others = (uint32_t)_mm256_movemask_epi8(is_escaped(block)) & kept;
    for (; others; others = _blsr_u32(others)) {
        const size_t run = _tzcnt_u32(others);
        const uint32_t entry = table[text[run]];
        memcpy(to + run, &entry, sizeof entry);
        to += (entry >> 24) - 1;
        copy_block(to + run + 1, text + run + 1);
    }
    return (size_t)(to - start);
}

static inline uint8_t *put(uint8_t *to, const struct recast_mark *mark) {
    memcpy(to, &mark->bytes, sizeof mark->bytes);
    return to + mark->count;
}

/* The digits of an index, of which there are at most twenty. */
static inline uint8_t *put_index(uint8_t *to, size_t index) {
    size_t count = 1;
    for (size_t rest = index / 10; rest; rest /= 10) count++;
    for (uint8_t *at = to + count; at > to; index /= 10) *--at = (uint8_t)('0' + index % 10);
    return to + count;
}

#endif
