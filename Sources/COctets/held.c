/* Documents that are held in a tree until their end: their members sorted in place, and their fields written. */
#include "COctets.h"
#include <string.h>

#define INLINED static inline __attribute__((always_inline))

static inline bool has_names(const struct recast_node *node) { return node->kind <= recast_node_keyed; }
static inline bool is_container(const struct recast_node *node) { return node->kind <= recast_node_collected; }

/* Eight bytes as a number that comes before another one where they do. */
static inline uint64_t word_at(const uint8_t *bytes) {
    return (uint64_t)bytes[0] << 56 | (uint64_t)bytes[1] << 48 | (uint64_t)bytes[2] << 40 | (uint64_t)bytes[3] << 32 |
           (uint64_t)bytes[4] << 24 | (uint64_t)bytes[5] << 16 | (uint64_t)bytes[6] << 8 | (uint64_t)bytes[7];
}

/* As above, with zeros behind `count` bytes. */
static inline uint64_t head_of(const uint8_t *bytes, int32_t count) {
    static const uint64_t kept[9] = {
        0, UINT64_MAX << 56, UINT64_MAX << 48, UINT64_MAX << 40, UINT64_MAX << 32, UINT64_MAX << 24, UINT64_MAX << 16,
        UINT64_MAX << 8, UINT64_MAX,
    };
    return word_at(bytes) & kept[(uint32_t)count < 8 ? count : 8];
}

/* How two runs of bytes, or two children, stand to each other. */
enum order { before, behind, unknown };

/* The orders that few children were put in lately, by what the first and the last one begin with: an object most often has the
   names of one that came before. Each is the places that so many children had, and no more than a guess. */
struct order_of_few {
    uint8_t count, places[recast_few_nodes];
    bool is_other;
};

struct orders {
    struct order_of_few of[64];
};

static inline struct order_of_few *guess_of(struct orders *orders, const struct recast_member *members, int32_t count) {
    uint64_t names = (members->head ^ members[count - 1].head >> 7) * RECAST_NAME_MIX;
    names = (names ^ names >> 32 ^ (uint64_t)count) * RECAST_NAME_MIX;
    return orders->of + (names >> 58);
}

/* Whether one child comes before another one, which it doesn't where they are equal. What is found out where they can't be told
   apart doesn't count. */
typedef bool comparing(const void *of, const struct recast_member *one, const struct recast_member *other, bool *is_unknown);

/* Finds the order of few children; says whether it is another one than they have. */
INLINED bool sort_few(const void *of, comparing *precedes, const struct recast_member *members, int32_t count, uint8_t *places,
                      bool *is_unknown) {
    bool is_other = false;
    places[0] = 0;
    for (int32_t end = 1; end < count; end++) {
        int32_t at = end;
        for (; at > 0 && precedes(of, members + end, members + places[at - 1], is_unknown); at--) places[at] = places[at - 1];
        places[at] = (uint8_t)end;
        is_other |= at < end;
    }
    return is_other;
}

/* Sorts runs of few, and joins them two by two: what is equal stays as it came. There is room for as many again. */
INLINED void sort_many(const void *of, comparing *precedes, struct recast_member *members, int32_t count, bool *is_unknown) {
    struct recast_member *const other = members + count;
    for (int32_t start = 0; start < count; start += recast_few_nodes) {
        const int32_t few = count - start < recast_few_nodes ? count - start : recast_few_nodes;
        uint8_t places[recast_few_nodes];
        sort_few(of, precedes, members + start, few, places, is_unknown);
        for (int32_t at = 0; at < few; at++) other[start + at] = members[start + places[at]];
    }
    memcpy(members, other, (size_t)count * sizeof *other);
    for (int32_t width = recast_few_nodes; width < count; width *= 2) {
        for (int32_t start = 0; start < count; start += 2 * width) {
            const int32_t middle = width < count - start ? start + width : count;
            const int32_t end = width < count - middle ? middle + width : count;
            int32_t left = start, right = middle;
            for (int32_t to = start; to < end; to++) {
                const bool takes_right =
                    left == middle || (right < end && precedes(of, members + right, members + left, is_unknown));
                other[to] = members[takes_right ? right++ : left++];
            }
        }
        memcpy(members, other, (size_t)count * sizeof *other);
    }
}

