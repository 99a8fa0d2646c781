#include "COctets.h"
#include <string.h>

#if defined(__x86_64__)
#include "members.h"
#include "scalars.h"
#include "texts.h"

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

INLINED AVX2 size_t decode(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii) {
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

AVX2 static size_t decode_blocks(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii) {
    return decode(text, count, end, target, written, is_ascii);
}

size_t recast_form_decode(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii) {
    if (recast_has_blocks() && !digits[end]) return decode_blocks(text, count, end, target, written, is_ascii);
    *written = 0;
    *is_ascii = true;
    return 0;
}

/* What can be read from where a pair begins, at least, and behind the end of what is no part of the slice. */
enum { pair_reach = 98 };
/* The most bytes at a slice's end that are copied. */
enum { most_of_tail = 256 };
/* The bytes, as they come, that most values have at most, and the most of one: others are better handed on where they lie. */
enum { short_value = 128, longest_value = 1024 };

/* The bits that a byte's lower half, and its higher one, give to what ends the plain part of a name: of 0x2_, of 0x3_, of 0x5_, below 0x20
   and above 0x7F. */
enum { of_two = 1, of_three = 2, of_five = 4, of_control = 8, of_beyond = 16 };

void recast_pairs_prepare(struct recast_pairs *of) {
    uint8_t *const low = of->ends_by_low, *const high = of->ends_by_high;
    memset(low, of_control | of_beyond, 16);
    memset(high, 0, 8);
    memset(high + 8, of_beyond, 8);
    high[2] = of_two;
    high[3] = of_three;
    low['%' & 15] |= of_two;
    low['&' & 15] |= of_two;
    low['+' & 15] |= of_two | of_five;
    low['=' & 15] |= of_three | of_five;
    if (!of->is_flat) high[5] = of_five;
    if (of->leaves_dots) low['.' & 15] |= of_two;
    if (of->leaves_spaces) {
        low[' ' & 15] |= of_two;
        high[0] = high[1] = of_control;
    }
    of->looks_twice = of->ends_at_bracket || of->leaves_hint;
}

/* How far the loop has come, and what it looks at all the time. */
struct pairs_walk {
    struct members in;
    /* The slice's end, and up to where can be read, which may be behind it. */
    const uint8_t *last, *limit;
    __m256i ends_by_low, ends_by_high;
    /* The next pair, and where its name goes. */
    const uint8_t *at;
    uint8_t *to;
};

/* What has become of a pair: in the tree, left alone, or left alone as not enough can be read. */
enum taken { is_taken, is_left, is_cut };

/* The bits of what ends the plain part of a name in a block; 0 of a byte that doesn't. */
INLINED AVX2 __m256i ends_of_plain(const struct pairs_walk *walk, __m256i block) {
    const __m256i low_bits = _mm256_set1_epi8(0x0F);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(block, 4), low_bits);
    const __m256i by_high = _mm256_shuffle_epi8(walk->ends_by_high, high);
    const __m256i by_low = _mm256_shuffle_epi8(walk->ends_by_low, _mm256_and_si256(block, low_bits));
    return _mm256_and_si256(by_high, by_low);
}

/* Where the plain part of a name ends that goes on at `text`; NULL where that can't be read. */
AVX2 static inline const uint8_t *end_of_plain(const struct pairs_walk *walk, const uint8_t *text) {
    /* A bracket may be an escape, which takes two bytes more, and what stands behind it is looked at, too. */
    for (; walk->limit - text >= 35; text += 32) {
        const __m256i ends_here = ends_of_plain(walk, _mm256_loadu_si256((const __m256i *)text));
        const __m256i is_plain = _mm256_cmpeq_epi8(ends_here, _mm256_setzero_si256());
        const uint32_t ends = ~(uint32_t)_mm256_movemask_epi8(is_plain);
        if (ends) return text + _tzcnt_u32(ends);
    }
    return NULL;
}

/* The bytes of the bracket at `text`, as it is or as an escape; 0 where there is none. */
static inline size_t bracket(const uint8_t *text, uint8_t as) {
    if (*text == as) return 1;
    /* 'B' and 'D', in either case. */
    return text[0] == '%' && text[1] == '5' && (text[2] & 0xDF) == as - 0x19 ? 3 : 0;
}

/* Puts a node into the tree, as the last member of `object`, whose name stands from `start` to `text`, and its text from there to `end`. */
INLINED AVX2 int32_t put_node(struct pairs_walk *walk, int32_t object, struct member member, enum recast_node_kind kind, bool has_text,
                              const uint8_t *start, const uint8_t *text, const uint8_t *end) {
    struct recast_node *const node = walk->in.nodes + walk->in.number;
    const int32_t number = walk->in.number++, last = walk->in.nodes[object].last;
    const int32_t from = (int32_t)(start - walk->in.pool), count = (int32_t)(text - start);
    /* What stands together is stored together: the parent and no other node, then what comes behind the one before. */
    _mm_storeu_si128((__m128i *)&node->parent, _mm_insert_epi32(_mm_set1_epi32(-1), object, 0));
    _mm_storeu_si128((__m128i *)&node->previous, _mm_setr_epi32(last, 0, from, count));
    /* An object has no text: dialects count its members there. */
    const uint64_t texts = has_text ? (uint32_t)(from + count) | (uint64_t)(end - text) << 32 : 0;
    memcpy(&node->text_start, &texts, sizeof texts);
    const uint32_t is = (uint32_t)kind;
    memcpy(&node->kind, &is, sizeof is);
    enter_last(&walk->in, object, member, number, start, (size_t)count);
    return number;
}

