/* Members of a tree's objects: how form.c and members.c find them and put them in. Words are read lowest byte first. */
#ifndef RECAST_MEMBERS_H
#define RECAST_MEMBERS_H
#include "COctets.h"
#include "hash.h"
#include <string.h>

#define INLINED static inline __attribute__((always_inline))

static inline bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* The first bytes of a word, eight at most. */
static inline uint64_t first_of(uint64_t word, size_t count) { return count < 8 ? word & ((UINT64_C(1) << count * 8) - 1) : word; }

/* Whether `count` bytes are the same; a word can be read of both. */
INLINED bool are_equal(const uint8_t *left, const uint8_t *right, size_t count) {
    if (count <= 8) return first_of(word(left) ^ word(right), count) == 0;
    for (size_t at = 0; at + 8 < count; at += 8)
        if (word(left + at) != word(right + at)) return false;
    return word(left + count - 8) == word(right + count - 8);
}

/* Octets' ByteHash. */
INLINED uint64_t hash_of(const struct recast_pairs *of, const uint8_t *name, size_t count, int32_t parent) {
    const uint64_t spaces = 0x2020202020202020;
    if (count > 16) return hash_of_long(of->seed, of->multiplier, name, count, (uint64_t)parent);
    uint64_t first = spaces, last = spaces;
    if (count >= 8) {
        first = word(name);
        last = word(name + count - 8);
    } else if (count >= 4) {
        first = (uint32_t)word(name) | word(name + count - 4) << 32;
    } else if (count > 0) {
        first = name[0] | name[count >> 1] << 8 | name[count - 1] << 16 | (spaces & ~(uint64_t)0xFFFFFF);
    }
    return hash_of_words(of->seed, of->multiplier, first, last, (uint64_t)parent << 8 ^ count);
}

/* What is known of a name in an object: the member that has it, or that none has, or nothing; and where a new one is entered in the
   index, -1 for nowhere. */
struct member {
    int32_t node, slot;
};
enum { no_member = -1, unknown_member = -2 };

/* As find, where the object's members are in the index. */
__attribute__((noinline)) static struct member find_in_index(const struct recast_pairs *of, const uint8_t *pool, int32_t nodes_count,
                                                            int32_t object, const uint8_t *name, size_t count) {
    if ((of->slots_used + 1) * 2 > of->slots_count) return (struct member){unknown_member, -1};
    size_t slot = hash_of(of, name, count, object) & (of->slots_count - 1);
    for (int32_t node; (node = of->slots[slot]) >= 0; slot = (slot + 1) & (of->slots_count - 1)) {
        if (node >= nodes_count || of->nodes[node].parent != object || (uint32_t)of->nodes[node].name_count != count) continue;
        if (are_equal(pool + of->nodes[node].name_start, name, count)) return (struct member){node, -1};
    }
    return (struct member){no_member, (int32_t)slot};
}

/* Which of 64 bits a name has. */
static inline uint64_t bit_of(const uint8_t *name, size_t count) {
    const uint64_t mixed = (first_of(word(name), count) ^ count) * RECAST_NAME_MIX;
    return UINT64_C(1) << (mixed >> 58);
}

/* The bits of the members' names, where they are few. */
static uint64_t bits_of(const struct recast_node *nodes, const uint8_t *pool, int32_t object) {
    uint64_t bits = 0;
    if (nodes[object].count > recast_few_nodes) return bits;
    for (int32_t node = nodes[object].first; node >= 0; node = nodes[node].next)
        bits |= bit_of(pool + nodes[node].name_start, (size_t)nodes[node].name_count);
    return bits;
}

/* The members of a tree's objects: the tree, where names begin, and how many nodes there are. */
struct members {
    struct recast_pairs *of;
    const uint8_t *pool;
    struct recast_node *nodes;
    int32_t root, number;
    /* The bits that the names of the root's members have, as long as there are few; other names have no member. */
    uint64_t root_bits;
};

static inline struct members members_of(struct recast_pairs *of) {
    const uint8_t *const pool = of->target - of->pool_start;
    return (struct members){
        .of = of, .pool = pool, .nodes = of->nodes, .root = of->root, .number = (int32_t)of->nodes_count,
        .root_bits = of->nodes[of->root].count == of->root_count ? of->root_bits : bits_of(of->nodes, pool, of->root)};
}

/* Says what has come of them. */
static inline void leave_members(const struct members *in) {
    struct recast_pairs *const of = in->of;
    of->nodes_count = (size_t)in->number;
    of->root_count = of->nodes[of->root].count;
    of->root_bits = in->root_bits;
}

/* Looks for a member. Nothing is known where one more would be the first one for the index. */
INLINED struct member find(const struct members *in, int32_t object, const uint8_t *name, size_t count) {
    const struct recast_node *const nodes = in->nodes;
    const int32_t children = nodes[object].count;
    if (children > recast_few_nodes) return find_in_index(in->of, in->pool, in->number, object, name, count);
    if (object == in->root && children < recast_few_nodes && !(in->root_bits & bit_of(name, count)))
        return (struct member){no_member, -1};
    for (int32_t node = nodes[object].first; node >= 0; node = nodes[node].next) {
        if ((uint32_t)nodes[node].name_count != count) continue;
        if (are_equal(in->pool + nodes[node].name_start, name, count)) return (struct member){node, -1};
    }
    return (struct member){children < recast_few_nodes ? no_member : unknown_member, -1};
}

/* Lets `object`, the index and what is known of the root's members know of a node that is the last member from now on. */
INLINED void enter_last(struct members *in, int32_t object, struct member member, int32_t node, const uint8_t *name, size_t count) {
    struct recast_node *const above = in->nodes + object;
    *(above->last < 0 ? &above->first : &in->nodes[above->last].next) = node;
    above->last = node;
    above->count++;
    if (object == in->root) in->root_bits |= bit_of(name, count);
    if (member.slot >= 0) {
        in->of->slots[member.slot] = node;
        in->of->slots_used++;
    }
}

/* What a table of PHP's, or an object that counts on under qs, says of numbers. */
INLINED uint64_t numbers_of(const struct recast_node *node) {
    return (uint32_t)node->text_start | (uint64_t)(uint32_t)node->text_count << 32;
}
INLINED void set_numbers(struct recast_node *node, uint64_t numbers) {
    node->text_start = (int32_t)(uint32_t)numbers;
    node->text_count = (int32_t)(uint32_t)(numbers >> 32);
}

/* Whether a node, under qs, is an object that was an array, or began with a number too large for one, and so counts on. */
INLINED bool counts_on(const struct recast_node *node) { return node->kind == recast_node_keyed && node->is_typed; }

/* Remembers in which node names stand that begin so, where that isn't too long. */
static inline void learn(struct recast_pairs *of, const uint8_t *prefix, size_t count, int32_t node) {
    if (count > sizeof of->prefix) return;
    memcpy(of->prefix, prefix, count);
    of->prefix_count = count;
    of->prefix_node = node;
}

#endif
