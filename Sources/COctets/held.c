/* Documents that are held in a tree until their end: their members sorted in place, and their fields written. */
#include "COctets.h"
#include <string.h>

/* Objects and arrays of up to so many are sorted without any other memory. */
enum { few_nodes = 16 };

static inline bool has_names(const struct recast_node *node) { return node->kind <= recast_node_keyed; }
static inline bool is_container(const struct recast_node *node) { return node->kind <= recast_node_collected; }

/* Puts the children of `parent` in this order. */
static void relink(struct recast_node *nodes, int32_t parent, const int32_t *order, int32_t count) {
    int32_t previous = -1;
    for (int32_t at = 0; at < count; at++) {
        nodes[order[at]].previous = previous;
        nodes[order[at]].next = at + 1 < count ? order[at + 1] : -1;
        previous = order[at];
    }
    nodes[parent].first = order[0];
    nodes[parent].last = previous;
}

/* Eight bytes as a number that comes before another one where they do. */
static inline uint64_t word_at(const uint8_t *bytes) {
    return (uint64_t)bytes[0] << 56 | (uint64_t)bytes[1] << 48 | (uint64_t)bytes[2] << 40 | (uint64_t)bytes[3] << 32 |
           (uint64_t)bytes[4] << 24 | (uint64_t)bytes[5] << 16 | (uint64_t)bytes[6] << 8 | (uint64_t)bytes[7];
}

/* As above, with zeros behind `count` bytes. */
static inline uint64_t head_of(const uint8_t *bytes, int32_t count) {
    if (count <= 0) return 0;
    const uint64_t word = word_at(bytes);
    return count < 8 ? word >> (64 - 8 * count) << (64 - 8 * count) : word;
}

/* A member, and the beginning of its name. */
struct member {
    uint64_t head;
    int32_t node;
};

static inline bool precedes(const struct recast_node *nodes, const uint8_t *pool, struct member one, struct member other) {
    if (one.head != other.head) return one.head < other.head;
    const struct recast_node *const left = nodes + one.node, *const right = nodes + other.node;
    const int32_t least = left->name_count < right->name_count ? left->name_count : right->name_count;
    const int found = memcmp(pool + left->name_start, pool + right->name_start, (size_t)least);
    return found != 0 ? found < 0 : left->name_count < right->name_count;
}

bool recast_sort_members(struct recast_node *nodes, const uint8_t *pool, int32_t parent) {
    struct member members[few_nodes];
    int32_t count = 0;
    bool is_sorted = true;
    if (nodes[parent].count > few_nodes) return false;
    for (int32_t node = nodes[parent].first; node >= 0; node = nodes[node].next) {
        const struct member member = {head_of(pool + nodes[node].name_start, nodes[node].name_count), node};
        int32_t at = count++;
        for (; at > 0 && precedes(nodes, pool, member, members[at - 1]); at--) {
            members[at] = members[at - 1];
            is_sorted = false;
        }
        members[at] = member;
    }
    if (is_sorted) return true;
    int32_t order[few_nodes];
    for (int32_t at = 0; at < count; at++) order[at] = members[at].node;
    relink(nodes, parent, order, count);
    return true;
}

/* How two runs of bytes stand to each other. */
enum order { before, behind, unknown };

/* What a byte becomes in a form: three bytes at most, the first one highest. */
static inline uint32_t form_of(const struct recast_components *of, uint8_t byte) { return __builtin_bswap32(of->table[byte] << 8); }

/* Compares by what the bytes become; unknown where one begins with all of the other. */
static inline enum order compare(const struct recast_components *of, int32_t start, int32_t count, int32_t other, int32_t others) {
    const uint8_t *const one = of->pool + start, *const two = of->pool + other;
    const int32_t least = count < others ? count : others;
    for (int32_t at = 0; at < least; at += 8) {
        const uint64_t difference = word_at(one + at) ^ word_at(two + at);
        if (difference == 0) continue;
        at += __builtin_clzll(difference) / 8;
        if (at >= least) break;
        return form_of(of, one[at]) < form_of(of, two[at]) ? before : behind;
    }
    return unknown;
}

/* The node behind a leaf and what ends with it, below `top`; -1 for none. */
static inline int32_t following(const struct recast_components *of, int32_t leaf, int32_t top, int32_t *levels) {
    for (*levels = 0; leaf != top; leaf = of->nodes[leaf].parent, ++*levels) {
        if (of->nodes[leaf].next >= 0) return of->nodes[leaf].next;
    }
    return -1;
}

static inline bool has_more(const struct recast_components *of, int32_t leaf, int32_t top) {
    int32_t levels;
    return following(of, leaf, top, &levels) >= 0;
}

