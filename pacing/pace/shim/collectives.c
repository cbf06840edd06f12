/*
 * The wrappers of MPI's collective functions, and of those that end a communicator.
 *
 * Invariant: from the first nonblocking collective on, the process sleeps on no bell, because the messages that complete it
 * ring none.
 */
#define _GNU_SOURCE
#include "words.h"

#define BLOCKING(name, count)                                                                                          \
    BEGIN_WRAPPER(name, count)                                                                                         \
    enum call outer = enter(COLLECTIVE);                                                                               \
    result = real(PASS_##count);                                                                                       \
    leave(outer);                                                                                                      \
    if (result == 0) {                                                                                                 \
        page_count_message();                                                                                          \
    }                                                                                                                  \
    END_WRAPPER

#define NONBLOCKING(name, count)                                                                                       \
    BEGIN_WRAPPER(name, count)                                                                                         \
    enum call outer = enter(TEST);                                                                                     \
    wait_expect_silent_messages();                                                                                     \
    result = real(PASS_##count);                                                                                       \
    leave(outer);                                                                                                      \
    END_WRAPPER

/* A nonblocking collective has one argument more, the request. */
BLOCKING(Barrier, 1)
NONBLOCKING(Ibarrier, 2)
BLOCKING(Bcast, 5)
NONBLOCKING(Ibcast, 6)
BLOCKING(Gather, 8)
NONBLOCKING(Igather, 9)
BLOCKING(Gatherv, 9)
NONBLOCKING(Igatherv, 10)
BLOCKING(Scatter, 8)
NONBLOCKING(Iscatter, 9)
BLOCKING(Scatterv, 9)
NONBLOCKING(Iscatterv, 10)
BLOCKING(Allgather, 7)
NONBLOCKING(Iallgather, 8)
BLOCKING(Allgatherv, 8)
NONBLOCKING(Iallgatherv, 9)
BLOCKING(Alltoall, 7)
NONBLOCKING(Ialltoall, 8)
BLOCKING(Alltoallv, 9)
NONBLOCKING(Ialltoallv, 10)
BLOCKING(Alltoallw, 9)
NONBLOCKING(Ialltoallw, 10)
BLOCKING(Reduce, 7)
NONBLOCKING(Ireduce, 8)
BLOCKING(Allreduce, 6)
NONBLOCKING(Iallreduce, 7)
BLOCKING(Reduce_scatter, 6)
NONBLOCKING(Ireduce_scatter, 7)
BLOCKING(Reduce_scatter_block, 6)
NONBLOCKING(Ireduce_scatter_block, 7)
BLOCKING(Scan, 6)
NONBLOCKING(Iscan, 7)
BLOCKING(Exscan, 6)
NONBLOCKING(Iexscan, 7)
BLOCKING(Neighbor_allgather, 7)
NONBLOCKING(Ineighbor_allgather, 8)
BLOCKING(Neighbor_allgatherv, 8)
NONBLOCKING(Ineighbor_allgatherv, 9)
BLOCKING(Neighbor_alltoall, 7)
NONBLOCKING(Ineighbor_alltoall, 8)
BLOCKING(Neighbor_alltoallv, 9)
NONBLOCKING(Ineighbor_alltoallv, 10)
BLOCKING(Neighbor_alltoallw, 9)
NONBLOCKING(Ineighbor_alltoallw, 10)

#define ENDING(name)                                                                                                   \
    BEGIN_WRAPPER(name, 1)                                                                                             \
    enum call outer = enter(COLLECTIVE);                                                                               \
    peers_forget(a0);                                                                                                  \
    result = real(a0);                                                                                                 \
    leave(outer);                                                                                                      \
    END_WRAPPER

ENDING(Comm_free)
ENDING(Comm_disconnect)
