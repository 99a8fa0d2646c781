#include "numbers.h"

bool recast_is_printed_alike(const uint8_t *number, size_t count) {
    return is_printed_alike(number, count, memchr(number, '.', count));
}

#if defined(__x86_64__)
#include "hash.h"
#include "scalars.h"

/* What is read of an item at most besides white space: a quotation mark, sixteen bytes of a name, a colon, a quotation mark and
   a block of a text. */
enum { value_reach = 1 + text_reach, item_reach = 18 + value_reach };
/* As above, with two blocks for a name. */
enum { other_name_reach = 1 + 64 + 2 + value_reach };
/* What a name of two blocks may become. */
enum { other_name_room = 3 * 64 };
/* Longer prefixes are left alone. They are read up to two blocks at least. */
enum { longest_prefix = 512 };
/* What a field may take besides further blocks of its text: a prefix, a block behind it, a name, the digits of an index, and two
   marks. */
enum { field_room = longest_prefix + other_name_room + 128 + block_room };
/* What one more level may add to the prefix besides a name that isn't short and plain, and what is read behind it. */
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
    size_t long_count;
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

/* Whether an object or array that ends with nothing written is passed; else that is left alone. */
__attribute__((noinline)) static bool leaves_nothing(struct recast_fields *of, const struct recast_level *level, bool is_held) {
    if (is_held) {
        of->has_gaps = true;
        return true;
    }
    if (!(level[-1].is_object ? of->omits_empties : of->omits_empty_elements)) return false;
    if (level->position == 0) of->removed++;
    return true;
}

/* Ends the levels that end here, up to a comma; false where there is none. Only behind an odd value may nothing of a level
   be written. */
INLINED bool end_levels(struct walk *walk, struct recast_fields *of, bool is_held, bool is_odd) {
    const uint8_t *const end = of->source + of->end;
    for (;;) {
        struct recast_level *level = walk->level;
        while (walk->at < end && is_space(*walk->at)) walk->at++;
        if (walk->at == end) return false;
        if (*walk->at == ',') return true;
        if (level == of->levels || *walk->at != (level->is_object ? '}' : ']')) return false;
        const bool is_empty = is_odd && level->position == level->omitted;
        if (is_empty && !leaves_nothing(of, level, is_held)) return false;
        walk->at++;
        walk->next_name = of->names + level->first_name;
        walk->long_count = level->first_long;
        of->name_count = -1;
        if (is_held) {
            note_many(walk, of);
            close_node(walk, of);
        }
        level--;
        level->position++;
        if (is_empty && !is_held) {
            level->omitted++;
            /* The first element of which something is written settles how all are named. */
            if (level->omitted == level->position) level->style = of->style;
        } else {
            level->last_was_object = level->in_object;
        }
        enter(walk, of, level);
    }
}

/* Passes the comma behind a value, which isn't the end of the slice; false where there is none. */
INLINED bool pass_comma(struct walk *walk, struct recast_fields *of, bool is_held, bool is_odd) {
    walk->place = recast_place_behind;
    if (*walk->at != ',' && !end_levels(walk, of, is_held, is_odd)) return false;
    walk->at++;
    walk->level->index++;
    walk->place = recast_place_item;
    return true;
}

