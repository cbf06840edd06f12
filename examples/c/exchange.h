/*
 * How the processes of phold.c agree on the bound of a window and pass events to each other: over shared memory (reduce.h),
 * or, on several machines, over TCP (mesh.h), where the events for a process travel with the word of what is next.
 *
 * Invariants: agree() is called once for each window, by every process. What was posted in the window before has arrived
 * when it is over. The bound and the events of a window are the same over both.
 */
#ifndef PHOLD_EXCHANGE_H
#define PHOLD_EXCHANGE_H

#include "mesh.h"
#include "reduce.h"

#define EVENTS_PER_PROCESS 16u
/* Stands for no event at all; a lookahead can be added. */
#define NEVER_NS (UINT64_MAX / 2)

/* `key` tells an event from all others, and is where its random numbers come from. */
typedef struct event {
    uint64_t at_ns, key;
} event;

/* What a process leaves behind. */
typedef struct outcome {
    uint64_t checksum, events, rounds, rounds_per_ms, start_ns, end_ns;
} outcome;

/* All that the processes share. `count` and `events` are mailboxes: for each process one for even and one for odd windows. */
typedef struct shared {
    reduction reduction;
    outcome outcomes[PROCESSES_MAX];
    uint32_t count[PROCESSES_MAX][2];
    event events[];
} shared;

/* What a rank tells another for a window: when its next event is, and events for the other. */
typedef struct letter {
    uint64_t next_ns, count;
    event events[MESH_RANKS_MAX * EVENTS_PER_PROCESS];
} letter;

/* A process's way to the others: `mesh` and a letter to each rank, or else `all`. */
typedef struct place {
    shared *all;
    mesh *mesh;
    letter *letters;
    uint32_t self, processes;
    paceline_lvt *lvt;
} place;

static inline event *mailbox(shared *all, uint32_t process, uint32_t window) {
    uint64_t room = (uint64_t)all->reduction.processes * EVENTS_PER_PROCESS;
    return all->events + room * (2u * process + window % 2);
}

static inline void post(place *p, uint32_t process, uint32_t window, event sent) {
    if (p->mesh != NULL) {
        p->letters[process].events[p->letters[process].count++] = sent;
    } else {
        uint32_t at = __atomic_fetch_add(&p->all->count[process][window % 2], 1, __ATOMIC_ACQ_REL);
        mailbox(p->all, process, window)[at] = sent;
    }
}

static inline void put_into(event *queue, uint32_t *queued, const event *come, uint64_t count) {
    memcpy(queue + *queued, come, count * sizeof *queue);
    *queued += (uint32_t)count;
}

/* Over TCP: everybody writes to everybody, and reads what everybody has written. */
static inline uint64_t correspond(place *p, uint32_t window, uint64_t next_ns, event *queue, uint32_t *queued) {
    letter *own = &p->letters[p->self], come;
    uint64_t least_ns = next_ns;
    uint32_t i, rank, bytes;
    for (i = 1; i < p->processes; i++) {
        rank = (p->self + i) % p->processes;
        p->letters[rank].next_ns = next_ns;
        bytes = (uint32_t)(offsetof(letter, events) + p->letters[rank].count * sizeof(event));
        mesh_send(p->mesh, rank, window, &p->letters[rank], bytes);
        p->letters[rank].count = 0;
    }
    for (i = 1; i < p->processes; i++) {
        rank = (p->self + p->processes - i) % p->processes;
        mesh_receive(p->mesh, rank, window, &come, sizeof come, &bytes);
        if (bytes < offsetof(letter, events) || come.count > MESH_RANKS_MAX * EVENTS_PER_PROCESS ||
            bytes != offsetof(letter, events) + come.count * sizeof(event)) {
            errno = 0;
            mesh_fail(p->mesh, rank, "a letter is not as long as it says");
        }
        least_ns = come.next_ns < least_ns ? come.next_ns : least_ns;
        put_into(queue, queued, come.events, come.count);
    }
    put_into(queue, queued, own->events, own->count);
    own->count = 0;
    return least_ns;
}

/* The least `next_ns` of all processes. The events that were posted for this window are appended to the queue. */
static inline uint64_t agree(place *p, uint32_t window, uint64_t next_ns, event *queue, uint32_t *queued) {
    uint64_t least_ns;
    uint32_t come;
    if (p->mesh != NULL) {
        return correspond(p, window, next_ns, queue, queued);
    }
    least_ns = reduce(&p->all->reduction, p->lvt, p->self, window, next_ns);
    /* Once all have told the least time of what they have or have sent, everything for this window has arrived. */
    come = __atomic_exchange_n(&p->all->count[p->self][window % 2], 0, __ATOMIC_ACQ_REL);
    put_into(queue, queued, mailbox(p->all, p->self, window), come);
    return least_ns;
}

#endif