/* Puts the children of `parent` in the order of `members`, or, where there are places, of these. */
INLINED void relink(struct recast_node *nodes, int32_t parent, const struct recast_member *members, int32_t count,
                    const uint8_t *places) {
    int32_t previous = -1, *link = &nodes[parent].first;
    for (int32_t at = 0; at < count; at++) {
        const int32_t number = members[places ? places[at] : at].node;
        struct recast_node *const node = nodes + number;
        *link = number;
        node->previous = previous;
        link = &node->next;
        previous = number;
    }
    *link = -1;
    nodes[parent].last = previous;
}

/* Puts few children, of which the heads tell which comes first where they aren't the same, in the order that others had. Returns
   false where that isn't theirs, or two heads are the same: then the children are to be linked anew. */
INLINED bool take_order(struct recast_node *nodes, int32_t parent, const struct recast_member *members, int32_t count,
                        const struct order_of_few *order) {
    if (order->count != count) return false;
    /* Where each is before the next one no other order holds, and none is there twice. */
    const uint8_t *place = order->places, *const end = place + count;
    const struct recast_member *member = members + *place++;
    uint64_t head = member->head;
    if (!order->is_other) {
        for (; place < end; place++) {
            member = members + *place;
            if (head >= member->head) return false;
            head = member->head;
        }
        return true;
    }
    int32_t previous = member->node;
    struct recast_node *node = nodes + previous;
    nodes[parent].first = previous;
    node->previous = -1;
    for (; place < end; place++) {
        member = members + *place;
        if (head >= member->head) return false;
        head = member->head;
        node->next = member->node;
        node = nodes + member->node;
        node->previous = previous;
        previous = member->node;
    }
    node->next = -1;
    nodes[parent].last = previous;
    return true;
}

/* Whether these few are in the order that others had. */
INLINED bool is_order(const struct order_of_few *order, const void *of, comparing *precedes, const struct recast_member *members,
                      int32_t count) {
    if (order->count != count) return false;
    bool is_unknown = false;
    const struct recast_member *last = members + order->places[0];
    for (int32_t at = 1; at < count; at++) {
        const struct recast_member *const next = members + order->places[at];
        if (!precedes(of, last, next, &is_unknown)) return false;
        last = next;
    }
    return !is_unknown;
}

/* Sorts few children of `parent`, which stand in `members` as they came, and keeps their order. Returns false, and links them as they
   came, where two can't be told apart. */
INLINED bool sort_few_children(struct recast_node *nodes, int32_t parent, const void *of, comparing *precedes,
                               const struct recast_member *members, int32_t count, struct order_of_few *order) {
    bool is_unknown = false;
    order->is_other = sort_few(of, precedes, members, count, order->places, &is_unknown);
    order->count = is_unknown ? 0 : (uint8_t)count;
    relink(nodes, parent, members, count, is_unknown ? NULL : order->places);
    return !is_unknown;
}

/* Whether each is known not to come before the one that it came behind. */
INLINED bool are_in_order(const void *of, comparing *precedes, const struct recast_member *members, int32_t count) {
    bool is_unknown = false;
    for (int32_t at = 1; at < count; at++) {
        if (precedes(of, members + at, members + at - 1, &is_unknown) || is_unknown) return false;
    }
    return true;
}

/* As above, of many, with nothing done where two can't be told apart; there is room for as many again. */
INLINED bool sort_many_children(struct recast_node *nodes, int32_t parent, const void *of, comparing *precedes,
                                struct recast_member *members, int32_t count) {
    /* Many are most often the elements of an array, which may be one value over and over, or numbers that rise. */
    if (are_in_order(of, precedes, members, count)) return true;
    bool is_unknown = false;
    sort_many(of, precedes, members, count, &is_unknown);
    if (!is_unknown) relink(nodes, parent, members, count, NULL);
    return !is_unknown;
}

/* What names lie in. */
struct names {
    const struct recast_node *nodes;
    const uint8_t *pool;
};

INLINED bool precedes_by_name(const void *of, const struct recast_member *one, const struct recast_member *other, bool *is_unknown) {
    (void)is_unknown;
    if (one->head != other->head) return one->head < other->head;
    const struct names *const names = of;
    const struct recast_node *const left = names->nodes + one->node, *const right = names->nodes + other->node;
    const int32_t least = left->name_count < right->name_count ? left->name_count : right->name_count;
    const int found = memcmp(names->pool + left->name_start, names->pool + right->name_start, (size_t)least);
    return found != 0 ? found < 0 : left->name_count < right->name_count;
}

