/* One side of a connection: nghttp2's callbacks as calls of ours, and fields from lines. */
#include "CHTTP2.h"
#include "memory.h"
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct recast_http2 {
    nghttp2_session *session;
    const recast_http2_calls *calls;
    void *owner;
    session_memory memory;
    /* Whether content that is to be written waits for room, behind the head of its frame. */
    bool is_amid_frame;
    /* Whether nothing is left of a frame that has been put together. */
    bool is_frame_over;
    /* CONTINUATION frames behind the head that is being read. */
    unsigned continuations;
    /* Whether the name of the field that varies was put into the table of fields. */
    bool has_varying_name;
};

enum {
    /* Acknowledgements of SETTINGS and PING that wait to be sent: more than Nuisance lets a peer cause at once, which ends the connection
       with a word to it, as this doesn't. */
    MOST_ACKNOWLEDGEMENTS = 1100,
    LONGEST_HEAD_SENT = 1 << 20,
    FRAME_HEAD = 9,
    /* Fields that need no memory of their own. */
    ORDINARY_FIELDS = 64
};

static int frame_head(nghttp2_session *session, const nghttp2_frame_hd *head, void *user) {
    (void)session;
    recast_http2 *own = user;
    if (head->type != NGHTTP2_CONTINUATION) {
        own->continuations = 0;
    } else if (++own->continuations > RECAST_HTTP2_MOST_CONTINUATIONS) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    own->calls->frame_head(own->owner, head->stream_id, head->type, head->flags, head->length);
    return 0;
}

static int begin(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)session;
    recast_http2 *own = user;
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    bool is_trailers = frame->headers.cat == NGHTTP2_HCAT_HEADERS;
    return own->calls->begin(own->owner, frame->hd.stream_id, is_trailers) ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
}

static int field(
    nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *user) {
    (void)session, (void)flags;
    recast_http2 *own = user;
    nghttp2_vec name_bytes = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec value_bytes = nghttp2_rcbuf_get_buf(value);
    int stops = own->calls->field(
        own->owner, frame->hd.stream_id, name_bytes.base, name_bytes.len, value_bytes.base, value_bytes.len);
    return stops ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
}

static int bad_field(
    nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *user) {
    (void)session, (void)flags;
    recast_http2 *own = user;
    nghttp2_vec name_bytes = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec value_bytes = nghttp2_rcbuf_get_buf(value);
    own->calls->bad_field(
        own->owner, frame->hd.stream_id, name_bytes.base, name_bytes.len, value_bytes.base, value_bytes.len);
    /* Left out here; the owner refuses the stream at the end of its head. */
    return 0;
}

static int frame_read(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)session;
    recast_http2 *own = user;
    bool is_end = frame->hd.type == NGHTTP2_GOAWAY;
    int32_t stream = is_end ? frame->goaway.last_stream_id : frame->hd.stream_id;
    uint32_t code = is_end ? frame->goaway.error_code : 0;
    int failed = own->calls->frame(own->owner, stream, frame->hd.type, frame->hd.flags, code);
    return failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int bad_frame(nghttp2_session *session, const nghttp2_frame *frame, int reason, void *user) {
    (void)session;
    recast_http2 *own = user;
    own->calls->bad_frame(own->owner, frame->hd.stream_id, frame->hd.type, reason);
    return 0;
}

static int content(
    nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *user) {
    (void)session;
    recast_http2 *own = user;
    bool ends = flags & NGHTTP2_FLAG_END_STREAM;
    return own->calls->content(own->owner, stream, bytes, count, ends) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static ssize_t ready(
    nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t most, uint32_t *flags, nghttp2_data_source *source,
    void *user) {
    (void)session, (void)buffer, (void)source;
    recast_http2 *own = user;
    bool is_last = false, has_trailers = false;
    ptrdiff_t count = own->calls->ready(own->owner, stream, most, &is_last, &has_trailers);
    if (count < 0) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (has_trailers) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return count;
}

static int write_content(
    nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t count, nghttp2_data_source *source, void *user) {
    (void)session, (void)source;
    recast_http2 *own = user;
    /* Padding is never asked for. */
    recast_http2_writing found = own->calls->write(own->owner, frame->hd.stream_id, head, FRAME_HEAD, count);
    own->is_amid_frame = found == RECAST_HTTP2_NO_ROOM;
    /* A frame of which no byte is written can be left out, and only such a one. */
    return found == RECAST_HTTP2_NO_ROOM ? NGHTTP2_ERR_WOULDBLOCK
         : found == RECAST_HTTP2_NO_STREAM ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
         : 0;
}

static int frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)session;
    recast_http2 *own = user;
    uint32_t code = frame->hd.type == NGHTTP2_RST_STREAM ? frame->rst_stream.error_code
                  : frame->hd.type == NGHTTP2_GOAWAY   ? frame->goaway.error_code
                                                       : 0;
    own->calls->sent(own->owner, frame->hd.stream_id, frame->hd.type, frame->hd.flags, code);
    return 0;
}

