#include "COctets.h"
#include <string.h>

#if defined(__x86_64__)
#include "blocks.h"

#define SSE(value) _mm_set1_epi8((char)(value))

/* What is read of an item at most besides white space and all but the first block of a text: a quotation mark, sixteen bytes of
   a name, a colon, a quotation mark, a block. */
enum { name_reach = 24, value_reach = 40 };
/* What a field may take besides its prefix and its text: a name, two marks, the digits of an index, and a block behind them. */
enum { field_room = 128 };
/* What a block of a text may become, and a block behind it. */
enum { block_room = 3 * 32 + 32 };
/* What one more level may add to the prefix, and what is read behind it: there are two blocks at least. */
enum { level_room = 96 };

/* As many bytes of a block as begin at 16 - n are kept, and zeros put behind them. */
static const uint8_t keeping[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

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

AVX2 static inline void copy_block(uint8_t *to, const uint8_t *from) {
    _mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
}

static inline size_t behind_space(const uint8_t *source, size_t at, size_t end) {
    while (at < end && (source[at] == ' ' || source[at] == '\n' || source[at] == '\r' || source[at] == '\t')) at++;
    return at;
}

/* The number of bytes of the number that the sixteen bytes at `text` begin with; 0 where there is none, or it has an exponent,
   or may go on behind them. */
AVX2 static inline size_t number_count(const uint8_t *text) {
    __m128i value = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)text), SSE('0'));
    unsigned digits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(value, SSE(9)), value));
    size_t start = *text == '-';
    size_t count = (size_t)__builtin_ctz(~(digits >> start));
    if (count == 0 || (count > 1 && text[start] == '0')) return 0;
    size_t end = start + count;
    if (end < 15 && text[end] == '.') {
        size_t places = (size_t)__builtin_ctz(~(digits >> (end + 1)));
        if (places == 0) return 0;
        end += 1 + places;
    }
    if (end > 15 || text[end] == '.' || (text[end] | 0x20) == 'e') return 0;
    return end;
}

/* The bytes that end a run of a text: '"', '\\' and those below 0x20. */
AVX2 static inline uint32_t ends_of(__m256i block) {
    __m256i quotes = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('"'));
    __m256i backslashes = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('\\'));
    __m256i controls = _mm256_cmpeq_epi8(_mm256_min_epu8(block, _mm256_set1_epi8(0x1F)), block);
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quotes, backslashes), controls));
}

/* RFC 3629 section 4. */
static bool is_utf8(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        uint8_t byte = *at++, low = 0x80, high = 0xBF;
        int more;
        if (byte < 0x80) continue;
        if (byte >= 0xC2 && byte <= 0xDF) {
            more = 1;
        } else if (byte >= 0xE0 && byte <= 0xEF) {
            more = 2;
            if (byte == 0xE0) low = 0xA0;
            if (byte == 0xED) high = 0x9F;
        } else if (byte >= 0xF0 && byte <= 0xF4) {
            more = 3;
            if (byte == 0xF0) low = 0x90;
            if (byte == 0xF4) high = 0x8F;
        } else {
            return false;
        }
        for (; more > 0; more--, low = 0x80, high = 0xBF) {
            if (at == end || *at < low || *at > high) return false;
            at++;
        }
    }
    return true;
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

/* Writes the text that begins at `text` up to its quotation mark, and returns where that is; NULL where it can't. */
AVX2 static inline const uint8_t *write_text(const uint8_t *text, const uint8_t *end, uint8_t **target, const uint8_t *room,
                                             const uint32_t *table) {
    const uint8_t *const start = text;
    uint8_t *to = *target;
    uint32_t beyond = 0;
    /* What follows an escaped byte is copied as a block, too, from the next block's bytes on. */
    while (end - text >= 64 && room - to >= block_room) {
        __m256i block = _mm256_loadu_si256((const __m256i *)text);
        _mm256_storeu_si256((__m256i *)to, block);
        uint32_t ends = ends_of(block);
        size_t count = ends ? (size_t)__builtin_ctz(ends) : 32;
        const uint32_t kept = (uint32_t)((UINT64_C(1) << count) - 1);
        beyond |= (uint32_t)_mm256_movemask_epi8(block) & kept;
        size_t from = 0;
        if (table) {
            uint32_t others = (uint32_t)_mm256_movemask_epi8(is_escaped(block)) & kept;
            for (; others; others &= others - 1) {
                size_t run = (size_t)__builtin_ctz(others);
                uint32_t entry = table[text[run]];
                to += run - from;
                memcpy(to, &entry, sizeof entry);
                to += entry >> 24;
                from = run + 1;
                _mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)(text + from)));
            }
        }
        to += count - from;
        text += count;
        if (!ends) continue;
        if (*text == '"') {
            *target = to;
            return beyond && !is_utf8(start, text) ? NULL : text;
        }
        uint8_t byte = *text == '\\' ? unescaped(text[1]) : 0;
        if (!byte) return NULL;
        uint32_t entry = table ? table[byte] : byte | UINT32_C(1) << 24;
        memcpy(to, &entry, sizeof entry);
        to += entry >> 24;
        text += 2;
    }
    return NULL;
}

