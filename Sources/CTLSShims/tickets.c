#include "shims.h"
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What tickets are sealed with. OpenSSL has one key for as long as a context lives, by which whoever comes to read it could read all that
   connections of TLS 1.2 with tickets have ever said. So a key seals for an hour, opens what it has sealed for as long as that may be
   taken up, and is wiped then. All threads share the keys of a context. */

/* Seconds for which a key seals, and for which it opens behind that: as long as a session lives at most. */
#define SEALS 3600
#define OPENS 7200
/* The key that seals, and those that open still. */
#define KEPT (2 + OPENS / SEALS)

typedef struct {
    uint8_t name[16], cipher[32], mac[32];
    /* When it was drawn, by a clock that counts while the machine sleeps and that nobody sets. */
    int64_t made;
} ticket_key;

struct recast_tls_ticket_keys {
    pthread_mutex_t lock;
    /* The newest first. */
    ticket_key keys[KEPT];
    size_t count;
    /* Seconds that have passed for tests alone. */
    int64_t ahead;
};

struct recast_tls_ticket_keys *recast_tls_ticket_keys_create(void) {
    struct recast_tls_ticket_keys *all = calloc(1, sizeof *all);
    if (all != NULL && pthread_mutex_init(&all->lock, NULL) != 0) {
        free(all);
        return NULL;
    }
    return all;
}

void recast_tls_ticket_keys_free(struct recast_tls_ticket_keys *all) {
    if (all == NULL) return;
    pthread_mutex_destroy(&all->lock);
    OPENSSL_clear_free(all, sizeof *all);
}

/* Wipes what opens nothing any more, and draws a new key where the newest has sealed for long enough, or there is none and one is wanted.
   Call it with the lock. */
static void renew(struct recast_tls_ticket_keys *all, bool wants_one) {
    struct timespec time = {0};
    clock_gettime(CLOCK_BOOTTIME, &time);
    int64_t now = (int64_t)time.tv_sec + all->ahead;
    /* A key has sealed until the next one was drawn. */
    while (all->count > 1 && all->keys[all->count - 2].made + OPENS < now)
        OPENSSL_cleanse(&all->keys[--all->count], sizeof(ticket_key));
    bool is_due = all->count > 0 && all->keys[0].made + SEALS <= now;
    if (!is_due && !(wants_one && all->count == 0)) return;
    ticket_key key = {.made = now};
    /* Without a new one the old one goes on. */
    if (RAND_bytes(key.name, sizeof key.name) == 1 && RAND_priv_bytes(key.cipher, sizeof key.cipher) == 1
        && RAND_priv_bytes(key.mac, sizeof key.mac) == 1) {
        if (all->count == KEPT) all->count--;
        memmove(&all->keys[1], &all->keys[0], all->count * sizeof key);
        all->keys[0] = key;
        all->count++;
    }
    OPENSSL_cleanse(&key, sizeof key);
}

/* 0 where there is none, 2 where it seals no more, else 1. */
static int take(struct recast_tls_ticket_keys *all, const uint8_t *name, ticket_key *key) {
    int outcome = 0;
    pthread_mutex_lock(&all->lock);
    renew(all, name == NULL);
    for (size_t at = 0; at < all->count && outcome == 0; at++) {
        if (name != NULL && CRYPTO_memcmp(all->keys[at].name, name, sizeof key->name) != 0) continue;
        *key = all->keys[at];
        outcome = at == 0 ? 1 : 2;
    }
    pthread_mutex_unlock(&all->lock);
    return outcome;
}

/* OpenSSL's ticket_key_evp_cb: AES-256 and SHA-256, as it takes them by itself. */
static int set_key(
    SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals) {
    const recast_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    ticket_key key;
    int outcome = take(context->ticket_keys, seals ? NULL : name, &key);
    if (outcome == 0) return seals ? -1 : 0;
    OSSL_PARAM settings[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac, sizeof key.mac),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0), OSSL_PARAM_construct_end()};
    bool is_set = EVP_MAC_CTX_set_params(mac, settings) == 1;
    if (seals) {
        memcpy(name, key.name, sizeof key.name);
        is_set = is_set && RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1
            && EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) == 1;
    } else {
        is_set = is_set && EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) == 1;
    }
    OPENSSL_cleanse(&key, sizeof key);
    if (!is_set) return -1;
    /* A ticket of TLS 1.3 is for one connection (RFC 8446, appendix C.4), so each that is taken up wants another one. */
    return !seals && SSL_version(ssl) == TLS1_3_VERSION ? 2 : outcome;
}

void recast_tls_seal_with_own_keys(recast_tls_context *context) {
    SSL_CTX_set_app_data(context->ssl, context);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context->ssl, set_key);
}

void recast_tls_renew_ticket_keys(recast_tls_context *context, int64_t ahead) {
    pthread_mutex_lock(&context->ticket_keys->lock);
    context->ticket_keys->ahead += ahead;
    renew(context->ticket_keys, false);
    pthread_mutex_unlock(&context->ticket_keys->lock);
}

size_t recast_tls_ticket_key_count(recast_tls_context *context) {
    pthread_mutex_lock(&context->ticket_keys->lock);
    size_t count = context->ticket_keys->count;
    pthread_mutex_unlock(&context->ticket_keys->lock);
    return count;
}