/* The first byte behind what names a node: of another bracket, or the mark of a text, or what ends a field without one. */
static inline uint8_t behind_name(const struct recast_components *of, int32_t node, int32_t top) {
    if (is_container(of->nodes + node)) return '%';
    if (of->nodes[node].kind != recast_node_null) return '=';
    return has_more(of, node, top) ? '&' : 0;
}

/* Compares two nodes by their names, of which one begins with the other. */
static enum order compare_marks(const struct recast_components *of, int32_t one, int32_t two, int32_t top, int32_t other_top) {
    const bool is_shorter = of->nodes[one].name_count < of->nodes[two].name_count;
    const int32_t shorter = is_shorter ? one : two, longer = is_shorter ? two : one;
    const uint32_t next = form_of(of, of->pool[of->nodes[longer].name_start + of->nodes[shorter].name_count]);
    /* %5D, %5B, or one byte. */
    uint32_t mark = UINT32_C(0x253544);
    if (of->nodes[shorter].parent == of->root) {
        const uint8_t first = behind_name(of, shorter, is_shorter ? top : other_top);
        mark = first == '%' ? UINT32_C(0x253542) : (uint32_t)first << 16;
    }
    if (mark == next) return unknown;
    return (mark < next) == is_shorter ? before : behind;
}

/* Compares two texts that stand behind the same names, of which one begins with the other, or is the other. */
static enum order compare_ends(const struct recast_components *of, int32_t one, int32_t two, int32_t top, int32_t other_top) {
    const bool is_shorter = of->nodes[one].text_count < of->nodes[two].text_count;
    const int32_t shorter = is_shorter ? one : two, longer = is_shorter ? two : one;
    bool precedes = true;
    if (has_more(of, shorter, is_shorter ? top : other_top))
        precedes = '&' < form_of(of, of->pool[of->nodes[longer].text_start + of->nodes[shorter].text_count]) >> 16;
    return precedes == is_shorter ? before : behind;
}

/* Compares two siblings, field by field while these are the same. What is equal isn't before. */
static enum order order_of(const struct recast_components *of, int32_t one, int32_t two) {
    const int32_t top = one, other_top = two;
    for (;;) {
        const struct recast_node *const left = of->nodes + one, *const right = of->nodes + two;
        const bool hold_names = has_names(of->nodes + left->parent);
        if (hold_names != has_names(of->nodes + right->parent)) return unknown;
        if (hold_names || of->are_numbered) {
            const enum order found =
                compare(of, left->name_start, left->name_count, right->name_start, right->name_count);
            if (found != unknown) return found;
            if (left->name_count != right->name_count)
                return hold_names ? compare_marks(of, one, two, top, other_top) : unknown;
        }
        if (is_container(left) && is_container(right)) {
            one = left->first;
            two = right->first;
            if (one < 0 || two < 0) return unknown;
            continue;
        }
        if (left->kind != right->kind) {
            const uint8_t first = behind_name(of, one, top), second = behind_name(of, two, other_top);
            return first == second ? unknown : first < second ? before : behind;
        }
        if (left->kind != recast_node_null) {
            const enum order found =
                compare(of, left->text_start, left->text_count, right->text_start, right->text_count);
            if (found != unknown) return found;
            if (left->text_count != right->text_count) return compare_ends(of, one, two, top, other_top);
        }
        int32_t levels, other_levels;
        one = following(of, one, top, &levels);
        two = following(of, two, other_top, &other_levels);
        if (one < 0 || two < 0) return two >= 0 ? before : behind;
        if (levels != other_levels) return unknown;
    }
}

/* As order_of, where the first bytes of both names most often tell them apart. */
static inline enum order order_of_members(const struct recast_components *of, struct member one, struct member two) {
    const uint64_t difference = one.head ^ two.head;
    if (difference) {
        const int at = __builtin_clzll(difference) / 8;
        if (at < of->nodes[one.node].name_count && at < of->nodes[two.node].name_count) {
            const uint8_t left = (uint8_t)(one.head >> (56 - 8 * at)), right = (uint8_t)(two.head >> (56 - 8 * at));
            return form_of(of, left) < form_of(of, right) ? before : behind;
        }
    }
    return order_of(of, one.node, two.node);
}

/* Sorts few nodes, or says that two of them can't be told apart here. */
static bool sort_few(const struct recast_components *of, int32_t *order, int32_t count, bool have_names) {
    struct member members[few_nodes];
    for (int32_t end = 0; end < count; end++) {
        const uint8_t *const name = of->pool + of->nodes[order[end]].name_start;
        const struct member member = {have_names ? word_at(name) : 0, order[end]};
        int32_t at = end;
        for (; at > 0; at--) {
            const enum order found = order_of_members(of, member, members[at - 1]);
            if (found == unknown) return false;
            if (found == behind) break;
            members[at] = members[at - 1];
        }
        members[at] = member;
    }
    for (int32_t at = 0; at < count; at++) order[at] = members[at].node;
    return true;
}

