/*
 * --sync windows and --sync optimistic-like: ranks handle events up to the lookahead past GVT, the least time of any event
 * that is pending or under way. Both have the main loop of ROSS's schedulers: read messages, deal with GVT, handle a batch.
 *
 * With windows, GVT is computed as ROSS's conservative scheduler does it: every rank stops, all sum up (MPI_Allreduce) how
 * many messages are under way, reading messages until there are none, and then find the least pending time.
 *
 * With optimistic-like the rank never blocks: it tests two non-blocking reductions between batches, and goes on meanwhile.
 * GVT is then that of F. Mattern, "Efficient Algorithms for Distributed Snapshots and Global Virtual Time Approximation",
 * 1993: each computation begins with a change of colour. When none of the messages of the old colour are under way any more,
 * the least of all pending events and of all messages of the new colour bounds what may still happen. It handles only what is
 * safe, and so needs no rollback: it stands for optimistic simulators in how it calls MPI.
 *
 * Invariants: all ranks compute GVT equally often and see the same values, which end the loop. GVT never falls. When the
 * loop ends nothing is under way.
 */
#ifndef PHOLD_WINDOWS_H
#define PHOLD_WINDOWS_H

#include "simulation.h"

enum gvt_phase { GVT_IDLE, GVT_COUNTING, GVT_LEAST };

typedef struct windows {
    simulation *s;
    uint64_t gvt_ns;
    uint32_t iterations;  /* of the main loop since GVT was known */
    uint32_t colour;      /* of messages sent now, 0 or 1 */
    int64_t under_way[2]; /* messages of each colour that this rank has sent, less those that it has received */
    uint64_t least_sent_ns; /* the least time of a message sent since the colour has changed */
    int phase;
    MPI_Request request; /* the reduction that goes on, out of and into the next four, which stay untouched meanwhile */
    int64_t count, all_count;
    uint64_t least_ns, all_least_ns;
} windows;

static inline int windows_arrive(void *context, int place, const message *m) {
    windows *w = (windows *)context;
    (void)place;
    w->under_way[m->colour]--;
    simulation_insert(w->s, m->e);
    return 1;
}

/* GVT is known. */
static inline void windows_conclude(windows *w, uint64_t gvt_ns) {
    if (gvt_ns < w->gvt_ns) {
        simulation_break(w->s, "GVT has fallen", gvt_ns);
    }
    w->gvt_ns = gvt_ns;
    w->iterations = 0;
    w->s->gvts++;
}

/* Computes GVT together with all ranks, and returns when that is done. */
static inline void windows_agree(windows *w) {
    uint64_t mine_ns, gvt_ns;
    int64_t mine, all;
    do {
        network_read(&w->s->network);
        mine = w->under_way[0] + w->under_way[1];
        MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    } while (all != 0);
    mine_ns = model_next_ns(&w->s->model);
    MPI_Allreduce(&mine_ns, &gvt_ns, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    windows_conclude(w, gvt_ns);
}

/* Begins to sum up how many messages of the old colour are under way. */
static inline void windows_count(windows *w) {
    w->phase = GVT_COUNTING;
    w->count = w->under_way[1 - w->colour];
    MPI_Iallreduce(&w->count, &w->all_count, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &w->request);
}

/*
 * Gets the computation of GVT one step on if it can go on, without waiting for anybody. Two colours are enough: nobody has
 * changed colour twice before all have changed it once and received everything of the colour before.
 */
static inline void windows_poll(windows *w) {
    int done;
    if (w->phase == GVT_IDLE) {
        w->colour = 1 - w->colour;
        w->least_sent_ns = NEVER_NS;
        windows_count(w);
        return;
    }
    MPI_Test(&w->request, &done, MPI_STATUS_IGNORE);
    if (!done) {
        return;
    }
    if (w->phase == GVT_LEAST) {
        w->phase = GVT_IDLE;
        windows_conclude(w, w->all_least_ns);
    } else if (w->all_count != 0) {
        windows_count(w);
    } else {
        w->phase = GVT_LEAST;
        w->least_ns = least_ns(model_next_ns(&w->s->model), w->least_sent_ns);
        MPI_Iallreduce(&w->least_ns, &w->all_least_ns, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, &w->request);
    }
}

/* Handles a batch of events before `bound_ns`, if there are as many. */
static inline void windows_batch(windows *w, uint64_t bound_ns) {
    simulation *s = w->s;
    message m;
    uint32_t i;
    int rank;
    for (i = 0; i < s->options->batch && model_next_ns(&s->model) < bound_ns; i++) {
        rank = simulation_handle(s, &m);
        if (rank >= 0) {
            m.colour = w->colour;
            w->under_way[w->colour]++;
            w->least_sent_ns = least_ns(w->least_sent_ns, m.e.at_ns);
            network_send(&s->network, rank, &m);
        }
    }
}

/* The main loop, until nothing is left to do on any rank. */
static inline void windows_run(simulation *s) {
    static const int anybody[NETWORK_RECEIVES] = {
        MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE,
        MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE,
        MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE, MPI_ANY_SOURCE};
    windows w = {.s = s, .least_sent_ns = NEVER_NS, .request = MPI_REQUEST_NULL};
    uint64_t bound_ns = least_ns(LOOKAHEAD_NS, s->options->until_ns);
    network_open(&s->network, 1, anybody, NETWORK_RECEIVES, windows_arrive, &w);
    while (w.gvt_ns < s->options->until_ns) {
        network_read(&s->network);
        if (++w.iterations >= s->options->interval) {
            if (s->options->sync == SYNC_WINDOWS) {
                windows_agree(&w);
            } else {
                windows_poll(&w);
            }
            bound_ns = least_ns(w.gvt_ns + LOOKAHEAD_NS, s->options->until_ns);
        }
        simulation_report(s, least_ns(model_next_ns(&s->model), bound_ns));
        windows_batch(&w, bound_ns);
    }
    network_close(&s->network);
}

#endif