/* As put_node, of a value. */
INLINED AVX2 void put_member(struct pairs_walk *walk, int32_t object, struct member member, enum recast_node_kind kind,
                             const uint8_t *start, const uint8_t *text, const uint8_t *end) {
    put_node(walk, object, member, kind, true, start, text, end);
}

/* As put_node, of an object or array. */
INLINED AVX2 int32_t put_container(struct pairs_walk *walk, int32_t object, struct member member, enum recast_node_kind kind,
                                   const uint8_t *start, const uint8_t *end) {
    return put_node(walk, object, member, kind, false, start, end, end);
}

_Static_assert(offsetof(struct recast_node, name_count) == offsetof(struct recast_node, previous) + 12, "stored together");
_Static_assert(offsetof(struct recast_node, text_count) == offsetof(struct recast_node, text_start) + 4, "stored together");

/* Copies a name to where as many bytes more than a block can be written; a block can be read of it. */
AVX2 static inline void copy_name(uint8_t *to, const uint8_t *name, size_t count) {
    copy_block(to, name);
    if (count > 32) memcpy(to + 32, name + 32, count - 32);
}

/* A pair's value that has been decoded: where it ends, in the slice and where it was decoded to, and what it is. */
struct value {
    enum taken is;
    const uint8_t *end;
    uint8_t *text_end;
    enum recast_node_kind kind;
};

/* What is to be said of a value whose text has been decoded up to `end`. */
INLINED AVX2 struct value judged(const struct recast_pairs *of, const uint8_t *end, const uint8_t *last, const uint8_t *limit,
                                  uint8_t *text, size_t written, bool is_ascii) {
    enum recast_node_kind kind = recast_node_string;
    if (end >= last || *end != '&') return (struct value){limit - end < pair_reach ? is_cut : is_left, end, text, kind};
    if (written > of->longest_text || (!is_ascii && (of->leaves_beyond || !is_utf8(text, text + written))))
        return (struct value){is_left, end, text, kind};
    if (__builtin_expect(of->reads_scalars, 0) && (kind = kind_of_text(text, written)) > recast_node_number) written = 0;
    return (struct value){is_taken, end, text + written, kind};
}

/* As value_of, of a value that is longer than most. Its end has to be there: the last one of a body would be decoded in vain. What it says
   goes to memory, which what is said of most values then doesn't. */
AVX2 __attribute__((noinline)) static void find_long_value(const struct recast_pairs *of, const uint8_t *at, const uint8_t *last,
                                                          const uint8_t *limit, uint8_t *text, struct value *value) {
    const size_t rest = (size_t)(last - at);
    *value = (struct value){is_left, at, text, recast_node_string};
    if (!memchr(at, '&', rest < longest_value ? rest : longest_value)) return;
    size_t written;
    bool is_ascii;
    const uint8_t *const end = at + decode(at, (size_t)(limit - at), '&', text, &written, &is_ascii);
    *value = judged(of, end, last, limit, text, written, is_ascii);
}

/* Decodes the value at `at` to `text`. */
INLINED AVX2 struct value value_of(const struct recast_pairs *of, const uint8_t *at, const uint8_t *last, const uint8_t *limit,
                                   uint8_t *text) {
    const size_t rest = (size_t)(limit - at), most = short_value + 66;
    size_t written;
    bool is_ascii;
    const uint8_t *const end = at + decode(at, rest < most ? rest : most, '&', text, &written, &is_ascii);
    if (end - at > short_value && end < last && *end != '&') {
        struct value value;
        find_long_value(of, at, last, limit, text, &value);
        return (struct value){value.is, value.end, value.text_end, value.kind};
    }
    return judged(of, end, last, limit, text, written, is_ascii);
}

/* What qs never sets. */
INLINED bool is_proto(const uint8_t *name, size_t count) { return count == 9 && !memcmp(name, "__proto__", 9); }

