/* Digests, message authentication codes and signatures of OpenSSL 3, without its macros and its errors. */
#ifndef RECAST_CSIGNATURES_H
#define RECAST_CSIGNATURES_H
#ifdef __swift__
/* See CEvent.h. */
#pragma clang module import SwiftGlibc
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The digests. */
enum {
    RECAST_SHA1 = 1,
    RECAST_SHA256 = 2,
    RECAST_SHA384 = 3,
    RECAST_SHA512 = 4,
};

/* Room for the longest digest. */
enum { RECAST_DIGEST_ROOM = 64 };

/* ---- A digest, or an HMAC where it was begun with a key: bytes go in, in pieces, and `finish` takes the result. */

typedef struct recast_digest recast_digest;

/* The key of HMACs, made ready once. Threads may share one. */
typedef struct recast_hmac_key recast_hmac_key;

recast_hmac_key *recast_hmac_key_new(int digest, const uint8_t *key, size_t count);
void recast_hmac_key_free(recast_hmac_key *key);

/* NULL when memory is out. The key must outlive what it began. */
recast_digest *recast_digest_begin(int digest);
recast_digest *recast_hmac_begin(const recast_hmac_key *key);
void recast_digest_free(recast_digest *state);
bool recast_digest_update(recast_digest *state, const uint8_t *bytes, size_t count);
/* Writes at most RECAST_DIGEST_ROOM bytes and returns how many, or 0. Nothing goes in any more. */
size_t recast_digest_finish(recast_digest *state, uint8_t *output);

/* Whether `count` bytes are the same, in a time that depends on `count` alone. */
bool recast_equal(const uint8_t *one, const uint8_t *other, size_t count);

/* The check of gzip and PayPal over more bytes, from 0 (RFC 1952 8). */
uint32_t recast_crc32(uint32_t check, const uint8_t *bytes, size_t count);

/* ---- Keys. */

typedef struct recast_key recast_key;

/* What kind of key it is. */
enum {
    RECAST_KEY_OTHER = 0,
    RECAST_KEY_ED25519 = 1,
    RECAST_KEY_P256 = 2,
    RECAST_KEY_P384 = 3,
    RECAST_KEY_RSA = 4,
};

/* PEM text of a private key, a public key or a certificate, the first that it holds; NULL for any other. */
recast_key *recast_key_pem(const uint8_t *text, size_t count);
/* A SubjectPublicKeyInfo in DER (RFC 5280 4.1.2.7). */
recast_key *recast_key_der(const uint8_t *bytes, size_t count);
/* The 32 bytes of an Ed25519 key (RFC 8032 5.1.5). */
recast_key *recast_key_ed25519(const uint8_t *bytes, size_t count, bool is_private);
void recast_key_free(recast_key *key);
int recast_key_kind(const recast_key *key);
bool recast_key_is_private(const recast_key *key);
/* Bits of an RSA key; else those of the curve. */
int recast_key_bits(const recast_key *key);

/* Of a certificate in PEM: whether `name` is one that its subject or its alternative names have, a leading dot standing for
   all names below it; and whether now, in seconds since 1970, is within its time. */
bool recast_certificate_is_for(const uint8_t *text, size_t count, const char *name);
bool recast_certificate_is_current(const uint8_t *text, size_t count, int64_t now);

/* ---- Signatures. How the signature stands in bytes, and what pads an RSA key's. */
enum {
    RECAST_SIGN_ED25519 = 1,
    RECAST_SIGN_ECDSA_DER = 2, /* A sequence of two integers (RFC 3279 2.2.3). */
    RECAST_SIGN_ECDSA_RAW = 3, /* r and s, each as long as the curve (RFC 9421 3.3.4). */
    RECAST_SIGN_RSA_PKCS1 = 4, /* RFC 8017 8.2. */
    RECAST_SIGN_RSA_PSS = 5,   /* RFC 8017 8.1, the salt as long as the digest. */
};

/* Whether `signature` is the key's over a message. `message` is the digest of it for all but Ed25519, which takes the message
   itself. */
bool recast_verify(
    const recast_key *key, int kind, int digest, const uint8_t *message, size_t message_count, const uint8_t *signature,
    size_t count);
/* Signs, writes at most `room` bytes and returns how many; 0 when the key can't, or when there is no room. */
size_t recast_sign(
    const recast_key *key, int kind, int digest, const uint8_t *message, size_t message_count, uint8_t *output, size_t room);

#endif
