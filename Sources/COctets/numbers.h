/* Numbers of JSON, as fields.c reads and writes them, and as libraries print them. */
#ifndef RECAST_NUMBERS_H
#define RECAST_NUMBERS_H
#include "COctets.h"
#include <string.h>

/* The characters of numbers that no library rounds, and the digits before a point that none of them writes with an exponent. */
enum { most_exact_characters = 15, most_whole_digits = 14 };

/* Whether an integer of more characters is surely one of 64 bits. To JavaScript it is a floating-point number, which is printed plainly;
   and one that it would round is printed as it stands. */
static inline bool has_64_bits(const uint8_t *digits, size_t count) { return count < 19 || (count == 19 && *digits < '9'); }

/* Whether a fraction of more characters has few digits before its point. */
__attribute__((noinline)) static bool has_few_before_point(const uint8_t *number, size_t count) {
    const uint8_t *const point = memchr(number, '.', count);
    return point - number - (*number == '-') <= most_whole_digits;
}

/* As recast_is_printed_alike, where it is known whether there is a fraction. */
static inline bool is_printed_alike(const uint8_t *number, size_t count, bool has_fraction) {
    const uint8_t *const digits = number + (*number == '-');
    if (!has_fraction) return has_64_bits(digits, count - (size_t)(digits - number)) && (*digits != '0' || digits == number);
    if (count > most_exact_characters && !has_few_before_point(number, count)) return false;
    return number[count - 1] != '0' && (*digits != '0' || digits[2] != '0' || digits[3] != '0');
}

#if defined(__x86_64__)
#include "blocks.h"

/* The number of bytes of the number that the block at `text` begins with, and whether there is a fraction; 0 where there is none, or it
   has an exponent, or more than recast_longest_number. */
AVX2 INLINED size_t number_count(const uint8_t *text, bool *has_fraction) {
    const __m256i value = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)text), _mm256_set1_epi8('0'));
    const uint64_t digits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value));
    const size_t start = *text == '-', count = _tzcnt_u64(~(digits >> start));
    if (count == 0 || (count > 1 && text[start] == '0')) return 0;
    size_t end = start + count;
    *has_fraction = end < recast_longest_number && text[end] == '.';
    if (*has_fraction) {
        const size_t places = _tzcnt_u64(~(digits >> (end + 1)));
        if (places == 0) return 0;
        end += 1 + places;
    }
    if (end > recast_longest_number || text[end] == '.' || (text[end] | 0x20) == 'e') return 0;
    return end;
}

/* As above, for loops that have no registers to spare. */
AVX2 __attribute__((noinline)) static size_t number_count_apart(const uint8_t *text, bool *has_fraction) {
    return number_count(text, has_fraction);
}

/* As above, of one that may have an exponent: for what number_count has left. What stands behind the number isn't looked at, as there. */
__attribute__((noinline)) static size_t scientific_count(const uint8_t *text) {
    const uint8_t *const start = text, *const end = text + recast_longest_number + 1;
    text += *text == '-';
    const uint8_t *digits = text;
    while (text < end && *text - '0' <= 9u) text++;
    if (text == digits || (text - digits > 1 && *digits == '0')) return 0;
    if (text < end && *text == '.') {
        digits = ++text;
        while (text < end && *text - '0' <= 9u) text++;
        if (text == digits) return 0;
    }
    if (text < end && (*text | 0x20) == 'e') {
        text++;
        if (text < end && (*text == '-' || *text == '+')) text++;
        digits = text;
        while (text < end && *text - '0' <= 9u) text++;
        if (text == digits) return 0;
    }
    return text < end ? (size_t)(text - start) : 0;
}

__attribute__((noinline)) static bool is_long_printed_alike(const uint8_t *number, size_t count, bool has_fraction) {
    return is_printed_alike(number, count, has_fraction);
}

/* As is_printed_alike, for a loop that has no registers to spare: of few characters without more calls. */
__attribute__((noinline)) static bool is_printed_alike_apart(const uint8_t *number, size_t count, bool has_fraction) {
    return count > most_exact_characters ? is_long_printed_alike(number, count, has_fraction)
                                         : is_printed_alike(number, count, has_fraction);
}

/* The bytes of a number that are left when it is printed again: without the zeros that end its fraction, but for one where a whole number
   keeps that. 0 where it is printed in another way. */
__attribute__((noinline)) static size_t printed_count(const uint8_t *number, size_t count, bool has_fraction, bool keeps_zero_fractions) {
    if (!has_fraction || count > most_exact_characters) return 0;
    while (number[count - 1] == '0') count--;
    if (number[count - 1] != '.') return is_printed_alike(number, count, true) ? count : 0;
    /* Zero is printed in several ways. */
    if (number[*number == '-'] == '0') return 0;
    return keeps_zero_fractions ? count + 1 : count - 1;
}

/* Writes the number that begins at `text`, and returns where it ends; NULL where it is left alone. Says whether it is one that a form
   surely doesn't escape: all are but for the plus sign of an exponent. */
AVX2 __attribute__((noinline)) static const uint8_t *write_any_number(const struct recast_fields *of, const uint8_t *text, uint8_t **target,
                                                                      bool is_held, bool *is_plain) {
    bool has_fraction, has_exponent = false;
    size_t count = number_count(text, &has_fraction);
    if (count == 0) {
        count = scientific_count(text);
        has_exponent = true;
    }
    if (count == 0 || count > of->longest_number) return NULL;
    uint8_t *const to = *target;
    copy_block(to, text);
    size_t written = count;
    if (of->print_number && (has_exponent || !is_printed_alike(text, count, has_fraction))) {
        written = has_exponent ? 0 : printed_count(text, count, has_fraction, of->keeps_zero_fractions);
        if (written == 0) written = of->print_number(of->printer, text, count, to);
    }
    uint8_t *const plus = memchr(to, '+', written);
    *is_plain = !plus;
    if (plus && of->table && !is_held) {
        const uint32_t entry = of->table['+'];
        const size_t more = (entry >> 24) - 1;
        memmove(plus + 1 + more, plus + 1, (size_t)(to + written - plus) - 1);
        memcpy(plus, &entry, 1 + more);
        written += more;
    }
    *target = to + written;
    return text + count;
}

#endif
#endif