/* Sorting what isn't in the order of others has functions of its own, so that what is costs little. */
static bool sort_few_members(struct recast_node *nodes, const uint8_t *pool, int32_t parent, const struct recast_member *members,
                             struct order_of_few *order) {
    const struct names names = {nodes, pool};
    return sort_few_children(nodes, parent, &names, precedes_by_name, members, nodes[parent].count, order);
}

static bool sort_many_members(struct recast_node *nodes, const uint8_t *pool, int32_t parent, struct recast_member *members) {
    const struct names names = {nodes, pool};
    return sort_many_children(nodes, parent, &names, precedes_by_name, members, nodes[parent].count);
}

/* Fills in the first bytes of the names of all children, which are compared by them first, and returns whether all are plain. */
INLINED bool read_names(const struct recast_node *nodes, const uint8_t *pool, int32_t parent, struct recast_member *member) {
    uint8_t plain = recast_plain_name;
    for (int32_t number = nodes[parent].first; number >= 0; member++) {
        const struct recast_node *const node = nodes + number;
        *member = (struct recast_member){head_of(pool + node->name_start, node->name_count), number, node->name_count};
        plain &= node->plain;
        number = node->next;
    }
    return plain;
}

/* As recast_sort_members, with the orders of others. */
static bool sort_members(struct recast_node *nodes, const uint8_t *pool, int32_t parent, struct recast_member *scratch,
                         size_t room, struct orders *orders) {
    const int32_t count = nodes[parent].count;
    if (count < 2) return true;
    if (count > recast_few_nodes) {
        if (room < 2 * (size_t)count) return false;
        read_names(nodes, pool, parent, scratch);
        return sort_many_members(nodes, pool, parent, scratch);
    }
    struct recast_member members[recast_few_nodes];
    read_names(nodes, pool, parent, members);
    struct order_of_few none = {0}, *const order = orders ? guess_of(orders, members, count) : &none;
    return take_order(nodes, parent, members, count, order) || sort_few_members(nodes, pool, parent, members, order);
}

bool recast_sort_members(struct recast_node *nodes, const uint8_t *pool, int32_t parent, struct recast_member *scratch,
                         size_t room) {
    return sort_members(nodes, pool, parent, scratch, room, NULL);
}

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

/* Whether two children that begin with the same bytes are elements without names that have the same text, all of which these are:
   then neither comes first. */
static inline bool are_same_texts(const struct recast_components *of, const struct recast_member *one,
                                  const struct recast_member *other) {
    const struct recast_node *const left = of->nodes + one->node, *const right = of->nodes + other->node;
    return one->count == other->count && one->count <= 8 && left->text_count == one->count && right->text_count == one->count &&
           left->kind == right->kind && !is_container(left) && left->kind != recast_node_null &&
           !has_names(of->nodes + left->parent) && !of->are_numbered;
}

/* As order_of, for sorting, of children that begin with the same bytes, or of which one's bytes end. */
static inline bool precedes_in_full(const struct recast_components *of, const struct recast_member *one,
                                    const struct recast_member *other, bool *is_unknown) {
    if (one->head == other->head && are_same_texts(of, one, other)) return false;
    const enum order found = order_of(of, one->node, other->node);
    *is_unknown |= found == unknown;
    return found == before;
}

/* As above, where the first bytes that the children differ by most often tell them apart. */
INLINED bool precedes(const void *components, const struct recast_member *one, const struct recast_member *other,
                      bool *is_unknown) {
    const struct recast_components *const of = components;
    const uint64_t difference = one->head ^ other->head;
    if (difference) {
        const int shift = 56 - __builtin_clzll(difference) / 8 * 8, at = 7 - shift / 8;
        if (at < one->count && at < other->count)
            return form_of(of, (uint8_t)(one->head >> shift)) < form_of(of, (uint8_t)(other->head >> shift));
    }
    return precedes_in_full(of, one, other, is_unknown);
}

/* As above, of names or texts that are all plain and have zeros behind them: what ends before another one goes on is followed by a
   percent sign, an ampersand or nothing, which come before all plain bytes. So it isn't for the root's names. */
INLINED bool precedes_plain(const void *components, const struct recast_member *one, const struct recast_member *other,
                            bool *is_unknown) {
    if (one->head != other->head) return one->head < other->head;
    return precedes_in_full(components, one, other, is_unknown);
}

static inline bool have_one_name(const struct recast_components *of, const struct recast_node *one, const struct recast_node *other) {
    if (one->name_count != other->name_count) return false;
    const uint8_t *const left = of->pool + one->name_start, *const right = of->pool + other->name_start;
    /* Bytes behind the pool can be read. */
    if (one->name_count <= 8) return head_of(left, one->name_count) == head_of(right, one->name_count);
    return memcmp(left, right, (size_t)one->name_count) == 0;
}

