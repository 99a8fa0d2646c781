#include "CSignatures.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- Digests and HMAC. */

/* An HMAC (RFC 2104) is two digests: one that began with the key and a first pad, and one that began with it and a second, over the
   first one's result. A key has both begun, so that each message copies them. */
struct recast_hmac_key {
    EVP_MD_CTX *inner, *outer;
};

struct recast_digest {
    EVP_MD_CTX *digest;
    /* Of an HMAC; the key is its owner's. */
    const recast_hmac_key *key;
};

/* Fetching an algorithm searches OpenSSL's tables by name: once is enough. Threads may share what is found. */
static pthread_once_t is_fetched = PTHREAD_ONCE_INIT;
static EVP_MD *digests[RECAST_SHA512 + 1];
static const char *const names[] = {NULL, "SHA1", "SHA256", "SHA384", "SHA512"};

static void fetch(void) {
    for (int digest = RECAST_SHA1; digest <= RECAST_SHA512; digest++) digests[digest] = EVP_MD_fetch(NULL, names[digest], NULL);
}

static EVP_MD *digest_of(int digest) {
    pthread_once(&is_fetched, fetch);
    return digest >= RECAST_SHA1 && digest <= RECAST_SHA512 ? digests[digest] : NULL;
}

static EVP_MD_CTX *begun(const EVP_MD *type) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context && EVP_DigestInit_ex2(context, type, NULL) == 1) return context;
    EVP_MD_CTX_free(context);
    return NULL;
}

recast_digest *recast_digest_begin(int digest) {
    EVP_MD *type = digest_of(digest);
    recast_digest *state = type ? calloc(1, sizeof *state) : NULL;
    if (!state) return NULL;
    state->digest = begun(type);
    if (state->digest) return state;
    free(state);
    return NULL;
}

/* A digest that has taken a block of the key, each byte with `pad`. */
static EVP_MD_CTX *padded(const EVP_MD *type, const uint8_t *key, size_t count, uint8_t pad) {
    uint8_t block[EVP_MAX_MD_SIZE * 2];
    size_t size = (size_t)EVP_MD_get_block_size(type);
    memset(block, pad, size);
    for (size_t at = 0; at < count; at++) block[at] ^= key[at];
    EVP_MD_CTX *context = begun(type);
    if (context && EVP_DigestUpdate(context, block, size) != 1) {
        EVP_MD_CTX_free(context);
        context = NULL;
    }
    OPENSSL_cleanse(block, sizeof block);
    return context;
}

recast_hmac_key *recast_hmac_key_new(int digest, const uint8_t *key, size_t count) {
    EVP_MD *type = digest_of(digest);
    recast_hmac_key *made = type ? calloc(1, sizeof *made) : NULL;
    if (!made) return NULL;
    uint8_t short_key[EVP_MAX_MD_SIZE];
    if (count > (size_t)EVP_MD_get_block_size(type)) {
        unsigned int size = 0;
        if (EVP_Digest(key, count, short_key, &size, type, NULL) != 1) {
            free(made);
            return NULL;
        }
        key = short_key;
        count = size;
    }
    made->inner = padded(type, key, count, 0x36);
    made->outer = padded(type, key, count, 0x5c);
    OPENSSL_cleanse(short_key, sizeof short_key);
    if (made->inner && made->outer) return made;
    recast_hmac_key_free(made);
    return NULL;
}

void recast_hmac_key_free(recast_hmac_key *key) {
    if (!key) return;
    EVP_MD_CTX_free(key->inner);
    EVP_MD_CTX_free(key->outer);
    free(key);
}

recast_digest *recast_hmac_begin(const recast_hmac_key *key) {
    recast_digest *state = key ? calloc(1, sizeof *state) : NULL;
    if (!state) return NULL;
    state->key = key;
    state->digest = EVP_MD_CTX_new();
    if (state->digest && EVP_MD_CTX_copy_ex(state->digest, key->inner) == 1) return state;
    recast_digest_free(state);
    return NULL;
}

void recast_digest_free(recast_digest *state) {
    if (!state) return;
    EVP_MD_CTX_free(state->digest);
    free(state);
}

