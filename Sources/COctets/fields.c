#include "COctets.h"
#include <string.h>

/* As recast_is_printed_alike, where it is known whether there is a fraction. */
static inline bool is_printed_alike(const uint8_t *number, size_t count, bool has_fraction) {
    const uint8_t *const digits = number + (*number == '-');
    if (!has_fraction) return *digits != '0' || digits == number;
    return number[count - 1] != '0' && (*digits != '0' || digits[2] != '0' || digits[3] != '0');
}

bool recast_is_printed_alike(const uint8_t *number, size_t count) {
    return is_printed_alike(number, count, memchr(number, '.', count));
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
    const struct recast_brackets *brackets;
    /* The byte that names must not have, sixteen times. */
    __m128i left_in_names;
    struct recast_name *next_name, *names_end;
    /* The item whose value ended last. */
    const uint8_t *last;
    /* Where there is a tree: the innermost level's node, the next node and where there is none, and the numbers of both and of the
       latest child; where the number of the next one goes; and where the pool begins. */
    struct recast_node *open, *next_node;
    const struct recast_node *nodes_end;
    int32_t open_number, next_number, last_number, *link;
    const uint8_t *pool;
    /* The innermost level so far. */
    const struct recast_level *deepest;
};

static inline void enter(struct walk *walk, const struct recast_fields *of, struct recast_level *level) {
    walk->level = level;
    walk->bits = level->bits;
    walk->is_root = level == of->levels && of->is_root;
    walk->brackets = of->brackets + level->is_object;
    walk->name_mark = walk->is_root ? &of->root_mark : &walk->brackets->end;
}

_Static_assert(offsetof(struct recast_node, next) == 12 && offsetof(struct recast_node, count) == 20, "stored together");
_Static_assert(offsetof(struct recast_node, plain) == offsetof(struct recast_node, kind) + 3, "stored together");

/* Puts an item into the tree, as the last child of what is open: its name, a plain one or none, which was written from `start`
   on, and behind it its text. There is room for one more. */
AVX2 static inline void put_node(struct walk *walk, const uint8_t *start, size_t name_count, const uint8_t *end,
                                 enum recast_node_kind kind, uint8_t plain) {
    struct recast_node *const node = walk->next_node++;
    const int32_t number = walk->next_number++, from = (int32_t)(start - walk->pool);
    /* What stands together is stored together: the parent and no other node, the one before and no children, what the node is. */
    _mm_storeu_si128((__m128i *)&node->parent, _mm_insert_epi32(_mm_set1_epi32(-1), walk->open_number, 0));
    const uint64_t before = (uint32_t)walk->last_number;
    memcpy(&node->previous, &before, sizeof before);
    node->name_start = from;
    node->name_count = (int32_t)name_count;
    node->text_start = from + (int32_t)name_count;
    node->text_count = (int32_t)(end - walk->pool) - node->text_start;
    const uint32_t is = (uint32_t)kind | (uint32_t)plain << 24;
    memcpy(&node->kind, &is, sizeof is);
    walk->open->last = number;
    walk->open->count++;
    *walk->link = number;
    walk->link = &node->next;
    walk->last_number = number;
}

/* Opens the node that was put last. */
static inline void open_node(struct walk *walk) {
    walk->open = walk->next_node - 1;
    walk->open_number = walk->last_number;
    walk->link = &walk->open->first;
    walk->last_number = -1;
}

static inline void close_node(struct walk *walk, const struct recast_fields *of) {
    walk->link = &walk->open->next;
    walk->last_number = walk->open_number;
    walk->open_number = walk->open->parent;
    walk->open = of->nodes + walk->open_number;
}

/* Finds the tree's place where the walk begins. */
static inline void enter_tree(struct walk *walk, const struct recast_fields *of) {
    walk->open = of->nodes + of->open;
    walk->open_number = of->open;
    walk->next_node = of->nodes + of->nodes_count;
    walk->next_number = (int32_t)of->nodes_count;
    walk->nodes_end = of->nodes + of->nodes_room;
    walk->pool = of->target - of->pool_start;
    walk->deepest = of->levels;
    walk->last_number = walk->open->last;
    walk->link = walk->last_number < 0 ? &walk->open->first : &of->nodes[walk->last_number].next;
}

/* Looks whether what is open has many members, which the tree is to find by their names. */
static inline void note_many(const struct walk *walk, struct recast_fields *of) {
    if (walk->open->count > recast_few_nodes && walk->open->kind == recast_node_object) of->has_many = true;
}