/* Adds the name of a member, which was found to be new and to have room, to those of its object. */
AVX2 static inline void remember(struct recast_fields *of, struct recast_level *level, uint64_t bit, __m128i name, size_t count) {
    if (!of->names || !level->is_object) return;
    level->bits |= bit;
    of->names[of->names_count++] = (struct recast_name){
        .first = (uint64_t)_mm_cvtsi128_si64(name),
        .last = (uint64_t)_mm_extract_epi64(name, 1),
        .count = (int32_t)count,
        .next = -1,
    };
    of->bytes_left -= count + RECAST_NAME_OVERHEAD;
}

AVX2 static void write_fields(struct recast_fields *of) {
    const uint8_t *const source = of->source;
    const size_t end = of->end, left = of->left;
    uint8_t *const prefix = of->prefix;
    struct recast_level *const first = of->levels, *level = first;
    size_t at = of->at, to = of->to;
    enum recast_place place = of->place;

    while (to < left) {
        if (at < end && source[at] <= ' ') at = behind_space(source, at, end);
        if (place == recast_place_behind) {
            if (at == end) break;
            if (source[at] == ',') {
                at++;
                place = recast_place_item;
                level->index++;
                continue;
            }
            if (level == first || source[at] != (level->is_object ? '}' : ']')) break;
            at++;
            of->names_count = level->first_name;
            of->bytes_left = level->bytes_before;
            level--;
            level->position++;
            level->written++;
            level->last_was_object = level->in_object;
            of->name_count = -1;
            /* As behind a value below. */
            if (at < end && source[at] == ',') {
                at++;
                place = recast_place_item;
                level->index++;
            }
            continue;
        }

        if (end - at < name_reach) break;
        size_t start = at, name_count = 0;
        uint64_t bit = 0;
        __m128i name = _mm_setzero_si128();
        if (level->is_object) {
            if (source[start] != '"') break;
            __m128i block = _mm_loadu_si128((const __m128i *)(source + start + 1));
            unsigned others = (unsigned)_mm256_movemask_epi8(is_escaped(_mm256_castsi128_si256(block)));
            name_count = (size_t)__builtin_ctz(others | 1u << 16);
            const uint8_t *behind = source + start + 1 + name_count;
            if (name_count - 1 > 14 || *behind != '"' || behind[1] != ':' || name_count > level->name_room) break;
            name = _mm_and_si128(block, _mm_loadu_si128((const __m128i *)(keeping + 16 - name_count)));
            start += name_count + 3;
            if (source[start] <= ' ') start = behind_space(source, start, end);
            if (of->names) {
                uint64_t head = (uint64_t)_mm_cvtsi128_si64(name), tail = (uint64_t)_mm_extract_epi64(name, 1);
                bit = UINT64_C(1) << ((head ^ (tail << 7 | tail >> 57) ^ name_count) * RECAST_NAME_MIX >> 58);
                if ((level->bits & bit) != 0 || of->names_count == of->names_room ||
                    of->bytes_left < name_count + RECAST_NAME_OVERHEAD)
                    break;
            }
        }
        if (end - start < value_reach) break;
        const uint8_t byte = source[start];
        const bool is_container = byte == '{' || byte == '[';
        enum recast_style style = level->style;
        if (!level->is_object) {
            if (style == recast_style_open) style = is_container ? recast_style_indices : recast_style_brackets;
            if (style == recast_style_other || (is_container && style == recast_style_brackets)) break;
        }

        if (is_container) {
            size_t prefix_count = level->prefix_count;
            if ((size_t)(level - first) + 1 >= of->levels_room || prefix_count + level_room > of->prefix_room) break;
            bool is_root = level == first && of->is_root;
            uint8_t *next = prefix + prefix_count;
            if (level->is_object) {
                _mm_storeu_si128((__m128i *)next, name);
                next += name_count;
            } else {
                next = put_index(next, level->position);
            }
            size_t name_end = level->name_end + (size_t)(next - prefix) - prefix_count + (is_root ? 0 : 2);
            /* Two brackets around a member's name, and as many digits as an index may have. */
            size_t around = name_end + (byte == '{' ? 2 : 22);
            if (around > of->longest_name) break;
            if (!is_root) next = put(next, &of->close_mark);
            next = put(next, &of->open_mark);
            level->style = style;
            level->in_object = !level->is_object && byte == '{';
            remember(of, level, bit, name, name_count);
            level++;
            *level = (struct recast_level){
                .name_start = at + 1,
                .name_count = name_count,
                .prefix_count = (size_t)(next - prefix),
                .name_end = name_end,
                .name_room = of->longest_name - around,
                .first_name = of->names_count,
                .bytes_before = of->bytes_left,
                .style = of->style,
                .is_object = byte == '{',
            };
            at = start + 1;
            place = recast_place_first;
            continue;
        }

        const size_t prefix_count = level->prefix_count, skip = of->skip;
        if (of->room - to < prefix_count + field_room) break;
        uint8_t *next = of->target + to;
        /* Most prefixes have at most two blocks, and it costs less to write both than to guess wrong. */
        copy_block(next, prefix + skip);
        copy_block(next + 32, prefix + skip + 32);
        for (size_t done = 64; done < prefix_count - skip; done += 32) copy_block(next + done, prefix + skip + done);
        next += prefix_count - skip;
        if (level->is_object) {
            _mm_storeu_si128((__m128i *)next, name);
            next += name_count;
        } else if (style == recast_style_indices) {
            next = put_index(next, level->position);
        }
        next = put(next, level == first && of->is_root ? &of->root_mark : &of->name_mark);

        if (byte == '"') {
            start++;
            const uint8_t *stop = source + (end - start < of->longest_text ? end : start + of->longest_text);
            stop = write_text(source + start, stop, &next, of->target + of->room, of->table);
            if (!stop) break;
            start = (size_t)(stop - source) + 1;
        } else if (byte <= '9') {
            size_t count = number_count(source + start);
            if (count == 0 || count > of->longest_number) break;
            _mm_storeu_si128((__m128i *)next, _mm_loadu_si128((const __m128i *)(source + start)));
            start += count;
            next += count;
        } else {
            uint32_t word;
            memcpy(&word, source + start, sizeof word);
            const struct recast_literal *literal = NULL;
            if (word == 0x65757274) literal = &of->true_text;
            if (word == 0x6C6C756E) literal = &of->null_text;
            if (word == 0x736C6166 && source[start + 4] == 'e') literal = &of->false_text;
            if (!literal || !literal->is_written) break;
            start += byte == 'f' ? 5 : 4;
            next = put(next, &literal->text);
        }
        next = put(next, &of->text_mark);

        remember(of, level, bit, name, name_count);
        level->style = style;
        level->in_object = level->last_was_object = false;
        level->position++;
        level->written++;
        of->fields++;
        of->skip = 0;
        of->name_start = at + 1;
        of->name_count = level->is_object ? (ptrdiff_t)name_count : -1;
        to = (size_t)(next - of->target);
        at = start;
        place = recast_place_behind;
        /* Most values stand before a comma. */
        if (at < end && source[at] == ',') {
            at++;
            place = recast_place_item;
            level->index++;
        }
    }
    of->at = at;
    of->to = to;
    of->place = place;
    of->depth = (size_t)(level - first);
}

bool recast_has_blocks(void) { return __builtin_cpu_supports("avx2"); }

void recast_fields_write(struct recast_fields *fields) {
    if (recast_has_blocks()) write_fields(fields);
}

#else

bool recast_has_blocks(void) { return false; }

void recast_fields_write(struct recast_fields *fields) { (void)fields; }

#endif
