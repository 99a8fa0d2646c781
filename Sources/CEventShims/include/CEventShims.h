/* What Swift's Glibc module leaves out, in the form the loop needs it. */
#ifndef RECAST_CEVENT_SHIMS_H
#define RECAST_CEVENT_SHIMS_H
#ifdef __swift__
/* See CEvent.h. */
#pragma clang module import SwiftGlibc
#endif
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* An eventfd, non-blocking and close-on-exec; -1 with errno. */
int recast_wakeup_create(void);
/* Makes the wakeup readable. From any thread. */
void recast_wakeup_signal(int wakeup);
/* Makes it unreadable again. */
void recast_wakeup_clear(int wakeup);

struct event;
/* Whether the wait that was last has found the event to be due, and its callback is still to be called. */
bool recast_event_is_active(const struct event *event);

/* An epoll descriptor, close-on-exec; -1 with errno. */
int recast_watch_create(void);
/* Reports `socket` once when its peer has sent a FIN (unless `only_errors`) or it has an error. */
bool recast_watch_add(int watch, int socket, bool only_errors, void *owner);
void recast_watch_remove(int watch, int socket);
/* The owner of the next socket to report, or NULL. Doesn't wait. */
void *recast_watch_next(int watch);

/* recv and send, without being points where the thread can be cancelled: no thread is cancelled here, and glibc spends two
   locked instructions on each such call. -1 with errno; no SIGPIPE. */
ssize_t recast_recv(int socket, void *bytes, size_t count);
ssize_t recast_send(int socket, const void *bytes, size_t count);

/* accept4, non-blocking and close-on-exec; -1 with errno. Both pointers may be NULL. */
int recast_accept(int listener, struct sockaddr_storage *address, socklen_t *length);

/* Lets a listening TCP socket ignore new handshakes; those that have begun come to their end. The client tries again after
   a second, and reaches the listener of then. false where the system can't. */
bool recast_ignore_new(int listener);

/* What the program was called with, its own name first, and how many that are. They live as long as the process. */
char *const *recast_arguments(int *count);

/* An inotify descriptor, non-blocking and close-on-exec; -1 with errno. */
int recast_file_watch_create(void);
/* Reports that `folder` itself is moved or deleted and, where `holding` is true, what is written to its end, moved, made or
   deleted in it. False with errno. */
bool recast_file_watch_add(int watch, const char *folder, bool holding);
/* Reads all events. What there was among them, together; 0: none. */
enum {
    /* Something else than a folder was made: a link that is whole, or a file that is about to be written. */
    RECAST_WATCH_CREATED = 1,
    /* Something that can mean another content. */
    RECAST_WATCH_CHANGED = 2
};
int recast_file_watch_read(int watch);
/* A file of mode 0600 in `folder` that has no name, or has lost it, close-on-exec; -1 with errno. A missing folder is made,
   with mode 0700. */
int recast_temporary_file(const char *folder);

/* Lets blocks of `large` bytes and more go back to the system when they are freed, and threads share `arenas` heaps. */
void recast_tune_allocator(size_t large, int arenas);
/* Gives free pages of all heaps back to the system. Takes up to milliseconds. */
void recast_trim_allocator(void);
/* Lets the system take back the pages of the program's and its libraries' code and constants; what is used comes back from
   the files. */
void recast_release_program_pages(void);
/* Ends the Swift runtime's checks for overlapping accesses, for all threads and for good. */
void recast_trust_accesses(void);
/* Bytes that the system holds for the peer of `socket`: not sent, or sent and not acknowledged. 0 when it can't say. */
int recast_unsent(int socket);

/* Lets `recast_thread_show_stack` work. Once, before the threads start. */
void recast_stack_prepare(void);
/* The calling thread, for `recast_thread_show_stack`. */
unsigned long recast_thread_current(void);
/* Lets a thread that runs note its stack, at once, whatever it is doing, for `recast_stacks_write`. */
void recast_thread_show_stack(unsigned long thread);
/* Whether there are stacks to write, and nobody writes any. */
bool recast_stacks_wait(void);
/* Writes them to standard error, and may wait for who reads it. */
void recast_stacks_write(void);

/* Lets SIGTERM, SIGINT and SIGQUIT end the process at once, with 0, whatever it is doing: also one that has the number 1. */
void recast_signals_end(void);
/* Lets SIGHUP and SIGUSR1 wait until `recast_signals_take`. */
void recast_signals_hold(void);
/* Lets all five wait until then, and takes back what `recast_signals_end` has set. Other handlers can be set now: none is lost. */
void recast_signals_hand_over(void);
/* Lets the calling thread have all five, those that wait as well. */
void recast_signals_take(void);
/* Leaves all five to other threads. */
void recast_signals_leave(void);

/* Processors that the scheduler may put the calling thread on; 0 when the system doesn't say. */
int recast_processors(void);

/* Names the calling thread; the system takes 15 bytes. */
void recast_name_thread(const char *name);
/* Lets other threads go first from here on: the calling thread's nice value becomes higher by 10, which is one weight in ten. */
void recast_thread_yield(void);
#endif
