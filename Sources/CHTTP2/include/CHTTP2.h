// One side of an HTTP/2 connection (RFC 9113) by nghttp2, without I/O: bytes go in, and what they say is called back; what is
// said is submitted, and comes out as bytes. All calls of one session come from one thread.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct recast_http2 recast_http2;

/* What became of a frame of content that was to be written. */
typedef enum {
    RECAST_HTTP2_WRITTEN,
    /* It is to be asked for again later. */
    RECAST_HTTP2_NO_ROOM,
    /* Its stream is gone: it is left out. */
    RECAST_HTTP2_NO_STREAM,
} recast_http2_writing;

/* What a session calls; `owner` is what recast_http2_make was given. Functions that return an int return 0, or another number: the
   connection has failed then. */
typedef struct recast_http2_calls {
    /* A frame's head has come, of a type that is known but CONTINUATION; its payload has `count` bytes. */
    void (*frame_head)(void *owner, int32_t stream, uint8_t type, uint8_t flags, size_t count);
    /* A head or, behind the content, trailers begin. Returns 1 where the stream is refused. */
    int (*begin)(void *owner, int32_t stream, bool is_trailers);
    /* A field of it. Returns 1 where the stream is to be reset and none of its fields looked at any more. */
    int (*field)(void *owner, int32_t stream, const uint8_t *name, size_t name_count, const uint8_t *value, size_t value_count);
    /* A field that may not stand in a message. */
    void (*bad_field)(void *owner, int32_t stream, const uint8_t *name, size_t name_count, const uint8_t *value, size_t value_count);
    /* A frame was read that isn't ignored; its fields or its content came before. `code` is GOAWAY's,
       and so is `stream` then: the last one that it names. */
    int (*frame)(void *owner, int32_t stream, uint8_t type, uint8_t flags, uint32_t code);
    /* A frame that may not come where it did. */
    void (*bad_frame)(void *owner, int32_t stream, uint8_t type, int reason);
    /* Content; `ends` says that its frame is the stream's last one. */
    int (*content)(void *owner, int32_t stream, const uint8_t *bytes, size_t count, bool ends);
    /* How many bytes of a stream's content may go into a frame of `most`: the frame's count, or -1: none for now. `is_last` says
       that the content ends there, `has_trailers` that trailers follow, which were submitted. */
    ptrdiff_t (*ready)(void *owner, int32_t stream, size_t most, bool *is_last, bool *has_trailers);
    /* Writes a frame's head and so much of the stream's content. */
    recast_http2_writing (*write)(void *owner, int32_t stream, const uint8_t *head, size_t head_count, size_t count);
    /* A frame has been written. */
    void (*sent)(void *owner, int32_t stream, uint8_t type, uint8_t flags, uint32_t code);
    /* A frame can't be sent. */
    void (*unsent)(void *owner, int32_t stream, uint8_t type, int reason);
    void (*closed)(void *owner, int32_t stream, uint32_t code);
} recast_http2_calls;

typedef struct recast_http2_settings {
    uint32_t streams;
    uint32_t stream_window;
    uint32_t connection_window;
    uint32_t field_list;
} recast_http2_settings;

/* Blocks of memory that streams have left to the next ones, of all sessions of one thread that are made with them; NULL where there is
   no memory. */
typedef struct recast_http2_blocks recast_http2_blocks;
recast_http2_blocks *recast_http2_blocks_make(void);
void recast_http2_blocks_free(recast_http2_blocks *blocks);

/* A client's or a server's side, which has submitted its settings; or NULL where there is no memory. `calls` and `blocks` must outlive
   it; without blocks each is the allocator's. */
recast_http2 *recast_http2_make(
    bool is_client, void *owner, const recast_http2_calls *calls, recast_http2_blocks *blocks, const recast_http2_settings *settings);
void recast_http2_free(recast_http2 *session);

/* CONTINUATION frames behind a head. A flood of them is cut here (CVE-2024-28182); the largest head in one needs fewer. */
enum { RECAST_HTTP2_MOST_CONTINUATIONS = 8 };

/* Why a connection has failed. */
typedef enum {
    RECAST_HTTP2_NO_FAULT,
    /* What came are no frames, or not in this state. */
    RECAST_HTTP2_NO_FRAMES,
    /* There are more CONTINUATION frames behind a head than RECAST_HTTP2_MOST_CONTINUATIONS. */
    RECAST_HTTP2_CONTINUATIONS,
    RECAST_HTTP2_NO_MEMORY,
} recast_http2_fault;

/* Reads bytes that the peer sent. Where the connection has failed its last frames can still be written. */
recast_http2_fault recast_http2_read(recast_http2 *session, const uint8_t *bytes, size_t count);
/* Gives the next bytes that are to be sent, valid until the next call; none where nothing is left for now, which content that
   went through `write` doesn't count among. Returns the count, or a number below 0 where the connection has failed. */
ptrdiff_t recast_http2_next(recast_http2 *session, const uint8_t **bytes);
/* Gives pages of memory back to the system that hold nothing where no stream is open and all has been written, and have to be fetched
   again for the next one. Returns their bytes. */
size_t recast_http2_give_back(recast_http2 *session);
/* Whether anything is still to be read or to be written; without both the connection is over. */
bool recast_http2_wants_read(const recast_http2 *session);
bool recast_http2_wants_write(const recast_http2 *session);

/* Submits a head: `lines` are `name: value` and CRLF each; those that HTTP/2 forbids are
   left out (RFC 9113 section 8.2.2). A status below 200 is an interim response. Returns 0 or a number below it. */
int recast_http2_respond(recast_http2 *session, int32_t stream, unsigned status, const uint8_t *lines, size_t count, bool has_content);
/* A client's: submits a request, whose head is HTTP/1.1's: the request line, of which method and target are taken, and lines as
   above, of which Host becomes `:authority`. Returns the stream, or a number below 0. */
int32_t recast_http2_request(recast_http2 *session, const uint8_t *head, size_t count, bool is_secure, bool has_content);
/* A client's: streams that the server lets be open at once; 100 before it has said so. */
uint32_t recast_http2_peer_streams(const recast_http2 *session);
/* Submits trailers, in lines as well; from within `ready` or behind it. */
int recast_http2_trail(recast_http2 *session, int32_t stream, const uint8_t *lines, size_t count);
/* Says that `ready` would return something else now. */
void recast_http2_resume(recast_http2 *session, int32_t stream);
/* Gives the window back for so many bytes of content: the connection's, or a stream's. */
int recast_http2_consume_connection(recast_http2 *session, size_t count);
int recast_http2_consume_stream(recast_http2 *session, int32_t stream, size_t count);
int recast_http2_reset(recast_http2 *session, int32_t stream, uint32_t code);
/* Whether the peer's window for the whole connection lets content go out. */
bool recast_http2_may_send(const recast_http2 *session);
/* Asks the peer for a sign of life (RFC 9113 section 6.7). */
int recast_http2_ping(recast_http2 *session);
/* The connection will take no more streams: first without naming the last (RFC 9113 section 6.8), then with it. */
int recast_http2_announce_end(recast_http2 *session);
int recast_http2_end(recast_http2 *session, uint32_t code);
/* Ends at once. */
int recast_http2_terminate(recast_http2 *session, uint32_t code);

/* nghttp2's version. */
const char *recast_http2_version(void);
