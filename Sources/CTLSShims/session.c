#include "shims.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

static recast_tls *make(recast_tls_context *context, recast_tls_wire *wire) {
    recast_tls *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->ssl = SSL_new(context->ssl);
    if (session->ssl == NULL) {
        free(session);
        ERR_clear_error();
        return NULL;
    }
    session->context = context;
    session->wire = wire;
    SSL_set_app_data(session->ssl, session);
    /* One reference for reading and one for writing. */
    BIO_up_ref(wire->bio);
    BIO_up_ref(wire->bio);
    SSL_set0_rbio(session->ssl, wire->bio);
    SSL_set0_wbio(session->ssl, wire->bio);
    return session;
}

recast_tls *recast_tls_accept(recast_tls_context *context, recast_tls_wire *wire) {
    recast_tls *session = make(context, wire);
    if (session != NULL) SSL_set_accept_state(session->ssl);
    return session;
}

recast_tls *recast_tls_connect(
    recast_tls_context *context, recast_tls_wire *wire, const char *indication, const char *name,
    recast_tls_ticket *ticket) {
    recast_tls *session = make(context, wire);
    if (session == NULL) return NULL;
    SSL_set_connect_state(session->ssl);
    bool is_set = true;
    if (indication != NULL) is_set = SSL_set_tlsext_host_name(session->ssl, indication) == 1;
    if (name != NULL) {
        X509_VERIFY_PARAM *rules = SSL_get0_param(session->ssl);
        X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        is_set = is_set
            && (X509_VERIFY_PARAM_set1_ip_asc(rules, name) == 1 || X509_VERIFY_PARAM_set1_host(rules, name, 0) == 1);
    }
    /* One that doesn't fit any more is not used; that is no error. */
    if (ticket != NULL) {
        SSL_set_session(session->ssl, ticket);
        session->resumed_end = recast_tls_ticket_end(ticket);
        session->offered = ticket;
    }
    ERR_clear_error();
    if (is_set) return session;
    recast_tls_free(session, true);
    return NULL;
}