/* Whether a name is a root, or one and keys in brackets or pushes, none of which is __proto__. A block can be read behind it. */
AVX2 static bool is_path(const uint8_t *const name, size_t count) {
    /* Where a segment begins, and whether it stands in brackets. */
    size_t from = 0;
    bool is_inside = false;
    for (size_t at = 0; at < count; at += 32) {
        const __m256i block = _mm256_loadu_si256((const __m256i *)(name + at));
        const __m256i opens = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('[')), closes = _mm256_cmpeq_epi8(block, _mm256_set1_epi8(']'));
        uint32_t brackets = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(opens, closes));
        for (; brackets; brackets = _blsr_u32(brackets)) {
            const size_t end = at + _tzcnt_u32(brackets);
            if (end >= count) break;
            if (name[end] != (is_inside ? ']' : '[')) return false;
            /* There is a root, and nothing between brackets. */
            if (!is_inside && (end == from) != (from > 0)) return false;
            if (is_proto(name + from, end - from)) return false;
            is_inside = !is_inside;
            from = end + 1;
        }
    }
    if (from > 0) return !is_inside && from == count;
    return count > 0 && !is_proto(name, count);
}

/* Whether a name ends with a bracket. */
INLINED bool is_closed(const uint8_t *name, size_t count) { return count > 0 && name[count - 1] == ']'; }

/* Whether a name may go on behind its first '=': up to the first bracket that a '=' follows. `text` is the value, decoded. */
INLINED bool may_go_on(const struct recast_pairs *of, const uint8_t *name, size_t count, const uint8_t *text, const uint8_t *end) {
    return of->ends_at_bracket && !is_closed(name, count) && memchr(text, ']', (size_t)(end - text));
}

/* The name that says in which charset the rest of a form is. */
INLINED bool is_hint(const uint8_t *name, size_t count) { return count == 9 && !memcmp(name, "_charset_", 9); }

/* Whether a pair, decoded, is one that few forms have to be looked through for. */
__attribute__((noinline)) static bool is_special(const struct recast_pairs *of, const uint8_t *name, size_t count, bool is_of_root,
                                                 const uint8_t *text, const uint8_t *end) {
    return may_go_on(of, name, count, text, end) || (of->leaves_hint && is_of_root && is_hint(name, count));
}

/* Whether is_special is to be asked. Of qs nearly all forms have names that end with a bracket, which its rule lets pass. */
INLINED bool may_be_special(const struct recast_pairs *of, const uint8_t *name, size_t count) {
    return of->looks_twice && (of->leaves_hint || !is_closed(name, count));
}

/* Puts a text, or what it is, into the tree as a node that stands nowhere. */
INLINED struct recast_node *put_text(struct pairs_walk *walk, enum recast_node_kind kind, const uint8_t *text, size_t count) {
    struct recast_node *const node = walk->in.nodes + walk->in.number++;
    *node = (struct recast_node){.parent = -1, .first = -1, .last = -1, .next = -1, .previous = -1};
    node->kind = kind;
    node->text_start = (int32_t)(text - walk->in.pool);
    node->text_count = (int32_t)count;
    return node;
}

/* Puts the like last into an array, with an element's index for `name_start` where that is kept. */
INLINED void put_element(struct pairs_walk *walk, int32_t array, int32_t index, enum recast_node_kind kind, const uint8_t *text,
                         size_t count) {
    const int32_t number = walk->in.number;
    struct recast_node *const node = put_text(walk, kind, text, count);
    node->parent = array;
    node->previous = walk->in.nodes[array].last;
    node->name_start = index;
    enter_last(&walk->in, array, (struct member){no_member, -1}, number, text, 0);
}

/* Puts a text under a number, as its own name, into an object that nothing has that name in. The text stands where the name is to begin.
   False, with nothing changed but the text's place, where something has it, the text would cost too much, or the number takes more than
   `spare` bytes, which the pair has besides its value: no more is written than is read. */
AVX2 static bool put_numbered(struct pairs_walk *walk, int32_t object, uint32_t number, enum recast_node_kind kind, uint8_t *text,
                              size_t count, size_t spare) {
    struct recast_pairs *const of = walk->in.of;
    uint8_t digits_of[10], *first = digits_of + sizeof digits_of;
    do *--first = (uint8_t)('0' + number % 10);
    while (number /= 10);
    const size_t length = (size_t)(digits_of + sizeof digits_of - first);
    const size_t cost = length + count + of->node_cost;
    if (cost > of->bytes_left || length > spare) return false;
    memmove(text + length, text, count);
    memcpy(text, first, length);
    const struct member member = find(&walk->in, object, text, length);
    if (member.node != no_member) return false;
    of->bytes_left -= cost;
    put_member(walk, object, member, kind, text, text + length, text + length + count);
    walk->to = text + length + count;
    return true;
}

/* The largest number that pushes are counted up to here. */
enum { most_pushes = 1000000000 };

/* Pushes a text, which stands where the next name would go, on the array or PHP's table `parent`. */
AVX2 static bool push(struct pairs_walk *walk, int32_t parent, enum recast_node_kind kind, uint8_t *text, size_t count, size_t spare) {
    struct recast_pairs *const of = walk->in.of;
    if (!of->notes_keys) {
        if (count + of->node_cost > of->bytes_left) return false;
        of->bytes_left -= count + of->node_cost;
        put_element(walk, parent, 0, kind, text, count);
        walk->to = text + count;
        return true;
    }
    /* The next number comes as an offset from the least one, and 0 says that there was none. */
    const uint64_t least = UINT64_C(1) << 63, next = numbers_of(walk->in.nodes + parent);
    const uint64_t number = next ? next ^ least : 0;
    if (number > most_pushes || !put_numbered(walk, parent, (uint32_t)number, kind, text, count, spare)) return false;
    set_numbers(walk->in.nodes + parent, (number + 1) ^ least);
    return true;
}

