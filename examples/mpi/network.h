/*
 * How ranks send each other messages: MPI_Isend out of a pool of fixed size, and receives that are posted in advance and
 * tested, as ROSS does it (core/network-mpi.c: MPI_Testsome over receives from anybody) and as ns-3 does it with null
 * messages (null-message-mpi-interface.cc: one receive for each neighbour, MPI_Testany, MPI_Waitany).
 *
 * Invariants:
 * - No queue grows here. While network_send() waits for a free place in its pool, it receives, so that ranks whose pools are
 *   all full do not wait for each other for ever. A rank whose messages may be for one that is in a blocking reduction must
 *   not wait at all, but ask network_has_room() first: MPI does not promise to take in messages that nobody receives.
 * - `arrive` is called once for each message, never from inside itself, and must not send.
 * - Messages between two ranks arrive in the order in which they were sent if there is one receive for each source.
 * - Errors in MPI end the program: that is what MPI's default error handler does. Statuses are never looked at; arrays of
 *   them stand where MPI_STATUSES_IGNORE could, for which GCC warns with MPICH's header.
 */
#ifndef PHOLD_NETWORK_H
#define PHOLD_NETWORK_H

#include "model.h"

#include <mpi.h>

#define NETWORK_SENDS 64
#define NETWORK_RECEIVES 16
#define NETWORK_TAG 1

/*
 * An event for an LP of another rank; without one, `e.at_ns` is NEVER_NS. `promise_ns`, with null messages: nothing earlier
 * follows from this rank. `colour`, with optimistic-like: between which two computations of GVT it was sent (windows.h).
 */
typedef struct message {
    event e;
    uint32_t colour;
    uint64_t promise_ns;
} message;

/* Takes in a message that has come to receive `place`. Whether more may come there. */
typedef int (*network_arrive)(void *context, int place, const message *m);

typedef struct network {
    network_arrive arrive;
    void *context;
    int some; /* several receives are tested at a time (MPI_Testsome), not one (MPI_Testany) */
    int sends_active, receives;
    int sources[NETWORK_RECEIVES];
    MPI_Request sending[NETWORK_SENDS], receiving[NETWORK_RECEIVES]; /* MPI_REQUEST_NULL where there is nothing */
    message outbox[NETWORK_SENDS], inbox[NETWORK_RECEIVES];
    uint64_t sent;
} network;

static inline void network_post(network *n, int place) {
    MPI_Irecv(&n->inbox[place], (int)sizeof(message), MPI_BYTE, n->sources[place], NETWORK_TAG, MPI_COMM_WORLD,
              &n->receiving[place]);
}

/* Passes on what has come to `place`, and receives there again if there is more to come. */
static inline void network_accept(network *n, int place) {
    message m = n->inbox[place];
    if (n->arrive(n->context, place, &m)) {
        network_post(n, place);
    }
}

/* One test of all receives; how many messages it has found. */
static inline int network_test(network *n) {
    MPI_Status unread[NETWORK_RECEIVES];
    int places[NETWORK_RECEIVES], found = 0, arrived = 0, i;
    if (n->some) {
        MPI_Testsome(n->receives, n->receiving, &found, places, unread);
        found = found == MPI_UNDEFINED ? 0 : found;
    } else {
        MPI_Testany(n->receives, n->receiving, places, &arrived, MPI_STATUS_IGNORE);
        found = arrived && places[0] != MPI_UNDEFINED;
    }
    for (i = 0; i < found; i++) {
        network_accept(n, places[i]);
    }
    return found;
}

/* Frees the places of messages that have been sent. */
static inline void network_free_sent(network *n) {
    MPI_Status unread[NETWORK_SENDS];
    int places[NETWORK_SENDS], sent;
    if (n->sends_active > 0) {
        MPI_Testsome(NETWORK_SENDS, n->sending, &sent, places, unread);
        n->sends_active -= sent == MPI_UNDEFINED ? 0 : sent;
    }
}

/* Takes in all messages that have arrived. */
static inline void network_read(network *n) {
    while (network_test(n) > 0) {
    }
    network_free_sent(n);
}

/* Waits for a message and takes it in. Some receive must be posted. */
static inline void network_wait(network *n) {
    int place;
    MPI_Waitany(n->receives, n->receiving, &place, MPI_STATUS_IGNORE);
    network_accept(n, place);
    network_free_sent(n);
}

/* Whether network_send() will find a free place without waiting. */
static inline int network_has_room(network *n) {
    if (n->sends_active == NETWORK_SENDS) {
        network_free_sent(n);
    }
    return n->sends_active < NETWORK_SENDS;
}

/* Sends a copy of `m`. Waits for a free place if there is none. */
static inline void network_send(network *n, int rank, const message *m) {
    int place = 0;
    while (!network_has_room(n)) {
        network_test(n);
    }
    while (n->sending[place] != MPI_REQUEST_NULL) {
        place++;
    }
    n->outbox[place] = *m;
    MPI_Isend(&n->outbox[place], (int)sizeof(message), MPI_BYTE, rank, NETWORK_TAG, MPI_COMM_WORLD, &n->sending[place]);
    n->sends_active++;
    n->sent++;
}

/* Posts `count` receives, NETWORK_RECEIVES at most: one for each of the sources, or with NULL all for messages from anybody. */
static inline void network_open(network *n, const int *sources, int count, network_arrive arrive, void *context) {
    int i;
    memset(n, 0, sizeof *n);
    n->arrive = arrive;
    n->context = context;
    n->some = sources == NULL;
    n->receives = count;
    for (i = 0; i < NETWORK_SENDS; i++) {
        n->sending[i] = MPI_REQUEST_NULL;
    }
    for (i = 0; i < count; i++) {
        n->sources[i] = sources == NULL ? MPI_ANY_SOURCE : sources[i];
        network_post(n, i);
    }
}

/* Waits until all is sent, and takes back the receives that are left. All messages for this rank must have arrived. */
static inline void network_close(network *n) {
    MPI_Status unread[NETWORK_SENDS];
    int i;
    MPI_Waitall(NETWORK_SENDS, n->sending, unread);
    n->sends_active = 0;
    for (i = 0; i < n->receives; i++) {
        if (n->receiving[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&n->receiving[i]);
            MPI_Wait(&n->receiving[i], MPI_STATUS_IGNORE);
        }
    }
}

#endif
