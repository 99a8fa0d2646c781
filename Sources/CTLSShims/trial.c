#include "shims.h"
#include <openssl/err.h>
#include <string.h>

/* Files can be read whose key no peer can do anything with: on a curve that TLS has no name for, or by an algorithm that it has given up.
   What is in use is known; anything else is tried, by a handshake of two sessions in memory, since it depends on OpenSSL and on the
   system's configuration. */

static bool is_in_use(const EVP_PKEY *key) {
    char curve[32];
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS:
    case EVP_PKEY_ED25519:
    case EVP_PKEY_ED448: return true;
    case EVP_PKEY_EC: break;
    default: return false;
    }
    if (EVP_PKEY_get_group_name(key, curve, sizeof curve, NULL) != 1) return false;
    return strcmp(curve, "prime256v1") == 0 || strcmp(curve, "secp384r1") == 0 || strcmp(curve, "secp521r1") == 0;
}

/* Whether the handshake may go on. */
static bool goes_on(SSL *ssl, bool *is_done) {
    int returned = SSL_do_handshake(ssl);
    *is_done = returned == 1;
    int error = SSL_get_error(ssl, returned);
    return *is_done || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static bool shake_hands(SSL *server, SSL *client) {
    BIO *one = NULL, *other = NULL;
    if (BIO_new_bio_pair(&one, 0, &other, 0) != 1) return false;
    SSL_set_bio(server, one, one);
    SSL_set_bio(client, other, other);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    bool is_server_done = false, is_client_done = false;
    /* Each round carries a flight of each side, or what the pair has room for. */
    for (int round = 0; round < 16 && !(is_server_done && is_client_done); round++)
        if (!goes_on(client, &is_client_done) || !goes_on(server, &is_server_done)) break;
    return is_server_done && is_client_done;
}

bool recast_tls_key_is_usable(const recast_tls_context *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    EVP_PKEY *key = SSL_CTX_get0_privatekey(context->ssl);
    if (certificate == NULL || key == NULL) return false;
    if (is_in_use(key)) return true;
    recast_tls_context *one = recast_tls_context_create(false, context->minimum, context->maximum);
    recast_tls_context *other = recast_tls_context_create(true, context->minimum, context->maximum);
    bool is_done = false;
    if (one != NULL && other != NULL && SSL_CTX_use_cert_and_key(one->ssl, certificate, key, NULL, 1) == 1) {
        SSL *server = SSL_new(one->ssl), *client = SSL_new(other->ssl);
        is_done = server != NULL && client != NULL && shake_hands(server, client);
        SSL_free(server);
        SSL_free(client);
    }
    recast_tls_context_free(one);
    recast_tls_context_free(other);
    ERR_clear_error();
    return is_done;
}
