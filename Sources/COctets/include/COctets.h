/* Loops over bytes for instructions that Swift can't name. Each does what it can of its work and says how much that was;
   Octets does the rest, and all of it where the processor lacks the instructions. */
#ifndef RECAST_COCTETS_H
#define RECAST_COCTETS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the base64 of the first bytes of `bytes`, 4 characters for 3 bytes, without padding (RFC 4648 section 4). Takes a
   multiple of 24 bytes and returns their number, which may be 0; `characters` has room for 4 / 3 of `count`. */
size_t recast_base64_encode(const uint8_t *bytes, size_t count, uint8_t *characters);

/* Writes what the first characters of `characters` stand for, 3 bytes for 4. Takes a multiple of 32 characters, all of the
   alphabet, and returns their number, which may be 0: where it stops before the end, nothing is said about what follows.
   `bytes` has room for 3 / 4 of `count`. */
size_t recast_base64_decode(const uint8_t *characters, size_t count, uint8_t *bytes);

/* The first bytes of `bytes` among which no carriage return has a hyphen two bytes on: all such are behind them. Takes a
   multiple of 128 bytes and returns their number, which may be 0: where it stops before the end, nothing is said about what
   follows. */
size_t recast_skip_to_delimiter(const uint8_t *bytes, size_t count);

/* Writes the text of a JSON string as the value of a form's field, each byte as `table` says: what it becomes, lowest byte
   first, and the number of those, 1 or 3, in the highest eight bits. Letters, digits, '-', '.' and '_' stand for themselves. Stops
   before '"', '\\', a byte below 0x20 or from 0x80 on, and where fewer than 32 bytes are left to read or 64 to write: what
   follows says which. Returns the number of bytes taken, and in `written` that of those written. */
size_t recast_form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table, size_t *written);

/* Writes what the text of a form decodes to: a space for '+', and for '%' and two hexadecimal digits the byte that they say. Stops
   before '&', `end`, which is no digit, and '%' without two digits, and where fewer than 66 bytes are left: what follows says which.
   Returns the number of bytes taken, and in `written` that of those written, which is no larger, and in `is_ascii` whether those
   were below 0x80. `target` has room for `count`. */
size_t recast_form_decode(const uint8_t *text, size_t count, uint8_t end, uint8_t *target, size_t *written, bool *is_ascii);

/* The most bytes of a name that recast_fields_write takes: of letters, digits, '-', '.' and '_', which it reads at one go, and of
   others. */
enum { recast_longest_plain_name = 15, recast_longest_name = 63 };
/* An object with so many names has them in chains. */
enum { recast_few_names = 64 };

/* The name of a member of an open JSON object. */
struct recast_name {
    /* Up to sixteen bytes, with zeros behind them, as two words, lowest byte first. */
    uint64_t first, last;
    /* Of a longer name: where its bytes stand. */
    int32_t start;
    int32_t count;
    /* The next name of the same chain, or -1, and what chose the chain. */
    int32_t next;
    uint32_t hash;
};

/* What a name that is held counts besides its bytes. */
#define RECAST_NAME_OVERHEAD 16
/* Which of 64 bits a name of at most sixteen bytes has: the highest six of (first ^ last rotated left by 7 ^ count) * this. */
#define RECAST_NAME_MIX 0x9E3779B97F4A7C15u

/* Up to eight bytes, lowest first. */
struct recast_mark {
    uint64_t bytes;
    size_t count;
};

/* What stands around the names in an object below the root, or of an array's elements: before each of them, behind that of an object or
   array, and behind that of a text. */
struct recast_brackets {
    struct recast_mark open, close, end;
};

/* What a literal becomes: it is left alone, a text, a name without one, nothing in its place, or not even a place. */
enum recast_outcome {
    recast_outcome_left, recast_outcome_text, recast_outcome_bare, recast_outcome_nothing, recast_outcome_removed,
};

/* How a literal is written. */
struct recast_literal {
    struct recast_mark text;
    enum recast_outcome outcome;
};

/* How the elements of an array are named: not settled yet, `a[]`, `a[0]`, or in a way that these functions don't know. */
enum recast_style { recast_style_open, recast_style_brackets, recast_style_indices, recast_style_other };

