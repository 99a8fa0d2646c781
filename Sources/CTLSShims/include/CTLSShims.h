/* OpenSSL 3 between memory and memory: no sockets, no files, no macros. */
#ifndef RECAST_CTLS_SHIMS_H
#define RECAST_CTLS_SHIMS_H
#ifdef __swift__
/* See CEvent.h. */
#pragma clang module import SwiftGlibc
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- What all sessions of a thread share: the bytes between OpenSSL and the socket. */

typedef struct {
    /* What the peer sent and no session has taken yet. Lent: valid during one call of a session. */
    const uint8_t *input;
    size_t input_count;
    /* Records to send. The caller of a session takes them at once and sets the count to 0. */
    uint8_t *output;
    size_t output_count;
    size_t output_capacity;
    void *bio;
} recast_tls_wire;

/* NULL when memory is out. */
recast_tls_wire *recast_tls_wire_create(void);
/* After the last session that used it. */
void recast_tls_wire_free(recast_tls_wire *wire);
/* Gives back the memory of records beyond `limit` bytes. */
void recast_tls_wire_shrink(recast_tls_wire *wire, size_t limit);

/* ---- Contexts. But for the keys of tickets they don't change once a session was made, and may then be used from several threads. */

typedef struct recast_tls_context recast_tls_context;

/* Why PEM text was refused. */
enum {
    RECAST_TLS_FINE = 0,
    RECAST_TLS_EMPTY = 1,     /* It holds none of what is wanted. */
    RECAST_TLS_MALFORMED = 2, /* It holds one that can't be read. */
    RECAST_TLS_ENCRYPTED = 3, /* The key needs a password. */
    RECAST_TLS_MISMATCH = 4,  /* The key isn't the certificate's. */
    RECAST_TLS_WEAK = 5,      /* Too short a key or too weak a digest for this system's security level. */
    RECAST_TLS_UNUSABLE = 6,  /* No handshake can be made with such a key. */
    RECAST_TLS_LATER = 100,   /* And n: the key is that of the nth certificate behind the leaf. */
};

/* Versions are 12 and 13. NULL when memory is out. */
recast_tls_context *recast_tls_context_create(bool is_client, int minimum, int maximum);
void recast_tls_context_free(recast_tls_context *context);
/* What a server takes where the client offers several (ALPN); HTTP/1 alone where this isn't called. Before any session. */
void recast_tls_take_protocols(recast_tls_context *context, bool http1, bool http2);
/* A client offers HTTP/2 in place of HTTP/1. Before any session. */
void recast_tls_offer_http2(recast_tls_context *context);
/* The leaf and then the rest of its chain. */
int recast_tls_use_certificates(recast_tls_context *context, const char *text, size_t count);
/* After the certificates. */
int recast_tls_use_key(recast_tls_context *context, const char *text, size_t count);
/* Certificates that chains may end at, also those that aren't self-signed. `tells`: a server names them to clients, as far
   as clients take so many names. */
int recast_tls_add_anchors(recast_tls_context *context, const char *text, size_t count, bool tells);
/* Those of the system. */
bool recast_tls_use_system_anchors(recast_tls_context *context);
/* Those of the system, for many contexts; NULL where there is no memory. A file of them takes 20 ms and 800 KB. */
typedef struct recast_tls_anchors recast_tls_anchors;
recast_tls_anchors *recast_tls_anchors_create(void);
void recast_tls_anchors_free(recast_tls_anchors *anchors);
/* Instead of recast_tls_use_system_anchors, for a context to which no revocation lists are added: they stand in the same store. */
bool recast_tls_share_anchors(recast_tls_context *context, recast_tls_anchors *anchors);
/* Whether the context has any anchor: one that was loaded, or one in the folder where OpenSSL looks for those of the system. */
bool recast_tls_has_anchors(const recast_tls_context *context);
/* Revocation lists; leaves are looked up in them from then on. */
int recast_tls_add_revocations(recast_tls_context *context, const char *text, size_t count);
/* Whether the peer's certificate is checked, and whether one is needed. */
void recast_tls_verify_peer(recast_tls_context *context, bool is_checked, bool is_required);
/* Draws a new key for a server's tickets where the last one has sealed for an hour, and wipes those by which nothing can be taken up any
   more; `ahead` seconds count as passed, for tests. Any thread, at any time. */