void recast_tls_free(recast_tls *session, bool is_sound) {
    if (session == NULL) return;
    /* A session that wasn't shut down can't be resumed, OpenSSL thinks; a cut of the connection is no reason. */
    if (is_sound) SSL_set_shutdown(session->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    for (unsigned at = 0; at < session->ticket_count; at++) SSL_SESSION_free(session->tickets[at]);
    SSL_free(session->ssl);
    ERR_clear_error();
    free(session);
}

static bool reads_certificates(const SSL *ssl) {
    OSSL_HANDSHAKE_STATE state = SSL_get_state(ssl);
    return state == TLS_ST_SR_CERT || state == TLS_ST_CR_CERT;
}

/* What a call that didn't succeed came to. */
static int outcome_of(recast_tls *session, int returned) {
    switch (SSL_get_error(session->ssl, returned)) {
    case SSL_ERROR_WANT_READ: return RECAST_TLS_WAITS;
    case SSL_ERROR_ZERO_RETURN: return RECAST_TLS_ENDED;
    default: break;
    }
    unsigned long error = ERR_peek_error();
    session->fault.reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    session->fault.text = ERR_reason_error_string(error);
    if (session->fault.reason == SSL_R_EXCESSIVE_MESSAGE_SIZE && reads_certificates(session->ssl))
        session->fault.reason = RECAST_TLS_LONG_CHAIN;
    long verification = SSL_get_verify_result(session->ssl);
    if (session->fault.reason == SSL_R_CERTIFICATE_VERIFY_FAILED) session->fault.verification = (int)verification;
    ERR_clear_error();
    return RECAST_TLS_FAILED;
}

int recast_tls_handshake(recast_tls *session) {
    int returned = SSL_do_handshake(session->ssl);
    if (returned != 1) return outcome_of(session, returned);
    if (session->offered != NULL) recast_tls_keep_renewed(session);
    return RECAST_TLS_DONE;
}

int recast_tls_read(recast_tls *session, uint8_t *bytes, size_t room, size_t *count) {
    size_t total = 0;
    int outcome = RECAST_TLS_WAITS;
    /* With nothing on the wire and nothing begun there is nothing to find out. */
    while (session->wire->input_count > 0 || SSL_has_pending(session->ssl)) {
        size_t taken = 0;
        int returned = SSL_read_ex(session->ssl, bytes + total, room - total, &taken);
        if (returned == 1) {
            total += taken;
            continue;
        }
        outcome = outcome_of(session, returned);
        break;
    }
    *count = total;
    return outcome;
}

int recast_tls_write(recast_tls *session, const uint8_t *bytes, size_t count) {
    size_t written = 0;
    int returned = SSL_write_ex(session->ssl, bytes, count, &written);
    return returned == 1 ? RECAST_TLS_DONE : outcome_of(session, returned);
}

/* Whether SSL_free_buffers may be called on a session of which half a record has come: before these versions it freed memory
   that was still in use (CVE-2024-4741). The library is the machine's, and may be older than the one we were built with. */
static bool releases_safely(void) {
    unsigned long version = OpenSSL_version_num();
    unsigned major = (unsigned)(version >> 28), minor = (unsigned)(version >> 20 & 0xff), patch = (unsigned)(version >> 4 & 0xff);
    if (major != 3) return major > 3;
    switch (minor) {
    case 0: return patch >= 14;
    case 1: return patch >= 6;
    case 2: return patch >= 2;
    case 3: return patch >= 1;
    default: return true;
    }
}

void recast_tls_release(recast_tls *session) {
    if (releases_safely()) (void)SSL_free_buffers(session->ssl);
}

void recast_tls_shut(recast_tls *session) {
    if (SSL_in_init(session->ssl)) return;
    (void)SSL_shutdown(session->ssl);
    ERR_clear_error();
}

recast_tls_fault recast_tls_take_fault(recast_tls *session) { return session->fault; }

unsigned recast_tls_late_messages(const recast_tls *session) { return session->late_messages; }

const char *recast_tls_version(const recast_tls *session) { return SSL_get_version(session->ssl); }

const char *recast_tls_cipher(const recast_tls *session) { return SSL_get_cipher_name(session->ssl); }

bool recast_tls_has_http2(const recast_tls *session) {
    const unsigned char *chosen = NULL;
    unsigned count = 0;
    SSL_get0_alpn_selected(session->ssl, &chosen, &count);
    return count == 2 && memcmp(chosen, "h2", 2) == 0;
}

bool recast_tls_has_http1(const recast_tls *session) {
    const unsigned char *chosen = NULL;
    unsigned count = 0;
    SSL_get0_alpn_selected(session->ssl, &chosen, &count);
    return count >= 7 && memcmp(chosen, "http/1.", 7) == 0;
}

bool recast_tls_is_resumed(const recast_tls *session) { return SSL_session_reused(session->ssl) == 1; }

bool recast_tls_peer_subject(const recast_tls *session, char *text, size_t room) {
    X509 *certificate = SSL_get0_peer_certificate(session->ssl);
    if (certificate == NULL || room == 0) return false;
    recast_tls_print_name(X509_get_subject_name(certificate), text, room);
    ERR_clear_error();
    return true;
}

static bool digest_of(X509 *certificate, bool of_key, uint8_t *digest) {
    unsigned char *bytes = NULL;
    int count = of_key ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes) : i2d_X509(certificate, &bytes);
    if (count <= 0) return false;
    bool is_done = EVP_Digest(bytes, (size_t)count, digest, NULL, EVP_sha256(), NULL) == 1;
    OPENSSL_free(bytes);
    return is_done;
}

int recast_tls_peer_digests(
    const recast_tls *session, bool verified, bool of_keys, uint8_t *digests, size_t room) {
    STACK_OF(X509) *chain = verified ? SSL_get0_verified_chain(session->ssl) : NULL;
    X509 *leaf = SSL_get0_peer_certificate(session->ssl);
    int count = chain != NULL ? sk_X509_num(chain) : leaf != NULL ? 1 : 0;
    int made = 0;
    for (int at = 0; at < count && (size_t)made < room; at++) {
        X509 *certificate = chain != NULL ? sk_X509_value(chain, at) : leaf;
        if (digest_of(certificate, of_keys, digests + 32 * made)) made++;
    }
    ERR_clear_error();
    return made;
}

int recast_tls_digests(const char *text, size_t count, bool of_keys, uint8_t *digests, size_t room) {
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return -1;
    int made = 0;
    while ((size_t)made < room) {
        X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, (void *)"");
        if (certificate == NULL) {
            unsigned long error = ERR_peek_last_error();
            if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) made = -1;
            break;
        }
        bool is_done = digest_of(certificate, of_keys, digests + 32 * made);
        X509_free(certificate);
        if (!is_done) {
            made = -1;
            break;
        }
        made++;
    }
    BIO_free(bio);
    ERR_clear_error();
    return made;
}

bool recast_tls_digest(const char *bytes, size_t count, uint8_t *digest) {
    bool is_done = EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL) == 1;
    ERR_clear_error();
    return is_done;
}

const char *recast_tls_verification_text(int error) { return X509_verify_cert_error_string(error); }

const char *recast_tls_alert_text(int alert) { return SSL_alert_desc_string_long(alert); }