/* An open object or array. The first one was open before; each other one is a member or an element of the one before it. */
struct recast_level {
    /* Its own name in the slice, where it is a member. */
    size_t name_start, name_count;
    /* Where what stands before the names of its members ends in the prefix. */
    size_t prefix_count;
    /* The bytes of its name as a field, and how many more a member's may have. */
    size_t name_end, name_room;
    /* The bits of its members' names, the first of those that were added, and what could be held before it. */
    uint64_t bits;
    size_t first_name, bytes_before;
    /* The bytes of long names before those of its members. */
    size_t first_long;
    /* The number of the next member or element, and how many of those before it were left out. */
    size_t position, omitted;
    /* Of what has ended here: how many came, and of how many something was written. */
    size_t passed, written;
    /* The commas that have come. */
    size_t index;
    enum recast_style style;
    bool is_object;
    /* Whether the last element that has begun, and the last that has ended, is an object. */
    bool in_object, last_was_object;
};

/* What a node of a tree is, in the order of Transcoding's kinds: the containers first, and of them those with names. */
enum recast_node_kind {
    recast_node_object, recast_node_keyed, recast_node_array, recast_node_collected, recast_node_string, recast_node_number,
    recast_node_date, recast_node_data, recast_node_yes, recast_node_no, recast_node_null,
};

/* A node of a tree, laid out as Transcoding's records are, which makes sure of that. Other nodes are numbers, -1 for none; names
   and texts are bytes of a pool, behind all of which 96 more can be read. */
struct recast_node {
    int32_t parent, first, last, next, previous, count, name_start, name_count, text_start, text_count;
    uint8_t kind;
    bool is_spliced, is_typed;
    /* Which of its texts surely has letters, digits, '-', '.' and '_' alone, so that forms of all dialects write it as it stands. */
    uint8_t plain;
};

enum { recast_plain_name = 1, recast_plain_text = 2 };

/* What follows in the slice. */
enum recast_place {
    /* The next name or element, after a comma. */
    recast_place_item,
    /* As above, or the end of the object or array, which has just begun. */
    recast_place_first,
    /* What comes behind a value. */
    recast_place_behind,
};

enum { recast_longest_number = 31, recast_printed_room = 64 };

typedef size_t (*recast_number_printer)(const void *printer, const uint8_t *number, size_t count, uint8_t *to);

/* Objects and arrays of a JSON text that are to be written as fields. What is only read stands first. */
struct recast_fields {
    /* The slice, of which nothing behind `end` is read. */
    const uint8_t *source;
    size_t end;
    /* The output, and how far it may be written; no field is begun from `left` on. */
    uint8_t *target;
    size_t room, left;
    /* What each byte of a text becomes, as in recast_form_text; NULL where texts stand as they are. */
    const uint32_t *table;
    /* What stands behind the name of a root's member, and behind a text; and around names of elements and of members. */
    struct recast_mark root_mark, text_mark;
    struct recast_brackets brackets[2];
    /* Names that have this byte are left alone. */
    uint8_t left_in_names;
    struct recast_literal true_text, false_text;
    /* Null as an element, and as a member. */
    struct recast_literal nulls[2];
    /* How the elements of a new array are named, and whether one element settles that for no other. */
    enum recast_style style;
    bool mixes_styles;
    /* Longer texts and numbers are left alone, and members whose names as fields have more bytes. */
    size_t longest_text, longest_number, longest_name;
    /* Whether the first level is the root. */
    bool is_root;
    /* Whether objects and arrays in an array of the style `a[]` are named so, too; else they are left alone. */
    bool nests_in_brackets;
    /* Whether objects, and arrays, are left alone. */
    bool leaves_objects, leaves_arrays;
    /* Whether objects and arrays of which nothing is written leave nothing, also in an array; else their ends are left alone. */
    bool omits_empties, omits_empty_elements;
    /* What prints a number again, and returns the bytes that it has written: at most recast_printed_room for one of at most
       recast_longest_number. NULL where numbers stay as they are. Whether it gives a whole number that has a fraction one of a zero, and
       else none. */
    recast_number_printer print_number;
    const void *printer;
    bool keeps_zero_fractions;