/* Ends what has nothing in it, and passes the comma behind it; false where there is none. */
INLINED bool end_empty(struct walk *walk, struct recast_fields *of, bool is_held) {
    const uint8_t *const start = walk->at;
    if (pass_comma(walk, of, is_held, true)) return true;
    if (walk->at == start) walk->place = recast_place_first;
    return false;
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

/* A name that isn't short and plain: its bytes, which are read in two blocks, in the slice or, where there are escapes in it, here; what it
   takes in the slice; and how it is written. */
struct other_name {
    const uint8_t *name;
    size_t count, source_count;
    uint8_t bytes[other_name_room + 96];
    size_t bytes_count;
    bool is_plain;
    uint8_t unescaped[128];
};

/* The name of a member as sixteen bytes, with zeros behind its own, or the first and the last eight of more; and the number of its bit.
   What there is of a name that isn't short and plain, NULL for others. */
struct member {
    __m128i name;
    size_t count;
    unsigned bit;
    const struct other_name *other;
};

AVX2 __attribute__((noinline)) static uint8_t *put_other_name(uint8_t *to, const struct other_name *other) {
    for (size_t done = 0; done < other->bytes_count; done += 32) copy_block(to + done, other->bytes + done);
    return to + other->bytes_count;
}

/* The bytes of the name of the member at hand, and what they take in the slice. */
static inline const uint8_t *name_of(const struct walk *walk, const struct member *member) {
    return member->other ? member->other->name : walk->at + 1;
}

static inline size_t source_count_of(const struct member *member) { return member->other ? member->other->source_count : member->count; }

/* Writes a member's name. */
AVX2 INLINED uint8_t *put_name(uint8_t *to, const struct member *member) {
    if (member->other) return put_other_name(to, member->other);
    _mm_storeu_si128((__m128i *)to, member->name);
    return to + member->count;
}

/* What chose the chain of a name of the first level. */
static inline uint32_t chain_of(const struct recast_fields *of, const uint8_t *name, size_t count, uint64_t first, uint64_t last) {
    const uint64_t hash = count > 16 ? hash_of_long(of->seed, of->multiplier, name, count, 0)
                                     : hash_of_words(of->seed, of->multiplier, first, last, count);
    return (uint32_t)hash ^ of->depth_in_chains;
}

/* Whether a name that was held is this one. */
static inline bool is_name(const struct recast_fields *of, const struct recast_name *held, const uint8_t *name, size_t count,
                           uint64_t first, uint64_t last) {
    if (held->first != first || held->last != last || (size_t)held->count != count) return false;
    return count <= 16 || memcmp(of->long_names + held->start, name, count) == 0;
}

/* Whether none of the first level's names, which stand in chains, is this one. */
__attribute__((noinline)) static bool is_new_in_chains(const struct recast_fields *of, const uint8_t *name, size_t count,
                                                       uint64_t first, uint64_t last) {
    const uint32_t hash = chain_of(of, name, count, first, last);
    /* The names of outer objects stand behind those of this one. */
    for (int32_t at = of->chains[hash & (of->chains_count - 1)]; at >= of->names_start;) {
        const struct recast_name *const held = of->names + (at - of->names_start);
        if (held->hash == hash && is_name(of, held, name, count, first, last)) return false;
        at = held->next;
    }
    return true;
}

/* As is_new, of any name. */
__attribute__((noinline)) static bool is_new_among(const struct recast_fields *of, const struct recast_name *names, size_t number,
                                                   const uint8_t *name, size_t count, uint64_t first, uint64_t last) {
    for (; number > 0; names++, number--) {
        if (is_name(of, names, name, count, first, last)) return false;
    }
    return true;
}

/* Whether so many bytes are the name of a number, as Swift's `Int` reads it. */
__attribute__((noinline)) static bool is_number_name(const uint8_t *name, size_t count) {
    size_t at = *name == '-' || *name == '+';
    if (at == count) return false;
    for (; at < count; at++) {
        if (name[at] < '0' || name[at] > '9') return false;
    }
    return true;
}

/* Looks whether the name of the member that was put last is that of a number: most often what it begins with says no. */
static inline void look_at_name(const struct walk *walk, struct recast_fields *of, const struct member *member) {
    const uint8_t *const name = name_of(walk, member);
    if (*name <= '9' && is_number_name(name, member->count)) of->has_number_names = true;
}

/* Finds the bit of a name. */
AVX2 static inline void find_bit(struct member *member) {
    const uint64_t head = (uint64_t)_mm_cvtsi128_si64(member->name), tail = (uint64_t)_mm_extract_epi64(member->name, 1);
    member->bit = (unsigned)((head ^ (tail << 7 | tail >> 57) ^ member->count) * RECAST_NAME_MIX >> 58);
}

/* Reads the name that begins at `text`, and its colon; returns what is behind it. NULL where it isn't short and plain. */
AVX2 INLINED const uint8_t *read_name(const struct walk *walk, const uint8_t *text, struct member *member, bool is_held) {
    const __m128i block = _mm_loadu_si128((const __m128i *)(text + 1));
    /* The next item's place hangs on this number, so it shall be known early. */
    const size_t count = _tzcnt_u32((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, SSE('"'))));
    if (count - 1 > recast_longest_plain_name - 1 || count > walk->level->name_room || text[count + 2] != ':') return NULL;
    const __m128i marked = is_held ? is_escaped_half(block)
                                   : _mm_or_si128(is_escaped_half(block), _mm_cmpeq_epi8(block, walk->left_in_names));
    if (_tzcnt_u32((uint32_t)_mm_movemask_epi8(marked)) != count) return NULL;
    member->name = _mm_and_si128(block, _mm_loadu_si128((const __m128i *)(keeping + 16 - count)));
    member->count = count;
    return text + count + 3;
}

