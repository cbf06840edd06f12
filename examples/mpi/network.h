/*
 * How ranks exchange messages: MPI_Isend from a pool of fixed size, and receives that are posted in advance. Receives are
 * tested as in ROSS (core/network-mpi.c: MPI_Testsome over receives from any source), or as in ns-3 with null messages
 * (null-message-mpi-interface.cc: one receive for each neighbour, MPI_Testany and MPI_Waitany).
 *
 * Invariants:
 * - No queue grows here. While network_send() waits for a free place in the pool, it receives, so that ranks with full pools
 *   cannot deadlock. Where the receiver may be inside a blocking reduction, the sender must not wait at all and checks
 *   network_has_room() first: MPI need not buffer a message for which no receive is posted.
 * - `arrive` is called once for each message. It must not send.
 * - With one receive for each source, messages from one rank arrive in the order in which they were sent.
 * - An error in MPI ends the program, as MPI's default error handler does. Statuses are never read; there are arrays of them
 *   instead of MPI_STATUSES_IGNORE because GCC warns about that with MPICH's header.
 */
#ifndef PHOLD_NETWORK_H
#define PHOLD_NETWORK_H

#include "model.h"

#include <mpi.h>

#define NETWORK_SENDS 64
#define NETWORK_RECEIVES 16
#define NETWORK_TAG 1

/*
 * An event for an LP of another rank. In a null message `e.at_ns` is NEVER_NS. `promise_ns` is used with null messages only:
 * the sender will send nothing earlier (null_messages.h). `colour` is used by windows.h only.
 */
typedef struct message {
    event e;
    uint32_t colour;
    uint64_t promise_ns;
} message;

/* Called with a message that receive `place` has got. Returns whether that receive is to be posted again. */
typedef int (*network_arrive)(void *context, int place, const message *m);

typedef struct network {
    network_arrive arrive;
    void *context;
    int some; /* receives are tested with MPI_Testsome, else with MPI_Testany */
    int sends_active, receives;
    int sources[NETWORK_RECEIVES];
    MPI_Request sending[NETWORK_SENDS], receiving[NETWORK_RECEIVES]; /* MPI_REQUEST_NULL if not in use */
    message outbox[NETWORK_SENDS], inbox[NETWORK_RECEIVES];
    uint64_t sent;
} network;

static inline void network_post(network *n, int place) {
    MPI_Irecv(&n->inbox[place], (int)sizeof(message), MPI_BYTE, n->sources[place], NETWORK_TAG, MPI_COMM_WORLD,
              &n->receiving[place]);
}

/* Passes on the message in `place`, and posts the receive again if `arrive` says so. */
static inline void network_accept(network *n, int place) {
    message m = n->inbox[place];
    if (n->arrive(n->context, place, &m)) {
        network_post(n, place);
    }
}

/* Tests the receives once. Returns how many messages have arrived. */
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

/* Receives all messages that have arrived. */
static inline void network_read(network *n) {
    while (network_test(n) > 0) {
    }
    network_free_sent(n);
}

/* Waits for a message and receives it. At least one receive must be posted. */
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

/* Posts `count` receives, at most NETWORK_RECEIVES: one for each source, or, if `sources` is NULL, all for any source. */
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

/* Waits until everything is sent, and cancels the receives that are left. No message for this rank may be under way. */
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