    /* What stands before the names of the open levels' members, and the room for more; 32 bytes behind what counts are read, and
       64 in all at least. */
    uint8_t *prefix;
    size_t prefix_room;
    /* The open levels, the first of them filled in; how many there may be, and the last one's number. */
    struct recast_level *levels;
    size_t levels_room, depth;
    /* The names of the open levels, NULL for none to look at, the room for more and their number. Those of the first level are there
       already; a member of it whose name has one of these bits is left alone. */
    struct recast_name *names;
    size_t names_room, names_count;
    uint64_t left_bits;
    /* What the names may still count, which is looked at for all that there is room for before one is added. */
    size_t bytes_left;
    /* Where bytes of names of more than sixteen stand, how many, and how many may. */
    uint8_t *long_names;
    size_t long_count, long_room;
    /* Where the names of the first level stand in chains, which may have those of outer objects, too: the first name of each chain, NULL
       where they don't, how many chains there are, a power of two, the number that the first name at `names` has there, and what the
       hash is made with and joined with. The names that come are put into them. */
    int32_t *chains;
    size_t chains_count;
    int32_t names_start;
    uint64_t seed, multiplier;
    uint32_t depth_in_chains;

    /* Where the next item begins, what it is, and where the next field goes, whose first bytes are left out. */
    size_t at, to, skip;
    enum recast_place place;
    /* The nodes of the tree that holds the document, NULL where fields are written; the room for them and their number. The marks
       are empty then and the levels have no prefix, so that each scalar is written as its name and its text. */
    struct recast_node *nodes;
    size_t nodes_room, nodes_count;
    /* Where the output begins in the tree's pool, the number of the innermost level's node, and whether one that may not be in
       the tree's index has more than recast_few_nodes members. */
    int32_t pool_start, open;
    bool has_many;
    /* How many levels were open below the first one at most, and whether a name was put into the tree that Swift's `Int` reads as a
       number; it stays so. */
    size_t deepest;
    bool has_number_names;
    /* The most bytes of a name that isn't short and plain, at most; it stays so. */
    size_t longest_name_taken;
    /* The number of scalars that were read, and of what was left out: literals, and objects and arrays that have nothing. */
    size_t fields, removed;
    /* Whether the tree has a place without a value, or an object or array without any; it stays so. */
    bool has_gaps;
    /* The name of the value that has ended last, where it is a member's and a scalar, with its escapes; else the count is -1. */
    size_t name_start;
    ptrdiff_t name_count;
};

/* Whether libraries that read the JSON number of `count` bytes, without an exponent, all print it as it stands: not so -0, an integer
   that may not have 64 bits, a fraction that ends with a zero, one that begins with 0.00, and one of more than 14 digits before its
   point. One that a library would round is printed as it stands in any case, so it doesn't matter how many digits there are. */
bool recast_is_printed_alike(const uint8_t *number, size_t count);

/* What becomes of a text whose name is that of a text before it: the pair is left alone, both are elements of an array, or one of them
   goes. */
enum recast_repeats { recast_repeats_left, recast_repeats_collected, recast_repeats_first, recast_repeats_last };

/* Pairs of a form that are put into a tree. What is only read stands first. */
struct recast_pairs {
    /* The slice, of which nothing behind `end` is read. */
    const uint8_t *source;
    size_t end;
    /* Where names and texts go, with room for what is left of the slice and `recast_pairs_room` bytes more, and where that is in the
       tree's pool. */
    uint8_t *target;
    int32_t pool_start;
    /* The object that is the root of names, the tree's nodes, and the room for them. */
    int32_t root;
    struct recast_node *nodes;
    size_t nodes_room;
    /* The tree's index: nodes by the hash of their names, -1 for none, how many there may be, a power of two or 0, and the hash's key. */
    int32_t *slots;
    size_t slots_count;
    uint64_t seed, multiplier;
    /* Names that have more bytes, as they come, and longer texts are left alone. What a node costs besides its name and text. */
    size_t longest_name, longest_text, node_cost;
    /* Whether a name may have keys in brackets, as in `a[b]`; else one with brackets is left alone, but for where brackets are bytes like
       others. */
    bool has_members, is_flat;
    /* Which names are left alone: those with dots, those with bytes up to the space, the empty one. */
    bool leaves_dots, leaves_spaces, leaves_empty;
    /* Whether names and texts are left alone that are not of ASCII; other ones have to be of UTF-8. */
    bool leaves_beyond;
    /* Whether texts become what they print like: true, false or a number, as `types: safe` has it. */
    bool reads_scalars;
    /* What becomes of the texts of names that are there; under `keeps_names` those of names that end with a push are elements always. */
    enum recast_repeats repeats;
    /* Whether the name `_charset_` is left alone. */
    bool leaves_hint;
    /* Of recast_pairs_prepare: whether a pair that has been decoded may be left alone all the same. */
    bool looks_twice;
    /* Whether objects below the root are PHP's tables, which are typed once they have a key, and know which number comes next; roots of
       names have no dots and spaces then. */
    bool notes_keys;
    /* Whether members have the whole names of pairs, decoded, where these are a root, or one and keys in brackets or pushes, none of which
       is __proto__. */
    bool keeps_names;
    /* How many keys a name may have behind its root, and of members with whole names, whether a number in brackets is an index. */
    size_t most_keys;
    bool reads_indices;
    /* Whether a name ends at its first `]=`, and at its first `=` only where there is none: a text with a bracket is left alone behind a
       name that ends without. */
    bool ends_at_bracket;

