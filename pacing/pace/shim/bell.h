/*
 * The room and its bells: how a process that waits for a message sleeps, and how the sender wakes it. C11, Linux.
 *
 * The room is shared memory: a header, then cells of 64 bytes, one for each MPI process. All processes of all jobs under one
 * pacer share it. README.md describes its layout, which src/mpi/room.rs creates.
 *
 * The protocol: a waiter reads the bell, adds itself to `asleep`, polls once more, and sleeps only while the bell has the
 * value that it read. A sender first sends, then looks at `asleep`, and rings if it is not 0. Both have a full fence between their store
 * and their load, so one of them sees the other: either the last poll finds the message, or the bell changes.
 *
 * Invariants:
 * - Every sleep has a time limit. A ring that is lost, or that is never sent, only costs time.
 * - `bell` only counts up. `asleep` is the number of threads of the owner between bell_announce and bell_withdraw.
 * - `job` is 0 while a cell changes its owner, so that a cell found by its job and rank is complete.
 */
#ifndef PACELINE_MPI_BELL_H
#define PACELINE_MPI_BELL_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOM_ENV "PACELINE_MPI"
#define ROOM_MAGIC "PACEMPI" /* and a NUL */
#define ROOM_VERSION 1u
#define ROOM_CELL_BYTES 64u
#define ROOM_CELLS_MAX 65536u

struct room_header {
    char magic[8];
    uint32_t version;
    uint32_t cells;
    uint32_t unused[12];
};

struct cell {
    _Atomic uint32_t bell;
    _Atomic uint32_t asleep;
    _Atomic uint64_t job;
    _Atomic uint64_t owner; /* process id in the upper half, low half of its start time in the lower one; 0: free */
    _Atomic uint32_t rank;
    _Atomic uint32_t sleeps; /* how often the owner slept: a statistic */
    _Atomic uint32_t limits; /* how many of these sleeps reached the time limit */
    uint32_t unused[7];
};

_Static_assert(sizeof(struct room_header) == ROOM_CELL_BYTES, "the header is as large as a cell");
_Static_assert(sizeof(struct cell) == ROOM_CELL_BYTES, "a cell has a cache line of its own");

/* Begins a wait; returns the value of the bell, to be passed to bell_sleep after one more poll. */
static inline uint32_t bell_announce(struct cell *cell) {
    uint32_t seen = atomic_load_explicit(&cell->bell, memory_order_acquire);
    atomic_fetch_add_explicit(&cell->asleep, 1, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    return seen;
}

/* Ends a wait. */
static inline void bell_withdraw(struct cell *cell) {
    atomic_fetch_sub_explicit(&cell->asleep, 1, memory_order_release);
}

/*
 * Sleeps until the bell has another value than `seen`, a signal comes, or the time limit, less than a second, is over; returns 0 for
 * the last. Keeps `errno`.
 */
static inline int bell_sleep(struct cell *cell, uint32_t seen, long limit_ns) {
    struct timespec limit = {0, limit_ns};
    int before = errno, rung;
    rung = syscall(SYS_futex, &cell->bell, FUTEX_WAIT, seen, &limit, NULL, 0) == 0 || errno != ETIMEDOUT;
    errno = before;
    atomic_fetch_add_explicit(&cell->sleeps, 1, memory_order_relaxed);
    if (!rung) {
        atomic_fetch_add_explicit(&cell->limits, 1, memory_order_relaxed);
    }
    return rung;
}

/* Rings if a process sleeps or is about to. A process that it wakes sees what was sent before this call. Keeps `errno`. */
static inline void bell_ring(struct cell *cell) {
    int before = errno;
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&cell->asleep, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&cell->bell, 1, memory_order_seq_cst);
        syscall(SYS_futex, &cell->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        errno = before;
    }
}

#endif