void recast_tls_renew_ticket_keys(recast_tls_context *context, int64_t ahead);
/* Keys that are kept. */
size_t recast_tls_ticket_key_count(recast_tls_context *context);
/* Certificates for other names: contexts that live as long as this one. */
bool recast_tls_set_alternatives(
    recast_tls_context *context, recast_tls_context *const *alternatives, size_t count);
/* The context's own certificate: the ends of its life, in seconds since 1970. */
bool recast_tls_validity(const recast_tls_context *context, int64_t *not_before, int64_t *not_after);
/* When the first issuer's last revocation list runs out: from then on its certificates are refused. False without such an end. */
bool recast_tls_revocations_end(const recast_tls_context *context, int64_t *end);
/* When the last one of the anchors runs out. False without any. */
bool recast_tls_anchors_end(const recast_tls_context *context, int64_t *end);

/* ---- What a context was loaded with, before any session. */

/* A certificate of the context's own chain. */
typedef struct {
    /* The ends of its life, in seconds since 1970. */
    int64_t not_before, not_after;
    /* How far above the leaf it stands, by who has issued whom: 0 is the leaf, -1 one that has issued none of the others. */
    int level;
    bool is_self_issued;
} recast_tls_link;
/* That at `place`, 0 for the leaf. The subject as `recast_tls_peer_subject`. False when there is none. */
bool recast_tls_link_at(
    const recast_tls_context *context, size_t place, recast_tls_link *link, char *subject, size_t room);
/* The leaf's serial number in hexadecimal digits, end-marked. */
bool recast_tls_serial(const recast_tls_context *context, char *text, size_t room);
/* Whether the leaf may be a server's, or a client's, by its extended key usage (RFC 5280 §4.2.1.12). */
bool recast_tls_is_for(const recast_tls_context *context, bool clients);
/* The names of hosts that the leaf is for, each with a newline. False when there are more, or one that can't be told. */
bool recast_tls_names(const recast_tls_context *context, char *text, size_t room, size_t *count);
/* Whether one of the anchors may issue certificates. */
bool recast_tls_has_authority(const recast_tls_context *context);
/* The subject of the anchor with that number, from 0, of those that have no revocation list where others have one. */
bool recast_tls_unlisted(const recast_tls_context *context, size_t number, char *subject, size_t room);

/* Lists whose issuer is one of the anchors by its name, and that none of these has signed: the issuer of that with this number, from 0. */
bool recast_tls_unsigned(const recast_tls_context *context, size_t number, char *issuer, size_t room);
/* When all issuers have a list that holds: before that the certificates of one of them are refused. False without any list. */
bool recast_tls_revocations_start(const recast_tls_context *context, int64_t *start);

/* SHA-256 of each certificate of the text, or of its public key (SubjectPublicKeyInfo), 32 bytes each. `digests` has
   room for `room` of them. Returns the number, or -1 when one can't be read. */
int recast_tls_digests(const char *text, size_t count, bool of_keys, uint8_t *digests, size_t room);

/* SHA-256 of the bytes, 32 of them. */
bool recast_tls_digest(const char *bytes, size_t count, uint8_t *digest);

/* ---- Sessions: one connection each. */

typedef struct recast_tls recast_tls;
/* What a client remembers of a server. */
typedef struct ssl_session_st recast_tls_ticket;

/* What a call came to. */
enum {
    RECAST_TLS_DONE = 0,
    RECAST_TLS_WAITS = 1, /* For more input. */
    RECAST_TLS_ENDED = 2, /* close_notify came. */
    RECAST_TLS_FAILED = 3,
};

