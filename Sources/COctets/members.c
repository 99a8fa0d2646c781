/* Fields that have been kept under their whole names, as qs wants it, move to where these say. */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(__SIZEOF_INT128__)
#include "members.h"

/* Which bytes of a word are `byte`: the highest bit of each that is, and perhaps of others behind the first. */
static inline uint64_t bytes_that_are(uint64_t word, uint8_t byte) {
    const uint64_t ones = 0x0101010101010101, others = word ^ byte * ones;
    return (others - ones) & ~others & 0x80 * ones;
}

/* Where the first bracket, or `other`, stands among bytes from `at` on, or else `count`; a word can be read behind them. */
static inline size_t end_of_segment(const uint8_t *text, size_t at, size_t count, uint8_t other) {
    for (; at < count; at += 8) {
        const uint64_t bytes = word(text + at);
        const uint64_t ends = bytes_that_are(bytes, '[') | bytes_that_are(bytes, ']') | bytes_that_are(bytes, other);
        if (!ends) continue;
        at += (size_t)__builtin_ctzll(ends) / 8;
        break;
    }
    return at < count ? at : count;
}

/* What a segment in brackets is: a key, an index below recast_qs_array_limit, or a larger number. A push makes an array whose first
   element it is. */
enum { is_key = -1, is_number = -2 };

/* A number has no needless zeros, and is at most 2⁵³, as JavaScript has it. */
static inline int32_t index_of(const uint8_t *key, size_t count) {
    if (!is_digit(*key)) return is_key;
    if (count == 1) return *key - '0';
    if (count > 16 || *key == '0') return is_key;
    uint64_t number = 0;
    for (size_t at = 0; at < count; at++) {
        if (!is_digit(key[at])) return is_key;
        number = number * 10 + key[at] - '0';
    }
    if (number < recast_qs_array_limit) return (int32_t)number;
    return number <= UINT64_C(1) << 53 ? is_number : is_key;
}

/* A segment of a whole name. */
struct segment {
    const uint8_t *name;
    size_t count;
    int32_t index;
};
/* What a key in brackets is, where those are looked at. */
static inline int32_t kind_of(const struct recast_pairs *of, const uint8_t *key, size_t count) {
    return of->reads_indices ? index_of(key, count) : is_key;
}

/* Splits a name into a root, and keys and pushes in brackets. Returns how many these are; 0 for any other name, and one that has a push in
   front of what makes an array itself or counts on, which the push changes nothing of. */
INLINED size_t split(const struct recast_pairs *of, const uint8_t *name, size_t count, struct segment *segments) {
    const uint8_t other = of->leaves_dots ? '.' : '[';
    size_t end = end_of_segment(name, 0, count, other);
    segments[0] = (struct segment){name, end, is_key};
    if (end == 0 || (end < count && name[end] != '[')) return 0;
    size_t number = 1;
    for (; end < count; number++) {
        const size_t at = end + 1;
        end = end_of_segment(name, at, count, other);
        if (end == count || name[end] != ']' || number == recast_pairs_depth) return 0;
        segments[number] = (struct segment){name + at, end - at, end == at ? 0 : kind_of(of, name + at, end - at)};
        if (segments[number].index != is_key && segments[number - 1].count == 0) return 0;
        if (++end < count && name[end] != '[') return 0;
    }
    return number;
}

/* Whether a name is what is known to lead to `prefix_node`, and one key, in brackets. */
INLINED bool is_neighbour(const struct recast_pairs *of, const uint8_t *name, size_t count, struct segment *segment) {
    const size_t at = of->prefix_count;
    if (at == 0 || count < at + 2 || !are_equal(of->prefix, name, at)) return false;
    const size_t end = end_of_segment(name, at, count, of->leaves_dots ? '.' : '[');
    if (end == at) return false;
    *segment = (struct segment){name + at, end - at, kind_of(of, name + at, end - at)};
    return end == count - 1 && name[end] == ']';
}

/* As find_in_index, of a name that none of the object's members has, which are as many as there may be without the index, and are entered
   in it first. */
__attribute__((noinline)) static struct member find_first_in_index(const struct members *in, int32_t object,
                                                                       const uint8_t *name, size_t count) {
    struct recast_pairs *const of = in->of;
    if ((of->slots_used + recast_few_nodes + 1) * 2 > of->slots_count) return (struct member){unknown_member, -1};
    for (int32_t node = in->nodes[object].first; node >= 0; node = in->nodes[node].next) {
        const struct recast_node *const own = in->nodes + node;
        size_t slot = hash_of(of, in->pool + own->name_start, (size_t)own->name_count, object) & (of->slots_count - 1);
        while (of->slots[slot] >= 0) slot = (slot + 1) & (of->slots_count - 1);
        of->slots[slot] = node;
        of->slots_used++;
    }
    return find_in_index(of, in->pool, in->number, object, name, count);
}

/* The number that a segment is. */
static uint64_t number_of(const struct segment *segment) {
    uint64_t number = 0;
    for (size_t at = 0; at < segment->count; at++) number = number * 10 + segment->name[at] - '0';
    return number;
}

/* Lets an object that counts on know of a number. */
static void note_number(struct recast_node *object, uint64_t number) {
    if (number > numbers_of(object)) set_numbers(object, number);
}

