/*
 * The interface between the files of libpaceline_mpi.so. The library is preloaded into MPI programs; README.md says what it
 * does, and which environment variables it reads.
 *
 * One library serves Open MPI and MPICH. Its wrappers take every argument as a word and pass the words on, so it needs no
 * mpi.h: on 64-bit Linux an `int` is passed in a whole register or a whole stack slot, whose upper half is not read.
 *
 * Invariants:
 * - Nothing happens in a process that does not call MPI_Init or MPI_Init_thread; before that and after MPI_Finalize everything is
 *   passed on unchanged. So it is in a forked child, in which the word that `shim_active` points to is 0.
 * - The shim does not communicate by MPI. Of the MPI library it calls local functions only, and only after the program's own
 *   call with the same handles has succeeded, so that an error handler is never called on the shim's behalf.
 * - All state belongs to a thread or is atomic. The hooks only make system calls, read the clock and write to memory, so they
 *   may be called wherever sched_yield may be.
 *
 * Fortran: MPICH's Fortran functions call the MPI_ functions and are wrapped with them (`nm -D libmpichfort.so`). Open MPI's
 * call the PMPI_ functions, which are not wrapped: there only the hooks work, and every wait counts as one in a collective call.
 */
#ifndef PACELINE_MPI_SHIM_H
#define PACELINE_MPI_SHIM_H

#include <stddef.h>
#include <stdint.h>

#include "bell.h"

#if UINTPTR_MAX != UINT64_MAX || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the shim is for 64-bit little-endian systems"
#endif

#define EXPORT __attribute__((visibility("default")))
#define HANDLE_BYTES 8

/* An argument of an MPI function. */
typedef uintptr_t word;

enum library { LIBRARY_NONE, OPEN_MPI, MPICH };

/* What a thread is doing. In NO_CALL it is outside the wrapped functions; a wait there counts as COLLECTIVE. */
enum call { NO_CALL, POINT_TO_POINT, COLLECTIVE, TEST };

/* How a thread waits. */
struct thread {
    enum call call;
    int in_progress;        /* inside opal_progress */
    uint32_t idle_polls;    /* all polls of the library that found nothing; wraps around */
    uint32_t yields;        /* in this wait; quick ones count less */
    uint32_t quick_yields;
    int waiting;            /* the page says that this thread waits */
    int announced;          /* counted in `asleep` of the process's cell */
    uint32_t seen;          /* the bell at that time */
    long limit_ns;          /* of the next sleep; 0: none in this wait yet */
    long began_ns;          /* when this wait began; 0: not known yet */
    uint32_t empty_tests;   /* in a row, with nothing between them */
    uint32_t slow_tests;    /* in a row, with little between them, those above included */
    long left_ns;           /* when the last test returned */
    struct cell *send_to;   /* the destination of a blocking send that is not over */
    void *slot;             /* on the LVT page */
    uint32_t tid;
    long claim_after_ns;    /* no slot is claimed before */
    long claim_pause_ns;
};

extern __thread struct thread self __attribute__((tls_model("initial-exec")));
/* Points to 1 between MPI_Init and MPI_Finalize. */
extern _Atomic(uint32_t *) shim_active;
extern enum library shim_library;
/* Whether the library was asked for MPI_THREAD_MULTIPLE and gives it. */
extern int shim_multiple;

static inline int is_active(void) {
    return __builtin_expect(*atomic_load_explicit(&shim_active, memory_order_relaxed) != 0, 1);
}

static inline long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* real.c: the function behind a wrapper. Ends the process if there is none, as the dynamic linker would. */
void *find_real(const char *name, const void *own, const void *caller);
/* The same for a function that may be missing: then NULL. */
void *find_symbol(const char *name, const void *own, const void *caller);

/* job.c */
int32_t job_rank(const char **variable);
uint64_t job_key(const char *variable);

/* room.c */
void room_open(uint64_t job, uint32_t rank);
void room_close(void);
/* The cell of this process; NULL where there is no room. */
struct cell *room_own_cell(void);
struct cell *room_find(uint32_t rank);

/* peers.c */
void peers_open(const void *caller);
/* Whether this process's rank and size are known, and all ranks of the job have cells in the same room. */
int peers_are_all_here(void);
struct cell *peer_known(word comm, int rank);
struct cell *peer_look_up(word comm, int rank);
void peers_ring_all(void);
void peers_forget(word comm);
int is_large(word count, word datatype);
/* Whether all of these `count` handles are MPI_REQUEST_NULL. */
int peers_are_no_requests(int count, word handles);

/* page.c */
void page_open(int32_t rank);
void page_close(void);
void page_enter(void);
void page_set_waiting(int waiting);
void page_ring(void);
void page_count_message(void);

/* hooks.c */
EXPORT unsigned ucp_worker_progress(void *worker);

/* wait.c */
void wait_found_nothing(void);
void wait_found_something(void);
void wait_in_test(void);
void wait_in_slow_test(void);
void wait_end(void);
void wait_expect_replies(void);
void wait_expect_silent_messages(void);

#endif
