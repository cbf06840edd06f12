/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's side of the socket and the page (wire.h). */
#define _GNU_SOURCE
#include "page.h"
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A guest may send many frames in a long grant: they go out by the megabyte, and memory stays bounded. */
enum { FLUSH_AT = 1 << 20 };

int wire_fd = -1;
static struct buffer leaving;
static bool said_something;         /* since the last order, over the socket: what follows goes there, too, and stays in order */

void *reserve(struct buffer *buffer, size_t length) {
    if (buffer->length + length > buffer->room) {
        buffer->room = 2 * (buffer->length + length);
        buffer->bytes = realloc(buffer->bytes, buffer->room);
        if (!buffer->bytes) {
            fprintf(stderr, "guest: no memory for %zu bytes of frames\n", buffer->room);
            _exit(1);
        }
    }
    void *place = buffer->bytes + buffer->length;
    buffer->length += length;
    return place;
}

void append(struct buffer *buffer, const void *bytes, size_t length) {
    if (length) memcpy(reserve(buffer, length), bytes, length);
}

void tell(enum kind kind, uint64_t time, uint64_t value, const void *bytes, size_t length) {
    struct record record = {kind, length, time, value};
    append(&leaving, &record, sizeof record);
    append(&leaving, bytes, length);
    if (leaving.length >= FLUSH_AT) flush();
}

/* Over the socket. When that is full, a coordinator that waits at the page has to be rung before there is room again. */
void flush(void) {
    said_something = true;
    for (size_t done = 0; done < leaving.length;) {
        ssize_t n = send(wire_fd, leaving.bytes + done, leaving.length - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) done += n;
        else if (errno == EAGAIN) {
            struct pollfd room = {.fd = wire_fd, .events = POLLOUT};
            ring();
            poll(&room, 1, -1);
        } else if (errno != EINTR) _exit(0); /* the coordinator is gone: nobody is left to tell */
    }
    leaving.length = 0;
    ring();
}

void greet(void) {
    int fd = make_page();
    if (fd < 0) refuse("no page of shared memory can be had");
    tell(HELLO, PROTOCOL, fd, NULL, 0);
    flush();
}

void stand(uint64_t time, uint64_t next, struct record *order) {
    if (said_something || leaving.length || !answer_on_page(time, next)) {
        tell(STOPPED, time, next, NULL, 0);
        flush();
    }
    wait_for_order(&order->kind, &order->time, &order->value);
    said_something = false;
}

void receive(void *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t n = recv(wire_fd, (char *)bytes + done, length - done, 0);
        if (n > 0) done += n;
        else if (n == 0 || errno != EINTR) _exit(0);
    }
}

void refuse(const char *why) {
    fprintf(stderr, "guest: %s\n", why);
    tell(REFUSED, 0, 0, why, strlen(why));
    flush();
    _exit(1);
}

static void *wait_for_hangup(void *unused) {
    struct pollfd poll_fd = {.fd = wire_fd, .events = 0};
    while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR) continue;
    _exit(0);
    return unused;
}

void watch_coordinator(void) {
    /* No signal for QEMU may be handled in this thread. */
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, wait_for_hangup, NULL)) refuse("no thread could be started");
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