static int frame_unsent(nghttp2_session *session, const nghttp2_frame *frame, int reason, void *user) {
    (void)session;
    recast_http2 *own = user;
    own->calls->unsent(own->owner, frame->hd.stream_id, frame->hd.type, reason);
    return 0;
}

static int closed(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    (void)session;
    recast_http2 *own = user;
    own->calls->closed(own->owner, stream, code);
    return 0;
}

static nghttp2_session_callbacks *make_callbacks(void) {
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks)) return NULL;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, frame_head);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, field);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(callbacks, bad_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_read);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, bad_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, content);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, write_content);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_unsent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed);
    return callbacks;
}

static nghttp2_option *make_option(void) {
    nghttp2_option *option;
    if (nghttp2_option_new(&option)) return NULL;
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, MOST_ACKNOWLEDGEMENTS);
    nghttp2_option_set_max_send_header_block_length(option, LONGEST_HEAD_SENT);
    /* `frame_head` tells of each reset, and who is told counts those that undo something. */
    nghttp2_option_set_stream_reset_rate_limit(option, UINT32_MAX, UINT32_MAX);
    /* nghttp2 1.52 counts one for each piece that the head of such a frame comes in, so that the count would depend on how the network
       cuts a head. `frame_head` counts them; of those behind a head that is ignored nghttp2 doesn't tell, and bounds them alone. */
    nghttp2_option_set_max_continuations(option, RECAST_HTTP2_MOST_CONTINUATIONS * FRAME_HEAD);
    return option;
}

