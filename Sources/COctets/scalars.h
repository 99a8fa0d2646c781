/* Texts and literals of JSON, as fields.c reads and writes them. */
#ifndef RECAST_SCALARS_H
#define RECAST_SCALARS_H
#include "blocks.h"

#define SSE(value) _mm_set1_epi8((char)(value))

/* What is read of a text for one block of it: the block, and another one behind an escaped byte. */
enum { text_reach = 64 };
/* What a block of a text may become, and what is written behind it: escapes of sixteen bytes. */
enum { block_room = 3 * 32 + 48 };

/* The bytes that end a run of a text: '"', '\\' and those below 0x20. */
AVX2 static inline uint32_t ends_of(__m256i block) {
    __m256i quotes = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('"'));
    __m256i backslashes = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('\\'));
    __m256i controls = _mm256_cmpeq_epi8(_mm256_min_epu8(block, _mm256_set1_epi8(0x1F)), block);
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quotes, backslashes), controls));
}

/* A block whose bytes each stand `count` behind those of `block`: the first ones are the last of the block before. */
#define BEHIND(before, block, count) \
    _mm256_alignr_epi8(block, _mm256_permute2x128_si256(before, block, 0x21), 16 - (count))

/* Not zero where a byte of the block can't stand in UTF-8 behind the three before it (RFC 3629 section 4). Two bytes are wrong
   together where the halves of the first one and the upper half of the second have a bit in common, after J. Keiser and D. Lemire,
   "Validating UTF-8 In Less Than One Instruction Per Byte", 2021. */
AVX2 static inline __m256i is_no_utf8(__m256i before, __m256i block) {
    enum {
        /* A first byte without a continuation, and a continuation behind ASCII. */
        is_short = 1, is_long = 2,
        /* What fewer bytes could say, in three, two and four bytes; surrogates; what is above U+10FFFF. */
        over_three = 4, over_two = 32, over_four = 64, surrogate = 16, beyond = 8, far_beyond = 64,
        /* A continuation behind another: right where the first of the character says so. The highest bit of a byte. */
        two = -128,
        any = is_short | is_long | two, above = any | beyond | far_beyond, continued = is_long | two | over_two
    };
    const __m256i by_first_high = BOTH(
        is_long, is_long, is_long, is_long, is_long, is_long, is_long, is_long, two, two, two, two,
        is_short | over_two, is_short, is_short | over_three | surrogate, is_short | beyond | far_beyond | over_four);
    const __m256i by_first_low = BOTH(
        any | over_two | over_three | over_four, any | over_two, any, any, any | beyond, above, above, above, above, above, above, above,
        above, above | surrogate, above, above);
    const __m256i by_second_high = BOTH(
        is_short, is_short, is_short, is_short, is_short, is_short, is_short, is_short,
        continued | over_three | over_four | far_beyond, continued | over_three | beyond, continued | surrogate | beyond,
        continued | surrogate | beyond, is_short, is_short, is_short, is_short);
    const __m256i low_bits = _mm256_set1_epi8(0x0F), first = BEHIND(before, block, 1);
    const __m256i first_high = _mm256_and_si256(_mm256_srli_epi32(first, 4), low_bits);
    const __m256i second_high = _mm256_and_si256(_mm256_srli_epi32(block, 4), low_bits);
    const __m256i wrong = _mm256_and_si256(
        _mm256_and_si256(
            _mm256_shuffle_epi8(by_first_high, first_high), _mm256_shuffle_epi8(by_first_low, _mm256_and_si256(first, low_bits))),
        _mm256_shuffle_epi8(by_second_high, second_high));
    /* Two behind the first byte of three or four, and three behind that of four, is a continuation behind another, and nowhere else. */
    const __m256i is_third = _mm256_subs_epu8(BEHIND(before, block, 2), _mm256_set1_epi8(0xE0 - 0x80));
    const __m256i is_fourth = _mm256_subs_epu8(BEHIND(before, block, 3), _mm256_set1_epi8(0xF0 - 0x80));
    return _mm256_xor_si256(
        _mm256_and_si256(_mm256_or_si256(is_third, is_fourth), _mm256_set1_epi8((char)0x80)), wrong);
}