/* Whether a name that is short and plain is a new one of the innermost level, and can be held; of the first level, where that has few
   names. Finds its bit. */
AVX2 INLINED bool is_new_plain(const struct walk *walk, const struct recast_fields *of, struct member *member) {
    if (!of->names) return true;
    find_bit(member);
    if (walk->next_name == walk->names_end) return false;
    if (!(walk->bits >> member->bit & 1)) return true;
    const struct recast_name *first = of->names + walk->level->first_name;
    const size_t names = (size_t)(walk->next_name - first);
    return !(walk->level == of->levels && of->left_bits >> member->bit & 1) && names < recast_few_names &&
           is_new(first, names, member->name);
}

/* As above, of any name, which stands at `name`. */
AVX2 INLINED bool is_new_member(const struct walk *walk, const struct recast_fields *of, const uint8_t *name, struct member *member) {
    if (!of->names) return true;
    find_bit(member);
    if (walk->next_name == walk->names_end || (member->count > 16 && walk->long_count + member->count > of->long_room)) return false;
    if (!(walk->bits >> member->bit & 1)) return true;
    const uint64_t head = (uint64_t)_mm_cvtsi128_si64(member->name), tail = (uint64_t)_mm_extract_epi64(member->name, 1);
    const bool is_first = walk->level == of->levels;
    if (is_first && of->left_bits >> member->bit & 1) return false;
    if (is_first && of->chains) return is_new_in_chains(of, name, member->count, head, tail);
    const struct recast_name *first = of->names + walk->level->first_name;
    const size_t names = (size_t)(walk->next_name - first);
    return names < recast_few_names && is_new_among(of, first, names, name, member->count, head, tail);
}

/* Puts what the name that begins at `name` stands for, in which there are escapes, where there is `room`. Returns where its quotation mark
   is; NULL where it is left alone. */
__attribute__((noinline)) static const uint8_t *unescape_name(const struct recast_fields *of, const uint8_t *name, uint8_t *target,
                                                              size_t room, size_t *count) {
    const uint8_t *const end = of->source + of->end - 2 - value_reach, *text = name;
    uint8_t *to = target;
    while (*text != '"') {
        if (*text < 0x20 || to - target > recast_longest_name) return NULL;
        if (*text == '\\' && text[1] == 'u') {
            const uint8_t *const start = text;
            text = write_units(text, end, NULL, &to, target + room);
            if (!text || text == start) return NULL;
        } else if (*text == '\\') {
            *to++ = unescaped(text[1]);
            if (to[-1] == 0) return NULL;
            text += 2;
        } else {
            *to++ = *text++;
        }
        if (text >= end) return NULL;
    }
    *count = (size_t)(to - target);
    return text;
}