/* Whether a node is what this loop puts into the tree for a pair's value. */
INLINED bool is_scalar(const struct recast_node *node) {
    return node->kind == recast_node_string || node->kind == recast_node_number || node->kind == recast_node_yes ||
           node->kind == recast_node_no;
}

/* Adds a text, which stands where the next name would go, to the values that a member has. */
AVX2 static bool collect(struct pairs_walk *walk, int32_t member, enum recast_node_kind text_kind, uint8_t *text, size_t count,
                         size_t spare) {
    struct recast_pairs *const of = walk->in.of;
    struct recast_node *const there = walk->in.nodes + member;
    const enum recast_node_kind kind = of->keeps_names ? recast_node_array : recast_node_collected;
    int32_t index = 0;
    size_t cost = count + of->node_cost;
    if (there->is_spliced) return false;
    if (is_scalar(there)) {
        /* The node becomes the array, and its text a node. */
        if ((cost += of->node_cost) > of->bytes_left) return false;
        const struct recast_node own = *there;
        there->kind = kind;
        there->plain = 0;
        set_numbers(there, 0);
        put_element(walk, member, 0, own.kind, walk->in.pool + own.text_start, (size_t)own.text_count);
        index = 1;
    } else if (there->kind == kind) {
        if (of->keeps_names && (index = walk->in.nodes[there->last].name_start + 1) >= recast_qs_array_limit) return false;
        if (cost > of->bytes_left) return false;
    } else {
        /* What has become an object counts on. */
        const uint64_t last = numbers_of(there);
        if (!of->keeps_names || !counts_on(there) || last >= most_pushes) return false;
        if (!put_numbered(walk, member, (uint32_t)last + 1, text_kind, text, count, spare)) return false;
        set_numbers(there, last + 1);
        return true;
    }
    of->bytes_left -= cost;
    put_element(walk, member, of->keeps_names ? index : 0, text_kind, text, count);
    walk->to = text + count;
    return true;
}

/* Does with a text, which stands where the next name would go, what is done where its name is there already. False, with nothing changed,
   where that isn't so plain. */
AVX2 static bool repeat(struct pairs_walk *walk, enum recast_repeats repeats, int32_t member, enum recast_node_kind kind, uint8_t *text,
                        size_t count, size_t spare) {
    struct recast_pairs *const of = walk->in.of;
    struct recast_node *const there = walk->in.nodes + member;
    if (repeats == recast_repeats_collected) return collect(walk, member, kind, text, count, spare);
    if (repeats == recast_repeats_left || !is_scalar(there) || there->is_spliced) return false;
    if (count + of->node_cost > of->bytes_left) return false;
    of->bytes_left -= count + of->node_cost;
    of->removed++;
    /* The text that goes keeps a node that stands nowhere. */
    struct recast_node *const node = put_text(walk, kind, text, count);
    if (repeats == recast_repeats_last) {
        const struct recast_node own = *there;
        there->kind = node->kind;
        there->text_start = node->text_start;
        there->text_count = node->text_count;
        there->plain = 0;
        node->kind = own.kind;
        node->text_start = own.text_start;
        node->text_count = own.text_count;
    }
    walk->to = text + count;
    return true;
}

/* Whether a whole name ends with a push, which makes an array in any case. */
INLINED bool ends_with_push(const uint8_t *name, size_t count) { return count > 2 && name[count - 1] == ']' && name[count - 2] == '['; }

/* As take_pair, of a pair whose name, decoded, is that of the member `member`, and whose value begins at `at`. The value is decoded to
   `text`, which may stand behind the name where the next one would go. */
