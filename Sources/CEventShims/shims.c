#define _GNU_SOURCE
#include "CEventShims.h"
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>

int recast_bell_create(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void recast_bell_ring(int bell) {
    /* Fails only when the counter is full, and then the bell is ringing already. */
    (void)eventfd_write(bell, 1);
}

void recast_bell_hush(int bell) {
    eventfd_t count;
    (void)eventfd_read(bell, &count);
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

int recast_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
    return accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int recast_unsent(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : 0;
}

void recast_name_thread(const char *name) { (void)pthread_setname_np(pthread_self(), name); }
