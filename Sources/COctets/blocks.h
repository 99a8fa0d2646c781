/* What the loops for AVX2 have in common. */
#ifndef RECAST_BLOCKS_H
#define RECAST_BLOCKS_H
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* The same sixteen bytes in both halves: what looks bytes up does so within its half. */
#define BOTH(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

#endif