bool recast_digest_update(recast_digest *state, const uint8_t *bytes, size_t count) {
    return count == 0 || EVP_DigestUpdate(state->digest, bytes, count) == 1;
}

size_t recast_digest_finish(recast_digest *state, uint8_t *output) {
    unsigned int count = 0;
    if (EVP_DigestFinal_ex(state->digest, output, &count) != 1) return 0;
    if (!state->key) return count;
    if (EVP_MD_CTX_copy_ex(state->digest, state->key->outer) != 1) return 0;
    if (EVP_DigestUpdate(state->digest, output, count) != 1) return 0;
    return EVP_DigestFinal_ex(state->digest, output, &count) == 1 ? count : 0;
}

bool recast_equal(const uint8_t *one, const uint8_t *other, size_t count) {
    return count == 0 || CRYPTO_memcmp(one, other, count) == 0;
}

uint32_t recast_crc32(uint32_t check, const uint8_t *bytes, size_t count) {
    return count == 0 ? check : (uint32_t)crc32_z(check, bytes, count);
}

/* ---- Keys. */

struct recast_key {
    EVP_PKEY *pkey;
    bool is_private;
};

static recast_key *wrap(EVP_PKEY *pkey, bool is_private) {
    /* What failed on the way stays in the thread's queue, where the next TLS session would find it. */
    ERR_clear_error();
    if (!pkey) return NULL;
    recast_key *key = malloc(sizeof *key);
    if (!key) {
        EVP_PKEY_free(pkey);
        return NULL;
    }
    *key = (recast_key){pkey, is_private};
    return key;
}

/* No password: a key that has one is refused instead of being asked for at a terminal. */
static int no_password(char *buffer, int size, int writes, void *context) {
    (void)buffer, (void)size, (void)writes, (void)context;
    return -1;
}

static BIO *reader(const uint8_t *text, size_t count) { return count > INT32_MAX ? NULL : BIO_new_mem_buf(text, (int)count); }

static X509 *certificate(const uint8_t *text, size_t count) {
    BIO *bio = reader(text, count);
    X509 *result = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
    BIO_free(bio);
    return result;
}

recast_key *recast_key_pem(const uint8_t *text, size_t count) {
    BIO *bio = reader(text, count);
    if (!bio) return NULL;
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    BIO_free(bio);
    if (pkey) return wrap(pkey, true);
    if (!(bio = reader(text, count))) return NULL;
    pkey = PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
    BIO_free(bio);
    if (pkey) return wrap(pkey, false);
    X509 *holder = certificate(text, count);
    pkey = holder ? X509_get_pubkey(holder) : NULL;
    X509_free(holder);
    return wrap(pkey, false);
}

recast_key *recast_key_der(const uint8_t *bytes, size_t count) {
    const uint8_t *at = bytes;
    EVP_PKEY *pkey = count > INT32_MAX ? NULL : d2i_PUBKEY(NULL, &at, (long)count);
    if (pkey && at != bytes + count) {
        EVP_PKEY_free(pkey);
        pkey = NULL;
    }
    return wrap(pkey, false);
}

recast_key *recast_key_ed25519(const uint8_t *bytes, size_t count, bool is_private) {
    if (count != 32) return NULL;
    return wrap(
        is_private ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, count)
                   : EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, count),
        is_private);
}

void recast_key_free(recast_key *key) {
    if (!key) return;
    EVP_PKEY_free(key->pkey);
    free(key);
}

int recast_key_kind(const recast_key *key) {
    if (EVP_PKEY_is_a(key->pkey, "ED25519")) return RECAST_KEY_ED25519;
    if (EVP_PKEY_is_a(key->pkey, "RSA")) return RECAST_KEY_RSA;
    if (!EVP_PKEY_is_a(key->pkey, "EC")) return RECAST_KEY_OTHER;
    char group[32];
    size_t count = 0;
    if (EVP_PKEY_get_group_name(key->pkey, group, sizeof group, &count) != 1) return RECAST_KEY_OTHER;
    if (strcmp(group, "prime256v1") == 0 || strcmp(group, "P-256") == 0) return RECAST_KEY_P256;
    if (strcmp(group, "secp384r1") == 0 || strcmp(group, "P-384") == 0) return RECAST_KEY_P384;
    return RECAST_KEY_OTHER;
}

