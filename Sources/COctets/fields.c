#include "COctets.h"

bool recast_is_printed_alike(const uint8_t *number, size_t count) {
    const uint8_t *const digits = number + (*number == '-'), *const end = number + count;
    const uint8_t *at = digits;
    while (at < end && *at != '.') at++;
    if (at == end) return *digits != '0' || digits == number;
    return end[-1] != '0' && (*digits != '0' || digits[2] != '0' || digits[3] != '0');
}

#if defined(__x86_64__)
#include "scalars.h"

/* What is read of an item at most besides white space: a quotation mark, sixteen bytes of a name, a colon, a quotation mark and
   a block of a text. */
enum { value_reach = 1 + text_reach, item_reach = 18 + value_reach };
/* Longer prefixes are left alone. They are read up to two blocks at least. */
enum { longest_prefix = 512 };
/* What a field may take besides further blocks of its text: a prefix, a block behind it, a name, the digits of an index, and two
   marks. */
enum { field_room = longest_prefix + 128 + block_room };
/* What one more level may add to the prefix, and what is read behind it. */
enum { level_room = 96 };
/* A name whose bit is taken is compared with so many at most. */
enum { few_names = 24 };
/* The most bytes of a name that is taken. */
enum { longest_name = 15 };

/* As many bytes of a block as begin at 16 - n are kept, and zeros put behind them. */
static const uint8_t keeping[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

static inline bool is_space(uint8_t byte) {
    return byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t');
}

/* As is_escaped, of half a block. */
AVX2 static inline __m128i is_escaped_half(__m128i half) {
    return _mm256_castsi256_si128(is_escaped(_mm256_castsi128_si256(half)));
}

/* How far the loop has come, and what it needs for the innermost level. */
struct walk {
    const uint8_t *at, *last_item;
    uint8_t *to, *last_to;
    enum recast_place place;
    struct recast_level *level, *last_level;
    uint64_t bits;
    bool is_root;
    const struct recast_mark *name_mark;
    struct recast_name *next_name, *names_end;
    /* The item whose value ended last. */
    const uint8_t *last;
};

static inline void enter(struct walk *walk, const struct recast_fields *of, struct recast_level *level) {
    walk->level = level;
    walk->bits = level->bits;
    walk->is_root = level == of->levels && of->is_root;
    walk->name_mark = walk->is_root ? &of->root_mark : &of->name_mark;
}

/* Ends the levels that end here, up to a comma; false where there is none. */
static inline bool end_levels(struct walk *walk, struct recast_fields *of) {
    const uint8_t *const end = of->source + of->end;
    for (;;) {
        struct recast_level *level = walk->level;
        while (walk->at < end && is_space(*walk->at)) walk->at++;
        if (walk->at == end) return false;
        if (*walk->at == ',') return true;
        if (level == of->levels || *walk->at != (level->is_object ? '}' : ']')) return false;
        walk->at++;
        walk->next_name = of->names + level->first_name;
        of->name_count = -1;
        level--;
        level->position++;
        level->last_was_object = level->in_object;
        enter(walk, of, level);
    }
}

/* Passes the comma behind a value, which isn't the end of the slice; false where there is none. */
static inline bool pass_comma(struct walk *walk, struct recast_fields *of) {
    walk->place = recast_place_behind;
    if (*walk->at != ',' && !end_levels(walk, of)) return false;
    walk->at++;
    walk->level->index++;
    walk->place = recast_place_item;
    return true;
}

/* The white space at `text`, up to `last`, is passed; NULL where there is more. */
__attribute__((noinline)) static const uint8_t *pass_space(const uint8_t *text, const uint8_t *last) {
    while (text <= last && is_space(*text)) text++;
    return text <= last ? text : NULL;
}

/* Whether none of the `count` names has these bytes. */
AVX2 __attribute__((noinline)) static bool is_new(const struct recast_name *names, size_t count, __m128i name) {
    for (; count > 0; names++, count--) {
        const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)&names->first), name);
        if (_mm_movemask_epi8(same) == 0xFFFF) return false;
    }
    return true;
}

