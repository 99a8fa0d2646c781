/* What the files of this target share. */
#ifndef RECAST_CTLS_INTERNAL_H
#define RECAST_CTLS_INTERNAL_H
#include "CTLSShims.h"
#include <openssl/ssl.h>

struct recast_tls_context {
    SSL_CTX *ssl;
    recast_tls_context **alternatives;
    size_t alternative_count;
    /* What a server takes. */
    bool has_http1, has_http2;
};

/* Tickets that wait to be taken; a server sends two. */
#define RECAST_TLS_TICKETS 4

struct recast_tls {
    SSL *ssl;
    recast_tls_wire *wire;
    recast_tls_fault fault;
    unsigned late_messages;
    unsigned ticket_count;
    SSL_SESSION *tickets[RECAST_TLS_TICKETS];
};

int recast_tls_keep_ticket(SSL *ssl, SSL_SESSION *ticket);
#endif