/* What is kept of a block: as many bytes as the mask begins before its middle. */
static const uint8_t kept_of_block[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* Whether a text is UTF-8. A block can be read behind its end. */
AVX2 static bool is_utf8(const uint8_t *at, const uint8_t *end) {
    __m256i before = _mm256_setzero_si256(), wrong = before;
    for (; end - at >= 32; at += 32) {
        const __m256i block = _mm256_loadu_si256((const __m256i *)at);
        wrong = _mm256_or_si256(wrong, is_no_utf8(before, block));
        before = block;
    }
    /* Behind the text are zeros, so that a character that is cut is found. */
    const __m256i rest = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)at),
                                          _mm256_loadu_si256((const __m256i *)(kept_of_block + 32 - (end - at))));
    wrong = _mm256_or_si256(wrong, is_no_utf8(before, rest));
    return _mm256_testz_si256(wrong, wrong);
}

/* What the letter behind a backslash stands for (RFC 8259 section 7); 0 for none, and for `u`, which takes more than a byte. */
static inline uint8_t unescaped(uint8_t letter) {
    switch (letter) {
    case '"': case '\\': case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* The number that four hexadecimal digits say; above 0xFFFF where they are none. */
static inline uint32_t code_unit(const uint8_t *digits) {
    uint32_t unit = 0;
    for (int at = 0; at < 4; at++) {
        const uint8_t byte = digits[at], number = (uint8_t)(byte - '0'), letter = (uint8_t)((byte | 0x20) - 'a');
        if (number > 9 && letter > 5) return UINT32_MAX;
        unit = unit << 4 | (number <= 9 ? number : letter + 10u);
    }
    return unit;
}

/* The bytes of UTF-8 that a character is, lowest byte first, and their number. */
static inline uint32_t utf8_of(uint32_t character, size_t *count) {
    const uint32_t last = 0x80 | (character & 0x3F), third = 0x80 | (character >> 6 & 0x3F), second = 0x80 | (character >> 12 & 0x3F);
    *count = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    switch (*count) {
    case 1: return character;
    case 2: return (0xC0 | character >> 6) | last << 8;
    case 3: return (0xE0 | character >> 12) | third << 8 | last << 16;
    default: return (0xF0 | character >> 18) | second << 8 | third << 16 | last << 24;
    }
}

/* What an escape of a pair of surrogates takes in a text, and what a character is written as at most, with what is written behind it. */
enum { surrogates_reach = 12, character_room = 4 * 3 + 1 };

/* Writes the characters that stand at `text` as escapes of four hexadecimal digits, or of eight in two where they are pairs of surrogates
   (RFC 8259 section 7), as far as there is enough to read and room. Returns where they end; NULL for a control, and for what is no
   character. */
__attribute__((noinline)) static const uint8_t *write_units(const uint8_t *text, const uint8_t *end, const uint32_t *table,
                                                            uint8_t **target, const uint8_t *room) {
    uint8_t *to = *target;
    while (end - text >= surrogates_reach && room - to >= character_room && text[0] == '\\' && text[1] == 'u') {
        uint32_t character = code_unit(text + 2);
        text += 6;
        if (character < 0x20 || character > 0xFFFF || (character & 0xFC00) == 0xDC00) return NULL;
        if ((character & 0xFC00) == 0xD800) {
            const uint32_t low = text[0] == '\\' && text[1] == 'u' ? code_unit(text + 2) : 0;
            if (low > 0xFFFF || (low & 0xFC00) != 0xDC00) return NULL;
            character = 0x10000 + ((character & 0x3FF) << 10 | (low & 0x3FF));
            text += 6;
        }
        size_t count;
        uint32_t bytes = utf8_of(character, &count);
        if (!table) {
            memcpy(to, &bytes, sizeof bytes);
            to += count;
            continue;
        }
        for (; count > 0; count--, bytes >>= 8) {
            const uint32_t entry = table[bytes & 0xFF];
            memcpy(to, &entry, sizeof entry);
            to += entry >> 24;
        }
    }
    *target = to;
    return text;
}

/* Writes what follows the first block of the text that begins at `start`, as write_text. */
AVX2 INLINED const uint8_t *write_more_blocks(const struct recast_fields *of, const uint32_t *table, const uint8_t *const start,
                                              const uint8_t *text, uint8_t **target, bool is_beyond) {
    const uint8_t *const end = of->source + of->end, *const room = of->target + of->room;
    const struct spelling as = spelling_of(table);
    uint8_t *to = *target;
    for (;;) {
        if (*text == '"') {
            *target = to;
            return is_beyond && !is_utf8(start, text) ? NULL : text;
        }
        if (*text == '\\' && text[1] == 'u') {
            text = write_units(text, end, table, &to, room);
            if (!text) return NULL;
        } else if (*text == '\\') {
            const uint8_t byte = unescaped(text[1]);
            if (!byte) return NULL;
            const uint32_t entry = table ? table[byte] : byte | UINT32_C(1) << 24;
            memcpy(to, &entry, sizeof entry);
            to += entry >> 24;
            text += 2;
        } else if (*text < 0x20) {
            return NULL;
        }
        if (end - text < text_reach || room - to < block_room || (size_t)(text - start) > of->longest_text - text_reach)
            return NULL;
        const __m256i block = _mm256_loadu_si256((const __m256i *)text);
        const uint32_t ends = ends_of(block), kept = ~ends & (ends - 1);
        const size_t count = _tzcnt_u32(ends);
        is_beyond |= ((uint32_t)_mm256_movemask_epi8(block) & kept) != 0;
        to += write_block(text, kept, block, to, as) + count;
        text += count;
    }
}

AVX2 __attribute__((noinline)) static const uint8_t *spell_rest(const struct recast_fields *of, const uint8_t *start,
                                                                const uint8_t *text, uint8_t **target, bool is_beyond) {
    return write_more_blocks(of, of->table, start, text, target, is_beyond);
}

/* As above, of a text that stays as it is. */
AVX2 __attribute__((noinline)) static const uint8_t *copy_rest(const struct recast_fields *of, const uint8_t *start,
                                                               const uint8_t *text, uint8_t **target, bool is_beyond) {
    return write_more_blocks(of, NULL, start, text, target, is_beyond);
}

/* Writes the text that begins at `text`, of which a block can be read and written, up to its quotation mark, and returns where
   that is; NULL where it can't. Says whether it is one that a form surely doesn't escape. */
AVX2 INLINED const uint8_t *write_text(const struct recast_fields *of, const uint8_t *text, uint8_t **target, bool is_held,
                                       bool *is_plain) {
    const __m256i block = _mm256_loadu_si256((const __m256i *)text);
    const uint32_t ends = ends_of(block), kept = ~ends & (ends - 1);
    const size_t count = _tzcnt_u32(ends);
    const bool is_beyond = ((uint32_t)_mm256_movemask_epi8(block) & kept) != 0;
    *target += write_block(text, kept, block, *target, spelling_of(is_held ? NULL : of->table)) + count;
    if (text[count] == '"' && !is_beyond) {
        *is_plain = ((uint32_t)_mm256_movemask_epi8(is_escaped(block)) & kept) == 0;
        return text + count;
    }
    return is_held ? copy_rest(of, text, text + count, target, is_beyond) : spell_rest(of, text, text + count, target, is_beyond);
}

/* The literal that begins at `text`, a member or an element, and its length; NULL for none, and for one that is left alone. */
static inline const struct recast_literal *literal_at(const struct recast_fields *of, const uint8_t *text, bool is_member, size_t *count) {
    uint32_t word;
    memcpy(&word, text, sizeof word);
    const struct recast_literal *literal = NULL;
    *count = 4;
    if (word == 0x65757274) literal = &of->true_text;
    if (word == 0x6C6C756E) literal = of->nulls + is_member;
    if (word == 0x736C6166 && text[4] == 'e') {
        literal = &of->false_text;
        *count = 5;
    }
    return literal && literal->outcome != recast_outcome_left ? literal : NULL;
}

#endif
