#include "COctets.h"
#include <string.h>

#if defined(__x86_64__)
#include "members.h"
#include "scalars.h"

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
    of->looks_twice = of->ends_at_bracket || of->leaves_scalars || of->leaves_hint;
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
    /* A bracket may be an escape, which takes two bytes more. */
    for (; walk->limit - text >= 34; text += 32) {
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
INLINED AVX2 int32_t put_member(struct pairs_walk *walk, int32_t object, struct member member, enum recast_node_kind kind,
                                const uint8_t *start, const uint8_t *text, const uint8_t *end) {
    struct recast_node *const node = walk->in.nodes + walk->in.number;
    const int32_t number = walk->in.number++, last = walk->in.nodes[object].last;
    const int32_t from = (int32_t)(start - walk->in.pool), count = (int32_t)(text - start);
    /* What stands together is stored together: the parent and no other node, then what comes behind the one before. */
    _mm_storeu_si128((__m128i *)&node->parent, _mm_insert_epi32(_mm_set1_epi32(-1), object, 0));
    _mm_storeu_si128((__m128i *)&node->previous, _mm_setr_epi32(last, 0, from, count));
    /* An object has no text: dialects count its members there. */
    const uint64_t texts = kind == recast_node_string ? (uint32_t)(from + count) | (uint64_t)(end - text) << 32 : 0;
    memcpy(&node->text_start, &texts, sizeof texts);
    const uint32_t is = (uint32_t)kind;
    memcpy(&node->kind, &is, sizeof is);
    enter_last(&walk->in, object, member, number, start, (size_t)count);
    return number;
}

_Static_assert(offsetof(struct recast_node, name_count) == offsetof(struct recast_node, previous) + 12, "stored together");
_Static_assert(offsetof(struct recast_node, text_count) == offsetof(struct recast_node, text_start) + 4, "stored together");

/* Copies a name to where as many bytes more than a block can be written; a block can be read of it. */
AVX2 static inline void copy_name(uint8_t *to, const uint8_t *name, size_t count) {
    copy_block(to, name);
    if (count > 32) memcpy(to + 32, name + 32, count - 32);
}

/* A pair's value that has been decoded: where it ends, in the slice and where it was decoded to. */
struct value {
    enum taken is;
    const uint8_t *end;
    uint8_t *text_end;
};

/* Whether a text may be true, false or a number that `types: safe` reads. */
INLINED bool may_be_scalar(const uint8_t *text, size_t count) {
    if (count == 0 || count > 20) return false;
    return is_digit(*text) || *text == '-' || (count == 4 && *text == 't') || (count == 5 && *text == 'f');
}

/* What is to be said of a value whose text has been decoded up to `end`. */
INLINED AVX2 struct value judged(const struct recast_pairs *of, const uint8_t *end, const uint8_t *last, const uint8_t *limit,
                                  uint8_t *text, size_t written, bool is_ascii) {
    if (end >= last || *end != '&') return (struct value){limit - end < pair_reach ? is_cut : is_left, end, text};
    if (written > of->longest_text || (!is_ascii && (of->leaves_beyond || !is_utf8(text, text + written))))
        return (struct value){is_left, end, text};
    return (struct value){is_taken, end, text + written};
}

/* As value_of, of a value that is longer than most. Its end has to be there: the last one of a body would be decoded in vain. */
AVX2 __attribute__((noinline)) static struct value long_value_of(const struct recast_pairs *of, const uint8_t *at, const uint8_t *last,
                                                                const uint8_t *limit, uint8_t *text) {
    const size_t rest = (size_t)(last - at);
    if (!memchr(at, '&', rest < longest_value ? rest : longest_value)) return (struct value){is_left, at, text};
    size_t written;
    bool is_ascii;
    const uint8_t *const end = at + decode(at, (size_t)(limit - at), '&', text, &written, &is_ascii);
    return judged(of, end, last, limit, text, written, is_ascii);
}

/* Decodes the value at `at` to `text`. */
INLINED AVX2 struct value value_of(const struct recast_pairs *of, const uint8_t *at, const uint8_t *last, const uint8_t *limit,
                                   uint8_t *text) {
    const size_t rest = (size_t)(limit - at), most = short_value + 66;
    size_t written;
    bool is_ascii;
    const uint8_t *const end = at + decode(at, rest < most ? rest : most, '&', text, &written, &is_ascii);
    if (end - at > short_value && end < last && *end != '&') return long_value_of(of, at, last, limit, text);
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

/* Whether a name may go on behind its first '=': up to the first bracket that a '=' follows. `text` is the value, decoded, and the name,
   of `count` bytes, stands in front of it. */
INLINED bool may_go_on(const struct recast_pairs *of, const uint8_t *text, const uint8_t *end, size_t count) {
    return of->ends_at_bracket && (count == 0 || text[-1] != ']') && memchr(text, ']', (size_t)(end - text));
}

/* The name that says in which charset the rest of a form is. */
INLINED bool is_hint(const uint8_t *name, size_t count) { return count == 9 && !memcmp(name, "_charset_", 9); }

/* Whether a pair, decoded, is one that few forms have to be looked through for. */
__attribute__((noinline)) static bool is_special(const struct recast_pairs *of, const uint8_t *name, size_t count, bool is_of_root,
                                                 const uint8_t *text, const uint8_t *end) {
    return may_go_on(of, text, end, count) || (of->leaves_scalars && may_be_scalar(text, (size_t)(end - text))) ||
           (of->leaves_hint && is_of_root && is_hint(name, count));
}

/* Whether is_special is to be asked. Of qs nearly all forms have names that end with a bracket, which its rule lets pass. */
INLINED bool may_be_special(const struct recast_pairs *of, const uint8_t *text, size_t count) {
    return of->looks_twice && (of->leaves_scalars || of->leaves_hint || count == 0 || text[-1] != ']');
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
    if ((size_t)(at - pair) > of->longest_name || !is_ascii || !is_path(start, count)) return is_left;
    const struct member member = find(&walk->in, walk->in.root, start, count);
    if (member.node != no_member) return is_left;
    uint8_t *const text = start + count;
    const struct value value = value_of(of, at + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (may_be_special(of, text, count) && is_special(of, start, count, false, text, value.text_end)) return is_left;
    const size_t cost = (size_t)(value.text_end - start) + of->node_cost;
    if (cost > of->bytes_left) return is_left;
    of->bytes_left -= cost;
    put_member(walk, walk->in.root, member, recast_node_string, start, text, value.text_end);
    of->has_number_names |= is_digit(*start);
    walk->to = value.text_end;
    walk->at = value.end + 1;
    return is_taken;
}

/* Whether a name that has been decoded is one key, as it stands. A block can be read behind it. */
AVX2 static inline bool is_key(const struct pairs_walk *walk, const uint8_t *name, size_t count) {
    const __m256i beyond = _mm256_set1_epi8(of_beyond);
    for (size_t at = 0; at < count; at += 32) {
        const __m256i ends = _mm256_andnot_si256(beyond, ends_of_plain(walk, _mm256_loadu_si256((const __m256i *)(name + at))));
        const uint32_t plain = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(ends, _mm256_setzero_si256()));
        if (_tzcnt_u32(~plain) < count - at && ~plain) return false;
    }
    return true;
}

/* As take_pair, where a part of the name has to be decoded, or is beyond ASCII, and all of it is a key of the root then. */
AVX2 __attribute__((noinline)) static enum taken take_decoded(struct pairs_walk *walk) {
    struct recast_pairs *const of = walk->in.of;
    const uint8_t *const pair = walk->at;
    if (of->ends_at_bracket) return is_left;
    const size_t rest = (size_t)(walk->limit - pair), most = longest_value + 66;
    size_t count;
    bool is_ascii;
    uint8_t *const start = walk->to;
    const uint8_t *const behind = pair + decode_blocks(pair, rest < most ? rest : most, '=', start, &count, &is_ascii);
    if (behind >= walk->last || *behind != '=') return walk->limit - behind < pair_reach ? is_cut : is_left;
    if ((size_t)(behind - pair) > of->longest_name || !is_key(walk, start, count)) return is_left;
    if (!is_ascii && (of->leaves_beyond || !is_utf8(start, start + count))) return is_left;
    const struct member member = find(&walk->in, walk->in.root, start, count);
    if (member.node != no_member) return is_left;
    uint8_t *const text = start + count;
    const struct value value = value_of(of, behind + 1, walk->last, walk->limit, text);
    if (value.is != is_taken) return value.is;
    if (of->looks_twice && is_special(of, start, count, true, text, value.text_end)) return is_left;
    const size_t cost = (size_t)(value.text_end - start) + of->node_cost;
    if (cost > of->bytes_left) return is_left;
    of->bytes_left -= cost;
    put_member(walk, walk->in.root, member, recast_node_string, start, text, value.text_end);
    walk->to = value.text_end;
    walk->at = value.end + 1;
    return is_taken;
}

/* Whether what ends the plain part of a name goes on with it, and is neither a bracket nor its escape. */
static inline bool goes_on(const struct recast_pairs *of, const uint8_t *end) {
    if (*end != '%') return *end == '+' || *end >= 0x80;
    return of->is_flat || (!bracket(end, '[') && !bracket(end, ']'));
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
        if (!open) return goes_on(of, name_end) ? take_decoded(walk) : is_left;
        if ((object = find(&walk->in, walk->in.root, name, object_count)).node == unknown_member) return is_left;
        parent = object.node;
        name = name_end + open;
        if (!(name_end = end_of_plain(walk, name))) return is_cut;
    }
    const size_t name_count = (size_t)(name_end - name);
    const uint8_t *behind = name_end;
    if (parent != walk->in.root) {
        /* What stands in brackets has to be a key of an object. */
        const size_t close = name_count > 0 ? bracket(name_end, ']') : 0;
        if (!close || (of->notes_keys && (*name == '-' || is_digit(*name)))) return is_left;
        if (parent >= 0 && (walk->in.nodes[parent].kind != recast_node_keyed || walk->in.nodes[parent].is_spliced)) return is_left;
        behind += close;
    }
    if (behind >= walk->last || *behind != '=' || (size_t)(behind - pair) > of->longest_name) return is_left;
    if (name_count == 0 && of->leaves_empty) return is_left;
    if (parent >= 0 && (member = find(&walk->in, parent, name, name_count)).node != no_member) return is_left;

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
    if (parent < 0) parent = put_member(walk, walk->in.root, object, recast_node_keyed, start, own, own);
    put_member(walk, parent, member, recast_node_string, own, text, value.text_end);
    if (of->notes_keys && parent != walk->in.root) walk->in.nodes[parent].is_typed = true;
    if (is_opened) learn(of, pair, (size_t)(name - pair), parent);
    walk->to = value.text_end;
    walk->at = value.end + 1;
    return is_taken;
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
    size_t left = of->pairs_left;
    enum taken taken = is_taken;
    if (of->keeps_names) {
        while (left > 0 && walk.in.number < most && (taken = take_whole(&walk)) == is_taken) left--;
    } else {
        while (left > 0 && walk.in.number < most && (taken = take_pair(&walk)) == is_taken) left--;
    }
    of->pairs_left = left;
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
