/*
 * PHOLD itself, as one rank holds it: a block of LPs and the queue of their events. Each event causes exactly one other, one
 * lookahead and an exponential delay later. There is no MPI here.
 *
 * Invariants:
 * - All random numbers of an event depend only on the seed and on the event's identity: its message's number and how often
 *   that message has been sent on. They do not depend on the rank that handles it.
 * - A rank handles its events in the total order (time, message). An event that comes too late is an error.
 * - Times are integers, in ns. Events at or after --until do not exist.
 * - The checksum is a sum, over all events handled, of a hash of LP, time, identity and how many events the LP had handled
 *   before. It does not depend on how ranks interleave, and changes if two events of one LP change places.
 */
#ifndef PHOLD_MODEL_H
#define PHOLD_MODEL_H

#include "../c/work.h"
#include "options.h"

/* Stands for no event at all; a lookahead can be added. */
#define NEVER_NS (UINT64_MAX / 2)

/* Message `message` arrives at `lp` after it has been sent on `hop` times. */
typedef struct event {
    uint64_t at_ns;
    uint32_t lp, message, hop;
} event;

typedef struct model {
    const options *options;
    uint32_t rank, ranks;
    uint32_t first_lp, end_lp; /* this rank's block */
    uint32_t *handled;         /* for each LP of the block, how many events */
    event *queue;              /* a binary heap: nothing comes before the event at its root */
    size_t queued, room;
    event last; /* the event handled last, if `events` is not 0 */
    uint64_t rounds_per_event;
    uint64_t events, checksum, rounds; /* of this rank, until now */
} model;

/* LPs are dealt in blocks, whose sizes differ by one at most. */
static inline uint32_t model_first_lp(const model *m, uint32_t rank) {
    return (uint32_t)((uint64_t)rank * m->options->lps / m->ranks);
}

static inline uint32_t model_rank_of(const model *m, uint32_t lp) {
    return (uint32_t)(((uint64_t)(lp + 1) * m->ranks - 1) / m->options->lps);
}

static inline int model_before(const event *a, const event *b) {
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->message < b->message;
}

static inline uint64_t model_next_ns(const model *m) {
    return m->queued > 0 ? m->queue[0].at_ns : NEVER_NS;
}

/* Puts an event into the queue, which grows if it has to. 0 if there is no memory. */
static inline int model_insert(model *m, event e) {
    size_t at, parent;
    if (m->queued == m->room) {
        size_t room = m->room == 0 ? 64 : 2 * m->room;
        event *queue = (event *)realloc(m->queue, room * sizeof *queue);
        if (queue == NULL) {
            return 0;
        }
        m->queue = queue;
        m->room = room;
    }
    for (at = m->queued++; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!model_before(&e, &m->queue[parent])) {
            break;
        }
        m->queue[at] = m->queue[parent];
    }
    m->queue[at] = e;
    return 1;
}

/* Takes the first event out of the queue, which must not be empty. */
static inline event model_take(model *m) {
    event first = m->queue[0], e = m->queue[--m->queued];
    size_t at, child;
    for (at = 0; (child = 2 * at + 1) < m->queued; at = child) {
        child += child + 1 < m->queued && model_before(&m->queue[child + 1], &m->queue[child]);
        if (!model_before(&m->queue[child], &e)) {
            break;
        }
        m->queue[at] = m->queue[child];
    }
    m->queue[at] = e;
    return first;
}

/* The `number`-th random number of an event. */
static inline uint64_t model_draw(const model *m, const event *e, uint64_t number) {
    return mixed(mixed(mixed(m->options->seed) ^ ((uint64_t)e->message << 32 | e->hop)) + number);
}

/* A random number as a fraction: at least 0, less than 1. */
static inline double model_fraction(uint64_t draw) {
    return (double)(draw >> 11) * 0x1p-53;
}

/* A random number as an integer below `limit`. */
static inline uint32_t model_below(uint64_t draw, uint32_t limit) {
    return (uint32_t)((draw >> 32) * limit >> 32);
}

/* When the message that `e` sends on arrives. */
static inline uint64_t model_arrival_ns(const model *m, const event *e) {
    double delay = -log(1.0 - model_fraction(model_draw(m, e, 1)));
    return e->at_ns + LOOKAHEAD_NS + (uint64_t)(delay * (double)LOOKAHEAD_NS);
}

/* Where the message that `e` sends on goes. With null messages, an LP sends to its own rank's two neighbours only. */
static inline uint32_t model_destination(const model *m, const event *e) {
    uint64_t draw = model_draw(m, e, 3), turn;
    uint32_t neighbour, first;
    if (model_fraction(model_draw(m, e, 2)) >= m->options->remote) {
        return e->lp;
    }
    if (m->options->sync != SYNC_NULL_MESSAGES) {
        return model_below(draw, m->options->lps);
    }
    turn = model_draw(m, e, 4) % 2 == 0 ? 1 : m->ranks - 1;
    neighbour = (uint32_t)((m->rank + turn) % m->ranks);
    first = model_first_lp(m, neighbour);
    return first + model_below(draw, model_first_lp(m, neighbour + 1) - first);
}

/*
 * Handles the first event of the queue, which must not be empty, and stores the event that it causes. Returns 0, with the
 * event itself stored, if a later one has already been handled: then the ranks are not synchronized as they should be.
 */
static inline int model_handle(model *m, event *caused) {
    event e = model_take(m);
    uint64_t identity = (uint64_t)e.message << 32 | e.hop;
    uint32_t *handled = &m->handled[e.lp - m->first_lp];
    if (m->events > 0 && !model_before(&m->last, &e)) {
        *caused = e;
        return 0;
    }
    m->last = e;
    work(m->rounds_per_event);
    m->rounds += m->rounds_per_event;
    m->checksum += mixed(mixed(mixed((uint64_t)e.lp << 32 | *handled) ^ e.at_ns) ^ identity);
    *handled += 1;
    m->events++;
    *caused = (event){model_arrival_ns(m, &e), model_destination(m, &e), e.message, e.hop + 1};
    return 1;
}

/* Makes this rank's LPs and first events. 0 if there is no memory. */
static inline int model_open(model *m, const options *o, uint32_t rank, uint32_t ranks) {
    uint32_t lp, i;
    *m = (model){.options = o, .rank = rank, .ranks = ranks};
    m->first_lp = model_first_lp(m, rank);
    m->end_lp = model_first_lp(m, rank + 1);
    m->rounds_per_event = (uint64_t)(o->work_ns * (rank == 0 ? o->heavy : 1.0) * (double)o->rounds_per_ms / 1e6);
    m->handled = (uint32_t *)calloc(m->end_lp - m->first_lp, sizeof *m->handled);
    if (m->handled == NULL) {
        return 0;
    }
    for (lp = m->first_lp; lp < m->end_lp; lp++) {
        for (i = 0; i < o->messages; i++) {
            event first = {0, lp, lp * o->messages + i, 0};
            first.at_ns = model_arrival_ns(m, &first);
            first.hop = 1;
            if (first.at_ns < o->until_ns && !model_insert(m, first)) {
                return 0;
            }
        }
    }
    return 1;
}

static inline void model_close(model *m) {
    free(m->handled);
    free(m->queue);
}

#endif