bool recast_key_is_private(const recast_key *key) { return key->is_private; }

int recast_key_bits(const recast_key *key) { return EVP_PKEY_get_bits(key->pkey); }

/* ---- Certificates. */

/* Whether a name of a certificate is `name`, or below it where that begins with a dot. Letters' case doesn't matter. */
static bool is_named(const char *found, size_t count, const char *name) {
    size_t wanted = strlen(name);
    if (memchr(found, 0, count) || count < wanted) return false;
    if (name[0] != '.') return count == wanted && strncasecmp(found, name, count) == 0;
    return count > wanted && strncasecmp(found + count - wanted, name, wanted) == 0;
}

bool recast_certificate_is_for(const uint8_t *text, size_t count, const char *name) {
    X509 *holder = certificate(text, count);
    ERR_clear_error();
    if (!holder) return false;
    bool is_for = false;
    GENERAL_NAMES *others = X509_get_ext_d2i(holder, NID_subject_alt_name, NULL, NULL);
    for (int index = 0; others && index < sk_GENERAL_NAME_num(others); index++) {
        const GENERAL_NAME *other = sk_GENERAL_NAME_value(others, index);
        if (other->type != GEN_DNS) continue;
        const ASN1_STRING *value = other->d.dNSName;
        is_for = is_for
            || is_named((const char *)ASN1_STRING_get0_data(value), (size_t)ASN1_STRING_length(value), name);
    }
    if (others) GENERAL_NAMES_free(others);
    char common[256];
    int length = X509_NAME_get_text_by_NID(X509_get_subject_name(holder), NID_commonName, common, sizeof common);
    if (length > 0) is_for = is_for || is_named(common, (size_t)length, name);
    X509_free(holder);
    return is_for;
}

bool recast_certificate_is_current(const uint8_t *text, size_t count, int64_t now) {
    X509 *holder = certificate(text, count);
    ERR_clear_error();
    if (!holder) return false;
    time_t time = (time_t)now;
    bool is_current = X509_cmp_time(X509_get0_notBefore(holder), &time) < 0
        && X509_cmp_time(X509_get0_notAfter(holder), &time) > 0;
    X509_free(holder);
    return is_current;
}

/* ---- Signatures. */

static bool fits(const recast_key *key, int kind) {
    int found = recast_key_kind(key);
    switch (kind) {
    case RECAST_SIGN_ED25519: return found == RECAST_KEY_ED25519;
    case RECAST_SIGN_ECDSA_DER:
    case RECAST_SIGN_ECDSA_RAW: return found == RECAST_KEY_P256 || found == RECAST_KEY_P384;
    case RECAST_SIGN_RSA_PKCS1:
    case RECAST_SIGN_RSA_PSS: return found == RECAST_KEY_RSA;
    default: return false;
    }
}

/* A context for digests that were made before. NULL when the key, the kind and the digest don't go together. */
static EVP_PKEY_CTX *context(const recast_key *key, int kind, int digest, bool signs) {
    EVP_PKEY_CTX *result = EVP_PKEY_CTX_new_from_pkey(NULL, key->pkey, NULL);
    EVP_MD *type = digest_of(digest);
    if (!result || !type || (signs ? EVP_PKEY_sign_init(result) : EVP_PKEY_verify_init(result)) != 1) goto failed;
    if (kind == RECAST_SIGN_RSA_PKCS1 && EVP_PKEY_CTX_set_rsa_padding(result, RSA_PKCS1_PADDING) != 1) goto failed;
    if (kind == RECAST_SIGN_RSA_PSS
        && (EVP_PKEY_CTX_set_rsa_padding(result, RSA_PKCS1_PSS_PADDING) != 1
            || EVP_PKEY_CTX_set_rsa_pss_saltlen(result, RSA_PSS_SALTLEN_DIGEST) != 1))
        goto failed;
    if (EVP_PKEY_CTX_set_signature_md(result, type) != 1) goto failed;
    return result;
failed:
    EVP_PKEY_CTX_free(result);
    return NULL;
}

