#include "COctets.h"
#include <string.h>

#if defined(__x86_64__)
#include "blocks.h"

/* The value of each hexadecimal digit and one more; 0 for what is none. */
static const uint8_t digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

INLINED AVX2 __m256i spaced(const uint8_t *text) {
    __m256i block = _mm256_loadu_si256((const __m256i *)text);
    return _mm256_blendv_epi8(block, _mm256_set1_epi8(' '), _mm256_cmpeq_epi8(block, _mm256_set1_epi8('+')));
}

AVX2 static size_t form_decode(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii) {
    const __m256i ends = _mm256_set1_epi8((char)end);
    size_t at = 0, to = 0;
    uint32_t high = 0;
    uint8_t seen = 0;
    /* The last escape of a block may pass its end by two bytes, and a block is read behind it. No more is written than is read. */
    while (at + 66 <= count) {
        const __m256i block = _mm256_loadu_si256((const __m256i *)(text + at));
        const __m256i is_escape = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('%'));
        const __m256i is_end = _mm256_or_si256(_mm256_cmpeq_epi8(block, _mm256_set1_epi8('&')), _mm256_cmpeq_epi8(block, ends));
        const uint32_t bits = (uint32_t)_mm256_movemask_epi8(block);
        uint32_t stops = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(is_escape, is_end));
        size_t from = 0;
        _mm256_storeu_si256((__m256i *)(target + to), spaced(text + at));
        for (; stops; stops = _blsr_u32(stops)) {
            const size_t run = _tzcnt_u32(stops);
            const uint8_t *stop = text + at + run;
            to += run - from;
            if (*stop != '%' || !digits[stop[1]] || !digits[stop[2]]) {
                high |= _bzhi_u32(bits, (uint32_t)run);
                at += run;
                goto stopped;
            }
            const uint8_t byte = (uint8_t)((digits[stop[1]] - 1) << 4 | (digits[stop[2]] - 1));
            seen |= byte;
            target[to] = byte;
            to += 1;
            from = run + 3;
            _mm256_storeu_si256((__m256i *)(target + to), spaced(stop + 3));
        }
        high |= bits;
        if (from < 32) to += 32 - from;
        at += from < 32 ? 32 : from;
    }
stopped:
    *written = to;
    *is_ascii = high == 0 && seen < 0x80;
    return at;
}

size_t recast_form_decode(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii) {
    if (recast_has_blocks() && !digits[end]) return form_decode(text, count, end, target, written, is_ascii);
    *written = 0;
    *is_ascii = true;
    return 0;
}

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

size_t recast_form_decode(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii) {
    (void)text, (void)count, (void)end, (void)target;
    *written = 0;
    *is_ascii = true;
    return 0;
}

size_t recast_form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table,
                        size_t *written) {
    (void)text, (void)count, (void)target, (void)room, (void)table;
    *written = 0;
    return 0;
}

#endif