/* Writes a name of two blocks as `other`, which takes so many bytes in the slice; false where it is left alone. */
AVX2 INLINED bool spell_other_name(struct recast_fields *of, const uint8_t *name, size_t count, size_t source_count, size_t most,
                                   bool has_escapes, bool is_held, struct other_name *other) {
    if (count - 1 > recast_longest_name - 1 || count > most) return false;
    const __m256i blocks[2] = {_mm256_loadu_si256((const __m256i *)name), _mm256_loadu_si256((const __m256i *)(name + 32))};
    uint64_t beyond = 0, escaped = 0, left = 0;
    for (int number = 0; number < 2; number++) {
        const __m256i block = blocks[number];
        __m256i marks = _mm256_or_si256(_mm256_cmpeq_epi8(block, _mm256_set1_epi8('[')), _mm256_cmpeq_epi8(block, _mm256_set1_epi8(']')));
        marks = _mm256_or_si256(marks, _mm256_cmpeq_epi8(block, _mm256_set1_epi8((char)of->left_in_names)));
        if (!of->table) {
            /* What a part's head has to write otherwise, and what looks as if it had been. */
            const __m256i percents = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('%'));
            marks = _mm256_or_si256(marks, _mm256_or_si256(percents, _mm256_cmpeq_epi8(block, _mm256_set1_epi8(0x7F))));
            if (has_escapes) left |= (uint64_t)ends_of(block) << 32 * number;
        }
        left |= (uint64_t)(uint32_t)_mm256_movemask_epi8(marks) << 32 * number;
        beyond |= (uint64_t)(uint32_t)_mm256_movemask_epi8(block) << 32 * number;
        escaped |= (uint64_t)(uint32_t)_mm256_movemask_epi8(is_escaped(block)) << 32 * number;
    }
    const uint64_t kept = (UINT64_C(1) << count) - 1;
    if (!is_held && left & kept) return false;
    if (beyond & kept && !is_utf8(name, name + count)) return false;
    if (count > of->longest_name_taken) of->longest_name_taken = count;
    const struct spelling as = spelling_of(is_held ? NULL : of->table);
    const size_t first_count = count < 32 ? count : 32;
    uint8_t *to = other->bytes;
    to += write_block(name, (uint32_t)kept, blocks[0], to, as) + first_count;
    if (count > 32) to += write_block(name + 32, (uint32_t)(kept >> 32), blocks[1], to, as) + count - 32;
    other->bytes_count = (size_t)(to - other->bytes);
    other->is_plain = (escaped & kept) == 0;
    other->name = name;
    other->count = count;
    other->source_count = source_count;
    return true;
}

/* As read_other_name, of one with escapes. */
AVX2 __attribute__((noinline)) static const uint8_t *read_escaped_name(struct recast_fields *of, const uint8_t *name, size_t most,
                                                                       bool is_held, struct other_name *other) {
    size_t count;
    const uint8_t *const last = unescape_name(of, name, other->unescaped, sizeof other->unescaped, &count);
    if (!last || last[1] != ':') return NULL;
    return spell_other_name(of, other->unescaped, count, (size_t)(last - name), most, true, is_held, other) ? last + 2 : NULL;
}

/* As read_name, of any name of up to 63 bytes, or `most` where these are fewer, in which nothing is left alone; writes it as `other`. */
AVX2 __attribute__((noinline)) static const uint8_t *read_other_name(struct recast_fields *of, const uint8_t *text, size_t most,
                                                                     bool is_held, struct other_name *other) {
    if (of->source + of->end - text < other_name_reach) return NULL;
    const uint8_t *const name = text + 1;
    const uint64_t ends = ends_of(_mm256_loadu_si256((const __m256i *)name));
    const uint64_t more = ends_of(_mm256_loadu_si256((const __m256i *)(name + 32)));
    const size_t count = (size_t)_tzcnt_u64(ends | more << 32);
    if (name[count] != '"') {
        return count <= recast_longest_name && name[count] == '\\' ? read_escaped_name(of, name, most, is_held, other) : NULL;
    }
    if (name[count + 1] != ':' || !spell_other_name(of, name, count, count, most, false, is_held, other)) return NULL;
    return name + count + 2;
}