static int number_size(const recast_key *key) { return (EVP_PKEY_get_bits(key->pkey) + 7) / 8; }

/* r and s one behind the other, as DER; NULL when they aren't of the curve's length. To be freed by OPENSSL_free. */
static uint8_t *der_of(const recast_key *key, const uint8_t *signature, size_t count, size_t *length) {
    int size = number_size(key);
    if (count != (size_t)size * 2) return NULL;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, size, NULL), *s = BN_bin2bn(signature + size, size, NULL);
    if (!pair || !r || !s || ECDSA_SIG_set0(pair, r, s) != 1) {
        BN_free(r);
        BN_free(s);
        ECDSA_SIG_free(pair);
        return NULL;
    }
    uint8_t *der = NULL;
    int result = i2d_ECDSA_SIG(pair, &der);
    ECDSA_SIG_free(pair);
    *length = result > 0 ? (size_t)result : 0;
    return result > 0 ? der : NULL;
}

bool recast_verify(
    const recast_key *key, int kind, int digest, const uint8_t *message, size_t message_count, const uint8_t *signature,
    size_t count) {
    static const uint8_t nothing;
    if (!message) message = &nothing;
    if (!fits(key, kind) || count == 0) return false;
    int result = 0;
    if (kind == RECAST_SIGN_ED25519) {
        EVP_MD_CTX *state = EVP_MD_CTX_new();
        if (state && EVP_DigestVerifyInit(state, NULL, NULL, NULL, key->pkey) == 1)
            result = EVP_DigestVerify(state, signature, count, message, message_count);
        EVP_MD_CTX_free(state);
    } else {
        EVP_PKEY_CTX *state = context(key, kind, digest, false);
        uint8_t *der = NULL;
        size_t length = count;
        if (kind == RECAST_SIGN_ECDSA_RAW) der = der_of(key, signature, count, &length);
        if (state && (der || kind != RECAST_SIGN_ECDSA_RAW))
            result = EVP_PKEY_verify(state, der ? der : signature, length, message, message_count);
        OPENSSL_free(der);
        EVP_PKEY_CTX_free(state);
    }
    ERR_clear_error();
    return result == 1;
}

/* Writes r and s of a signature in DER, each as long as the curve. */
static size_t raw_of(const recast_key *key, const uint8_t *der, size_t count, uint8_t *output, size_t room) {
    int size = number_size(key);
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)count);
    size_t written = 0;
    if (pair && room >= (size_t)size * 2 && BN_bn2binpad(ECDSA_SIG_get0_r(pair), output, size) == size
        && BN_bn2binpad(ECDSA_SIG_get0_s(pair), output + size, size) == size)
        written = (size_t)size * 2;
    ECDSA_SIG_free(pair);
    return written;
}

size_t recast_sign(
    const recast_key *key, int kind, int digest, const uint8_t *message, size_t message_count, uint8_t *output, size_t room) {
    static const uint8_t nothing;
    if (!message) message = &nothing;
    if (!fits(key, kind) || !key->is_private) return 0;
    uint8_t signature[1024];
    size_t count = sizeof signature;
    int result = 0;
    if (kind == RECAST_SIGN_ED25519) {
        EVP_MD_CTX *state = EVP_MD_CTX_new();
        if (state && EVP_DigestSignInit(state, NULL, NULL, NULL, key->pkey) == 1)
            result = EVP_DigestSign(state, signature, &count, message, message_count);
        EVP_MD_CTX_free(state);
    } else {
        EVP_PKEY_CTX *state = context(key, kind, digest, true);
        if (state) result = EVP_PKEY_sign(state, signature, &count, message, message_count);
        EVP_PKEY_CTX_free(state);
    }
    ERR_clear_error();
    if (result != 1) return 0;
    if (kind == RECAST_SIGN_ECDSA_RAW) return raw_of(key, signature, count, output, room);
    if (count > room) return 0;
    memcpy(output, signature, count);
    return count;
}