    /* Of what recast_pairs_prepare makes of these: which bytes end the plain part of a name. */
    uint8_t ends_by_low[16], ends_by_high[16];

    /* Where the next pair begins, where its name goes, and the number of the next node. */
    size_t at, to, nodes_count;
    /* How many of the index' slots are taken. */
    size_t slots_used;
    /* The pairs and the bytes that may still come. */
    size_t pairs_left, bytes_left;
    /* What names begin with whose member stands in the object `prefix_node`, with the opening bracket, where that is known. */
    uint8_t prefix[64];
    size_t prefix_count;
    int32_t prefix_node;
    /* What is known of the names of the root's members, and of how many; 0 of both at the start. */
    int32_t root_count;
    uint64_t root_bits;
    /* How many texts were left out as their names are there; it is only added to. */
    size_t removed;
    /* The next member that recast_pairs_move looks at, -1 for none, and whether it stopped there because nodes or the index lack room. */
    int32_t member;
    bool lacks_room;
    /* Of recast_pairs_judge. */
    bool are_keys;
    /* Whether a whole name, or the name of a member that was moved, begins with a digit; it stays so. */
    bool has_number_names;
};

enum {
    recast_pairs_room = 256,
    /* The most nodes that one member may need above it. */
    recast_pairs_depth = 12,
    /* The most elements that an array has under qs, and the least number that is a key (`arrayLimit`). */
    recast_qs_array_limit = 20,
};

/* Makes ready what depends on which names are left alone. */
void recast_pairs_prepare(struct recast_pairs *pairs);

/* Puts pairs of a name, '=' and a text, up to '&', into the tree as members of the root or of objects that keys in brackets lead to, and as
   what a push at the end puts on an array or a table of PHP's; what isn't there is made. Escapes in names are those of their brackets, or
   all of a key of the root. Of a member that is there `repeats` says what becomes.
   Stops before any other pair, one with a long text, an object's member that is the first one for the index, where there is no room for
   two nodes, and at the slice's end: nothing is said about what is there. */
void recast_pairs_take(struct recast_pairs *pairs);

/* Whether members with whole names, from `member` on, have names without structure: `are_keys`. */
void recast_pairs_judge(struct recast_pairs *pairs);

/* Takes members with whole names, as `keeps_names` has made them, from `member` on, and puts each last where its name says under qs, with
   what is missing above it: objects, and arrays, whose elements have their index for `name_start`. Stops before a member whose name isn't
   a root or one and keys and pushes in brackets, before one that stands already, an index that is free in front of others, a number that
   makes an object count on that doesn't yet, and where there is no room for its nodes or for what an object's members may need of the
   index. */
void recast_pairs_move(struct recast_pairs *pairs);

/* A tree that is written as JSON. What is only read stands first. */
struct recast_json {
    /* Its nodes, and the pool of their names and texts. */
    const struct recast_node *nodes;
    const uint8_t *pool;
    /* The output, and the room there: recast_json_room at least, for anything to be written. */
    uint8_t *target;
    size_t room;
    /* The node where the document ends. */
    int32_t root;

    /* The node to go on with, -1 behind the last one, and whether all that stands below it is written. */
    int32_t node;
    bool is_leaving;
    /* Whether a value stands before the next one in the same object or array. */
    bool needs_comma;
    /* How much was written. */
    size_t to;
};

enum { recast_json_room = 256 };

/* Writes nodes, each its name, where it is a member, and its value: texts and dates as strings, numbers as they stand. Stops before
   bytes, and before what may not have room enough. It needs no special instructions. */
void recast_json_write(struct recast_json *json);

/* Whether the processor has what these functions need. */
bool recast_has_blocks(void);