/* The name of a member as sixteen bytes, with zeros behind its own, and the number of its bit. */
struct member {
    __m128i name;
    size_t count;
    unsigned bit;
};

/* Reads the name that begins at `text`, and its colon; returns what is behind it. NULL where it isn't a new one, or can't be
   held. */
AVX2 static inline const uint8_t *read_name(const struct walk *walk, const struct recast_fields *of, const uint8_t *text,
                                            struct member *member) {
    const __m128i block = _mm_loadu_si128((const __m128i *)(text + 1));
    /* The next item's place hangs on this number, so it shall be known early. */
    const size_t count = _tzcnt_u32((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, SSE('"'))));
    if (count - 1 > longest_name - 1 || count > walk->level->name_room || text[count + 2] != ':') return NULL;
    /* Multipart has to remember names with a percent sign, which could be what an escape is written as. */
    const __m128i marked = _mm_or_si128(is_escaped_half(block), _mm_cmpeq_epi8(block, SSE('%')));
    if (_tzcnt_u32((uint32_t)_mm_movemask_epi8(marked)) != count) return NULL;
    member->name = _mm_and_si128(block, _mm_loadu_si128((const __m128i *)(keeping + 16 - count)));
    member->count = count;
    if (of->names) {
        const uint64_t head = (uint64_t)_mm_cvtsi128_si64(member->name), tail = (uint64_t)_mm_extract_epi64(member->name, 1);
        member->bit = (unsigned)((head ^ (tail << 7 | tail >> 57) ^ count) * RECAST_NAME_MIX >> 58);
        if (walk->next_name == walk->names_end) return NULL;
        if (walk->bits >> member->bit & 1) {
            const struct recast_name *first = of->names + walk->level->first_name;
            const size_t names = (size_t)(walk->next_name - first);
            /* Of the first level, there may be names that stand elsewhere. */
            if (walk->level == of->levels || names > few_names || !is_new(first, names, member->name)) return NULL;
        }
    }
    return text + count + 3;
}

AVX2 static inline void remember(struct walk *walk, const struct recast_fields *of, const struct member *member) {
    if (!of->names) return;
    walk->bits |= UINT64_C(1) << member->bit;
    struct recast_name *name = walk->next_name++;
    _mm_storeu_si128((__m128i *)&name->first, member->name);
    name->start = 0;
    name->count = (int32_t)member->count;
    name->next = -1;
    name->hash = 0;
}

/* Notes what was written of an item, from `start` on: its name and its text. There is room for one more. */
static inline void note_item(const struct walk *walk, struct recast_fields *of, const uint8_t *start, size_t name_count,
                             const uint8_t *end, enum recast_item_kind kind) {
    struct recast_item *const item = of->items + of->items_count++;
    item->start = (uint32_t)(start - of->target);
    item->name_count = (uint32_t)name_count;
    item->text_count = (uint32_t)((size_t)(end - start) - name_count);
    item->level = (uint16_t)(walk->level - of->levels);
    item->kind = (uint16_t)kind;
}