/* Ends the levels that end here, up to a comma; false where there is none. */
INLINED bool end_levels(struct walk *walk, struct recast_fields *of, bool is_held) {
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
        if (is_held) {
            note_many(walk, of);
            close_node(walk, of);
        }
        level--;
        level->position++;
        level->last_was_object = level->in_object;
        enter(walk, of, level);
    }
}

/* Passes the comma behind a value, which isn't the end of the slice; false where there is none. */
INLINED bool pass_comma(struct walk *walk, struct recast_fields *of, bool is_held) {
    walk->place = recast_place_behind;
    if (*walk->at != ',' && !end_levels(walk, of, is_held)) return false;
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

/* Whether so many letters, digits, '-', '.' and '_' are the name of a number, as Swift's `Int` reads it. */
__attribute__((noinline)) static bool is_number_name(const uint8_t *name, size_t count) {
    size_t at = *name == '-';
    if (at == count) return false;
    for (; at < count; at++) {
        if (name[at] < '0' || name[at] > '9') return false;
    }
    return true;
}

/* Looks whether the name of the member that was put last, and begins at `at`, is that of a number: most often what it begins with
   says no. */
static inline void look_at_name(const struct walk *walk, struct recast_fields *of, const struct member *member) {
    if (walk->at[1] <= '9' && is_number_name(walk->at + 1, member->count)) of->has_number_names = true;
}

/* Reads the name that begins at `text`, and its colon; returns what is behind it. NULL where it isn't a new one, or can't be
   held. */
AVX2 INLINED const uint8_t *read_name(const struct walk *walk, const struct recast_fields *of, const uint8_t *text,
                                      struct member *member, bool is_held) {
    const __m128i block = _mm_loadu_si128((const __m128i *)(text + 1));
    /* The next item's place hangs on this number, so it shall be known early. */
    const size_t count = _tzcnt_u32((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, SSE('"'))));
    if (count - 1 > recast_longest_name - 1 || count > walk->level->name_room || text[count + 2] != ':') return NULL;
    const __m128i marked = is_held ? is_escaped_half(block)
                                   : _mm_or_si128(is_escaped_half(block), _mm_cmpeq_epi8(block, walk->left_in_names));
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
            if ((walk->level == of->levels && of->left_bits >> member->bit & 1) || names >= recast_few_names ||
                !is_new(first, names, member->name))
                return NULL;
        }
    }
    return text + count + 3;
}

AVX2 static inline void remember(struct walk *walk, const struct recast_fields *of, const struct member *member) {
    if (!of->names) return;
    walk->bits |= UINT64_C(1) << member->bit;
    struct recast_name *name = walk->next_name++;
    _mm_storeu_si128((__m128i *)&name->first, member->name);
    /* What stands together is stored together: where it stands, its count, no other name and no hash. */
    _mm_storeu_si128((__m128i *)&name->start, _mm_insert_epi32(_mm_setr_epi32(0, 0, -1, 0), (int)member->count, 1));
}

/* Writes what stands before the names below an object or array, behind what does before its own, and returns where that ends;
   NULL where it is too much. */
AVX2 static inline uint8_t *put_level(const struct walk *walk, struct recast_fields *of, struct recast_level *next, bool is_object,
                                      const struct member *member, enum recast_style style) {
    struct recast_level *const level = walk->level;
    const size_t prefix_count = level->prefix_count;
    if (prefix_count + level_room > of->prefix_room || prefix_count + level_room > longest_prefix) return NULL;
    uint8_t *const start = of->prefix + prefix_count, *to = start;
    if (level->is_object) {
        _mm_storeu_si128((__m128i *)to, member->name);
        to += member->count;
    } else if (style == recast_style_indices) {
        to = put_index(to, level->position);
    }
    const size_t name_end = level->name_end + (size_t)(to - start) + (walk->is_root ? 0 : 2);
    /* Two brackets around a member's name, and as many digits as an index may have. */
    const size_t around = name_end + (is_object ? 2 : 22);
    if (around > of->longest_name) return NULL;
    if (!walk->is_root) to = put(to, &walk->brackets->close);
    next->name_end = name_end;
    next->name_room = of->longest_name - around;
    return put(to, &of->brackets[is_object].open);
}

