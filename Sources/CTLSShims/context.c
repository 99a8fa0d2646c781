#define _GNU_SOURCE
#include "shims.h"
#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TLS 1.2: forward secrecy and authenticated encryption only. Those of 1.3 all have both. */
static const char ciphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/* Bytes of all certificates that a client may show: to read and to follow 100 KB, which OpenSSL takes, costs the loop 36 ms, and anybody
   can send them. A chain of three or four has less than 10 KB. */
#define LONGEST_CHAIN 32768

static const uint8_t protocols[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/* Counts what a peer may send to make us work after the handshake: KeyUpdate, tickets, wishes to renegotiate. */
static void see_message(
    int is_written, int version, int kind, const void *bytes, size_t count, SSL *ssl, void *argument) {
    (void)version, (void)argument;
    if (is_written || count == 0 || (kind != SSL3_RT_HEADER && kind != SSL3_RT_INNER_CONTENT_TYPE)) return;
    if (*(const uint8_t *)bytes != SSL3_RT_HANDSHAKE || !SSL_is_init_finished(ssl)) return;
    recast_tls *session = SSL_get_app_data(ssl);
    if (session != NULL) session->late_messages++;
}

/* A group of finite fields (RFC 7919) costs who is asked for it up to 120 ms a handshake, in which its loop does nothing else, and who
   asks nothing: the key that is sent needs no work (CVE-2002-20001). Whoever speaks TLS has elliptic curves, which all our cipher
   suites of 1.2 want anyway. By what is allowed, since a list of groups would replace the system's own. */
static int allow(
    const SSL *ssl, const SSL_CTX *ssl_context, int operation, int bits, int number, void *other, void *argument) {
    const recast_tls_context *context = argument;
    if ((operation & SSL_SECOP_OTHER_TYPE) == SSL_SECOP_OTHER_CURVE && number >= NID_ffdhe2048 && number <= NID_ffdhe8192)
        return 0;
    return context->allows(ssl, ssl_context, operation, bits, number, other, NULL);
}

/* The best first. HTTP/1.0 is for clients that offer it alone when they are told to speak it (curl --http1.0). */
static int choose_protocol(
    SSL *ssl, const unsigned char **chosen, unsigned char *count, const unsigned char *offered, unsigned offered_count,
    void *argument) {
    (void)ssl;
    const recast_tls_context *context = argument;
    static const char *const names[] = {"h2", "http/1.1", "http/1.0"};
    for (int name = context->has_http2 ? 0 : 1; name < (context->has_http1 ? 3 : 1); name++) {
        size_t length = strlen(names[name]);
        for (unsigned at = 0; at < offered_count && offered_count - at > offered[at]; at += 1 + offered[at]) {
            if (offered[at] != length || memcmp(offered + at + 1, names[name], length) != 0) continue;
            *chosen = offered + at + 1;
            *count = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Takes the certificate alone from `other`: whom clients are believed, and all else, stays what the listener says. Without
   clearing, a certificate of another kind of key would stay beside it, and might be chosen. */
static bool use_identity(SSL *ssl, SSL_CTX *other, X509 *certificate) {
    EVP_PKEY *key = SSL_CTX_get0_privatekey(other);
    STACK_OF(X509) *chain = NULL;
    if (key == NULL || SSL_CTX_get0_chain_certs(other, &chain) != 1) return false;
    SSL_certs_clear(ssl);
    return SSL_use_cert_and_key(ssl, certificate, key, chain, 1) == 1;
}

/* A certificate for the very name wins over one for a pattern; in a tie the first one does. */
static int choose_certificate(SSL *ssl, int *alert, void *argument) {
    (void)alert;
    const recast_tls_context *context = argument;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == NULL || context->alternative_count == 0) return SSL_TLSEXT_ERR_OK;
    /* The dot of an absolute name is none of it here (RFC 6066 §3), but some clients send it. */
    size_t count = strlen(name);
    if (count > 1 && name[count - 1] == '.') count--;
    for (int pass = 0; pass < 2; pass++) {
        unsigned flags = pass == 0 ? X509_CHECK_FLAG_NO_WILDCARDS : X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
        size_t number = 0;
        if (!recast_tls_certificate_for(context, name, count, flags, pass == 1, &number)) continue;
        if (number == 0) return SSL_TLSEXT_ERR_OK;
        SSL_CTX *other = context->alternatives[number - 1]->ssl;
        bool is_used = use_identity(ssl, other, SSL_CTX_get0_certificate(other));
        return is_used ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    return SSL_TLSEXT_ERR_OK;
}

/* AES-128 first in 1.3, as in the list above: it is a third less work, and so is SHA-256 in each handshake. What the
   system's configuration leaves out stays out. */
static void prefer_short_keys(SSL_CTX *ssl) {
    static const char first[] = "TLS_AES_128_GCM_SHA256";
    char list[512] = "";
    size_t count = 0;
    bool has_first = false;
    const STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ssl);
    for (int at = 0; at < sk_SSL_CIPHER_num(all); at++) {
        const char *name = SSL_CIPHER_get_name(sk_SSL_CIPHER_value(all, at));
        if (strncmp(name, "TLS_", 4) != 0) continue;
        if (strcmp(name, first) == 0) {
            has_first = true;
            continue;
        }
        int added = snprintf(list + count, sizeof list - count, ":%s", name);
        if (added < 0 || (size_t)added >= sizeof list - count) return;
        count += (size_t)added;
    }
    char whole[sizeof first + sizeof list];
    snprintf(whole, sizeof whole, "%s%s", first, list);
    if (has_first) SSL_CTX_set_ciphersuites(ssl, whole);
}

void recast_tls_take_protocols(recast_tls_context *context, bool http1, bool http2) {
    context->has_http1 = http1;
    context->has_http2 = http2;
}

void recast_tls_offer_http2(recast_tls_context *context) {
    static const uint8_t http2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context->ssl, http2, sizeof http2);
}

recast_tls_context *recast_tls_context_create(bool is_client, int minimum, int maximum) {
    recast_tls_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    SSL_CTX *ssl = SSL_CTX_new(is_client ? TLS_client_method() : TLS_server_method());
    if (ssl == NULL) {
        free(context);
        ERR_clear_error();
        return NULL;
    }
    context->ssl = ssl;
    context->minimum = minimum;
    context->maximum = maximum;
    context->allows = SSL_CTX_get_security_callback(ssl);
    SSL_CTX_set_security_callback(ssl, allow);
    SSL_CTX_set0_security_ex_data(ssl, context);
    SSL_CTX_set_min_proto_version(ssl, minimum == 13 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(ssl, maximum == 12 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_cipher_list(ssl, ciphers);
    prefer_short_keys(ssl);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* What is shown is what the file holds. Else each handshake would look for the rest of the chain among those whom we believe, at a
       third of its work, and what peers get would depend on them. */
    SSL_CTX_set_mode(ssl, SSL_MODE_NO_AUTO_CHAIN);
    /* A record's head and content in one read of the wire. */
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_msg_callback(ssl, see_message);
    if (is_client) {
        SSL_CTX_set_alpn_protos(ssl, protocols, sizeof protocols);
        SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    } else {
        /* Ours counts, but a client that puts ChaCha20 first has no instructions for AES. */
        SSL_CTX_set_options(ssl, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
        context->has_http1 = true;
        SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, context);
        SSL_CTX_set_tlsext_servername_callback(ssl, choose_certificate);
        SSL_CTX_set_tlsext_servername_arg(ssl, context);
        /* Without it a client that showed a certificate couldn't resume. */
        SSL_CTX_set_session_id_context(ssl, (const unsigned char *)"recast", 6);
        SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_SERVER);
        /* For clients of 1.2 without tickets; all others keep their sessions themselves. */
        SSL_CTX_sess_set_cache_size(ssl, 4096);
        SSL_CTX_set_num_tickets(ssl, 2);
        context->ticket_keys = recast_tls_ticket_keys_create();
        if (context->ticket_keys == NULL) {
            recast_tls_context_free(context);
            return NULL;
        }
        recast_tls_seal_with_own_keys(context);
        SSL_CTX_set_max_cert_list(ssl, LONGEST_CHAIN);
    }
    recast_tls_bound_sessions(context, is_client);
    ERR_clear_error();
    return context;
}

void recast_tls_context_free(recast_tls_context *context) {
    if (context == NULL) return;
    SSL_CTX_free(context->ssl);
    recast_tls_ticket_keys_free(context->ticket_keys);
    sk_X509_CRL_pop_free(context->lists, X509_CRL_free);
    recast_tls_forget_names(context);
    free(context->alternatives);
    free(context);
}

/* No password is ever asked for at the terminal: its absence is noted instead. */
static int no_password(char *buffer, int room, int is_written, void *was_asked) {
    (void)buffer, (void)room, (void)is_written;
    if (was_asked != NULL) *(bool *)was_asked = true;
    return -1;
}

/* Whether reading stopped because nothing more was there. Empties the queue of errors. */
static bool is_at_end(void) {
    unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    return error == 0 || (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE);
}

static int why_refused(void) {
    int reason = ERR_GET_REASON(ERR_peek_error());
    ERR_clear_error();
    switch (reason) {
    case SSL_R_EE_KEY_TOO_SMALL:
    case SSL_R_CA_KEY_TOO_SMALL:
    case SSL_R_CA_MD_TOO_WEAK: return RECAST_TLS_WEAK;
    default: return RECAST_TLS_MALFORMED;
    }
}

int recast_tls_use_certificates(recast_tls_context *context, const char *text, size_t count) {
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return RECAST_TLS_MALFORMED;
    int outcome = RECAST_TLS_FINE;
    X509 *certificate = PEM_read_bio_X509_AUX(bio, NULL, no_password, NULL);
    if (certificate == NULL) {
        outcome = is_at_end() ? RECAST_TLS_EMPTY : RECAST_TLS_MALFORMED;
    } else {
        if (SSL_CTX_use_certificate(context->ssl, certificate) != 1) outcome = why_refused();
        X509_free(certificate);
    }
    SSL_CTX_clear_chain_certs(context->ssl);
    while (outcome == RECAST_TLS_FINE) {
        certificate = PEM_read_bio_X509(bio, NULL, no_password, NULL);
        if (certificate == NULL) {
            if (!is_at_end()) outcome = RECAST_TLS_MALFORMED;
            break;
        }
        if (SSL_CTX_add1_chain_cert(context->ssl, certificate) != 1) outcome = why_refused();
        X509_free(certificate);
    }
    BIO_free(bio);
    ERR_clear_error();
    return outcome;
}

int recast_tls_use_key(recast_tls_context *context, const char *text, size_t count) {
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return RECAST_TLS_MALFORMED;
    bool was_asked = false;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &was_asked);
    BIO_free(bio);
    if (key == NULL) {
        ERR_clear_error();
        bool is_empty = memmem(text, count, "PRIVATE KEY-----", 16) == NULL;
        return was_asked ? RECAST_TLS_ENCRYPTED : is_empty ? RECAST_TLS_EMPTY : RECAST_TLS_MALFORMED;
    }
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    int outcome = RECAST_TLS_FINE;
    if (certificate == NULL || X509_check_private_key(certificate, key) != 1) {
        outcome = RECAST_TLS_MISMATCH;
        STACK_OF(X509) *chain = NULL;
        SSL_CTX_get0_chain_certs(context->ssl, &chain);
        for (int at = 0; at < sk_X509_num(chain) && outcome == RECAST_TLS_MISMATCH; at++)
            if (X509_check_private_key(sk_X509_value(chain, at), key) == 1) outcome = RECAST_TLS_LATER + at + 1;
    } else if (SSL_CTX_use_PrivateKey(context->ssl, key) != 1) {
        outcome = why_refused();
    } else if (!recast_tls_key_is_usable(context)) {
        outcome = RECAST_TLS_UNUSABLE;
    }
    EVP_PKEY_free(key);
    ERR_clear_error();
    return outcome;
}

/* Names of authorities that clients are told, in bytes: one message of 1.2 has room for 65,535, and Java's clients take none above
   32 KiB. */
#define TOLD 30000

/* Tells clients no names where there are too many: then they choose by themselves (RFC 8446 section 4.2.4, RFC 5246 section 7.4.4). */
static bool bound_names(SSL_CTX *ssl) {
    const STACK_OF(X509_NAME) *names = SSL_CTX_get_client_CA_list(ssl);
    size_t total = 0;
    for (int at = 0; at < sk_X509_NAME_num(names); at++) {
        int size = i2d_X509_NAME(sk_X509_NAME_value(names, at), NULL);
        if (size > 0) total += (size_t)size + 2;
    }
    if (total <= TOLD) return true;
    STACK_OF(X509_NAME) *none = sk_X509_NAME_new_null();
    if (none == NULL) return false;
    SSL_CTX_set_client_CA_list(ssl, none);
    return true;
}

int recast_tls_add_anchors(recast_tls_context *context, const char *text, size_t count, bool tells) {
    X509_STORE *store = SSL_CTX_get_cert_store(context->ssl);
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return RECAST_TLS_MALFORMED;
    int outcome = RECAST_TLS_EMPTY;
    for (;;) {
        X509 *certificate = PEM_read_bio_X509_AUX(bio, NULL, no_password, NULL);
        if (certificate == NULL) {
            if (!is_at_end()) outcome = RECAST_TLS_MALFORMED;
            break;
        }
        bool was_added = X509_STORE_add_cert(store, certificate) == 1;
        if (was_added && tells) was_added = SSL_CTX_add_client_CA(context->ssl, certificate) == 1;
        X509_free(certificate);
        outcome = was_added ? RECAST_TLS_FINE : RECAST_TLS_MALFORMED;
        if (!was_added) break;
    }
    if (tells && outcome == RECAST_TLS_FINE && !bound_names(context->ssl)) outcome = RECAST_TLS_MALFORMED;
    /* An intermediate that is named is meant: without this every chain that leads to it would be refused. */
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    BIO_free(bio);
    ERR_clear_error();
    return outcome;
}

bool recast_tls_use_system_anchors(recast_tls_context *context) {
    bool is_done = SSL_CTX_set_default_verify_paths(context->ssl) == 1;
    ERR_clear_error();
    return is_done;
}

/* The type is OpenSSL's own, by another name. */
recast_tls_anchors *recast_tls_anchors_create(void) {
    X509_STORE *store = X509_STORE_new();
    if (store != NULL) X509_STORE_set_default_paths(store);
    ERR_clear_error();
    return (recast_tls_anchors *)store;
}

void recast_tls_anchors_free(recast_tls_anchors *anchors) { X509_STORE_free((X509_STORE *)anchors); }

bool recast_tls_share_anchors(recast_tls_context *context, recast_tls_anchors *anchors) {
    X509_STORE *store = (X509_STORE *)anchors;
    if (X509_STORE_up_ref(store) != 1) return false;
    SSL_CTX_set_cert_store(context->ssl, store);
    return true;
}

/* Whether a name is one that OpenSSL looks a certificate up by: eight digits of its subject's hash, a dot, and a number. */
static bool is_hashed_name(const char *name) {
    size_t digits = strspn(name, "0123456789abcdef");
    if (digits != 8 || name[8] != '.') return false;
    size_t number = strspn(name + 9, "0123456789");
    return number > 0 && name[9 + number] == '\0';
}

static bool has_hashed_certificate(const char *folder) {
    DIR *directory = opendir(folder);
    if (directory == NULL) return false;
    bool is_found = false;
    for (struct dirent *entry; !is_found && (entry = readdir(directory)) != NULL;)
        is_found = is_hashed_name(entry->d_name);
    closedir(directory);
    return is_found;
}

bool recast_tls_has_anchors(const recast_tls_context *context) {
    /* A file is loaded at once; folders are read when a chain is checked. */
    if (sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context->ssl))) > 0) return true;
    const char *folders = secure_getenv(X509_get_default_cert_dir_env());
    if (folders == NULL) folders = X509_get_default_cert_dir();
    char *list = strdup(folders);
    if (list == NULL) return true;
    bool is_found = false;
    char *rest = NULL;
    for (char *folder = strtok_r(list, ":", &rest); folder != NULL && !is_found; folder = strtok_r(NULL, ":", &rest))
        is_found = has_hashed_certificate(folder);
    free(list);
    return is_found;
}