/* Goes down into the object or array that begins at `text`; false where it can't. */
AVX2 static inline bool open_level(struct walk *walk, struct recast_fields *of, const uint8_t *text,
                                   const struct member *member, enum recast_style style) {
    struct recast_level *const level = walk->level, *const next = level + 1;
    const bool is_object = *text == '{';
    const size_t prefix_count = level->prefix_count;
    if (level == walk->last_level) return false;
    if (prefix_count + level_room > of->prefix_room || prefix_count + level_room > longest_prefix) return false;
    uint8_t *const start = of->items ? walk->to : of->prefix + prefix_count, *to = start;
    size_t name_end = level->name_end;
    if (level->is_object) {
        _mm_storeu_si128((__m128i *)to, member->name);
        to += member->count;
        name_end += member->count;
    } else {
        uint8_t *const end = style == recast_style_indices ? put_index(to, level->position) : to;
        name_end += (size_t)(end - to);
        to = end;
    }
    if (!walk->is_root) name_end += 2;
    /* Two brackets around a member's name, and as many digits as an index may have. */
    const size_t around = name_end + (is_object ? 2 : 22);
    if (around > of->longest_name) return false;
    if (of->items) {
        note_item(walk, of, start, (size_t)(to - start), to, is_object ? recast_item_object : recast_item_array);
        walk->to = to;
        to = of->prefix;
    } else {
        if (!walk->is_root) to = put(to, &of->close_mark);
        to = put(to, &of->open_mark);
    }
    if (level->is_object) {
        remember(walk, of, member);
    } else {
        level->style = style;
        level->in_object = is_object;
    }
    level->bits = walk->bits;
    next->name_start = (size_t)(walk->at + 1 - of->source);
    next->name_count = member->count;
    next->prefix_count = (size_t)(to - of->prefix);
    next->name_end = name_end;
    next->name_room = of->longest_name - around;
    next->bits = 0;
    next->first_name = (size_t)(walk->next_name - of->names);
    next->position = 0;
    next->index = 0;
    next->style = of->style;
    next->is_object = is_object;
    next->in_object = next->last_was_object = false;
    walk->level = next;
    walk->bits = 0;
    walk->is_root = false;
    walk->name_mark = &of->name_mark;
    walk->at = text + 1;
    walk->place = recast_place_first;
    return true;
}

/* Writes the field of the scalar that begins at `text`; false where it can't. */
AVX2 static inline bool write_field(struct walk *walk, struct recast_fields *of, const uint8_t *text,
                                    const struct member *member, enum recast_style style) {
    struct recast_level *const level = walk->level;
    const uint8_t *const prefix = of->prefix;
    const size_t prefix_count = level->prefix_count;
    uint8_t *to = walk->to;
    /* Most prefixes have at most two blocks, and it costs less to write both than to guess wrong. */
    copy_block(to, prefix);
    copy_block(to + 32, prefix + 32);
    if (prefix_count > 64) {
        copy_block(to + 64, prefix + 64);
        for (size_t done = 96; done < prefix_count; done += 32) copy_block(to + done, prefix + done);
    }
    to += prefix_count;
    if (level->is_object) {
        _mm_storeu_si128((__m128i *)to, member->name);
        to += member->count;
    } else if (style == recast_style_indices) {
        to = put_index(to, level->position);
    }
    const size_t name_count = (size_t)(to - walk->to);
    to = put(to, walk->name_mark);
    if (*text == '"') {
        text = write_text(of, text + 1, &to);
        if (!text) return false;
        text++;
    } else if (*text <= '9') {
        const size_t count = number_count(text);
        if (count == 0 || count > of->longest_number) return false;
        if (of->prints_numbers && !recast_is_printed_alike(text, count)) return false;
        _mm_storeu_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)text));
        text += count;
        to += count;
    } else {
        size_t count;
        const struct recast_literal *literal = literal_at(of, text, &count);
        if (!literal) return false;
        to = put(to, &literal->text);
        text += count;
    }
    to = put(to, &of->text_mark);
    if (of->items) note_item(walk, of, walk->to, name_count, to, recast_item_text);
    if (of->skip) {
        memmove(walk->to, walk->to + of->skip, (size_t)(to - walk->to) - of->skip);
        to -= of->skip;
        of->skip = 0;
    }
    walk->last = walk->at;
    of->fields++;
    level->position++;
    if (level->is_object) {
        of->name_count = (ptrdiff_t)member->count;
        remember(walk, of, member);
    } else {
        of->name_count = -1;
        level->style = style;
        level->in_object = level->last_was_object = false;
    }
    walk->at = text;
    walk->to = to;
    return pass_comma(walk, of);
}

