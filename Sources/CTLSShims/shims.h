/* What the files of this target share. */
#ifndef RECAST_CTLS_INTERNAL_H
#define RECAST_CTLS_INTERNAL_H
#include "CTLSShims.h"
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* That a certificate has a name, or a pattern, of that hash: the context's own is number 0, the first alternative 1. */
typedef struct {
    uint64_t hash;
    size_t number;
} recast_tls_name;

struct recast_tls_context {
    SSL_CTX *ssl;
    recast_tls_context **alternatives;
    size_t alternative_count;
    /* By their hashes, then by their numbers; and the certificates whose names aren't among them. */
    recast_tls_name *names, *unlisted;
    size_t name_count, unlisted_count;
    /* The revocation lists that were added; NULL without any. Not the store's: that one is changed while it is in use. */
    STACK_OF(X509_CRL) *lists;
    /* As they were asked for: 12 or 13. */
    int minimum, maximum;
    /* Which algorithms the system's security level allows; ours allows fewer. */
    int (*allows)(const SSL *, const SSL_CTX *, int, int, int, void *, void *);
    /* What a server takes. */
    bool has_http1, has_http2;
    /* What its tickets are sealed with; NULL for a client. */
    struct recast_tls_ticket_keys *ticket_keys;
};

/* Tickets that wait to be taken; a server sends two. */
#define RECAST_TLS_TICKETS 4

struct recast_tls {
    SSL *ssl;
    const recast_tls_context *context;
    recast_tls_wire *wire;
    recast_tls_fault fault;
    /* The end of the session that a client offers to take up, in seconds since 1970. */
    int64_t resumed_end;
    /* That session, to be compared alone. */
    const SSL_SESSION *offered;
    unsigned late_messages;
    unsigned ticket_count;
    SSL_SESSION *tickets[RECAST_TLS_TICKETS];
};

/* Lists the names of the context's certificates. False, and nothing is listed, where there is no memory. */
bool recast_tls_list_names(recast_tls_context *context);
void recast_tls_forget_names(recast_tls_context *context);
/* The number of the first certificate that is for the name, by X509_check_host with these flags; false where none is. */
bool recast_tls_certificate_for(
    const recast_tls_context *context, const char *name, size_t count, unsigned flags, bool takes_patterns, size_t *number);

/* Whether a handshake can be made with the context's key, which has none yet. */
bool recast_tls_key_is_usable(const recast_tls_context *context);
/* Ends the context's sessions with what their peers were verified by. */
void recast_tls_bound_sessions(recast_tls_context *context, bool is_client);
/* A client's handshake is over: keeps the session that it has taken up where the server has given it another ticket. */
void recast_tls_keep_renewed(recast_tls *session);
/* NULL when memory is out. */
struct recast_tls_ticket_keys *recast_tls_ticket_keys_create(void);
void recast_tls_ticket_keys_free(struct recast_tls_ticket_keys *keys);
/* Lets a server seal its tickets with the context's keys. */
void recast_tls_seal_with_own_keys(recast_tls_context *context);
/* The last second of a session, in seconds since 1970. */
int64_t recast_tls_ticket_end(const recast_tls_ticket *ticket);
/* In seconds since 1970. */
bool recast_tls_seconds_of(const ASN1_TIME *time, int64_t *seconds);
/* The latest end among the lists of that issuer. False where it has none, or one without an end. */
bool recast_tls_lists_end(const STACK_OF(X509_CRL) *lists, const X509_NAME *issuer, int64_t *end);
/* After RFC 2253, end-marked and cut at `room`, which isn't 0. */
void recast_tls_print_name(const X509_NAME *name, char *text, size_t room);
#endif