recast_http2 *recast_http2_make(
    bool is_client, void *owner, const recast_http2_calls *calls, recast_http2_blocks *blocks, const recast_http2_settings *settings) {
    recast_http2 *own = calloc(1, sizeof *own);
    nghttp2_session_callbacks *callbacks = make_callbacks();
    nghttp2_option *option = make_option();
    if (own && callbacks && option) {
        own->owner = owner;
        own->calls = calls;
        own->memory.blocks = blocks;
        nghttp2_mem functions = session_memory_functions(&own->memory);
        /* The session copies all three. */
        int failed = is_client ? nghttp2_session_client_new3(&own->session, callbacks, own, option, &functions)
                               : nghttp2_session_server_new3(&own->session, callbacks, own, option, &functions);
        if (failed) own->session = NULL;
        own->memory.is_made = true;
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    nghttp2_settings_entry entries[] = {
        /* Of a client's that is what a server could push, which is nothing. */
        is_client ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0}
                  : (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings->streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings->stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings->field_list},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    if (!own || !own->session
        || nghttp2_submit_settings(own->session, NGHTTP2_FLAG_NONE, entries, sizeof entries / sizeof *entries)
        || nghttp2_session_set_local_window_size(own->session, NGHTTP2_FLAG_NONE, 0, (int32_t)settings->connection_window)) {
        recast_http2_free(own);
        return NULL;
    }
    return own;
}

void recast_http2_free(recast_http2 *own) {
    if (!own) return;
    nghttp2_session_del(own->session);
    session_memory_free(&own->memory);
    free(own);
}

recast_http2_fault recast_http2_read(recast_http2 *own, const uint8_t *bytes, size_t count) {
    ssize_t used = nghttp2_session_mem_recv(own->session, bytes, count);
    if (used >= 0) return RECAST_HTTP2_NO_FAULT;
    if (own->continuations > RECAST_HTTP2_MOST_CONTINUATIONS) return RECAST_HTTP2_CONTINUATIONS;
    switch (used) {
    case NGHTTP2_ERR_NOMEM: return RECAST_HTTP2_NO_MEMORY;
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: return RECAST_HTTP2_CONTINUATIONS;
    default: return RECAST_HTTP2_NO_FRAMES;
    }
}

ptrdiff_t recast_http2_next(recast_http2 *own, const uint8_t **bytes) {
    own->is_amid_frame = false;
    ssize_t count = nghttp2_session_mem_send(own->session, bytes);
    own->is_frame_over = count == 0 && !own->is_amid_frame;
    return count;
}

size_t recast_http2_give_back(recast_http2 *own) { return session_memory_give_back(&own->memory, own->is_frame_over); }

bool recast_http2_wants_read(const recast_http2 *own) { return nghttp2_session_want_read(own->session); }

bool recast_http2_wants_write(const recast_http2 *own) { return nghttp2_session_want_write(own->session); }

/* Fields that belong to a connection of HTTP/1 and make a message of HTTP/2 malformed. */
static bool is_forbidden(const uint8_t *name, size_t count) {
    static const struct {
        const char *name;
        size_t count;
    } forbidden[] = {
        {"connection", 10}, {"keep-alive", 10}, {"proxy-connection", 16}, {"transfer-encoding", 17}, {"upgrade", 7},
    };
    for (size_t at = 0; at < sizeof forbidden / sizeof *forbidden; at++) {
        if (forbidden[at].count == count && strncasecmp(forbidden[at].name, (const char *)name, count) == 0) return true;
    }
    return false;
}

/* Whether each response has another value of it. Such a field in the table of fields (RFC 7541 section 2.3.2) takes the place of one
   that comes again, is never found there, and each that is looked for is compared with all of them. */
static bool varies(const uint8_t *name, size_t count) { return count == 12 && strncasecmp("x-request-id", (const char *)name, count) == 0; }

/* The first one goes into the table, for its name, which those that follow need not spell then. */
static uint8_t flags_of(recast_http2 *own, const uint8_t *name, size_t count) {
    if (!varies(name, count)) return NGHTTP2_NV_FLAG_NONE;
    if (own->has_varying_name) return NGHTTP2_NV_FLAG_NO_INDEX;
    own->has_varying_name = true;
    return NGHTTP2_NV_FLAG_NONE;
}

static size_t count_lines(const uint8_t *at, const uint8_t *end) {
    size_t found = 0;
    for (; (at = memchr(at, '\r', (size_t)(end - at))); at++) found++;
    return found;
}

/* Fields that are to be submitted. */
typedef struct field_list {
    size_t count;
    nghttp2_nv *fields;
    nghttp2_nv ordinary[ORDINARY_FIELDS];
} field_list;

/* Gives a list that is full room for the lines that are left. */
static bool grow(field_list *list, const uint8_t *at, const uint8_t *end) {
    nghttp2_nv *fields = malloc((list->count + count_lines(at, end)) * sizeof *fields);
    if (!fields) return false;
    memcpy(fields, list->ordinary, list->count * sizeof *fields);
    list->fields = fields;
    return true;
}

static void free_fields(field_list *list) {
    if (list->fields != list->ordinary) free(list->fields);
}

/* Makes a list of `front` pseudo-header fields, which the caller writes, and of lines. nghttp2 copies them when they are submitted, and
   writes names in lower case. Returns false where there is no memory; free_fields ends it. */
static bool make_fields(recast_http2 *own, field_list *list, size_t front, const uint8_t *lines, size_t count) {
    const uint8_t *at = lines, *end = lines + count;
    list->fields = list->ordinary;
    list->count = front;
    while (at < end) {
        const uint8_t *line_end = memchr(at, '\r', (size_t)(end - at));
        const uint8_t *colon = line_end ? memchr(at, ':', (size_t)(line_end - at)) : NULL;
        if (!colon) break;
        if (list->count == ORDINARY_FIELDS && list->fields == list->ordinary && !grow(list, at, end)) return false;
        const uint8_t *value = colon + 1;
        if (value < line_end && *value == ' ') value++;
        size_t name_count = (size_t)(colon - at);
        if (!is_forbidden(at, name_count)) {
            list->fields[list->count++] = (nghttp2_nv){
                .name = (uint8_t *)at, .value = (uint8_t *)value, .namelen = name_count, .valuelen = (size_t)(line_end - value),
                .flags = flags_of(own, at, name_count)};
        }
        at = line_end + 2;
    }
    return true;
}

int recast_http2_respond(
    recast_http2 *own, int32_t stream, unsigned status, const uint8_t *lines, size_t count, bool has_content) {
    uint8_t digits[3] = {(uint8_t)('0' + status / 100 % 10), (uint8_t)('0' + status / 10 % 10), (uint8_t)('0' + status % 10)};
    field_list list;
    if (!make_fields(own, &list, 1, lines, count)) return NGHTTP2_ERR_NOMEM;
    list.fields[0] = (nghttp2_nv){.name = (uint8_t *)":status", .value = digits, .namelen = 7, .valuelen = 3};
    nghttp2_data_provider provider = {.read_callback = ready};
    int result = status < 200 ? nghttp2_submit_headers(own->session, NGHTTP2_FLAG_NONE, stream, NULL, list.fields, list.count, NULL)
                              : nghttp2_submit_response(own->session, stream, list.fields, list.count, has_content ? &provider : NULL);
    free_fields(&list);
    return result < 0 ? result : 0;
}

/* Reads HTTP/1's request line, with which `head` begins. Returns what is behind it, or NULL where it is none. */
static const uint8_t *read_request_line(const uint8_t *head, size_t count, nghttp2_nv *method, nghttp2_nv *path) {
    const uint8_t *line_end = memchr(head, '\r', count);
    if (!line_end || (size_t)(line_end - head) + 2 > count) return NULL;
    const uint8_t *method_end = memchr(head, ' ', (size_t)(line_end - head));
    /* What follows the target is ` HTTP/1.1`, of nine bytes. */
    if (!method_end || line_end - method_end < 10) return NULL;
    const uint8_t *target = method_end + 1;
    *method = (nghttp2_nv){.name = (uint8_t *)":method", .value = (uint8_t *)head, .namelen = 7, .valuelen = (size_t)(method_end - head)};
    *path = (nghttp2_nv){
        .name = (uint8_t *)":path", .value = (uint8_t *)target, .namelen = 5, .valuelen = (size_t)(line_end - 9 - target)};
    return line_end + 2;
}

/* Makes the first Host behind `front` fields the authority, which is the last of those, and drops what else is one. Without a host
   there is no authority. */
static void move_host(field_list *list, size_t front) {
    nghttp2_nv *authority = &list->fields[front - 1];
    size_t kept = front;
    bool has_host = false;
    for (size_t at = front; at < list->count; at++) {
        nghttp2_nv field = list->fields[at];
        if (field.namelen != 4 || strncasecmp((const char *)field.name, "host", 4) != 0) {
            list->fields[kept++] = field;
        } else if (!has_host) {
            has_host = true;
            *authority = (nghttp2_nv){
                .name = (uint8_t *)":authority", .value = field.value, .namelen = 10, .valuelen = field.valuelen, .flags = field.flags};
        }
    }
    list->count = kept;
    if (has_host && authority->valuelen > 0) return;
    memmove(authority, authority + 1, (kept - front) * sizeof *authority);
    list->count--;
}

int32_t recast_http2_request(recast_http2 *own, const uint8_t *head, size_t count, bool is_secure, bool has_content) {
    nghttp2_nv method, path;
    const uint8_t *lines = read_request_line(head, count, &method, &path);
    if (!lines) return NGHTTP2_ERR_INVALID_ARGUMENT;
    field_list list;
    if (!make_fields(own, &list, 4, lines, count - (size_t)(lines - head))) return NGHTTP2_ERR_NOMEM;
    list.fields[0] = method;
    list.fields[1] = (nghttp2_nv){
        .name = (uint8_t *)":scheme", .value = (uint8_t *)(is_secure ? "https" : "http"), .namelen = 7, .valuelen = is_secure ? 5 : 4};
    list.fields[2] = path;
    move_host(&list, 4);
    nghttp2_data_provider provider = {.read_callback = ready};
    int32_t stream = nghttp2_submit_request(own->session, NULL, list.fields, list.count, has_content ? &provider : NULL, NULL);
    free_fields(&list);
    return stream;
}

int recast_http2_trail(recast_http2 *own, int32_t stream, const uint8_t *lines, size_t count) {
    field_list list;
    if (!make_fields(own, &list, 0, lines, count)) return NGHTTP2_ERR_NOMEM;
    int result = nghttp2_submit_trailer(own->session, stream, list.fields, list.count);
    free_fields(&list);
    return result;
}

void recast_http2_resume(recast_http2 *own, int32_t stream) {
    /* Of a stream that isn't waiting, or is gone, nothing is to be resumed. */
    (void)nghttp2_session_resume_data(own->session, stream);
}

int recast_http2_consume_connection(recast_http2 *own, size_t count) {
    return nghttp2_session_consume_connection(own->session, count);
}

int recast_http2_consume_stream(recast_http2 *own, int32_t stream, size_t count) {
    return nghttp2_session_consume_stream(own->session, stream, count);
}

int recast_http2_reset(recast_http2 *own, int32_t stream, uint32_t code) {
    return nghttp2_submit_rst_stream(own->session, NGHTTP2_FLAG_NONE, stream, code);
}

uint32_t recast_http2_peer_streams(const recast_http2 *own) {
    return nghttp2_session_get_remote_settings(own->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool recast_http2_may_send(const recast_http2 *own) { return nghttp2_session_get_remote_window_size(own->session) > 0; }

int recast_http2_ping(recast_http2 *own) { return nghttp2_submit_ping(own->session, NGHTTP2_FLAG_NONE, NULL); }

int recast_http2_announce_end(recast_http2 *own) { return nghttp2_submit_shutdown_notice(own->session); }

int recast_http2_end(recast_http2 *own, uint32_t code) {
    return nghttp2_submit_goaway(
        own->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(own->session), code, NULL, 0);
}

int recast_http2_terminate(recast_http2 *own, uint32_t code) { return nghttp2_session_terminate_session(own->session, code); }

const char *recast_http2_version(void) { return nghttp2_version(0)->version_str; }