/* The peer's certificates have more bytes than are read. */
enum { RECAST_TLS_LONG_CHAIN = -1 };

typedef struct {
    /* X509_V_ERR_..., 0 when the certificates are not the matter. */
    int verification;
    /* SSL_R_...; 1000 and more: what the peer's alert said; or RECAST_TLS_LONG_CHAIN. */
    int reason;
    /* A constant text of OpenSSL's, or NULL. */
    const char *text;
} recast_tls_fault;

/* A server's session; NULL when memory is out. */
recast_tls *recast_tls_accept(recast_tls_context *context, recast_tls_wire *wire);
/* A client's. `indication` is the name to ask for, `name` the name or address that the certificate must be for, both may
   be NULL; `ticket` too. */
recast_tls *recast_tls_connect(
    recast_tls_context *context, recast_tls_wire *wire, const char *indication, const char *name,
    recast_tls_ticket *ticket);
/* `is_sound`: nothing was wrong, so its ticket stays good. */
void recast_tls_free(recast_tls *session, bool is_sound);

int recast_tls_handshake(recast_tls *session);
/* Decrypts all of the wire's input into `bytes`, which must have room for it and 17 KiB more; `count` becomes the number
   of bytes that came out, whatever is returned. */
int recast_tls_read(recast_tls *session, uint8_t *bytes, size_t room, size_t *count);
/* All of the bytes, or none where it waits: a message of the handshake protocol that follows the handshake has come in part. */
int recast_tls_write(recast_tls *session, const uint8_t *bytes, size_t count);
/* Gives back the buffers for records, 33 KiB, until the next record; not while a part of one is there. */
void recast_tls_release(recast_tls *session);
/* Writes close_notify. */
void recast_tls_shut(recast_tls *session);
/* Why the last call failed. */
recast_tls_fault recast_tls_take_fault(recast_tls *session);
/* Messages of the handshake protocol that came after the handshake. */
unsigned recast_tls_late_messages(const recast_tls *session);

const char *recast_tls_version(const recast_tls *session);
const char *recast_tls_cipher(const recast_tls *session);
bool recast_tls_is_resumed(const recast_tls *session);
/* Whether HTTP/2 was chosen (ALPN), or a version of HTTP/1; neither where the client named none. */
bool recast_tls_has_http2(const recast_tls *session);
bool recast_tls_has_http1(const recast_tls *session);
/* The subject of the peer's certificate after RFC 2253, end-marked and cut at `room`; false when it sent none. */
bool recast_tls_peer_subject(const recast_tls *session, char *text, size_t room);
/* The names of hosts, or the URIs, among the alternative names of the peer's certificate, each with a newline. False when it sent none, and
   where there are more than fit, or one that can't be told: with a blank, a control or a byte beyond ASCII. */
bool recast_tls_peer_names(const recast_tls *session, bool uris, char *text, size_t room, size_t *count);
/* As `recast_tls_digests`, of the peer's chain: the one that was verified, or only its leaf. */
int recast_tls_peer_digests(
    const recast_tls *session, bool verified, bool of_keys, uint8_t *digests, size_t room);

/* The next ticket that came and can be used, or NULL. The caller's. */
recast_tls_ticket *recast_tls_take_ticket(recast_tls *session);
void recast_tls_ticket_free(recast_tls_ticket *ticket);
/* Whether it is for one use only. */
bool recast_tls_ticket_is_single(const recast_tls_ticket *ticket);
/* Whether something that its server was verified by has run out since, or two hours have passed: it is of no use any more. */
bool recast_tls_ticket_is_over(const recast_tls_ticket *ticket);

/* OpenSSL's word for a verification error, for details. */
const char *recast_tls_verification_text(int error);
/* OpenSSL's word for an alert. */
const char *recast_tls_alert_text(int alert);
/* OpenSSL's version, as 3.0.11. */
const char *recast_tls_library_version(void);
#endif