/* Fills in a name that isn't short and plain. */
AVX2 static inline void note_other_name(struct member *member, const struct other_name *other) {
    const size_t count = other->count;
    member->count = count;
    member->other = other;
    const __m128i first = _mm_loadu_si128((const __m128i *)other->name);
    member->name = count <= 16 ? _mm_and_si128(first, _mm_loadu_si128((const __m128i *)(keeping + 16 - count)))
                               : _mm_unpacklo_epi64(first, _mm_loadl_epi64((const __m128i *)(other->name + count - 8)));
}

/* Keeps the bytes of a long name, behind `long_count` of others, and puts one of the first level into its chain, where there are
   chains. Returns how many bytes there are then. */
__attribute__((noinline)) static size_t remember_more(const struct recast_fields *of, struct recast_name *held, const uint8_t *name,
                                                      size_t long_count, bool is_first) {
    if (held->count > 16) {
        memcpy(of->long_names + long_count, name, (size_t)held->count);
        held->start = (int32_t)long_count;
        long_count += (size_t)held->count;
    }
    if (is_first && of->chains) {
        held->hash = chain_of(of, name, (size_t)held->count, held->first, held->last);
        int32_t *const chain = of->chains + (held->hash & (of->chains_count - 1));
        held->next = *chain;
        *chain = of->names_start + (int32_t)(held - of->names);
    }
    return long_count;
}

AVX2 INLINED void remember(struct walk *walk, const struct recast_fields *of, const struct member *member, bool is_any) {
    if (!of->names) return;
    walk->bits |= UINT64_C(1) << member->bit;
    struct recast_name *name = walk->next_name++;
    _mm_storeu_si128((__m128i *)&name->first, member->name);
    /* What stands together is stored together: where it stands, its count, no other name and no hash. */
    _mm_storeu_si128((__m128i *)&name->start, _mm_insert_epi32(_mm_setr_epi32(0, 0, -1, 0), (int)member->count, 1));
    if (is_any)
        walk->long_count = remember_more(of, name, name_of(walk, member), walk->long_count, walk->level == of->levels);
}

/* Writes what stands before the names below an object or array, behind what does before its own, and returns where that ends;
   NULL where it is too much. */
AVX2 static inline uint8_t *put_level(const struct walk *walk, struct recast_fields *of, struct recast_level *next, bool is_object,
                                      const struct member *member, enum recast_style style) {
    struct recast_level *const level = walk->level;
    const size_t prefix_count = level->prefix_count;
    const size_t room = prefix_count + level_room + (member->other ? member->other->bytes_count : 0);
    if (room > of->prefix_room || room > longest_prefix) return NULL;
    uint8_t *const start = of->prefix + prefix_count, *to = start;
    size_t name_end = level->name_end + (walk->is_root ? 0 : 2);
    if (level->is_object) {
        to = put_name(to, member);
        name_end += member->count;
    } else if (style == recast_style_indices) {
        to = put_index(to, level->position);
        name_end += (size_t)(to - start);
    }
    /* Two brackets around a member's name, and as many digits as an index may have. */
    const size_t around = name_end + (is_object ? 2 : 22);
    if (around > of->longest_name) return NULL;
    if (!walk->is_root) to = put(to, &walk->brackets->close);
    next->name_end = name_end;
    next->name_room = of->longest_name - around;
    return put(to, &of->brackets[is_object].open);
}

/* What is known of a name's letters. */
static inline uint8_t plain_bits(const struct member *member) {
    return !member->other || member->other->is_plain ? recast_plain_name : 0;
}

