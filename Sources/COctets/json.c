#include "COctets.h"
#include <string.h>

/* Writes `count` bytes of `text` in a string of JSON, behind which 32 more can be read, and returns where that ends; NULL where that may
   pass `room`, behind which more_room bytes can be written. */
typedef uint8_t *text_writer(uint8_t *to, const uint8_t *text, size_t count, const uint8_t *room);

/* The most bytes that one becomes, and what is written at a time behind where there must be room. */
enum { longest_escape = 6, step = 32, more_room = longest_escape * step + 32 };

/* Writes a byte as RFC 8259 section 7 wants it, in the short way where there is one, and returns where that ends. */
static uint8_t *put_escape(uint8_t *to, uint8_t byte) {
    static const uint8_t letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    const uint8_t letter = byte < 32 ? letters[byte] : byte;
    if (letter) {
        to[0] = '\\';
        to[1] = letter;
        return to + 2;
    }
    memcpy(to, "\\u00", 4);
    to[4] = (uint8_t)('0' + (byte >> 4));
    to[5] = (uint8_t)"0123456789abcdef"[byte & 15];
    return to + longest_escape;
}

static bool is_escaped_byte(uint8_t byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

static uint8_t *write_bytes(uint8_t *to, const uint8_t *text, size_t count, const uint8_t *room) {
    const uint8_t *const end = text + count;
    while (text < end) {
        if (to > room) return NULL;
        if (is_escaped_byte(*text)) to = put_escape(to, *text++);
        else *to++ = *text++;
    }
    return to;
}

/* Writes nodes from where `of` stands. */
static inline __attribute__((always_inline)) void write_nodes(struct recast_json *of, text_writer *write_text) {
    const struct recast_node *const nodes = of->nodes;
    uint8_t *to = of->target;
    const uint8_t *const room = of->target + of->room - more_room;
    int32_t number = of->node;
    bool is_leaving = of->is_leaving, needs_comma = of->needs_comma;
    /* What a node is written behind: it counts once all of it is there. */
    while (number >= 0 && to <= room) {
        const struct recast_node *const node = nodes + number;
        uint8_t *at = to;
        bool is_entered = false;
        if (is_leaving) {
            *at++ = node->kind <= recast_node_keyed ? '}' : ']';
        } else {
            *at = ',';
            at += needs_comma;
            if (node->parent >= 0 && nodes[node->parent].kind <= recast_node_keyed) {
                *at++ = '"';
                if (!(at = write_text(at, of->pool + node->name_start, (size_t)node->name_count, room))) break;
                *at++ = '"';
                *at++ = ':';
            }
            switch (node->kind) {
            case recast_node_object: case recast_node_keyed: *at++ = '{'; is_entered = true; break;
            case recast_node_array: case recast_node_collected: *at++ = '['; is_entered = true; break;
            case recast_node_string: case recast_node_date:
                *at++ = '"';
                if (!(at = write_text(at, of->pool + node->text_start, (size_t)node->text_count, room))) break;
                *at++ = '"';
                break;
            case recast_node_number: at = write_text(at, of->pool + node->text_start, (size_t)node->text_count, room); break;
            case recast_node_yes: memcpy(at, "true", 4); at += 4; break;
            case recast_node_no: memcpy(at, "false", 5); at += 5; break;
            case recast_node_null: memcpy(at, "null", 4); at += 4; break;
            default: at = NULL;
            }
            if (!at) break;
        }
        to = at;
        needs_comma = !is_entered;
        if (is_entered) {
            is_leaving = node->first < 0;
            if (!is_leaving) number = node->first;
        } else if (number == of->root) {
            number = -1;
        } else {
            is_leaving = node->next < 0;
            number = is_leaving ? node->parent : node->next;
        }
    }
    of->to = (size_t)(to - of->target);
    of->node = number;
    of->is_leaving = is_leaving;
    of->needs_comma = needs_comma;
}

#if defined(__x86_64__)
#include "scalars.h"

AVX2 static inline uint8_t *write_blocks(uint8_t *to, const uint8_t *text, size_t count, const uint8_t *room) {
    for (;;) {
        if (to > room) return NULL;
        const __m256i block = _mm256_loadu_si256((const __m256i *)text);
        const uint32_t ends = ends_of(block);
        const size_t run = _tzcnt_u32(ends);
        _mm256_storeu_si256((__m256i *)to, block);
        if (run >= count) return to + count;
        to += run;
        text += run;
        count -= run;
        if (run == 32) continue;
        to = put_escape(to, *text++);
        count--;
    }
}

AVX2 static void write_nodes_in_blocks(struct recast_json *of) { write_nodes(of, write_blocks); }

void recast_json_write(struct recast_json *of) {
    if (of->room < more_room) return;
    if (recast_has_blocks()) return write_nodes_in_blocks(of);
    write_nodes(of, write_bytes);
}

#else

void recast_json_write(struct recast_json *of) {
    if (of->room < more_room) return;
    write_nodes(of, write_bytes);
}

#endif