/* Goes down into the object or array that begins at `text`; false where it can't. */
AVX2 INLINED bool open_level(struct walk *walk, struct recast_fields *of, const uint8_t *text, const struct member *member,
                             enum recast_style style, bool is_held) {
    struct recast_level *const level = walk->level, *const next = level + 1;
    const bool is_object = *text == '{';
    if (level == walk->last_level || (is_object ? of->leaves_objects : of->leaves_arrays)) return false;
    if (is_held) {
        uint8_t *const start = walk->to;
        if (level->is_object) {
            _mm_storeu_si128((__m128i *)start, member->name);
            walk->to += member->count;
        }
        put_node(walk, start, (size_t)(walk->to - start), walk->to, is_object ? recast_node_object : recast_node_array,
                 recast_plain_name);
        if (level->is_object) look_at_name(walk, of, member);
        open_node(walk);
        if (next > walk->deepest) walk->deepest = next;
        next->name_room = level->name_room;
    } else {
        const uint8_t *const end = put_level(walk, of, next, is_object, member, style);
        if (!end) return false;
        next->prefix_count = (size_t)(end - of->prefix);
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
    if (!is_held) walk->brackets = of->brackets + is_object, walk->name_mark = &walk->brackets->end;
    walk->at = text + 1;
    walk->place = recast_place_first;
    return true;
}

/* Writes what stands before the names of the innermost level's members. */
AVX2 static inline uint8_t *put_prefix(uint8_t *to, const struct recast_fields *of, size_t count) {
    const uint8_t *const prefix = of->prefix;
    /* Most prefixes have at most two blocks, and it costs less to write both than to guess wrong. */
    copy_block(to, prefix);
    copy_block(to + 32, prefix + 32);
    if (count > 64) {
        copy_block(to + 64, prefix + 64);
        for (size_t done = 96; done < count; done += 32) copy_block(to + done, prefix + done);
    }
    return to + count;
}

/* Writes the field of the scalar that begins at `text`, or puts it into the tree; false where it can't. */
AVX2 INLINED bool write_field(struct walk *walk, struct recast_fields *of, const uint8_t *text, const struct member *member,
                              enum recast_style style, bool is_held) {
    struct recast_level *const level = walk->level;
    uint8_t *to = walk->to;
    if (!is_held) to = put_prefix(to, of, level->prefix_count);
    if (level->is_object) {
        _mm_storeu_si128((__m128i *)to, member->name);
        to += member->count;
    } else if (!is_held && style == recast_style_indices) {
        to = put_index(to, level->position);
    }
    const size_t name_count = (size_t)(to - walk->to);
    if (!is_held) to = put(to, walk->name_mark);
    uint8_t plain = recast_plain_name;
    if (*text == '"') {
        bool is_plain = false;
        text = write_text(of, text + 1, &to, is_held, &is_plain);
        if (!text) return false;
        if (is_plain) plain |= recast_plain_text;
        text++;
    } else if (*text <= '9') {
        bool has_fraction;
        const size_t count = number_count(text, &has_fraction);
        if (count == 0 || count > of->longest_number) return false;
        if (of->prints_numbers && !is_printed_alike(text, count, has_fraction)) return false;
        plain |= recast_plain_text;
        _mm_storeu_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)text));
        text += count;
        to += count;
    } else {
        size_t count;
        const struct recast_literal *literal = literal_at(of, text, &count);
        if (!literal) return false;
        plain |= recast_plain_text;
        to = put(to, &literal->text);
        text += count;
    }
    if (is_held) {
        put_node(walk, walk->to, name_count, to, recast_node_string, plain);
    } else {
        to = put(to, &of->text_mark);
        if (of->skip) {
            memmove(walk->to, walk->to + of->skip, (size_t)(to - walk->to) - of->skip);
            to -= of->skip;
            of->skip = 0;
        }
    }
    walk->last = walk->at;
    of->fields++;
    level->position++;
    if (level->is_object) {
        of->name_count = (ptrdiff_t)member->count;
        if (is_held) look_at_name(walk, of, member);
        remember(walk, of, member);
    } else {
        of->name_count = -1;
        level->style = style;
        level->in_object = level->last_was_object = false;
    }
    walk->at = text;
    walk->to = to;
    return pass_comma(walk, of, is_held);
}

