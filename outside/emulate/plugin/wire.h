/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guest and coordinator say to each other: records of 24 bytes in the machine's byte order, each followed by `length` bytes.
 * outside/emulate/src/guest/wire.rs and page.rs have the other side.
 *
 *   from the guest   HELLO    first of all; time: PROTOCOL, value: the page's descriptor in this process
 *                    FRAME    left a card; time: when, value: the card
 *                    DROPPED  frames that arrived and were lost, since too many waited for the card's driver; value: how many so far
 *                    STOPPED  at a grant's end; time: the clock, value: when the guest does something by itself at the earliest
 *                    PAUSED   after SAVE: the machine stands and may be saved; then STOPPED, once it was told to go on
 *                    ENDED    the guest has ended; time: when; bytes: the cause
 *                    REFUSED  cannot work; bytes: why
 *   to the guest,    GRANT    time: until when, value: how many frames follow
 *   when it stands   FRAME    time: when it arrives, value: the card; times never fall
 *                    SAVE     stop the machine to be saved
 *
 * They go over a socket, except for the two that most grants consist of, which cross a page of shared memory in half the time: each
 * order (GRANT, SAVE), whose frames follow on the socket; and STOPPED, if nothing else is said since the order, and the coordinator
 * waits at the page instead of polling the socket. Whatever goes over the socket rings the page's bell as well.
 */
#ifndef PACELINE_WIRE_H
#define PACELINE_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { PROTOCOL = 2 };
#define NEVER UINT64_MAX

/* HELLO is "PCLG": whoever answers something else is not this plugin. */
enum kind { HELLO = 0x474c4350, FRAME = 1, STOPPED, PAUSED, ENDED, REFUSED, GRANT, SAVE, DROPPED };

struct record {
    uint32_t kind, length;
    uint64_t time, value;
};

struct buffer {
    uint8_t *bytes;
    size_t length, room;
};

extern int wire_fd;

/* Room for `length` more bytes at the end of the buffer, which then has them. */
void *reserve(struct buffer *, size_t length);
void append(struct buffer *, const void *bytes, size_t length);
/* Frames in a buffer are aligned for the record that follows. */
static inline size_t padded(size_t length) { return (length + 7) & ~(size_t)7; }

/* Queues a record for the coordinator; `flush` sends all. */
void tell(enum kind, uint64_t time, uint64_t value, const void *bytes, size_t length);
void flush(void);
/* Makes the page and greets the coordinator. */
void greet(void);
/* Says that the guest stands (STOPPED), after all that is queued, and blocks until the next order. */
void stand(uint64_t time, uint64_t next, struct record *order);
/* Blocks until `length` bytes have come; ends QEMU when the coordinator is gone. */
void receive(void *bytes, size_t length);
/* Tells the coordinator, and standard error, why this guest cannot go on, and ends QEMU. */
void refuse(const char *why) __attribute__((noreturn));
/* Starts the thread that ends QEMU when the coordinator goes while the guest computes. */
void watch_coordinator(void);

#endif