/* Sorts runs of few, and joins them two by two: what is equal stays as it came. */
static bool sort_nodes(const struct recast_components *of, int32_t *order, int32_t *other, int32_t count) {
    const bool have_names = count > 0 && has_names(of->nodes + of->nodes[*order].parent);
    for (int32_t start = 0; start < count; start += few_nodes) {
        if (!sort_few(of, order + start, count - start < few_nodes ? count - start : few_nodes, have_names)) return false;
    }
    for (int32_t width = few_nodes; width < count; width *= 2) {
        for (int32_t start = 0; start < count; start += 2 * width) {
            const int32_t middle = start + width < count ? start + width : count;
            const int32_t end = middle + width < count ? middle + width : count;
            int32_t left = start, right = middle;
            for (int32_t to = start; to < end; to++) {
                bool takes_right = left == middle;
                if (!takes_right && right < end) {
                    const enum order found = order_of(of, order[right], order[left]);
                    if (found == unknown) return false;
                    takes_right = found == before;
                }
                other[to] = takes_right ? order[right++] : order[left++];
            }
        }
        memcpy(order, other, (size_t)count * sizeof *order);
    }
    return true;
}

bool recast_sort_components(const struct recast_components *of, int32_t parent, int32_t *scratch) {
    int32_t few[few_nodes];
    const int32_t count = of->nodes[parent].count;
    int32_t *const order = count <= few_nodes ? few : scratch, *const other = count <= few_nodes ? few : scratch + count;
    int32_t at = 0;
    for (int32_t node = of->nodes[parent].first; node >= 0; node = of->nodes[node].next) order[at++] = node;
    if (!sort_nodes(of, order, other, count)) return false;
    relink(of->nodes, parent, order, count);
    return true;
}

/* Whether a name may be that of a number, as Swift's `Int` reads it. */
static inline bool may_be_number(const uint8_t *name, int32_t count) {
    if (count == 0) return false;
    const uint8_t first = count > 1 && (*name == '-' || *name == '+') ? name[1] : *name;
    return first >= '0' && first <= '9';
}

/* Whether no two members of an object, which are few, have one name. */
static bool are_different(const struct recast_node *nodes, const uint8_t *pool, int32_t node) {
    for (; node >= 0; node = nodes[node].next) {
        const int32_t count = nodes[node].name_count;
        const uint8_t *const name = pool + nodes[node].name_start;
        for (int32_t other = nodes[node].next; other >= 0; other = nodes[other].next) {
            if (nodes[other].name_count == count && memcmp(pool + nodes[other].name_start, name, (size_t)count) == 0) return false;
        }
    }
    return true;
}

bool recast_stands_for_itself(const struct recast_node *nodes, const uint8_t *pool, int32_t count, int32_t root,
                              size_t longest_name) {
    int32_t node = root, seen = 0;
    size_t length = 0;
    if (root < 0 || nodes[root].kind != recast_node_object) return false;
    for (;;) {
        const struct recast_node *const record = nodes + node;
        seen++;
        if (record->is_spliced) return false;
        if (node != root && has_names(nodes + record->parent)) {
            if (may_be_number(pool + record->name_start, record->name_count)) return false;
            length += (size_t)record->name_count;
            if (length > longest_name) return false;
        }
        if (is_container(record) && record->count > 0) {
            if (has_names(record) && (record->count > few_nodes || !are_different(nodes, pool, record->first))) return false;
            node = record->first;
            continue;
        }
        if (is_container(record) && node != root) return false;
        while (node != root) {
            if (has_names(nodes + nodes[node].parent)) length -= (size_t)nodes[node].name_count;
            if (nodes[node].next >= 0) break;
            node = nodes[node].parent;
        }
        if (node == root) return seen == count;
        node = nodes[node].next;
    }
}

#if defined(__x86_64__)
#include "blocks.h"

/* What a field may take besides its prefix, its name and its text: blocks behind each of them, the digits of an index, and the
   marks. */
enum { held_room = 4 * 32 + 64 };
/* What one more level may add to the prefix besides its name, and what is read behind it. */
enum { held_level_room = 128 };

/* Writes a text as the table says. */
AVX2 static inline uint8_t *put_text(uint8_t *to, const uint8_t *text, size_t count, const uint32_t *table) {
    for (; count > 32; text += 32, count -= 32)
        to += write_block(text, UINT32_MAX, _mm256_loadu_si256((const __m256i *)text), to, table) + 32;
    const uint32_t kept = (uint32_t)((UINT64_C(1) << count) - 1);
    return to + write_block(text, kept, _mm256_loadu_si256((const __m256i *)text), to, table) + count;
}

