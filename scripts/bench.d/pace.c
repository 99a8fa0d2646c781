// The open-loop load: sends one request over and over at a constant rate, whether answers come or not, and measures each
// latency from the moment when the request was due, not from when it could be sent. So a proxy that stalls is charged for
// all requests that would have come meanwhile. A closed loop, as wrk is, waits with it and sees one slow answer.
// Usage: pace PORT TARGET RATE SECONDS CONNECTIONS MEDIA-TYPE <BODY
//
// One thread, epoll, keep-alive. An answer counts when its status is 200 and its body is that of the first answer; the
// upstream (sink.c) answers with the number of bytes it has received. Prints one line of JSON.

#define _GNU_SOURCE // epoll_pwait2
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { body_capacity = 64 * 1024, answer_capacity = 16 * 1024, text_capacity = 64 };

// What is still out when the time is over may come within these seconds; later, and it counts as unanswered.
static const int64_t grace = 5 * 1000000000LL;

struct connection {
    int fd;
    int64_t due;                  // of the request that is under way, 0 for none
    size_t length;
    char answer[answer_capacity];
};

static struct connection *connections;
static int *idle, idle_count;
static int poller, port;
static char request[body_capacity + 1024];
static size_t request_length;
static char first_body[text_capacity];
static uint32_t *latencies, *lags;
static long sent, answered, lag_count, failed, reconnected;
static char failure[256];

static void fail(const char *what) {
    fprintf(stderr, "pace: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void open_connection(int index) {
    struct connection *c = &connections[index];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll_ctl");
    c->due = 0;
    c->length = 0;
}

static void reopen(int index) {
    close(connections[index].fd);
    open_connection(index);
    reconnected++;
}

static void note_failure(const char *what, const char *text, size_t length) {
    if (!failed++) snprintf(failure, sizeof failure, "%s: %.*s", what, (int)(length > 160 ? 160 : length), text);
}

static uint32_t microseconds(int64_t nanoseconds) {
    return nanoseconds < 0 ? 0 : nanoseconds / 1000 > UINT32_MAX ? UINT32_MAX : (uint32_t)(nanoseconds / 1000);
}

static void send_request(int index, int64_t due) {
    struct connection *c = &connections[index];
    c->due = due;
    // The request fits into an empty socket's buffer: nothing of the one before is left in it once that was answered.
    ssize_t count = send(c->fd, request, request_length, MSG_NOSIGNAL);
    sent++;
    if (count == (ssize_t)request_length) return;
    note_failure("a request could not be sent", strerror(errno), strlen(strerror(errno)));
    reopen(index);
    idle[idle_count++] = index;
}

// Whether the answer in `c` is whole; `close` says whether the peer ends the connection with it.
static int is_whole(struct connection *c, int *closes) {
    c->answer[c->length] = 0;
    char *end = strstr(c->answer, "\r\n\r\n");
    if (!end) return 0;
    size_t head = (size_t)(end - c->answer) + 4;
    long body = -1;
    *closes = 0;
    for (char *line = strstr(c->answer, "\r\n"); line && line < end; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "content-length:", 15) == 0) body = strtol(line + 17, NULL, 10);
        if (strncasecmp(line + 2, "connection: close", 17) == 0) *closes = 1;
    }
    errno = 0;
    if (body < 0 || head + (size_t)body >= answer_capacity) fail("an answer without a Content-Length, or a long one");
    if (c->length < head + (size_t)body) return 0;
    const char *text = c->answer + head;
    if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0) {
        note_failure("an answer", c->answer, strcspn(c->answer, "\r\n"));
    } else if (!first_body[0]) {
        snprintf(first_body, sizeof first_body, "%s", text);
    } else if (strcmp(first_body, text) != 0) {
        note_failure("another answer than the first", text, strlen(text));
    }
    return 1;
}