/* What stands where a segment says in the node `parent`: unknown_member where that is nothing that it can say something of, or an index
   that is free and not behind all that there are. */
INLINED struct member look(const struct members *in, int32_t parent, const struct segment *segment) {
    const struct recast_node *const above = in->nodes + parent;
    const struct member unknown = {unknown_member, -1};
    if (above->kind != recast_node_array) {
        if (parent != in->root && (above->kind != recast_node_keyed || above->is_spliced)) return unknown;
        /* A number makes an object count on, a push is the first one, and a key may be one that isn't read as such. */
        if (segment->index != is_key ? !counts_on(above) || segment->count == 0 : counts_on(above) && is_digit(*segment->name))
            return unknown;
        struct member member = find(in, parent, segment->name, segment->count);
        if (member.node == unknown_member && above->count == recast_few_nodes)
            member = find_first_in_index(in, parent, segment->name, segment->count);
        if (member.node == unknown_member) in->of->lacks_room = true;
        return member;
    }
    if (segment->index < 0 || above->is_spliced) return unknown;
    if (above->last < 0 || in->nodes[above->last].name_start < segment->index) return (struct member){no_member, -1};
    int32_t node = above->first;
    while (in->nodes[node].name_start < segment->index) node = in->nodes[node].next;
    return in->nodes[node].name_start == segment->index ? (struct member){node, -1} : unknown;
}

/* Puts a node, which is a member or element of no other, last into the node `parent`. */
INLINED void put_last(struct members *in, int32_t parent, struct member member, int32_t number, const struct segment *segment) {
    struct recast_node *const node = in->nodes + number;
    const bool is_element = in->nodes[parent].kind == recast_node_array;
    if (segment->index != is_key && !is_element) note_number(in->nodes + parent, number_of(segment));
    node->parent = parent;
    node->previous = in->nodes[parent].last;
    node->next = -1;
    node->name_start = is_element ? segment->index : (int32_t)(segment->name - in->pool);
    node->name_count = is_element ? 0 : (int32_t)segment->count;
    node->plain = 0;
    if (!is_element && is_digit(*segment->name)) in->of->has_number_names = true;
    enter_last(in, parent, member, number, segment->name, segment->count);
}

/* Moves one member to where its whole name says; false, with nothing changed, where that can't be told at once. */
INLINED bool move_member(struct members *in, int32_t number) {
    struct recast_pairs *const of = in->of;
    const uint8_t *const name = in->pool + in->nodes[number].name_start;
    const size_t count = (size_t)in->nodes[number].name_count;
    struct segment segments[recast_pairs_depth];
    size_t depth = 0, last = 0;
    int32_t parent = in->root;
    struct member member;
    if (is_neighbour(of, name, count, segments)) {
        parent = of->prefix_node;
        if ((member = look(in, parent, segments)).node != no_member) return false;
    } else {
        last = split(of, name, count, segments);
        if (last == 0 || last > of->most_keys + 1) return false;
        last--;
        /* A push makes of an array what it is; what is no array any more counts on. */
        const struct recast_node *const leaf = in->nodes + number;
        if (last > 0 && segments[last].count == 0) {
            if (counts_on(leaf)) return false;
            if (leaf->kind == recast_node_array && !leaf->is_spliced) last--;
        }
        while ((member = look(in, parent, segments + depth)).node >= 0 && depth < last) {
            parent = member.node;
            depth++;
        }
        if (member.node != no_member) return false;
        const size_t added = last - depth;
        if (added * of->node_cost > of->bytes_left) return false;
        if ((size_t)in->number + added > of->nodes_room) {
            of->lacks_room = true;
            return false;
        }
        of->bytes_left -= added * of->node_cost;
    }
    /* What is new above it are objects, and arrays of one element. */
    for (; depth < last; depth++) {
        struct recast_node *const node = in->nodes + in->number;
        *node = (struct recast_node){.first = -1, .last = -1};
        node->kind = segments[depth + 1].index < 0 ? recast_node_keyed : recast_node_array;
        node->is_typed = segments[depth + 1].index == is_number;
        put_last(in, parent, member, in->number, segments + depth);
        parent = in->number++;
        member = (struct member){no_member, -1};
    }
    put_last(in, parent, member, number, segments + last);
    if (last > 0) learn(of, name, (size_t)(segments[last].name - name), parent);
    return true;
}

void recast_pairs_judge(struct recast_pairs *of) {
    const struct members in = members_of(of);
    const uint8_t other = of->leaves_dots ? '.' : '[';
    int32_t member = of->member;
    while (member >= 0) {
        const struct recast_node *const node = in.nodes + member;
        const size_t count = (size_t)node->name_count;
        if (count == 0 || end_of_segment(in.pool + node->name_start, 0, count, other) < count) break;
        member = node->next;
    }
    of->are_keys = member < 0;
}

void recast_pairs_move(struct recast_pairs *of) {
    struct members in = members_of(of);
    int32_t member = of->member;
    of->lacks_room = false;
    while (member >= 0) {
        const int32_t next = in.nodes[member].next;
        if (!move_member(&in, member)) break;
        member = next;
    }
    of->member = member;
    leave_members(&in);
}

#else
#include "COctets.h"

void recast_pairs_judge(struct recast_pairs *of) { of->are_keys = false; }

void recast_pairs_move(struct recast_pairs *of) { (void)of; }

#endif