/* Goes down into the object or array that begins at `text`; false where it can't. */
AVX2 INLINED bool open_level(struct walk *walk, struct recast_fields *of, const uint8_t *text, const struct member *member,
                             enum recast_style style, bool is_held, bool is_any) {
    struct recast_level *const level = walk->level, *const next = level + 1;
    const bool is_object = *text == '{';
    if (level == walk->last_level || (is_object ? of->leaves_objects : of->leaves_arrays)) return false;
    /* Who goes on behind the loop finds its name in the slice. */
    if (member->other && member->other->name == member->other->unescaped) return false;
    if (is_held) {
        uint8_t *const start = walk->to;
        if (level->is_object) walk->to = put_name(start, member);
        put_node(walk, start, (size_t)(walk->to - start), walk->to, is_object ? recast_node_object : recast_node_array,
                 plain_bits(member));
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
        remember(walk, of, member, is_any);
    } else {
        level->style = style;
        level->in_object = is_object;
    }
    level->bits = walk->bits;
    next->name_start = (size_t)(walk->at + 1 - of->source);
    next->name_count = member->count;
    next->bits = 0;
    next->first_name = (size_t)(walk->next_name - of->names);
    next->first_long = walk->long_count;
    next->position = next->omitted = 0;
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

/* Passes a null that ends at `text` and isn't written, or puts it into the tree with the name that stands before `to`. One that is removed
   leaves nothing there. */
AVX2 INLINED bool pass_null(struct walk *walk, struct recast_fields *of, const uint8_t *text, const struct member *member, uint8_t *to,
                            size_t name_count, enum recast_outcome outcome, bool is_held) {
    struct recast_level *const level = walk->level;
    if (outcome != recast_outcome_bare) of->removed++;
    if (outcome != recast_outcome_removed) {
        level->position++;
        if (is_held) {
            put_node(walk, walk->to, name_count, to, recast_node_null, plain_bits(member));
            if (outcome == recast_outcome_nothing) walk->next_node[-1].is_spliced = of->has_gaps = true;
            if (level->is_object) look_at_name(walk, of, member);
            walk->to = to;
        } else {
            level->omitted++;
        }
    }
    of->fields++;
    walk->last = walk->at;
    of->name_count = level->is_object ? (ptrdiff_t)source_count_of(member) : -1;
    if (level->is_object) remember(walk, of, member, true);
    walk->at = text;
    return pass_comma(walk, of, is_held, true);
}

/* Writes the field of the scalar that begins at `text`, or puts it into the tree, or leaves it out; false where it can't. */
AVX2 INLINED bool write_field(struct walk *walk, struct recast_fields *of, const uint8_t *text, const struct member *member,
                              enum recast_style style, bool is_held, bool is_any, bool is_odd) {
    struct recast_level *const level = walk->level;
    uint8_t *to = walk->to;
    if (!is_held) to = put_prefix(to, of, level->prefix_count);
    if (level->is_object) {
        to = put_name(to, member);
    } else if (!is_held && style == recast_style_indices) {
        to = put_index(to, level->position);
    }
    const size_t name_count = (size_t)(to - walk->to);
    if (!is_held) to = put(to, walk->name_mark);
    uint8_t plain = plain_bits(member);
    if (*text == '"') {
        bool is_plain = false;
        text = write_text(of, text + 1, &to, is_held, &is_plain);
        if (!text) return false;
        if (is_plain) plain |= recast_plain_text;
        text++;
    } else if (*text <= '9') {
        if (is_odd) {
            bool is_plain;
            text = write_any_number(of, text, &to, is_held, &is_plain);
            if (!text) return false;
            if (is_plain) plain |= recast_plain_text;
        } else {
            bool has_fraction;
            const size_t count = is_held ? number_count(text, &has_fraction) : number_count_apart(text, &has_fraction);
            if (count == 0 || count > of->longest_number) return false;
            if (of->print_number) {
                if (!(is_held ? is_printed_alike(text, count, has_fraction) : is_printed_alike_apart(text, count, has_fraction)))
                    return false;
            }
            plain |= recast_plain_text;
            copy_block(to, text);
            text += count;
            to += count;
        }
    } else {
        size_t count;
        const struct recast_literal *literal = literal_at(of, text, level->is_object, &count);
        if (!literal || (!is_odd && literal->outcome != recast_outcome_text)) return false;
        plain |= recast_plain_text;
        text += count;
        if (is_odd && literal->outcome != recast_outcome_text) {
            if (is_held || literal->outcome >= recast_outcome_nothing)
                return pass_null(walk, of, text, member, to, name_count, literal->outcome, is_held);
            to -= walk->name_mark->count;
            if (!walk->is_root) to = put(to, &walk->brackets->close);
        }
        to = put(to, &literal->text);
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
        of->name_count = (ptrdiff_t)source_count_of(member);
        if (is_held) look_at_name(walk, of, member);
        remember(walk, of, member, is_any);
    } else {
        of->name_count = -1;
        level->style = style;
        level->in_object = level->last_was_object = false;
    }
    walk->at = text;
    walk->to = to;
    return pass_comma(walk, of, is_held, is_odd);
}

/* Writes the next item, or what begins it, and passes the comma behind it; false where it can't: one whose name isn't short and plain,
   or one of a level with chains, only where it is to be any; odd values, which leave nothing or are printed again, and the end of what is
   empty, only where they are asked for. */
AVX2 INLINED bool write_item(struct walk *walk, struct recast_fields *of, bool is_held, bool is_any, bool is_odd, bool *is_like_most) {
    struct recast_level *const level = walk->level;
    if (is_held && walk->next_node == walk->nodes_end) return false;
    struct member member = {_mm_setzero_si128(), 0, 0, NULL};
    struct other_name other;
    enum recast_style style = level->style;
    const uint8_t *text = walk->at;
    if (level->is_object) {
        if (is_odd && *text == '}') return walk->place == recast_place_first && end_empty(walk, of, is_held);
        if (*text != '"') return false;
        text = read_name(walk, text, &member, is_held);
        if (is_any && !text) {
            text = read_other_name(of, walk->at, level->name_room, is_held, &other);
            if (text) note_other_name(&member, &other);
        }
        *is_like_most = !member.other && !of->chains;
        if (!text || !(is_any ? is_new_member(walk, of, name_of(walk, &member), &member) : is_new_plain(walk, of, &member))) return false;
        if (is_space(*text)) {
            text = pass_space(text, of->source + of->end - value_reach);
            if (!text) return false;
        }
    }
    const bool is_container = *text == '{' || *text == '[';
    if (is_odd && *text == ']') return text == walk->at && walk->place == recast_place_first && end_empty(walk, of, is_held);
    if (!level->is_object && !is_held) {
        if (style == recast_style_open || of->mixes_styles) style = is_container ? recast_style_indices : recast_style_brackets;
        if (style == recast_style_other || (is_container && style == recast_style_brackets && !of->nests_in_brackets))
            return false;
    }
    return is_container ? open_level(walk, of, text, &member, style, is_held, is_any)
                        : write_field(walk, of, text, &member, style, is_held, is_any, is_odd);
}

/* Whether there is room for another item, and enough to read. */
static inline bool has_room(const struct walk *walk) { return walk->at <= walk->last_item && walk->to <= walk->last_to; }

/* Writes items until one isn't like most: the loop around a member of a short and plain name has the registers for itself. */
AVX2 INLINED void write_most(struct walk *saved, struct recast_fields *of, bool is_held) {
    struct walk walk = *saved;
    bool is_like_most;
    while (has_room(&walk)) {
        if (write_item(&walk, of, is_held, false, false, &is_like_most)) continue;
        if (walk.place == recast_place_behind || !is_space(*walk.at)) break;
        walk.at++;
    }
    *saved = walk;
}

/* Writes items of any kind, or those of odd values, too, until there is one that is like most. */
AVX2 INLINED void write_others(struct walk *saved, struct recast_fields *of, bool is_held, bool is_odd) {
    struct walk walk = *saved;
    bool is_like_most = false;
    while (!is_like_most && has_room(&walk) && write_item(&walk, of, is_held, true, is_odd, &is_like_most)) continue;
    *saved = walk;
}

/* What takes the next item: nothing, the loop for other names, or the one for odd values. */
enum next { for_none, for_others, for_odd };

/* Finds what may take the item that the loop for most has stopped at: values that are left alone aren't read twice so, nor members whose
   name another one has. */
AVX2 __attribute__((noinline)) static enum next next_of(const struct walk *walk, const struct recast_fields *of, bool is_held) {
    struct member member;
    if (!has_room(walk) || walk->place == recast_place_behind) return for_none;
    const uint8_t *text = walk->at;
    if (walk->level->is_object && *text == '"') {
        if (of->chains && walk->level == of->levels) return for_others;
        text = read_name(walk, text, &member, is_held);
        if (!text) return for_others;
        if (is_space(*text)) text = pass_space(text, of->source + of->end - value_reach);
        if (!text) return for_none;
    }
    switch (*text) {
    case '}': case ']': case '-': return for_odd;
    case 'n': return of->nulls[walk->level->is_object].outcome >= recast_outcome_bare ? for_odd : for_none;
    default: return *text - '0' <= 9u ? for_odd : for_none;
    }
}

AVX2 __attribute__((noinline)) static void write_fields(struct walk *walk, struct recast_fields *of) { write_most(walk, of, false); }
AVX2 __attribute__((noinline)) static void hold_fields(struct walk *walk, struct recast_fields *of) { write_most(walk, of, true); }
AVX2 __attribute__((noinline)) static void write_other_fields(struct walk *walk, struct recast_fields *of) {
    write_others(walk, of, false, false);
}
AVX2 __attribute__((noinline)) static void hold_other_fields(struct walk *walk, struct recast_fields *of) {
    write_others(walk, of, true, false);
}
AVX2 __attribute__((noinline)) static void write_odd_fields(struct walk *walk, struct recast_fields *of) {
    write_others(walk, of, false, true);
}
AVX2 __attribute__((noinline)) static void hold_odd_fields(struct walk *walk, struct recast_fields *of) {
    write_others(walk, of, true, true);
}

/* What so many names count, of which `names` are the first. */
static size_t bytes_of(const struct recast_name *names, size_t count) {
    size_t bytes = 0;
    for (size_t number = 0; number < count; number++) bytes += (size_t)names[number].count + RECAST_NAME_OVERHEAD;
    return bytes;
}

AVX2 static void write_items(struct recast_fields *of, bool is_held) {
    if (of->end < item_reach || of->longest_text < text_reach || of->room < field_room || of->left == 0 ||
        of->levels->prefix_count > longest_prefix)
        return;
    const size_t position = of->levels->position, omitted = of->levels->omitted, names_count = of->names_count, long_count = of->long_count;
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
        .long_count = long_count,
        .last = of->source + of->name_start - 1,
    };
    if (is_held) enter_tree(&walk, of);
    if (of->names) walk.names_end += names_room < of->names_room ? names_room : of->names_room;
    enter(&walk, of, of->levels);
    if (walk.place != recast_place_behind || (of->at < of->end && pass_comma(&walk, of, is_held, false))) {
        const uint8_t *start;
        do {
            is_held ? hold_fields(&walk, of) : write_fields(&walk, of);
            start = walk.at;
            const enum next next = next_of(&walk, of, is_held);
            if (next == for_none) break;
            if (next == for_others) is_held ? hold_other_fields(&walk, of) : write_other_fields(&walk, of);
            if (walk.at == start) is_held ? hold_odd_fields(&walk, of) : write_odd_fields(&walk, of);
        } while (walk.at > start && walk.place != recast_place_behind);
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
    of->levels->passed = of->levels->position - position;
    of->levels->written = of->levels->passed - (of->levels->omitted - omitted);
    of->levels->first_name = names_count;
    of->levels->first_long = long_count;
    of->long_count = walk.long_count;
    for (struct recast_level *level = of->levels; level < walk.level; level++) {
        level[1].passed = level[1].position;
        level[1].written = level[1].position - level[1].omitted;
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
    if (recast_has_blocks()) write_items(fields, fields->nodes);
}

#else

bool recast_has_blocks(void) { return false; }

void recast_fields_write(struct recast_fields *fields) { (void)fields; }

#endif