static void receive(int index) {
    struct connection *c = &connections[index];
    ssize_t count = recv(c->fd, c->answer + c->length, answer_capacity - 1 - c->length, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) { // an idle connection may be closed; a request that was sent must be answered
        int was_idle = c->due == 0;
        if (!was_idle) note_failure("a connection was closed before the answer", "", 0);
        reopen(index);
        if (!was_idle) idle[idle_count++] = index;
        return;
    }
    c->length += (size_t)count;
    int closes = 0;
    if (c->due == 0) note_failure("an answer that nobody asked for", c->answer, c->length);
    if (c->due == 0 || !is_whole(c, &closes)) return;
    latencies[answered++] = microseconds(now() - c->due);
    c->due = 0;
    c->length = 0;
    if (closes) reopen(index);
    idle[idle_count++] = index;
}

static int compare(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

// The nearest rank: the smallest value that at least `share` of all are not above.
static uint32_t percentile(const uint32_t *sorted, long count, double share) {
    if (count == 0) return 0;
    long rank = (long)(share * (double)count + 0.999999);
    return sorted[rank < 1 ? 0 : rank > count ? count - 1 : rank - 1];
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: pace PORT TARGET RATE SECONDS CONNECTIONS MEDIA-TYPE <BODY\n");
        return 64;
    }
    static char body[body_capacity + 1];
    size_t body_length = fread(body, 1, sizeof body, stdin);
    double rate = atof(argv[3]), seconds = atof(argv[4]);
    int count = atoi(argv[5]);
    errno = 0;
    if (body_length > body_capacity || rate <= 0 || seconds <= 0 || count <= 0) fail("the arguments");
    port = atoi(argv[1]);
    int head = snprintf(request, sizeof request,
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", argv[2],
                        port, argv[6], body_length);
    if (head < 0 || (size_t)head + body_length > sizeof request) fail("the request");
    memcpy(request + head, body, body_length);
    request_length = (size_t)head + body_length;

    long total = (long)(rate * seconds);
    connections = calloc((size_t)count, sizeof *connections);
    idle = calloc((size_t)count, sizeof *idle);
    latencies = calloc((size_t)total, sizeof *latencies);
    lags = calloc((size_t)total, sizeof *lags);
    poller = epoll_create1(0);
    if (!connections || !idle || !latencies || !lags || poller < 0) fail("memory");
    for (int i = 0; i < count; i++) {
        open_connection(i);
        idle[idle_count++] = i;
    }
    prctl(PR_SET_TIMERSLACK, 1UL); // else the kernel wakes up to 50 us late

    int64_t start = now() + 1000000, end = start + (int64_t)(seconds * 1e9) + grace;
    int was_kept_waiting = 0;
    while (sent < total || idle_count < count) {
        int64_t time = now(), due = start + (int64_t)((double)sent / rate * 1e9);
        if (time > end) break;
        if (sent < total && due <= time && idle_count > 0) {
            // How late this program itself is: what it reports can't be finer. Not where all connections were busy.
            if (!was_kept_waiting) lags[lag_count++] = microseconds(time - due);
            send_request(idle[--idle_count], due);
            continue;
        }
        was_kept_waiting = sent < total && due <= time;
        int64_t wait = sent < total && due > time ? due - time : 100000000;
        struct timespec timeout = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
        struct epoll_event events[256];
        int ready = epoll_pwait2(poller, events, 256, &timeout, NULL);
        if (ready < 0 && errno != EINTR) fail("epoll_pwait2");
        for (int i = 0; i < ready; i++) receive((int)events[i].data.u32);
    }
    double took = (double)(now() - start) / 1e9;
    qsort(latencies, (size_t)answered, sizeof *latencies, compare);
    qsort(lags, (size_t)lag_count, sizeof *lags, compare);
    for (char *at = failure; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ') *at = ' '; // it goes into a text of JSON
    printf("{\"asked\": %ld, \"sent\": %ld, \"answered\": %ld, \"seconds\": %.6f, \"failed\": %ld, \"failure\": \"%s\", "
           "\"reconnected\": %ld, \"lag_p50_us\": %u, \"lag_p99_us\": %u, \"percentiles\": [",
           total, sent, answered, took, failed, failure, reconnected, percentile(lags, lag_count, 0.5),
           percentile(lags, lag_count, 0.99));
    static const double shares[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        printf("%s[%g, %u]", i ? ", " : "", shares[i] * 100, percentile(latencies, answered, shares[i]));
    printf("]}\n");
    return 0;
}