/* Writes what begins at `at` as fields, each a prefix, a name, its mark, a text and its mark, and goes down into objects and
   arrays, and up out of those that it went down into. Takes new members whose names, where they are written, have no brackets, and no
   escapes where they are those of objects and arrays, literals, also those that leave nothing, numbers of up to recast_longest_number
   characters, and texts of UTF-8 with all escapes but those that say a control by its number. Stops before anything else, near the end of
   the slice and of any room: nothing is said about what is there, and all that is kept up to date then says how far it has come. */
void recast_fields_write(struct recast_fields *fields);

/* An object or array of so many children has few: they are sorted without more memory, and a tree has no index of their names. */
enum { recast_few_nodes = 16 };

/* A child while it is sorted: the first bytes that it is sorted by, the first one highest, and how many there are. */
struct recast_member {
    uint64_t head;
    int32_t node, count;
};

/* Puts the members of an object in the order of their names' bytes, equal ones as they came. `scratch` has room for `room` of
   them: returns false, with nothing done, where there are more than few and twice as many have no room. */
bool recast_sort_members(struct recast_node *nodes, const uint8_t *pool, int32_t parent, struct recast_member *scratch,
                         size_t room);

/* A document whose children are sorted by the text of their fields. */
struct recast_components {
    struct recast_node *nodes;
    const uint8_t *pool;
    /* What each byte becomes, as in recast_form_text. */
    const uint32_t *table;
    int32_t root;
    /* Whether the elements of arrays have names, which are written. */
    bool are_numbered;
    /* As in recast_sort_members. */
    struct recast_member *scratch;
    size_t scratch_room;
};

/* Puts the children of all objects and arrays before the node `end` in the order of their fields, from the last one to the first:
   each node was made after its parent. Fields are compared from their own name on, equal ones stay as they came. Returns the
   node where it stopped with nothing done, -1 for none: two children can't be told apart by the names down to the first text
   and by that, or there is no room for so many. */
int32_t recast_sort_components(const struct recast_components *of, int32_t end);

/* An open object or array whose fields are written. The first one was open before. */
struct recast_held_level {
    /* Where what stands before the names of its members ends in the prefix. */
    size_t prefix_count;
    /* The bytes of its name as a field, and how many more a member's may have. */
    size_t name_end, name_room;
    /* The number of the next child, and how many of those before it were left out. */
    size_t position, omitted;
    /* What had been left out of the document when it began, and its node, but for the first level. */
    size_t removed_before;
    int32_t node;
    bool is_object;
};

/* A document in a tree that is to be written as fields. What is only read stands first. */
struct recast_held {
    struct recast_node *nodes;
    const uint8_t *pool;
    /* The output, the room there, and where no field is begun any more. */
    uint8_t *target;
    size_t room, left;
    /* As in recast_fields. */
    const uint32_t *table;
    struct recast_mark root_mark, text_mark;
    struct recast_brackets brackets;
    /* Longer texts are left alone, and members whose names as fields have more bytes. */
    size_t longest_text, longest_name;
    /* Whether the first level is the root, and whether the members of an object are sorted when it is opened. */
    bool is_root, sorts_members;
    /* As in recast_sort_members. */
    struct recast_member *scratch;
    size_t scratch_room;
    /* Whether elements are written with an index, or with the name that they have in its place. */
    bool has_indices, elements_are_named;
    /* Whether names of members are left alone that aren't known to be plain. */
    bool takes_plain_alone;
    /* Whether a null is a name without a value, where it has a name; else it is left alone, but for the place of one that was left out. */
    bool has_bare_nulls;
    /* As in recast_fields. */
    bool omits_empties, omits_empty_elements;
    /* As in recast_fields. */
    uint8_t *prefix;
    size_t prefix_room;
    struct recast_held_level *levels;
    size_t levels_room, depth;

    /* The node to go on with, a child of the innermost level, or -1 behind the last one of the first level. */
    int32_t node;
    /* How many of the first bytes of the next field are left out, how much was written, how many fields, and how many objects and arrays
       that have nothing were left out. */
    size_t skip, to, fields, removed;
    /* The room that the next field wants, where there was too little; else 0. */
    size_t needed;
};

/* Writes the texts below the first level as fields, each a prefix, a name, its mark and the text, and goes down into objects and
   arrays, and up out of those that it went down into. Passes what is left out. Stops before any other value, before what leaves
   something though nothing of it was written, and what is too long, where too many levels are open, and where the output is full. */
void recast_held_write(struct recast_held *held);

#endif