/* The first text of an element; NULL where it begins with none. */
static inline const struct recast_node *own_text(const struct recast_components *of, const struct recast_node *node) {
    while (is_container(node)) {
        if (node->first < 0) return NULL;
        node = of->nodes + node->first;
    }
    return node->kind == recast_node_null ? NULL : node;
}

/* As above, of another element than the first one, `one`; NULL where what they begin with isn't the same. */
static inline const struct recast_node *text_behind_same(const struct recast_components *of, const struct recast_node *one,
                                                         const struct recast_node *other) {
    while (one->kind == other->kind && is_container(one)) {
        const bool hold_names = has_names(one) || of->are_numbered;
        if (other->first < 0) return NULL;
        one = of->nodes + one->first;
        other = of->nodes + other->first;
        if (hold_names && !have_one_name(of, one, other)) return NULL;
    }
    return one->kind == other->kind ? other : NULL;
}

/* Fills in the first bytes of the first texts of all elements where these stand behind the same names, and returns whether all are
   plain; else nothing is known of them before they are compared. */
static inline bool read_texts(const struct recast_components *of, int32_t parent, struct recast_member *members) {
    const struct recast_node *const nodes = of->nodes;
    const int32_t first = nodes[parent].first;
    const struct recast_node *element = nodes + first, *text = own_text(of, element);
    uint8_t plain = recast_plain_text;
    struct recast_member *member = members;
    for (int32_t number = first; text; element = nodes + number, text = text_behind_same(of, nodes + first, element)) {
        *member++ = (struct recast_member){head_of(of->pool + text->text_start, text->text_count), number, text->text_count};
        plain &= text->plain;
        number = element->next;
        if (number < 0) return plain;
    }
    member = members;
    for (int32_t number = first; number >= 0; number = nodes[number].next, member++) *member = (struct recast_member){0, number, 0};
    return false;
}

static bool sort_few_plain(const struct recast_components *of, int32_t parent, const struct recast_member *members,
                           struct order_of_few *order) {
    return sort_few_children(of->nodes, parent, of, precedes_plain, members, of->nodes[parent].count, order);
}

static bool sort_few_others(const struct recast_components *of, int32_t parent, const struct recast_member *members,
                            struct order_of_few *order) {
    const int32_t count = of->nodes[parent].count;
    if (!is_order(order, of, precedes, members, count))
        return sort_few_children(of->nodes, parent, of, precedes, members, count, order);
    if (order->is_other) relink(of->nodes, parent, members, count, order->places);
    return true;
}

static bool sort_many_plain(const struct recast_components *of, int32_t parent, struct recast_member *members) {
    return sort_many_children(of->nodes, parent, of, precedes_plain, members, of->nodes[parent].count);
}

static bool sort_many_others(const struct recast_components *of, int32_t parent, struct recast_member *members) {
    return sort_many_children(of->nodes, parent, of, precedes, members, of->nodes[parent].count);
}

/* Sorts the children of a node, or returns false, with nothing done. */
static inline bool sort_components(const struct recast_components *of, int32_t parent, struct orders *orders) {
    struct recast_member few[recast_few_nodes], *members = few;
    const struct recast_node *const node = of->nodes + parent;
    const int32_t count = node->count;
    if (count > recast_few_nodes) {
        if (of->scratch_room < 2 * (size_t)count) return false;
        members = of->scratch;
    }
    const bool have_names = has_names(node) || of->are_numbered;
    bool are_plain = have_names ? read_names(of->nodes, of->pool, parent, members) : read_texts(of, parent, members);
    are_plain &= parent != of->root;
    if (count > recast_few_nodes)
        return are_plain ? sort_many_plain(of, parent, members) : sort_many_others(of, parent, members);
    /* Texts have no order that others have, too. */
    struct order_of_few none = {0}, *const order = have_names ? guess_of(orders, members, count) : &none;
    if (!are_plain) return sort_few_others(of, parent, members, order);
    return take_order(of->nodes, parent, members, count, order) || sort_few_plain(of, parent, members, order);
}

int32_t recast_sort_components(const struct recast_components *of, int32_t end) {
    struct orders orders;
    memset(&orders, 0, sizeof orders);
    const struct recast_node *const nodes = of->nodes;
    for (const struct recast_node *node = nodes + end; node > nodes;) {
        if ((--node)->count > 1 && !sort_components(of, (int32_t)(node - nodes), &orders)) return (int32_t)(node - nodes);
    }
    return -1;
}

