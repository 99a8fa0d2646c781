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

#endif
