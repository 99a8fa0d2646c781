// The upstream of the load tests: an HTTP/1.1 server that reads every request body to its end and answers with the number
// of bytes it held. One thread, epoll, keep-alive. Usage: sink PORT
//
// nginx's `return 200` answers before the body has come, which cuts an upload short; this one can't. A target that
// contains "echo" is answered with the body itself (at most 128 KiB), so that what a proxy sends can be checked.
// It trusts its peers, the proxies under test: it reads well-formed requests only and ends on any other.

#define _GNU_SOURCE // accept4
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { head_capacity = 16 * 1024, echo_capacity = 128 * 1024, read_capacity = 256 * 1024 };

enum state { HEAD, LENGTH, CHUNK_SIZE, CHUNK_BYTES, CHUNK_END, TRAILER };

struct connection {
    enum state state;
    int is_echo;
    size_t head_length;           // bytes of `line` in use: the head, a chunk-size line or a trailer line
    char line[head_capacity];
    unsigned long long remaining; // bytes of the body, or of the chunk, still to come
    unsigned long long total;     // bytes of the body so far
    size_t echo_length;
    char *echo;                   // allocated by the first request that asks for it
};

static struct connection **connections;
static char input[read_capacity];

static void fail(const char *what) {
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void refuse(const char *what) {
    fprintf(stderr, "sink: a request that can't be read: %s\n", what);
    exit(1);
}

static void send_all(int fd, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue; // an answer fits into the socket's buffer
        if (sent < 0) return;                                          // the reader will see the end
        bytes += sent;
        count -= (size_t)sent;
    }
}

static void answer(int fd, struct connection *c) {
    char text[head_capacity / 8];
    char count[32];
    int count_length = snprintf(count, sizeof count, "%llu\n", c->total);
    size_t length = c->is_echo ? c->echo_length : (size_t)count_length;
    int head = snprintf(text, sizeof text,
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", length,
                        c->is_echo ? "" : count);
    send_all(fd, text, (size_t)head);
    if (c->is_echo) send_all(fd, c->echo, c->echo_length);
    c->state = HEAD;
    c->head_length = 0;
    c->total = 0;
    c->echo_length = 0;
}

static void take_body(struct connection *c, const char *bytes, size_t count) {
    c->total += count;
    c->remaining -= count;
    if (!c->is_echo) return;
    if (!c->echo && !(c->echo = malloc(echo_capacity))) fail("malloc");
    if (c->echo_length + count > echo_capacity) refuse("a body too large to echo");
    memcpy(c->echo + c->echo_length, bytes, count);
    c->echo_length += count;
}

// The value of field `name` in the head, or NULL.
static const char *field(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line[2]; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':')
            return line + 3 + length + strspn(line + 3 + length, " \t");
    }
    return NULL;
}

// A head is complete in `line`: decides how the body ends.
static void begin_body(int fd, struct connection *c) {
    c->line[c->head_length] = 0;
    const char *end_of_target = strstr(c->line, " HTTP/1.");
    const char *echo = strstr(c->line, "echo");
    c->is_echo = echo && end_of_target && echo < end_of_target;
    const char *coding = field(c->line, "transfer-encoding");
    const char *length = field(c->line, "content-length");
    if (field(c->line, "expect")) send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    c->head_length = 0;
    if (coding) {
        c->state = CHUNK_SIZE;
    } else {
        c->remaining = length ? strtoull(length, NULL, 10) : 0;
        c->state = LENGTH;
    }
}

// Moves bytes up to and with the next LF into `line`; returns how many, and whether the line is complete.
static size_t take_line(struct connection *c, const char *bytes, size_t count, int *is_complete) {
    const char *end = memchr(bytes, '\n', count);
    size_t length = end ? (size_t)(end - bytes) + 1 : count;
    if (c->head_length + length >= head_capacity) refuse("a line or a head too long");
    memcpy(c->line + c->head_length, bytes, length);
    c->head_length += length;
    c->line[c->head_length] = 0;
    *is_complete = end != NULL;
    return length;
}

static void received(int fd, struct connection *c, const char *bytes, size_t count) {
    size_t at = 0;
    int is_complete;
    // A body that is over is answered even when no bytes are left, so the state is looked at once more at the end.
    while (at < count || (c->state == LENGTH && c->remaining == 0)) {
        size_t left = count - at;
        switch (c->state) {
        case HEAD:
            at += take_line(c, bytes + at, left, &is_complete);
            if (is_complete && c->head_length >= 4 && memcmp(c->line + c->head_length - 4, "\r\n\r\n", 4) == 0)
                begin_body(fd, c);
            break;
        case LENGTH:
            if (left > c->remaining) left = (size_t)c->remaining;
            take_body(c, bytes + at, left);
            at += left;
            if (c->remaining == 0) answer(fd, c);
            break;
        case CHUNK_SIZE:
            at += take_line(c, bytes + at, left, &is_complete);
            if (!is_complete) break;
            c->remaining = strtoull(c->line, NULL, 16);
            c->head_length = 0;
            c->state = c->remaining ? CHUNK_BYTES : TRAILER;
            break;
        case CHUNK_BYTES:
            if (left > c->remaining) left = (size_t)c->remaining;
            take_body(c, bytes + at, left);
            at += left;
            if (c->remaining == 0) c->state = CHUNK_END;
            break;
        case CHUNK_END:
            at += take_line(c, bytes + at, left, &is_complete);
            if (!is_complete) break;
            if (c->head_length != 2) refuse("no line end after a chunk");
            c->head_length = 0;
            c->state = CHUNK_SIZE;
            break;
        case TRAILER:
            at += take_line(c, bytes + at, left, &is_complete);
            if (!is_complete) break;
            int is_last = c->head_length == 2;
            c->head_length = 0;
            if (is_last) answer(fd, c);
            break;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: sink PORT\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) fail("getrlimit");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    connections = calloc(files.rlim_cur, sizeof *connections);

    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1]))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!connections || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096))
        fail("listen");
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);

    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(poll, events, 256, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                for (int accepted; (accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
                    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                    if (!(connections[accepted] = calloc(1, sizeof **connections))) fail("calloc");
                    event = (struct epoll_event){.events = EPOLLIN, .data.fd = accepted};
                    epoll_ctl(poll, EPOLL_CTL_ADD, accepted, &event);
                }
                continue;
            }
            ssize_t count = recv(fd, input, sizeof input, 0);
            if (count > 0) {
                received(fd, connections[fd], input, (size_t)count);
            } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
                free(connections[fd]->echo);
                free(connections[fd]);
                connections[fd] = NULL;
                close(fd);
            }
        }
    }
}