/* Writes the next item, or what begins it, and passes the comma behind it; false where it can't. */
AVX2 static inline bool write_item(struct walk *walk, struct recast_fields *of) {
    struct recast_level *const level = walk->level;
    if (of->items && of->items_count == of->items_room) return false;
    struct member member = {_mm_setzero_si128(), 0, 0};
    enum recast_style style = level->style;
    const uint8_t *text = walk->at;
    if (level->is_object) {
        if (*text != '"') return false;
        text = read_name(walk, of, text, &member);
        if (!text) return false;
        if (is_space(*text)) {
            text = pass_space(text, of->source + of->end - value_reach);
            if (!text) return false;
        }
    }
    const bool is_container = *text == '{' || *text == '[';
    if (!level->is_object) {
        if (style == recast_style_open) style = is_container ? recast_style_indices : recast_style_brackets;
        if (style == recast_style_other || (is_container && style == recast_style_brackets && !of->nests_in_brackets))
            return false;
    }
    return is_container ? open_level(walk, of, text, &member, style) : write_field(walk, of, text, &member, style);
}

/* What so many names count, of which `names` are the first. */
static size_t bytes_of(const struct recast_name *names, size_t count) {
    size_t bytes = 0;
    for (size_t number = 0; number < count; number++) bytes += (size_t)names[number].count + RECAST_NAME_OVERHEAD;
    return bytes;
}

AVX2 static void write_fields(struct recast_fields *of) {
    if (of->end < item_reach || of->longest_text < text_reach || of->room < field_room || of->left == 0 ||
        of->levels->prefix_count > longest_prefix)
        return;
    const size_t position = of->levels->position;
    const size_t room = of->room - field_room;
    const size_t names_room = of->bytes_left / (longest_name + RECAST_NAME_OVERHEAD);
    struct walk walk = {
        .at = of->source + of->at,
        .last_item = of->source + of->end - item_reach,
        .to = of->target + of->to,
        .last_to = of->target + (room < of->left ? room : of->left - 1),
        .place = of->place,
        .last_level = of->levels + of->levels_room - 1,
        .next_name = of->names + of->names_count,
        .names_end = of->names,
        .last = of->source + of->name_start - 1,
    };
    if (of->names) walk.names_end += names_room < of->names_room ? names_room : of->names_room;
    enter(&walk, of, of->levels);
    if (walk.place != recast_place_behind || (of->at < of->end && pass_comma(&walk, of))) {
        while (walk.at <= walk.last_item && walk.to <= walk.last_to) {
            if (write_item(&walk, of)) continue;
            if (walk.place == recast_place_behind || !is_space(*walk.at)) break;
            walk.at++;
        }
    }
    walk.level->bits = walk.bits;
    of->at = (size_t)(walk.at - of->source);
    of->to = (size_t)(walk.to - of->target);
    of->place = walk.place;
    of->name_start = (size_t)(walk.last + 1 - of->source);
    of->depth = (size_t)(walk.level - of->levels);
    of->levels->written = of->levels->position - position;
    for (struct recast_level *level = of->levels; level < walk.level; level++) {
        level[1].written = level[1].position;
        of->bytes_left -= bytes_of(of->names + level->first_name, level[1].first_name - level->first_name);
        level[1].bytes_before = of->bytes_left;
    }
    of->bytes_left -= bytes_of(of->names + walk.level->first_name, (size_t)(walk.next_name - of->names) - walk.level->first_name);
    of->names_count = (size_t)(walk.next_name - of->names);
}

bool recast_has_blocks(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

void recast_fields_write(struct recast_fields *fields) {
    if (recast_has_blocks()) write_fields(fields);
}

#else

bool recast_has_blocks(void) { return false; }

void recast_fields_write(struct recast_fields *fields) { (void)fields; }

#endif