/* Writes what names an element: its own name, where it has one, its index, or nothing. */
static inline uint8_t *put_element(uint8_t *to, const struct recast_held *of, const struct recast_held_level *level,
                                   const struct recast_node *record) {
    if (of->elements_are_named) {
        memcpy(to, of->pool + record->name_start, (size_t)record->name_count);
        return to + record->name_count;
    }
    return of->has_indices ? put_index(to, level->position) : to;
}

/* Opens the object or array that a node is; false where its own event must. */
AVX2 static inline bool open_held(struct recast_held *of, struct recast_held_level *level, int32_t node) {
    struct recast_node *const record = of->nodes + node;
    struct recast_held_level *const next = level + 1;
    const bool is_root = level == of->levels && of->is_root;
    const size_t name_count = level->is_object ? (size_t)record->name_count : 0;
    if (level->prefix_count + 3 * name_count + held_level_room > of->prefix_room || name_count > level->name_room) return false;
    uint8_t *to = of->prefix + level->prefix_count;
    size_t name_end = level->name_end + name_count;
    if (level->is_object) {
        to = put_text(to, of->pool + record->name_start, name_count, of->table);
    } else {
        uint8_t *const start = to;
        to = put_element(to, of, level, record);
        name_end += (size_t)(to - start);
    }
    if (!is_root) {
        name_end += 2;
        to = put(to, &of->close_mark);
    }
    to = put(to, &of->open_mark);
    /* Two brackets around a member's name, and as many digits as an index may have. */
    const size_t around = name_end + (has_names(record) ? 2 : 22);
    if (name_end == 0 || around > of->longest_name) return false;
    if (of->sorts_members && has_names(record) && !recast_sort_members(of->nodes, of->pool, node)) return false;
    next->prefix_count = (size_t)(to - of->prefix);
    next->name_end = name_end;
    next->name_room = of->longest_name - around;
    next->position = 0;
    next->node = node;
    next->is_object = has_names(record);
    return true;
}

/* Writes the field of a text, for which there is room. */
AVX2 static inline uint8_t *write_held_field(struct recast_held *of, const struct recast_held_level *level,
                                             const struct recast_node *record, uint8_t *to) {
    const uint8_t *const prefix = of->prefix + of->skip;
    const size_t prefix_count = level->prefix_count - of->skip;
    of->skip = 0;
    copy_block(to, prefix);
    copy_block(to + 32, prefix + 32);
    for (size_t done = 64; done < prefix_count; done += 32) copy_block(to + done, prefix + done);
    to += prefix_count;
    if (level->is_object) {
        to = put_text(to, of->pool + record->name_start, (size_t)record->name_count, of->table);
    } else {
        to = put_element(to, of, level, record);
    }
    to = put(to, level == of->levels && of->is_root ? &of->root_mark : &of->name_mark);
    return put_text(to, of->pool + record->text_start, (size_t)record->text_count, of->table);
}

AVX2 static void write_held(struct recast_held *of) {
    const struct recast_node *const nodes = of->nodes;
    struct recast_held_level *level = of->levels + of->depth, *const last_level = of->levels + of->levels_room - 1;
    const uint8_t *const end = of->target + of->room;
    const uint8_t *const full = of->target + (of->left < of->room ? of->left : of->room);
    uint8_t *to = of->target;
    int32_t node = of->node;
    of->needed = 0;
    for (;;) {
        if (node < 0) {
            if (level == of->levels) break;
            node = nodes[level->node].next;
            level--;
            level->position++;
            continue;
        }
        if (to >= full) break;
        const struct recast_node *const record = nodes + node;
        if (record->kind == recast_node_string) {
            const size_t name_count = level->is_object ? (size_t)record->name_count : 0;
            const size_t text_count = (size_t)record->text_count;
            if (name_count > level->name_room || text_count > of->longest_text) break;
            const size_t needed = level->prefix_count + 3 * (name_count + text_count) + held_room;
            if (needed > (size_t)(end - to)) {
                of->needed = needed;
                break;
            }
            to = write_held_field(of, level, record, to);
            level->position++;
            of->fields++;
            node = record->next;
        } else {
            if (!is_container(record) || record->count == 0 || level == last_level || !open_held(of, level, node)) break;
            level++;
            node = record->first;
        }
    }
    of->to = (size_t)(to - of->target);
    of->node = node;
    of->depth = (size_t)(level - of->levels);
}

void recast_held_write(struct recast_held *held) {
    if (recast_has_blocks()) write_held(held);
}

#else

void recast_held_write(struct recast_held *held) { (void)held; }

#endif