int recast_tls_add_revocations(recast_tls_context *context, const char *text, size_t count) {
    X509_STORE *store = SSL_CTX_get_cert_store(context->ssl);
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return RECAST_TLS_MALFORMED;
    int outcome = RECAST_TLS_EMPTY;
    for (;;) {
        X509_CRL *list = PEM_read_bio_X509_CRL(bio, NULL, no_password, NULL);
        if (list == NULL) {
            if (!is_at_end()) outcome = RECAST_TLS_MALFORMED;
            break;
        }
        bool was_added = X509_STORE_add_crl(store, list) == 1;
        if (context->lists == NULL) context->lists = sk_X509_CRL_new_null();
        /* The reference is the stack's from then on. */
        if (!was_added || sk_X509_CRL_push(context->lists, list) <= 0) {
            X509_CRL_free(list);
            was_added = false;
        }
        outcome = was_added ? RECAST_TLS_FINE : RECAST_TLS_MALFORMED;
        if (!was_added) break;
    }
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    BIO_free(bio);
    ERR_clear_error();
    return outcome;
}

void recast_tls_verify_peer(recast_tls_context *context, bool is_checked, bool is_required) {
    int mode = SSL_VERIFY_NONE;
    if (is_checked) mode = SSL_VERIFY_PEER | (is_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    SSL_CTX_set_verify(context->ssl, mode, NULL);
}

bool recast_tls_set_alternatives(
    recast_tls_context *context, recast_tls_context *const *alternatives, size_t count) {
    recast_tls_context **copy = calloc(count, sizeof *copy);
    if (copy == NULL) return count == 0;
    memcpy(copy, alternatives, count * sizeof *copy);
    free(context->alternatives);
    context->alternatives = copy;
    context->alternative_count = count;
    return recast_tls_list_names(context);
}

bool recast_tls_seconds_of(const ASN1_TIME *time, int64_t *seconds) {
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0, rest = 0;
    bool is_known = epoch != NULL && ASN1_TIME_diff(&days, &rest, epoch, time) == 1;
    ASN1_TIME_free(epoch);
    if (is_known) *seconds = (int64_t)days * 86400 + rest;
    return is_known;
}

bool recast_tls_validity(const recast_tls_context *context, int64_t *not_before, int64_t *not_after) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    bool is_known = certificate != NULL && recast_tls_seconds_of(X509_get0_notBefore(certificate), not_before)
        && recast_tls_seconds_of(X509_get0_notAfter(certificate), not_after);
    ERR_clear_error();
    return is_known;
}

