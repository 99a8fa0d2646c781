/* Octets' ByteHash. Words are read lowest byte first. */
#ifndef RECAST_HASH_H
#define RECAST_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t word(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint64_t folded(uint64_t left, uint64_t right) {
    const unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The hash of two words, joined with `salt`. */
static inline __attribute__((always_inline)) uint64_t hash_of_words(uint64_t seed, uint64_t multiplier, uint64_t first, uint64_t last,
                                                                    uint64_t salt) {
    const uint64_t state = seed ^ salt;
    return folded(folded(first ^ state, last ^ multiplier) ^ state, multiplier);
}

/* The hash of more than sixteen bytes, joined with `salt`. */
static inline __attribute__((always_inline)) uint64_t hash_of_long(uint64_t seed, uint64_t multiplier, const uint8_t *bytes, size_t count,
                                                                   uint64_t salt) {
    uint64_t state = folded(seed ^ salt, multiplier);
    state = folded(state ^ count, multiplier);
    for (size_t at = 0; at + 8 < count; at += 8) state = folded(state ^ word(bytes + at), multiplier);
    state = folded(state ^ word(bytes + count - 8), multiplier);
    return folded(state ^ seed, multiplier);
}

#endif
