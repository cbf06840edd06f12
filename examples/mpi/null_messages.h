/*
 * --sync null-messages: the protocol of Chandy and Misra ("Distributed Simulation", 1979) and of Bryant (1977). The ranks form
 * a ring. With each message, a rank promises its neighbour not to send anything earlier than a given time; null messages carry
 * a promise and no event. As in ns-3's NullMessageSimulatorImpl, a rank tests for messages after each event (MPI_Testany), and
 * blocks when it has no event that is safe to handle (MPI_Waitany).
 *
 * Invariants:
 * - A promise is the earliest time at which the rank may still handle an event, plus the lookahead. Promises on a link never
 *   fall.
 * - A rank handles an event only if it is earlier than all promises that the rank has received. An event at the same time as
 *   a promise waits: another one at that time may still arrive and precede it in the total order.
 * - Before a rank blocks, it sends its latest promise to all neighbours. So the ranks cannot deadlock.
 * - The first promise at or past --until is the last message on its link.
 */
#ifndef PHOLD_NULL_MESSAGES_H
#define PHOLD_NULL_MESSAGES_H

#include "simulation.h"

typedef struct ring {
    simulation *s;
    int links;         /* 2, to the next and the previous rank; 1 if these are the same, 0 for a single rank */
    int neighbours[2];
    uint64_t heard_ns[2], told_ns[2]; /* the last promise received and sent on each link */
} ring;

static inline int ring_arrive(void *context, int place, const message *m) {
    ring *r = (ring *)context;
    if (m->promise_ns < r->heard_ns[place]) {
        simulation_break(r->s, "a promise has fallen", m->promise_ns);
    }
    if (m->e.at_ns != NEVER_NS) {
        simulation_insert(r->s, m->e);
    }
    r->heard_ns[place] = m->promise_ns;
    return m->promise_ns < r->s->options->until_ns;
}

/* No message can arrive before this time. */
static inline uint64_t ring_safe_ns(const ring *r) {
    uint64_t safe_ns = NEVER_NS;
    int i;
    for (i = 0; i < r->links; i++) {
        safe_ns = least_ns(safe_ns, r->heard_ns[i]);
    }
    return safe_ns;
}

/* The earliest time at which this rank may still handle an event. */
static inline uint64_t ring_lvt_ns(const ring *r) {
    return least_ns(model_next_ns(&r->s->model), ring_safe_ns(r));
}

/* Sends `m` on a link, with a promise. */
static inline void ring_send(ring *r, int link, message *m) {
    m->promise_ns = ring_lvt_ns(r) + LOOKAHEAD_NS;
    r->told_ns[link] = m->promise_ns;
    network_send(&r->s->network, r->neighbours[link], m);
}

/* Sends a null message on each open link on which the promise would rise by `rise_ns` or more. */
static inline void ring_promise(ring *r, uint64_t rise_ns) {
    int i;
    for (i = 0; i < r->links; i++) {
        if (r->told_ns[i] < r->s->options->until_ns && ring_lvt_ns(r) + LOOKAHEAD_NS >= r->told_ns[i] + rise_ns) {
            message m;
            memset(&m, 0, sizeof m);
            m.e.at_ns = NEVER_NS;
            ring_send(r, i, &m);
            r->s->nulls++;
        }
    }
}

/* Handles the first event, which must be safe. */
static inline void ring_handle(ring *r) {
    message m;
    int rank = simulation_handle(r->s, &m);
    if (rank >= 0) {
        ring_send(r, rank == r->neighbours[0] ? 0 : 1, &m);
    }
    ring_promise(r, LOOKAHEAD_NS);
    network_read(&r->s->network);
}

/* The main loop, until this rank has no event left and none can arrive. */
static inline void ring_run(simulation *s) {
    int self = (int)s->model.rank, ranks = (int)s->model.ranks;
    ring r = {.s = s, .links = ranks < 3 ? ranks - 1 : 2, .neighbours = {(self + 1) % ranks, (self + ranks - 1) % ranks},
              .heard_ns = {LOOKAHEAD_NS, LOOKAHEAD_NS}, .told_ns = {LOOKAHEAD_NS, LOOKAHEAD_NS}};
    network_open(&s->network, r.neighbours, r.links, ring_arrive, &r);
    for (;;) {
        uint64_t next_ns = model_next_ns(&s->model), safe_ns = ring_safe_ns(&r);
        simulation_report(s, least_ns(next_ns, safe_ns));
        if (next_ns < safe_ns) {
            ring_handle(&r);
        } else if (safe_ns < s->options->until_ns) {
            ring_promise(&r, 1);
            network_wait(&s->network);
        } else {
            break;
        }
    }
    ring_promise(&r, 1);
    network_close(&s->network);
}

#endif
