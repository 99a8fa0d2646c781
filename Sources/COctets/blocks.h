/* What the loops for AVX2 have in common. Every processor that has it also has BMI and BMI2, but a virtual one may hide them. */
#ifndef RECAST_BLOCKS_H
#define RECAST_BLOCKS_H
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2")))

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

#endif
