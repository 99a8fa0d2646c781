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

/* How the bytes of a text are written: as they are where there is no table. Most of those that are written otherwise are spaces. Where
   one is written as one byte, all spaces of a block are at once. */
struct spelling {
    const uint32_t *table;
    /* What a space is written as, and the spaces where that is one byte. */
    __m256i space;
    uint32_t settled;
    /* All bits where a space is written as its escape. */
    uint32_t escaped;
};

AVX2 static inline struct spelling spelling_of(const uint32_t *table) {
    const uint32_t entry = table ? table[' '] : 0;
    const bool is_byte = entry >> 24 == 1;
    return (struct spelling){table, _mm256_set1_epi8(is_byte ? (char)entry : ' '), is_byte ? UINT32_MAX : 0,
                             entry >> 24 == 3 ? UINT32_MAX : 0};
}

/* A block with its spaces as they are written. */
AVX2 static inline __m256i spelled(__m256i block, struct spelling as) {
    return _mm256_blendv_epi8(block, as.space, _mm256_cmpeq_epi8(block, _mm256_set1_epi8(' ')));
}

/* The bytes of a block that a table has to spell, one by one. */
AVX2 static inline uint32_t left_to_spell(__m256i block, struct spelling as) {
    const uint32_t spaces = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block, _mm256_set1_epi8(' ')));
    return (uint32_t)_mm256_movemask_epi8(is_escaped(block)) & ~(spaces & as.settled);
}

/* Writes sixteen bytes as escapes, as tables do all that are beyond ASCII. */
AVX2 static inline void put_escapes(uint8_t *to, const uint8_t *bytes) {
    /* Eight in each half, the upper four bits of each before the lower. */
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)bytes));
    const __m256i halves = _mm256_and_si256(
        _mm256_or_si256(_mm256_srli_epi16(wide, 4), _mm256_slli_epi16(wide, 8)), _mm256_set1_epi8(0x0F));
    const __m256i digits = _mm256_shuffle_epi8(
        BOTH('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'), halves);
    const __m256i first = _mm256_or_si256(
        _mm256_shuffle_epi8(digits, BOTH(-1, 0, 1, -1, 2, 3, -1, 4, 5, -1, 6, 7, -1, 8, 9, -1)),
        BOTH('%', 0, 0, '%', 0, 0, '%', 0, 0, '%', 0, 0, '%', 0, 0, '%'));
    const __m256i last = _mm256_or_si256(
        _mm256_shuffle_epi8(digits, BOTH(10, 11, -1, 12, 13, -1, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1)),
        BOTH(0, 0, '%', 0, 0, '%', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(first));
    _mm_storeu_si128((__m128i *)(to + 16), _mm256_castsi256_si128(last));
    _mm_storeu_si128((__m128i *)(to + 24), _mm256_extracti128_si256(first, 1));
    _mm_storel_epi64((__m128i *)(to + 40), _mm256_extracti128_si256(last, 1));
}

/* Writes a block of a text, of whose bytes those in `kept` count, and returns how far it has moved what is behind it. */
AVX2 INLINED size_t write_block(const uint8_t *text, uint32_t kept, __m256i block, uint8_t *to, struct spelling as) {
    if (!as.table) {
        _mm256_storeu_si256((__m256i *)to, block);
        return 0;
    }
    uint8_t *const start = to;
    _mm256_storeu_si256((__m256i *)to, spelled(block, as));
    uint32_t others = left_to_spell(block, as) & kept;
    const uint32_t spaces = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block, _mm256_set1_epi8(' ')));
    const uint32_t escaped = ((uint32_t)_mm256_movemask_epi8(block) | (spaces & as.escaped)) & others;
    while (others) {
        const size_t run = _tzcnt_u32(others);
        size_t count = 1;
        if ((escaped >> run & 3) == 3) {
            count = _tzcnt_u32(~(escaped >> run));
            if (count > 16) count = 16;
            put_escapes(to + run, text + run);
            to += 2 * count;
            others &= (uint32_t)(UINT64_MAX << (run + count));
        } else {
            const uint32_t entry = as.table[text[run]];
            memcpy(to + run, &entry, sizeof entry);
            to += (entry >> 24) - 1;
            others = _blsr_u32(others);
        }
        const size_t next = run + count;
        _mm256_storeu_si256((__m256i *)(to + next), spelled(_mm256_loadu_si256((const __m256i *)(text + next)), as));
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