bool recast_tls_lists_end(const STACK_OF(X509_CRL) *lists, const X509_NAME *issuer, int64_t *end) {
    bool is_known = false;
    for (int at = 0; at < sk_X509_CRL_num(lists); at++) {
        const X509_CRL *list = sk_X509_CRL_value(lists, at);
        const ASN1_TIME *update = X509_CRL_get0_nextUpdate(list);
        int64_t next = 0;
        if (X509_NAME_cmp(X509_CRL_get_issuer(list), issuer) != 0) continue;
        /* A list without an end holds. */
        if (update == NULL || !recast_tls_seconds_of(update, &next)) return false;
        if (!is_known || next > *end) *end = next;
        is_known = true;
    }
    return is_known;
}

bool recast_tls_revocations_end(const recast_tls_context *context, int64_t *end) {
    bool is_known = false;
    for (int at = 0; at < sk_X509_CRL_num(context->lists); at++) {
        int64_t last = 0;
        if (!recast_tls_lists_end(context->lists, X509_CRL_get_issuer(sk_X509_CRL_value(context->lists, at)), &last))
            continue;
        if (!is_known || last < *end) *end = last;
        is_known = true;
    }
    ERR_clear_error();
    return is_known;
}

bool recast_tls_anchors_end(const recast_tls_context *context, int64_t *end) {
    const STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context->ssl));
    bool is_known = false;
    for (int at = 0; at < sk_X509_OBJECT_num(objects); at++) {
        const X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, at));
        int64_t last = 0;
        if (certificate == NULL || !recast_tls_seconds_of(X509_get0_notAfter(certificate), &last)) continue;
        if (!is_known || last > *end) *end = last;
        is_known = true;
    }
    ERR_clear_error();
    return is_known;
}

const char *recast_tls_library_version(void) { return OpenSSL_version(OPENSSL_VERSION_STRING); }
