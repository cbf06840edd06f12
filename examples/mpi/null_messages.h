/*
 * --sync null-messages: the ranks form a ring, and each tells its two neighbours how long they need not wait for it (K. M.
 * Chandy, J. Misra, "Distributed Simulation", 1979; R. E. Bryant, 1977), with every event that it sends and else by null
 * messages. As ns-3's NullMessageSimulatorImpl, a rank tests for messages (MPI_Testany) after each event and blocks
 * (MPI_Waitany) when it has no event that is safe.
 *
 * Invariants:
 * - A promise on a link: no message with an earlier time follows on it. It is the time before which the rank handles no more
 *   events, and the lookahead on top. Promises on a link never fall.
 * - A rank handles an event only if it lies before all promises that it has got: none that is equal may still come, so that
 *   the order of simultaneous events does not depend on who was faster.
 * - A rank never blocks before its neighbours have its latest promise, so the ranks cannot all wait for each other.
 * - The first promise at or past the end closes its link: it is the last message on it.
 */
#ifndef PHOLD_NULL_MESSAGES_H
#define PHOLD_NULL_MESSAGES_H

#include "simulation.h"

typedef struct ring {
    simulation *s;
    int links;         /* to the next rank and the previous one; only one if these are the same, none for a single rank */
    int neighbours[2];
    uint64_t heard_ns[2], told_ns[2]; /* the last promises on each link, theirs and ours */
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

/* Before this no message can arrive. */
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

/* Sends a null message on each link that is open and whose last promise is `late_ns` too low, or more. */
static inline void ring_promise(ring *r, uint64_t late_ns) {
    int i;
    for (i = 0; i < r->links; i++) {
        if (r->told_ns[i] < r->s->options->until_ns && ring_lvt_ns(r) + LOOKAHEAD_NS >= r->told_ns[i] + late_ns) {
            message m;
            memset(&m, 0, sizeof m);
            m.e.at_ns = NEVER_NS;
            ring_send(r, i, &m);
            r->s->nulls++;
        }
    }
}

/* Handles the first event, which is safe. */
static inline void ring_handle(ring *r) {
    message m;
    int rank = simulation_handle(r->s, &m);
    if (rank >= 0) {
        ring_send(r, rank == r->neighbours[0] ? 0 : 1, &m);
    }
    ring_promise(r, LOOKAHEAD_NS);
    network_read(&r->s->network);
}

/* The main loop, until no event is left here and none can come. */
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
