#define _GNU_SOURCE
#include "CEventShims.h"
#include <errno.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <event2/event_struct.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>

int recast_wakeup_create(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void recast_wakeup_signal(int wakeup) {
    /* Fails only when the counter is full, and then it is readable already. */
    (void)eventfd_write(wakeup, 1);
}

void recast_wakeup_clear(int wakeup) {
    eventfd_t count;
    (void)eventfd_read(wakeup, &count);
}

int recast_watch_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

bool recast_watch_add(int watch, int socket, bool only_errors, void *owner) {
    struct epoll_event request = {
        .events = EPOLLONESHOT | (only_errors ? 0 : EPOLLRDHUP),
        .data.ptr = owner,
    };
    return epoll_ctl(watch, EPOLL_CTL_ADD, socket, &request) == 0;
}

void recast_watch_remove(int watch, int socket) {
    struct epoll_event ignored = {0};
    (void)epoll_ctl(watch, EPOLL_CTL_DEL, socket, &ignored);
}

void *recast_watch_next(int watch) {
    struct epoll_event found;
    return epoll_wait(watch, &found, 1, 0) == 1 ? found.data.ptr : NULL;
}

bool recast_event_is_active(const struct event *event) {
    return (event->ev_evcallback.evcb_flags & (EVLIST_ACTIVE | EVLIST_ACTIVE_LATER)) != 0;
}

ssize_t recast_recv(int socket, void *bytes, size_t count) {
    return syscall(SYS_recvfrom, socket, bytes, count, 0, NULL, NULL);
}

ssize_t recast_send(int socket, const void *bytes, size_t count) {
    return syscall(SYS_sendto, socket, bytes, count, MSG_NOSIGNAL, NULL, 0);
}

int recast_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
    return accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

bool recast_ignore_new(int listener) {
    /* The filter of a TCP socket sees a packet from its TCP header on; byte 13 has the flags. */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12 /* SYN, ACK */),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02 /* SYN alone */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

static int argument_count;
static char *const *arguments;

/* glibc hands initialisers what main gets. */
__attribute__((constructor)) static void keep_arguments(int count, char **values, char **environment) {
    (void)environment;
    argument_count = count;
    arguments = values;
}

char *const *recast_arguments(int *count) {
    *count = argument_count;
    return arguments;
}

int recast_file_watch_create(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

bool recast_file_watch_add(int watch, const char *folder, bool holding) {
    /* Not IN_MODIFY: a file that is being written is not whole. */
    uint32_t content = holding ? IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE : 0;
    /* One folder may be asked for in both ways, by several names, too. */
    return inotify_add_watch(watch, folder, content | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD) >= 0;
}

int recast_file_watch_read(int watch) {
    char events[4096] __attribute__((aligned(8)));
    int seen = 0;
    ssize_t count;
    while ((count = read(watch, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < count;) {
            const struct inotify_event *event = (const struct inotify_event *)(events + at);
            /* In a new folder there may be files already, whose end no event has told. */
            bool made = (event->mask & IN_CREATE) != 0 && (event->mask & IN_ISDIR) == 0;
            seen |= made ? RECAST_WATCH_CREATED : RECAST_WATCH_CHANGED;
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return seen;
}

int recast_unsent(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : 0;
}

enum { STACKS = 8, FRAMES = 64 };
/* Where threads were. A count of 0 is a free one, one of -1 is being filled. */
static struct {
    atomic_int count;
    void *frames[FRAMES];
} stacks[STACKS];
static atomic_bool writes_stacks;

static void show_stack(int number) {
    (void)number;
    int error = errno;
    for (int at = 0; at < STACKS; at++) {
        int empty = 0;
        if (!atomic_compare_exchange_strong(&stacks[at].count, &empty, -1)) continue;
        atomic_store(&stacks[at].count, backtrace(stacks[at].frames, FRAMES));
        break;
    }
    errno = error;
}

bool recast_stacks_wait(void) {
    if (atomic_load(&writes_stacks)) return false;
    for (int at = 0; at < STACKS; at++) {
        if (atomic_load(&stacks[at].count) > 0) return true;
    }
    return false;
}

void recast_stacks_write(void) {
    if (atomic_exchange(&writes_stacks, true)) return;
    for (int at = 0; at < STACKS; at++) {
        int count = atomic_load(&stacks[at].count);
        if (count <= 0) continue;
        backtrace_symbols_fd(stacks[at].frames, count, STDERR_FILENO);
        atomic_store(&stacks[at].count, 0);
    }
    atomic_store(&writes_stacks, false);
}

void recast_stack_prepare(void) {
    void *frame;
    /* The first call loads a library, which a signal handler must not do. */
    (void)backtrace(&frame, 1);
    struct sigaction action = {.sa_handler = show_stack, .sa_flags = SA_RESTART};
    (void)sigaction(SIGRTMIN + 1, &action, NULL);
}

unsigned long recast_thread_current(void) { return (unsigned long)pthread_self(); }

void recast_thread_show_stack(unsigned long thread) { (void)pthread_kill((pthread_t)thread, SIGRTMIN + 1); }

void recast_name_thread(const char *name) { (void)pthread_setname_np(pthread_self(), name); }

void recast_thread_yield(void) {
    /* On Linux a nice value is a thread's. Where it can't be had the work is only less polite. */
    pid_t thread = (pid_t)syscall(SYS_gettid);
    (void)setpriority(PRIO_PROCESS, (id_t)thread, getpriority(PRIO_PROCESS, (id_t)thread) + 10);
}

static const int ending_signals[] = {SIGTERM, SIGINT, SIGQUIT};
static const int asking_signals[] = {SIGHUP, SIGUSR1};
enum {
    ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals,
    ASKING_SIGNALS = sizeof asking_signals / sizeof *asking_signals
};

/* Blocks or unblocks signals for the calling thread. A blocked one waits, and is kept for pid 1 too. */
static void mask_signals(int how, bool ending, bool asking) {
    sigset_t set;
    sigemptyset(&set);
    for (int at = 0; ending && at < ENDING_SIGNALS; at++) sigaddset(&set, ending_signals[at]);
    for (int at = 0; asking && at < ASKING_SIGNALS; at++) sigaddset(&set, asking_signals[at]);
    (void)pthread_sigmask(how, &set, NULL);
}

/* Nothing is in flight yet, and nothing is to be cleaned up: as a drain of nothing ends. */
static void end_at_once(int number) {
    (void)number;
    _exit(0);
}

void recast_signals_end(void) {
    struct sigaction action = {.sa_handler = end_at_once};
    for (int at = 0; at < ENDING_SIGNALS; at++) (void)sigaction(ending_signals[at], &action, NULL);
    /* Whoever has started us may have blocked them. */
    mask_signals(SIG_UNBLOCK, true, false);
}

void recast_signals_hold(void) { mask_signals(SIG_BLOCK, false, true); }

void recast_signals_hand_over(void) {
    mask_signals(SIG_BLOCK, true, true);
    for (int at = 0; at < ENDING_SIGNALS; at++) {
        struct sigaction action;
        if (sigaction(ending_signals[at], NULL, &action) != 0 || action.sa_handler != end_at_once) continue;
        /* What a loop finds here it puts back at its end, when 0 would be wrong. */
        struct sigaction standard = {.sa_handler = SIG_DFL};
        (void)sigaction(ending_signals[at], &standard, NULL);
    }
}

void recast_signals_take(void) { mask_signals(SIG_UNBLOCK, true, true); }

void recast_signals_leave(void) { mask_signals(SIG_BLOCK, true, true); }

int recast_processors(void) {
    /* The kernel refuses a set that is smaller than its own, however many processors there are. */
    for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
        cpu_set_t *set = CPU_ALLOC(capacity);
        if (!set) return 0;
        size_t size = CPU_ALLOC_SIZE(capacity);
        int result = sched_getaffinity(0, size, set);
        int failure = errno;
        int count = result == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (result == 0) return count;
        if (failure != EINVAL) return 0;
    }
    return 0;
}
