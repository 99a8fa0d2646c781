/* Loops over bytes for instructions that Swift can't name. Each does what it can of its work and says how much that was;
   Octets does the rest, and all of it where the processor lacks the instructions. */
#ifndef RECAST_COCTETS_H
#define RECAST_COCTETS_H
#include <stddef.h>
#include <stdint.h>

/* Writes the base64 of the first bytes of `bytes`, 4 characters for 3 bytes, without padding (RFC 4648 section 4). Takes a
   multiple of 24 bytes and returns their number, which may be 0; `characters` has room for 4 / 3 of `count`. */
size_t recast_base64_encode(const uint8_t *bytes, size_t count, uint8_t *characters);

/* Writes what the first characters of `characters` stand for, 3 bytes for 4. Takes a multiple of 32 characters, all of the
   alphabet, and returns their number, which may be 0: where it stops before the end, nothing is said about what follows.
   `bytes` has room for 3 / 4 of `count`. */
size_t recast_base64_decode(const uint8_t *characters, size_t count, uint8_t *bytes);

/* Writes the text of a JSON string as the value of a form's field, each byte as `table` says: what it becomes, lowest byte
   first, and the number of those, 1 or 3, in the highest eight bits. Letters, digits, '-', '.' and '_' stand for themselves. Stops
   before '"', '\\', a byte below 0x20 or from 0x80 on, and where fewer than 32 bytes are left to read or 64 to write: what
   follows says which. Returns the number of bytes taken, and in `written` that of those written. */
size_t recast_form_text(const uint8_t *text, size_t count, uint8_t *target, size_t room, const uint32_t *table, size_t *written);

#endif