#if defined(__x86_64__)
#undef INLINED
#include "blocks.h"

/* What a field may take besides its prefix, its name and its text: blocks behind each of them, the digits of an index, and the
   marks. */
enum { held_room = 4 * 32 + 64 };
/* What one more level may add to the prefix besides its name, and what is read behind it. */
enum { held_level_room = 128 };

/* Writes a text as it is spelled: by itself, so that the loop around it has its registers. */
AVX2 __attribute__((noinline)) static uint8_t *put_text(uint8_t *to, const uint8_t *text, size_t count, const struct spelling *spelling) {
    const struct spelling as = *spelling;
    for (;; text += 32, count -= 32) {
        const bool is_last = count <= 32;
        const uint32_t kept = is_last ? (uint32_t)((UINT64_C(1) << count) - 1) : UINT32_MAX;
        to += write_block(text, kept, _mm256_loadu_si256((const __m256i *)text), to, as);
        if (is_last) return to + count;
        to += 32;
    }
}

/* Writes a name as it is spelled. */
AVX2 static inline uint8_t *put_name(uint8_t *to, const struct recast_held *of, const struct recast_node *record,
                                     const struct spelling *spelling) {
    const uint8_t *const name = of->pool + record->name_start;
    const size_t count = (size_t)record->name_count;
    if (count > 32 || !(record->plain & recast_plain_name)) return put_text(to, name, count, spelling);
    copy_block(to, name);
    return to + count;
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
AVX2 static inline __attribute__((always_inline)) bool open_held(struct recast_held *of, struct recast_held_level *level, int32_t node,
                                  const struct spelling *spelling, struct orders *orders) {
    struct recast_node *const record = of->nodes + node;
    struct recast_held_level *const next = level + 1;
    const bool is_root = level == of->levels && of->is_root;
    const size_t name_count = level->is_object ? (size_t)record->name_count : 0;
    if (level->prefix_count + 3 * name_count + held_level_room > of->prefix_room || name_count > level->name_room) return false;
    uint8_t *to = of->prefix + level->prefix_count;
    size_t name_end = level->name_end + name_count;
    if (level->is_object) {
        to = put_name(to, of, record, spelling);
    } else {
        uint8_t *const start = to;
        to = put_element(to, of, level, record);
        name_end += (size_t)(to - start);
    }
    if (!is_root) {
        name_end += 2;
        to = put(to, &of->brackets.close);
    }
    to = put(to, &of->brackets.open);
    /* Two brackets around a member's name, and as many digits as an index may have. */
    const size_t around = name_end + (has_names(record) ? 2 : 22);
    if (name_end == 0 || around > of->longest_name) return false;
    if (of->sorts_members && has_names(record) &&
        !sort_members(of->nodes, of->pool, node, of->scratch, of->scratch_room, orders))
        return false;
    next->prefix_count = (size_t)(to - of->prefix);
    next->name_end = name_end;
    next->name_room = of->longest_name - around;
    next->position = next->omitted = 0;
    next->node = node;
    next->is_object = has_names(record);
    return true;
}

/* Writes the field of a text, for which there is room. */
AVX2 static inline __attribute__((always_inline)) uint8_t *write_held_field(
    const struct recast_held *of, const struct recast_held_level *level, const struct recast_node *record,
    const struct spelling *spelling, size_t skip, uint8_t *to) {
    const uint8_t *const prefix = of->prefix + skip;
    const size_t prefix_count = level->prefix_count - skip;
    copy_block(to, prefix);
    copy_block(to + 32, prefix + 32);
    for (size_t done = 64; done < prefix_count; done += 32) copy_block(to + done, prefix + done);
    to += prefix_count;
    if (level->is_object) {
        to = put_name(to, of, record, spelling);
    } else {
        to = put_element(to, of, level, record);
    }
    to = put(to, level == of->levels && of->is_root ? &of->root_mark : &of->brackets.end);
    const uint8_t *const text = of->pool + record->text_start;
    const size_t count = (size_t)record->text_count;
    if (count > 32 || !(record->plain & recast_plain_text)) return put_text(to, text, count, spelling);
    copy_block(to, text);
    return to + count;
}

/* Writes a name without a text, for which there is room. */
AVX2 __attribute__((noinline)) static uint8_t *write_held_name(
    const struct recast_held *of, const struct recast_held_level *level, const struct recast_node *record,
    const struct spelling *spelling, size_t skip, uint8_t *to) {
    memcpy(to, of->prefix + skip, level->prefix_count - skip);
    to += level->prefix_count - skip;
    to = level->is_object ? put_name(to, of, record, spelling) : put_element(to, of, level, record);
    return level == of->levels && of->is_root ? to : put(to, &of->brackets.close);
}

/* Whether an object or array of a level leaves nothing where nothing of it was written. */
static inline bool leaves_nothing(const struct recast_held *of, const struct recast_held_level *level) {
    return level->is_object ? of->omits_empties : of->omits_empty_elements;
}

/* Whether a node that is no text leaves nothing: the place of a null, and an object or array that is empty. */
static inline bool is_left_out(const struct recast_held *of, const struct recast_held_level *level, const struct recast_node *record) {
    if (record->kind == recast_node_null) return record->is_spliced && !record->is_typed;
    return is_container(record) && record->count == 0 && leaves_nothing(of, level);
}

/* `is_raw`: texts stand as they are, and something behind each. */
AVX2 static inline __attribute__((always_inline)) void write_items(struct recast_held *of, bool is_raw) {
    const struct recast_node *const nodes = of->nodes;
    struct recast_held_level *level = of->levels + of->depth, *const last_level = of->levels + of->levels_room - 1;
    const uint8_t *const end = of->target + of->room;
    const uint8_t *const full = of->target + (of->left < of->room ? of->left : of->room);
    const struct spelling spelling = spelling_of(of->table);
    uint8_t *to = of->target;
    int32_t node = of->node;
    size_t skip = of->skip, fields = 0, removed = of->removed;
    struct orders orders;
    if (of->sorts_members) memset(&orders, 0, sizeof orders);
    of->needed = 0;
    for (;;) {
        if (node < 0) {
            if (level == of->levels) break;
            node = nodes[level->node].next;
            if (level->position == level->omitted) {
                if (!leaves_nothing(of, level - 1)) {
                    /* It is for its events, as if nothing of it had been passed. */
                    node = level->node;
                    removed = level->removed_before;
                    level--;
                    break;
                }
                level[-1].omitted++;
            }
            level--;
            level->position++;
            continue;
        }
        if (to >= full) break;
        const struct recast_node *const record = nodes + node;
        if (is_raw && of->takes_plain_alone && level->is_object && !(record->plain & recast_plain_name)) break;
        if (record->kind == recast_node_string) {
            const size_t name_count = level->is_object ? (size_t)record->name_count : 0;
            const size_t text_count = (size_t)record->text_count;
            if (name_count > level->name_room || text_count > of->longest_text) break;
            const size_t needed = level->prefix_count + 3 * (name_count + text_count) + held_room;
            if (needed > (size_t)(end - to)) {
                of->needed = needed;
                break;
            }
            to = write_held_field(of, level, record, &spelling, skip, to);
            if (is_raw) to = put(to, &of->text_mark);
            skip = 0;
            level->position++;
            fields++;
            node = record->next;
        } else if (record->count > 0) {
            if (level == last_level || !open_held(of, level, node, &spelling, &orders)) break;
            level++;
            level->removed_before = removed;
            node = record->first;
        } else if (is_left_out(of, level, record)) {
            removed += record->kind != recast_node_null;
            level->position++;
            level->omitted++;
            node = record->next;
        } else {
            const size_t name_count = level->is_object ? (size_t)record->name_count : 0;
            if (record->kind != recast_node_null || record->is_spliced || !of->has_bare_nulls || name_count > level->name_room) break;
            /* Of one without any name each dialect leaves something else. */
            if (name_count == 0 && level->name_end == 0) break;
            of->needed = level->prefix_count + 3 * name_count + held_room;
            if (of->needed > (size_t)(end - to)) break;
            of->needed = 0;
            to = write_held_name(of, level, record, &spelling, skip, to);
            skip = 0;
            level->position++;
            fields++;
            node = record->next;
        }
    }
    of->removed = removed;
    of->to = (size_t)(to - of->target);
    of->skip = skip;
    of->fields += fields;
    of->node = node;
    of->depth = (size_t)(level - of->levels);
}

AVX2 static void write_held(struct recast_held *of) { write_items(of, false); }

AVX2 static void write_raw(struct recast_held *of) { write_items(of, true); }

void recast_held_write(struct recast_held *held) {
    if (recast_has_blocks()) held->text_mark.count ? write_raw(held) : write_held(held);
}

#else

void recast_held_write(struct recast_held *held) { (void)held; }

#endif