AVX2 __attribute__((noinline)) static enum taken take_again(struct pairs_walk *walk, int32_t member, const uint8_t *name, size_t count,
                                                           bool is_of_root, const uint8_t *at, uint8_t *text) {
    struct recast_pairs *const of = walk->in.of;
    const enum recast_repeats repeats = of->keeps_names && ends_with_push(name, count) ? recast_repeats_collected : of->repeats;
    if (repeats == recast_repeats_left) return is_left;
    const struct value value = value_of(of, at, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (of->looks_twice && is_special(of, name, count, is_of_root, text, value.text_end)) return is_left;
    const size_t length = (size_t)(value.text_end - text);
    if (text != walk->to) memmove(walk->to, text, length);
    if (!repeat(walk, repeats, member, value.kind, walk->to, length, (size_t)(at - walk->at) + 1)) return is_left;
    walk->at = value.end + 1;
    return is_taken;
}

/* As take_pair, where the member has the pair's whole name, decoded. */
INLINED AVX2 enum taken take_whole(struct pairs_walk *walk) {
    struct recast_pairs *const of = walk->in.of;
    const uint8_t *const pair = walk->at;
    if (walk->limit - pair < pair_reach) return is_cut;
    if (*pair == '&') return is_left;
    size_t count;
    bool is_ascii;
    uint8_t *const start = walk->to;
    const uint8_t *at = pair;
    at += decode(at, (size_t)(walk->limit - at), '=', start, &count, &is_ascii);
    if (at >= walk->last || *at != '=') return walk->limit - at < pair_reach ? is_cut : is_left;
    if ((size_t)(at - pair) > of->longest_name || !is_path(start, count)) return is_left;
    if (!is_ascii && (of->leaves_beyond || !is_utf8(start, start + count))) return is_left;
    uint8_t *const text = start + count;
    const struct member member = find(&walk->in, walk->in.root, start, count);
    if (member.node >= 0) return take_again(walk, member.node, start, count, false, at + 1, text);
    if (member.node == unknown_member) return is_left;
    const struct value value = value_of(of, at + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (may_be_special(of, start, count) && is_special(of, start, count, false, text, value.text_end)) return is_left;
    const size_t cost = (size_t)(value.text_end - start) + of->node_cost;
    if (cost > of->bytes_left) return is_left;
    of->bytes_left -= cost;
    put_member(walk, walk->in.root, member, value.kind, start, text, value.text_end);
    of->has_number_names |= is_digit(*start);
    walk->to = value.text_end;
    walk->at = value.end + 1;
    return is_taken;
}

/* Writes '_' for the dots and spaces in front of the first bracket, as PHP does. False where it drops some of the name then, or may drop
   all of it as one that only so begins like those of safe cookies. */
INLINED bool underline(uint8_t *name, size_t count) {
    bool is_changed = false;
    if (count > 0 && (*name == ' ' || *name == '.')) return false;
    for (size_t at = 0; at < count && name[at] != '['; at++) {
        if (name[at] != ' ' && name[at] != '.') continue;
        name[at] = '_';
        is_changed = true;
    }
    return !is_changed || name[0] != '_' || name[1] != '_';
}

/* Lets a table of PHP's know of a key that was written; false, with nothing changed, where the key may be a number that can't be told so
   plainly. */
INLINED bool note_key(struct recast_node *table, const uint8_t *key, size_t count) {
    uint64_t number = 0;
    if (*key == '-' || is_digit(*key)) {
        if (count > 9 || (*key == '0' && count > 1)) return false;
        for (size_t at = 0; at < count; at++) {
            if (!is_digit(key[at])) return false;
            number = number * 10 + key[at] - '0';
        }
        const uint64_t next = (number + 1) ^ UINT64_C(1) << 63;
        if (next > numbers_of(table)) set_numbers(table, next);
    }
    table->is_typed = true;
    return true;
}

/* Whether note_key takes a key. */
INLINED bool is_noted(const uint8_t *key, size_t count) {
    struct recast_node table = {0};
    return note_key(&table, key, count);
}

/* Whether what ends the plain part of a name goes on with it, and is neither a bracket nor its escape. PHP makes a dot another byte. */
static inline bool goes_on(const struct recast_pairs *of, const uint8_t *end) {
    if (*end != '%') return *end == '+' || *end >= 0x80 || (of->notes_keys && *end == '.');
    return of->is_flat || (!bracket(end, '[') && !bracket(end, ']'));
}

/* A name's keys, the root first, in the slice or decoded to where the next name goes, and the '=' behind it. */
struct path {
    struct {
        const uint8_t *name;
        size_t count;
    } keys[recast_pairs_depth];
    /* The number of the last one, which may be empty: a push. */
    size_t last;
    const uint8_t *behind;
    /* Where something can be written behind the keys. */
    uint8_t *free;
};

/* Splits a name in which nothing but brackets is an escape. `must_decode` is set where another one is. */
AVX2 static enum taken split_plain(const struct pairs_walk *walk, struct path *path, bool *must_decode) {
    const struct recast_pairs *const of = walk->in.of;
    const uint8_t *at = walk->at, *end;
    for (path->last = 0;; path->last++) {
        if (path->last == recast_pairs_depth || path->last > of->most_keys) return is_left;
        if (!(end = end_of_plain(walk, at)) || walk->limit - end < 6) return is_cut;
        const size_t count = (size_t)(end - at);
        path->keys[path->last].name = at;
        path->keys[path->last].count = count;
        if (path->last > 0) {
            const size_t close = bracket(end, ']');
            if (!close) break;
            end += close;
            if (end >= walk->last) return is_left;
            if (*end == '=') {
                path->behind = end;
                return is_taken;
            }
        }
        const size_t open = bracket(end, '[');
        if (!open) break;
        if (count == 0) return is_left;
        at = end + open;
    }
    *must_decode = goes_on(of, end);
    return is_left;
}

/* Where a key ends, in a name that is decoded up to `end`; a block can be read behind it. */
AVX2 static const uint8_t *end_of_key(const struct pairs_walk *walk, const uint8_t *at, const uint8_t *end) {
    const __m256i beyond = _mm256_set1_epi8(of_beyond);
    for (; at < end; at += 32) {
        const __m256i ends = _mm256_andnot_si256(beyond, ends_of_plain(walk, _mm256_loadu_si256((const __m256i *)at)));
        const uint32_t plain = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(ends, _mm256_setzero_si256()));
        if (~plain) {
            at += _tzcnt_u32(~plain);
            break;
        }
    }
    return at < end ? at : end;
}

/* Splits any other name, decoded. */
AVX2 static enum taken split_decoded(const struct pairs_walk *walk, struct path *path) {
    const struct recast_pairs *const of = walk->in.of;
    const uint8_t *const pair = walk->at;
    const size_t rest = (size_t)(walk->limit - pair), most = longest_value + 66;
    size_t count;
    bool is_ascii;
    uint8_t *const start = walk->to;
    path->behind = pair + decode_blocks(pair, rest < most ? rest : most, '=', start, &count, &is_ascii);
    if (path->behind >= walk->last || *path->behind != '=') return walk->limit - path->behind < pair_reach ? is_cut : is_left;
    const uint8_t *at = start, *const end = start + count;
    if (!is_ascii && (of->leaves_beyond || !is_utf8(start, end))) return is_left;
    if (of->notes_keys && !underline(start, count)) return is_left;
    path->free = start + count;
    for (path->last = 0;; path->last++) {
        if (path->last == recast_pairs_depth || path->last > of->most_keys) return is_left;
        const uint8_t *const key_end = end_of_key(walk, at, end);
        path->keys[path->last].name = at;
        path->keys[path->last].count = (size_t)(key_end - at);
        at = key_end;
        if (path->last > 0) {
            if (at == end || *at++ != ']') return is_left;
            if (at == end) return is_taken;
        } else if (at == end) {
            return is_taken;
        }
        if (path->keys[path->last].count == 0 || !of->has_members || *at++ != '[') return is_left;
    }
}

/* As take_pair, of a key of the root that has been decoded to where the next name goes. */
INLINED AVX2 enum taken take_root(struct pairs_walk *walk, const struct path *path) {
    struct recast_pairs *const of = walk->in.of;
    uint8_t *const start = walk->to, *const text = path->free;
    const size_t count = path->keys[0].count;
    const struct member member = find(&walk->in, walk->in.root, start, count);
    if (member.node >= 0) return take_again(walk, member.node, start, count, true, path->behind + 1, text);
    if (member.node == unknown_member) return is_left;
    const struct value value = value_of(of, path->behind + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (of->looks_twice && is_special(of, start, count, true, text, value.text_end)) return is_left;
    const size_t cost = (size_t)(value.text_end - start) + of->node_cost;
    if (cost > of->bytes_left) return is_left;
    of->bytes_left -= cost;
    put_member(walk, walk->in.root, member, value.kind, start, text, value.text_end);
    walk->to = value.text_end;
    walk->at = value.end + 1;
    return is_taken;
}

/* As take_pair, of a name that leads through any objects by keys, and may end with a push, or that has to be decoded to know so. What isn't
   there is made. `must_decode` says that the root has to be decoded. */
AVX2 __attribute__((noinline)) static enum taken take_path(struct pairs_walk *walk, bool must_decode) {
    struct recast_pairs *const of = walk->in.of;
    const uint8_t *const pair = walk->at;
    struct path path = {.free = walk->to};
    enum taken taken = must_decode ? is_left : split_plain(walk, &path, &must_decode);
    if (must_decode) taken = split_decoded(walk, &path);
    if (taken != is_taken) return taken;
    const size_t last = path.last, last_count = path.keys[last].count;
    if ((size_t)(path.behind - pair) > of->longest_name || path.keys[0].count == 0) return is_left;
    if (last == 0) return take_root(walk, &path);

    /* Down to where name and tree part. */
    const bool is_push = last_count == 0;
    int32_t parent = walk->in.root;
    size_t depth = 0;
    struct member member = {no_member, -1};
    for (; depth < last; depth++) {
        if ((member = find(&walk->in, parent, path.keys[depth].name, path.keys[depth].count)).node < 0) break;
        const struct recast_node *const node = walk->in.nodes + member.node;
        const bool is_array = is_push && depth + 1 == last && !of->notes_keys;
        if (node->kind != (is_array ? recast_node_array : recast_node_keyed) || node->is_spliced) return is_left;
        parent = member.node;
    }
    if (depth == last && !is_push) {
        member = find(&walk->in, parent, path.keys[last].name, last_count);
        if (member.node >= 0)
            return take_again(walk, member.node, path.keys[last].name, last_count, false, path.behind + 1, path.free);
    }
    if (member.node == unknown_member) return is_left;
    const size_t added = last - depth;
    if ((size_t)walk->in.number + added + 1 > of->nodes_room) return is_left;
    uint8_t *text = walk->to;
    for (size_t at = depth; at <= last; at++) {
        const size_t count = path.keys[at].count;
        if (of->notes_keys && at > 0 && count > 0 && !is_noted(path.keys[at].name, count)) return is_left;
        /* They may lie where they go, or behind that, or in the slice. */
        if (must_decode && text != path.keys[at].name) memmove(text, path.keys[at].name, count);
        if (!must_decode) copy_name(text, path.keys[at].name, count);
        text += count;
    }
    const struct value value = value_of(of, path.behind + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (of->looks_twice && is_special(of, text - last_count, last_count, false, text, value.text_end)) return is_left;
    const size_t count = (size_t)(value.text_end - text), spare = (size_t)(path.behind - pair) + 2;
    /* A push may have to write its number; the first one of a table has one digit. */
    const size_t names = (size_t)(text - walk->to), cost = names + added * of->node_cost;
    if (cost + count + 1 + of->node_cost > of->bytes_left) return is_left;
    if (is_push && added == 0) {
        if (!push(walk, parent, value.kind, text, count, spare)) return is_left;
    } else {
        const uint8_t *name = walk->to;
        of->bytes_left -= cost;
        for (; depth < last; depth++) {
            const uint8_t *const end = name + path.keys[depth].count;
            const bool is_array = is_push && depth + 1 == last && !of->notes_keys;
            const int32_t above = parent;
            parent = put_container(walk, above, member, is_array ? recast_node_array : recast_node_keyed, name, end);
            if (of->notes_keys && above != walk->in.root) note_key(walk->in.nodes + above, name, path.keys[depth].count);
            name = end;
            member = (struct member){no_member, -1};
        }
        if (is_push) {
            push(walk, parent, value.kind, text, count, spare);
        } else {
            of->bytes_left -= count + of->node_cost;
            put_member(walk, parent, member, value.kind, name, text, value.text_end);
            if (of->notes_keys) note_key(walk->in.nodes + parent, name, last_count);
            walk->to = value.text_end;
        }
    }
    /* What stands in front of a decoded one isn't known as it came. */
    if (!must_decode) learn(of, pair, (size_t)(path.keys[last].name - pair), parent);
    walk->at = value.end + 1;
    return is_taken;
}

/* As take_pair, of a name that ends with a push, behind which `behind` is, on the node `parent`. */
AVX2 __attribute__((noinline)) static enum taken take_push(struct pairs_walk *walk, int32_t parent, const uint8_t *behind) {
    struct recast_pairs *const of = walk->in.of;
    const struct recast_node *const above = walk->in.nodes + parent;
    uint8_t *const text = walk->to;
    if (behind >= walk->last || *behind != '=' || (size_t)(behind - walk->at) > of->longest_name) return is_left;
    if (above->kind != (of->notes_keys ? recast_node_keyed : recast_node_array) || above->is_spliced) return is_left;
    const struct value value = value_of(of, behind + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (of->looks_twice && is_special(of, behind, 0, false, text, value.text_end)) return is_left;
    const size_t spare = (size_t)(behind - walk->at) + 2;
    if (!push(walk, parent, value.kind, text, (size_t)(value.text_end - text), spare)) return is_left;
    walk->at = value.end + 1;
    return is_taken;
}

/* Puts the pair at hand into the tree, and goes on behind it. */
INLINED AVX2 enum taken take_pair(struct pairs_walk *walk) {
    struct recast_pairs *const of = walk->in.of;
    const uint8_t *const pair = walk->at;
    if (walk->limit - pair < pair_reach) return is_cut;
    if (*pair == '&' || *pair == ' ') return is_left;
    /* Where the member's own name begins, and the object that it stands in: no_member where a new one is put into the root first. */
    const uint8_t *name = pair, *name_end;
    int32_t parent = walk->in.root;
    struct member object = {no_member, -1}, member = {no_member, -1};
    size_t object_count = 0;
    if (of->prefix_count && are_equal(of->prefix, pair, of->prefix_count)) {
        name += of->prefix_count;
        parent = of->prefix_node;
    }
    if (!(name_end = end_of_plain(walk, name))) return is_cut;
    const bool is_opened = parent == walk->in.root && *name_end != '=';
    if (is_opened) {
        const size_t open = of->has_members && name_end > name ? bracket(name_end, '[') : 0;
        object_count = (size_t)(name_end - name);
        if (!open) return goes_on(of, name_end) ? take_path(walk, true) : is_left;
        if ((object = find(&walk->in, walk->in.root, name, object_count)).node == unknown_member) return is_left;
        parent = object.node;
        name = name_end + open;
        if (!(name_end = end_of_plain(walk, name))) return is_cut;
    }
    const size_t name_count = (size_t)(name_end - name);
    const uint8_t *behind = name_end;
    if (parent != walk->in.root) {
        /* What stands in brackets is one key of an object, and else the way there is longer. */
        const size_t close = bracket(name_end, ']');
        behind += close;
        if (parent >= 0 && name_count == 0 && close) return take_push(walk, parent, behind);
        if (!close || !name_count || *behind != '=' || (of->notes_keys && (*name == '-' || is_digit(*name)))) return take_path(walk, false);
        if (parent >= 0 && (walk->in.nodes[parent].kind != recast_node_keyed || walk->in.nodes[parent].is_spliced)) return is_left;
    }
    if (behind >= walk->last || *behind != '=' || (size_t)(behind - pair) > of->longest_name) return is_left;
    if (name_count == 0 && of->leaves_empty) return is_left;
    if (parent >= 0 && __builtin_expect((member = find(&walk->in, parent, name, name_count)).node != no_member, 0)) {
        if (member.node == unknown_member) return is_left;
        return take_again(walk, member.node, name, name_count, parent == walk->in.root, behind + 1, walk->to);
    }

    /* Nothing of it counts before the text has been decoded, too. */
    uint8_t *const start = walk->to, *const own = parent < 0 ? start + object_count : start, *const text = own + name_count;
    if (parent < 0) copy_name(start, pair, object_count);
    copy_name(own, name, name_count);
    const struct value value = value_of(of, behind + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (of->looks_twice && is_special(of, own, name_count, parent == walk->in.root, text, value.text_end)) return is_left;
    const size_t cost = (size_t)(value.text_end - start) + (parent < 0 ? 2 : 1) * of->node_cost;
    if (cost > of->bytes_left) return is_left;

    of->bytes_left -= cost;
    if (parent < 0) parent = put_container(walk, walk->in.root, object, recast_node_keyed, start, own);
    put_member(walk, parent, member, value.kind, own, text, value.text_end);
    if (of->notes_keys && parent != walk->in.root) walk->in.nodes[parent].is_typed = true;
    if (is_opened) learn(of, pair, (size_t)(name - pair), parent);
    walk->to = value.text_end;
    walk->at = value.end + 1;
    return is_taken;
}

/* Takes pairs, one behind the other, as long as there is room for the nodes of one more; each in a function of its own, which has all
   registers. */
AVX2 __attribute__((noinline)) static enum taken take_plains(struct pairs_walk *walk, int32_t most) {
    /* A copy in the frame is reached with fewer instructions. */
    struct pairs_walk here = *walk;
    size_t left = walk->in.of->pairs_left;
    enum taken taken = is_taken;
    while (left > 0 && here.in.number < most && (taken = take_pair(&here)) == is_taken) left--;
    *walk = here;
    walk->in.of->pairs_left = left;
    return taken;
}

AVX2 __attribute__((noinline)) static enum taken take_wholes(struct pairs_walk *walk, int32_t most) {
    size_t left = walk->in.of->pairs_left;
    enum taken taken = is_taken;
    while (left > 0 && walk->in.number < most && (taken = take_whole(walk)) == is_taken) left--;
    walk->in.of->pairs_left = left;
    return taken;
}

/* Puts pairs into the tree. `source` is where the slice begins or would begin, of which up to `end` may be read; pairs end before
   the slice's end. Returns whether it stopped because of what may be read. */
AVX2 static bool take_pairs(struct recast_pairs *of, const uint8_t *source, size_t end) {
    struct pairs_walk walk = {
        .in = members_of(of), .last = source + of->end, .limit = source + end,
        .ends_by_low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)of->ends_by_low)),
        .ends_by_high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)of->ends_by_high)),
        .at = source + of->at, .to = of->target + of->to};
    const int32_t most = (int32_t)of->nodes_room - 1;
    const enum taken taken = of->keeps_names ? take_wholes(&walk, most) : take_plains(&walk, most);
    leave_members(&walk.in);
    of->at = (size_t)(walk.at - source);
    of->to = (size_t)(walk.to - of->target);
    return taken == is_cut;
}

void recast_pairs_take(struct recast_pairs *of) {
    if (!take_pairs(of, of->source, of->end)) return;
    /* The rest is read in memory of its own, behind which there is more to read. */
    const size_t rest = of->end - of->at, at = of->at, end = of->end;
    if (rest > most_of_tail) return;
    uint8_t tail[most_of_tail + pair_reach];
    memcpy(tail, of->source + at, rest);
    memset(tail + rest, '&', pair_reach);
    of->at = 0;
    of->end = rest;
    take_pairs(of, tail, rest + pair_reach);
    of->at += at;
    of->end = end;
}

AVX2 static size_t form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table,
                             size_t *written) {
    const struct spelling as = spelling_of(table);
    size_t at = 0, to = 0;
    while (at + 32 <= count && to + 64 <= room) {
        __m256i block = _mm256_loadu_si256((const __m256i *)(text + at));
        _mm256_storeu_si256((__m256i *)(target + to), spelled(block, as));
        uint32_t others = left_to_spell(block, as);
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

void recast_pairs_prepare(struct recast_pairs *of) { (void)of; }

void recast_pairs_take(struct recast_pairs *of) { (void)of; }

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
