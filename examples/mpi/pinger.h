/*
 * --threads yes: a second thread on each rank that calls MPI at the same time as the main thread, with MPI_THREAD_MULTIPLE. At
 * most 200 times a second it exchanges a small message with a neighbour rank by a blocking MPI_Sendrecv, on a communicator of
 * its own. It has no influence on the result of the simulation.
 *
 * Invariants: ranks ping in pairs, 0 with 1, 2 with 3 and so on; if the number of ranks is odd, the last pings itself. Each
 * ping says whether its sender wants to stop. Both stop after the first exchange in which both want to, so that neither is
 * left alone in MPI_Sendrecv. While the thread runs, the main thread accesses only `stop`.
 */
#ifndef PHOLD_PINGER_H
#define PHOLD_PINGER_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define PINGER_PAUSE_NS 5000000
#define PINGER_TAG 2

typedef struct ping {
    uint64_t number;
    uint32_t stops, filler[5];
} ping;

typedef struct pinger {
    MPI_Comm comm;
    pthread_t thread;
    atomic_int stop;
    int partner;
    int broken; /* a ping was lost or came out of order */
    uint64_t pings;
} pinger;

static void *pinger_main(void *argument) {
    static const struct timespec pause = {0, PINGER_PAUSE_NS};
    pinger *p = (pinger *)argument;
    ping mine, theirs;
    do {
        memset(&mine, 0, sizeof mine);
        mine.number = p->pings++;
        mine.stops = (uint32_t)atomic_load(&p->stop);
        MPI_Sendrecv(&mine, (int)sizeof mine, MPI_BYTE, p->partner, PINGER_TAG, &theirs, (int)sizeof theirs, MPI_BYTE, p->partner,
                     PINGER_TAG, p->comm, MPI_STATUS_IGNORE);
        p->broken |= theirs.number != mine.number;
        nanosleep(&pause, NULL);
    } while (!mine.stops || !theirs.stops);
    return NULL;
}

/* Called by all ranks. 0 if the thread cannot be started. */
static inline int pinger_start(pinger *p, int rank, int ranks) {
    memset(p, 0, sizeof *p);
    atomic_init(&p->stop, 0);
    p->partner = (rank ^ 1) < ranks ? rank ^ 1 : rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
    return pthread_create(&p->thread, NULL, pinger_main, p) == 0;
}

/* Called by all ranks, when no rank needs the main thread of another any more. 0 if a ping was lost or out of order. */
static inline int pinger_stop(pinger *p) {
    atomic_store(&p->stop, 1);
    pthread_join(p->thread, NULL);
    MPI_Comm_free(&p->comm);
    return !p->broken;
}

#endif
