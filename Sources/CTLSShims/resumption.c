#define _GNU_SOURCE
#include "shims.h"
#include <openssl/err.h>
#include <string.h>
#include <time.h>

/* A session is as good as what its peer was verified by when it began. OpenSSL remembers the verdict alone, and each ticket of TLS 1.3
   begins a new life, so a session that is renewed before its end would go on for ever. Hence the end is found once, at the full
   handshake, and every session that is made of that one ends there: a server writes it into the tickets, a client has it from
   the session that it takes up. */

/* Seconds that what was verified is believed at most, whatever it says itself: as long as OpenSSL keeps a session. */
#define LONGEST 7200

static void bring_forward(int64_t *end, int64_t other) {
    /* OpenSSL takes the second that is named for the first one that is over. */
    if (other - 1 < *end) *end = other - 1;
}

/* The last second in which the peer would be verified again: by its certificates, and by the lists of its issuer. False where
   it was not verified. */
static bool find_end(SSL *ssl, const recast_tls_context *context, int64_t *end) {
    if (SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE) return false;
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    if (chain == NULL || sk_X509_num(chain) == 0) return false;
    *end = (int64_t)time(NULL) + LONGEST;
    int64_t other = 0;
    for (int at = 0; at < sk_X509_num(chain); at++)
        if (recast_tls_seconds_of(X509_get0_notAfter(sk_X509_value(chain, at)), &other)) bring_forward(end, other);
    if (context->lists != NULL
        && recast_tls_lists_end(context->lists, X509_get_issuer_name(sk_X509_value(chain, 0)), &other))
        bring_forward(end, other);
    ERR_clear_error();
    return true;
}

static void set_end(SSL_SESSION *ticket, int64_t end) {
    int64_t rest = end - (int64_t)SSL_SESSION_get_time(ticket);
    SSL_SESSION_set_timeout(ticket, rest > 0 ? (long)rest : 0);
}

/* A server's session before it becomes a ticket. One that was taken up has its end from the first one. */
static int seal_ticket(SSL *ssl, void *argument) {
    SSL_SESSION *ticket = SSL_get_session(ssl);
    int64_t end = 0;
    void *kept = NULL;
    size_t count = 0;
    if (SSL_SESSION_get0_ticket_appdata(ticket, &kept, &count) == 1 && count == sizeof end) {
        memcpy(&end, kept, sizeof end);
    } else if (SSL_session_reused(ssl) || !find_end(ssl, argument, &end)) {
        return 1;
    } else if (SSL_SESSION_set1_ticket_appdata(ticket, &end, sizeof end) != 1) {
        return 0;
    }
    set_end(ticket, end);
    return 1;
}

/* A server's session of which the client has no ticket (TLS 1.2): it is in the cache, and its time is never set anew. */
static int see_session(SSL *ssl, SSL_SESSION *session) {
    recast_tls *own = SSL_get_app_data(ssl);
    int64_t end = 0;
    if (own == NULL || SSL_version(ssl) >= TLS1_3_VERSION || SSL_session_reused(ssl)) return 0;
    if (find_end(ssl, own->context, &end)) set_end(session, end);
    return 0;
}

/* A client's. */
static int keep_ticket(SSL *ssl, SSL_SESSION *ticket) {
    recast_tls *session = SSL_get_app_data(ssl);
    if (session == NULL || session->ticket_count == RECAST_TLS_TICKETS) return 0;
    int64_t end = session->resumed_end;
    if (SSL_session_reused(ssl) || find_end(ssl, session->context, &end)) set_end(ticket, end);
    /* The reference is ours from now on. */
    session->tickets[session->ticket_count++] = ticket;
    return 1;
}

/* Of a session of TLS 1.2 that was taken up OpenSSL tells nobody (ssl_update_cache), though a server may give it another ticket, as when
   its keys are renewed. It has made a copy for that then, and of the session that was offered it says that it can't be taken up any
   more: without the copy the next handshake would be a full one, each time. */
void recast_tls_keep_renewed(recast_tls *session) {
    SSL *ssl = session->ssl;
    if (SSL_version(ssl) >= TLS1_3_VERSION || !SSL_session_reused(ssl)) return;
    SSL_SESSION *ticket = SSL_get1_session(ssl);
    if (ticket == NULL) return;
    if (ticket == session->offered || keep_ticket(ssl, ticket) == 0) SSL_SESSION_free(ticket);
}

void recast_tls_bound_sessions(recast_tls_context *context, bool is_client) {
    if (is_client) {
        SSL_CTX_sess_set_new_cb(context->ssl, keep_ticket);
    } else {
        SSL_CTX_sess_set_new_cb(context->ssl, see_session);
        SSL_CTX_set_session_ticket_cb(context->ssl, seal_ticket, NULL, context);
    }
}

int64_t recast_tls_ticket_end(const recast_tls_ticket *ticket) {
    return (int64_t)SSL_SESSION_get_time(ticket) + SSL_SESSION_get_timeout(ticket);
}

recast_tls_ticket *recast_tls_take_ticket(recast_tls *session) {
    while (session->ticket_count > 0) {
        SSL_SESSION *ticket = session->tickets[--session->ticket_count];
        if (SSL_SESSION_is_resumable(ticket)) return ticket;
        SSL_SESSION_free(ticket);
    }
    return NULL;
}

void recast_tls_ticket_free(recast_tls_ticket *ticket) { SSL_SESSION_free(ticket); }

bool recast_tls_ticket_is_single(const recast_tls_ticket *ticket) {
    return SSL_SESSION_get_protocol_version(ticket) >= TLS1_3_VERSION;
}

bool recast_tls_ticket_is_over(const recast_tls_ticket *ticket) {
    return !SSL_SESSION_is_resumable(ticket) || (int64_t)time(NULL) > recast_tls_ticket_end(ticket);
}
