#include "COctets.h"

#if defined(__x86_64__)
#include "blocks.h"

/* What isn't zero where a carriage return stands and a hyphen two bytes on. Thirty-four bytes are read. */
AVX2 static inline __m256i marks(const uint8_t *bytes) {
    const __m256i returns = _mm256_loadu_si256((const __m256i *)bytes);
    const __m256i hyphens = _mm256_loadu_si256((const __m256i *)(bytes + 2));
    const __m256i is_return = _mm256_cmpeq_epi8(returns, _mm256_set1_epi8('\r'));
    const __m256i is_hyphen = _mm256_cmpeq_epi8(hyphens, _mm256_set1_epi8('-'));
    return _mm256_and_si256(is_return, is_hyphen);
}

AVX2 static size_t skip(const uint8_t *bytes, size_t count) {
    size_t at = 0;
    for (; at + 130 <= count; at += 128) {
        const __m256i first = _mm256_or_si256(marks(bytes + at), marks(bytes + at + 32));
        const __m256i second = _mm256_or_si256(marks(bytes + at + 64), marks(bytes + at + 96));
        const __m256i all = _mm256_or_si256(first, second);
        if (!_mm256_testz_si256(all, all)) break;
    }
    return at;
}

size_t recast_skip_to_delimiter(const uint8_t *bytes, size_t count) { return recast_has_blocks() ? skip(bytes, count) : 0; }

#else

size_t recast_skip_to_delimiter(const uint8_t *bytes, size_t count) {
    (void)bytes, (void)count;
    return 0;
}

#endif
