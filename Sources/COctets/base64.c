#include "COctets.h"

#if defined(__x86_64__)
#include "blocks.h"

AVX2 static size_t encode(const uint8_t *bytes, size_t count, uint8_t *characters) {
    /* Each three bytes a b c become b a c b: two 16-bit numbers that hold two of the four sextets each. */
    const __m256i spread = BOTH(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
    /* What is added to a sextet makes it its character; found by its range: A-Z 13, a-z 0, each digit 1-10, + 11, / 12. */
    const __m256i shifts = BOTH('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0);
    size_t at = 0;
    /* Twenty-four bytes a step; the second load ends four bytes behind them. */
    for (; at + 28 <= count; at += 24, characters += 32) {
        __m128i low = _mm_loadu_si128((const __m128i *)(bytes + at));
        __m128i high = _mm_loadu_si128((const __m128i *)(bytes + at + 12));
        __m256i word = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), spread);
        /* Products shift each sextet to the low end of its byte: the first and third to the right, the others to the left. */
        __m256i odd = _mm256_mulhi_epu16(_mm256_and_si256(word, _mm256_set1_epi32(0x0FC0FC00)), _mm256_set1_epi32(0x04000040));
        __m256i even = _mm256_mullo_epi16(_mm256_and_si256(word, _mm256_set1_epi32(0x003F03F0)), _mm256_set1_epi32(0x01000010));
        __m256i sextets = _mm256_or_si256(odd, even);
        __m256i range = _mm256_subs_epu8(sextets, _mm256_set1_epi8(51));
        __m256i is_upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), sextets);
        range = _mm256_or_si256(range, _mm256_and_si256(is_upper, _mm256_set1_epi8(13)));
        __m256i text = _mm256_add_epi8(sextets, _mm256_shuffle_epi8(shifts, range));
        _mm256_storeu_si256((__m256i *)characters, text);
    }
    return at;
}

AVX2 static size_t decode(const uint8_t *characters, size_t count, uint8_t *bytes) {
    /* A character is of the alphabet when what its high and its low four bits exclude has no bit in common. The bits stand for
       a high half of: 1: 2 (of which + and / are left), 2: 3 (0-9), 4: 4 and 6 (no @ and `), 8: 5 and 7 (up to Z and z),
       16: any other. */
    const __m256i by_low = BOTH(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A);
    const __m256i by_high = BOTH(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10);
    /* What is added to a character makes it its sextet, by its high four bits; for /, whose sum is one less, it stands first
       but one. */
    const __m256i shifts = BOTH(0, 63 - '/', 62 - '+', 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i reversed = BOTH(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
    const __m256i low_bits = _mm256_set1_epi8(0x0F);
    size_t at = 0;
    /* Thirty-two characters a step. The store is of 32 bytes, of which 24 count; so twelve characters more must follow, which
       have room for nine. */
    for (; at + 44 <= count; at += 32, bytes += 24) {
        __m256i text = _mm256_loadu_si256((const __m256i *)(characters + at));
        __m256i high = _mm256_and_si256(_mm256_srli_epi32(text, 4), low_bits);
        __m256i low = _mm256_and_si256(text, low_bits);
        if (!_mm256_testz_si256(_mm256_shuffle_epi8(by_high, high), _mm256_shuffle_epi8(by_low, low))) break;
        __m256i is_slash = _mm256_cmpeq_epi8(text, _mm256_set1_epi8('/')); /* -1 where it is */
        __m256i sextets = _mm256_add_epi8(text, _mm256_shuffle_epi8(shifts, _mm256_add_epi8(is_slash, high)));
        /* Two sextets to twelve bits, two of those to twenty-four. */
        __m256i pairs = _mm256_maddubs_epi16(sextets, _mm256_set1_epi32(0x01400140));
        __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        __m256i halves = _mm256_shuffle_epi8(groups, reversed);
        __m256i whole = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)bytes, whole);
    }
    return at;
}

size_t recast_base64_encode(const uint8_t *bytes, size_t count, uint8_t *characters) {
    return recast_has_blocks() ? encode(bytes, count, characters) : 0;
}

size_t recast_base64_decode(const uint8_t *characters, size_t count, uint8_t *bytes) {
    return recast_has_blocks() ? decode(characters, count, bytes) : 0;
}

#else

size_t recast_base64_encode(const uint8_t *bytes, size_t count, uint8_t *characters) {
    (void)bytes, (void)count, (void)characters;
    return 0;
}

size_t recast_base64_decode(const uint8_t *characters, size_t count, uint8_t *bytes) {
    (void)characters, (void)count, (void)bytes;
    return 0;
}

#endif
