#include "COctets.h"
#include <string.h>

#if defined(__x86_64__)
#include "blocks.h"

AVX2 static size_t form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table,
                             size_t *written) {
    /* A space that becomes one byte is written with the block; one that becomes three is like any other byte. */
    const __m256i is_short = _mm256_set1_epi8(table[' '] >> 24 == 1 ? -1 : 0);
    const __m256i for_space = _mm256_set1_epi8((char)table[' ']);
    size_t at = 0, to = 0;
    while (at + 32 <= count && to + 64 <= room) {
        __m256i block = _mm256_loadu_si256((const __m256i *)(text + at));
        __m256i is_other = is_escaped(block);
        __m256i is_space = _mm256_and_si256(_mm256_cmpeq_epi8(block, _mm256_set1_epi8(' ')), is_short);
        _mm256_storeu_si256((__m256i *)(target + to), _mm256_blendv_epi8(block, for_space, is_space));
        uint32_t others = (uint32_t)_mm256_movemask_epi8(_mm256_andnot_si256(is_space, is_other));
        if (others == 0) {
            at += 32;
            to += 32;
            continue;
        }
        size_t run = (size_t)__builtin_ctz(others);
        at += run;
        to += run;
        uint8_t byte = text[at];
        if (byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80) break;
        uint32_t entry = table[byte];
        memcpy(target + to, &entry, sizeof entry);
        at += 1;
        to += entry >> 24;
    }
    *written = to;
    return at;
}

size_t recast_form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table,
                        size_t *written) {
    if (recast_has_blocks()) return form_text(text, count, target, room, table, written);
    *written = 0;
    return 0;
}

#else

size_t recast_form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table,
                        size_t *written) {
    (void)text, (void)count, (void)target, (void)room, (void)table;
    *written = 0;
    return 0;
}

#endif