/* Writes the next item, or what begins it, and passes the comma behind it; false where it can't. */
AVX2 INLINED bool write_item(struct walk *walk, struct recast_fields *of, bool is_held) {
    struct recast_level *const level = walk->level;
    if (is_held && walk->next_node == walk->nodes_end) return false;
    struct member member = {_mm_setzero_si128(), 0, 0};
    enum recast_style style = level->style;
    const uint8_t *text = walk->at;
    if (level->is_object) {
        if (*text != '"') return false;
        text = read_name(walk, of, text, &member, is_held);
        if (!text) return false;
        if (is_space(*text)) {
            text = pass_space(text, of->source + of->end - value_reach);
            if (!text) return false;
        }
    }
    const bool is_container = *text == '{' || *text == '[';
    if (!level->is_object && !is_held) {
        if (style == recast_style_open) style = is_container ? recast_style_indices : recast_style_brackets;
        if (style == recast_style_other || (is_container && style == recast_style_brackets && !of->nests_in_brackets))
            return false;
    }
    return is_container ? open_level(walk, of, text, &member, style, is_held)
                        : write_field(walk, of, text, &member, style, is_held);
}

/* What so many names count, of which `names` are the first. */
static size_t bytes_of(const struct recast_name *names, size_t count) {
    size_t bytes = 0;
    for (size_t number = 0; number < count; number++) bytes += (size_t)names[number].count + RECAST_NAME_OVERHEAD;
    return bytes;
}

AVX2 INLINED void write_items(struct recast_fields *of, bool is_held) {
    if (of->end < item_reach || of->longest_text < text_reach || of->room < field_room || of->left == 0 ||
        of->levels->prefix_count > longest_prefix)
        return;
    const size_t position = of->levels->position, names_count = of->names_count;
    const size_t room = of->room - field_room;
    const size_t names_room = of->bytes_left / (recast_longest_name + RECAST_NAME_OVERHEAD);
    struct walk walk = {
        .at = of->source + of->at,
        .last_item = of->source + of->end - item_reach,
        .to = of->target + of->to,
        .last_to = of->target + (room < of->left ? room : of->left - 1),
        .place = of->place,
        .left_in_names = SSE(of->left_in_names),
        .last_level = of->levels + of->levels_room - 1,
        .next_name = of->names + names_count,
        .names_end = of->names + names_count,
        .last = of->source + of->name_start - 1,
    };
    if (is_held) enter_tree(&walk, of);
    if (of->names) walk.names_end += names_room < of->names_room ? names_room : of->names_room;
    enter(&walk, of, of->levels);
    if (walk.place != recast_place_behind || (of->at < of->end && pass_comma(&walk, of, is_held))) {
        while (walk.at <= walk.last_item && walk.to <= walk.last_to) {
            if (write_item(&walk, of, is_held)) continue;
            if (walk.place == recast_place_behind || !is_space(*walk.at)) break;
            walk.at++;
        }
    }
    walk.level->bits = walk.bits;
    if (is_held) {
        of->open = walk.open_number;
        of->nodes_count = (size_t)walk.next_number;
        of->deepest = (size_t)(walk.deepest - of->levels);
        for (size_t depth = (size_t)(walk.level - of->levels); depth > 0; depth--) {
            note_many(&walk, of);
            close_node(&walk, of);
        }
        note_many(&walk, of);
    }
    of->at = (size_t)(walk.at - of->source);
    of->to = (size_t)(walk.to - of->target);
    of->place = walk.place;
    of->name_start = (size_t)(walk.last + 1 - of->source);
    of->depth = (size_t)(walk.level - of->levels);
    of->levels->written = of->levels->position - position;
    of->levels->first_name = names_count;
    for (struct recast_level *level = of->levels; level < walk.level; level++) {
        level[1].written = level[1].position;
        of->bytes_left -= bytes_of(of->names + level->first_name, level[1].first_name - level->first_name);
        level[1].bytes_before = of->bytes_left;
    }
    of->bytes_left -= bytes_of(of->names + walk.level->first_name, (size_t)(walk.next_name - of->names) - walk.level->first_name);
    of->names_count = (size_t)(walk.next_name - of->names);
}

AVX2 static void write_fields(struct recast_fields *of) { write_items(of, false); }

/* As above, into the tree. */
AVX2 static void hold_fields(struct recast_fields *of) { write_items(of, true); }

bool recast_has_blocks(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

void recast_fields_write(struct recast_fields *fields) {
    if (recast_has_blocks()) fields->nodes ? hold_fields(fields) : write_fields(fields);
}

#else

bool recast_has_blocks(void) { return false; }

void recast_fields_write(struct recast_fields *fields) { (void)fields; }

#endif
