/*
 * --sync windows and --sync optimistic-like: ranks handle events before a bound that all have agreed on, together with GVT, the
 * least time of any event that is pending or under way. Both have the main loop of ROSS's schedulers: read messages, deal with
 * GVT, handle a batch of events.
 *
 * With windows, GVT is computed as ROSS's conservative scheduler computes it: all ranks stop and sum up how many messages are
 * under way (MPI_Allreduce), reading messages until there are none; then they find the least pending time. The bound is the
 * lookahead past it.
 *
 * With optimistic-like the ranks never block: they test two non-blocking reductions between batches, and handle events
 * meanwhile. This is the algorithm of F. Mattern, "Efficient Algorithms for Distributed Snapshots and Global Virtual Time
 * Approximation", 1993. Each computation begins with a change of colour. When no message of the old colour is under way any
 * more, the only messages that may still arrive are those of the new colour and those that pending events will cause. So the
 * bound is the least of the times of the former and, with the lookahead added, of the latter. GVT plus lookahead would be too
 * late for it: a message of the new colour may be under way and arrive before that. Only what is safe is handled, so there are
 * no rollbacks: this mode resembles optimistic simulators only in how it calls MPI.
 *
 * Invariants: all ranks compute GVT equally often and see the same values. GVT and the bound never fall. No message arrives
 * before the bound. When GVT reaches the end, nothing is pending and nothing is under way.
 */
#ifndef PHOLD_WINDOWS_H
#define PHOLD_WINDOWS_H

#include "simulation.h"

enum gvt_phase { GVT_IDLE, GVT_COUNTING, GVT_LEAST };

typedef struct windows {
    simulation *s;
    uint64_t gvt_ns, bound_ns;
    uint32_t iterations;    /* of the main loop since GVT was known */
    uint32_t colour;        /* of messages sent now, 0 or 1 */
    int64_t under_way[2];   /* messages of each colour that this rank has sent, less those that it has received */
    uint64_t least_sent_ns; /* the least time of a message sent since the colour changed */
    int phase;
    MPI_Request request; /* of the reduction in progress, which owns the next four */
    int64_t count, all_count;
    uint64_t least[2], all_least[2]; /* GVT, the bound */
} windows;

static inline int windows_arrive(void *context, int place, const message *m) {
    windows *w = (windows *)context;
    (void)place;
    w->under_way[m->colour]--;
    simulation_insert(w->s, m->e);
    return 1;
}

/* Takes over what the ranks have agreed on. */
static inline void windows_conclude(windows *w, uint64_t gvt_ns, uint64_t bound_ns) {
    bound_ns = least_ns(bound_ns, w->s->options->until_ns);
    if (gvt_ns < w->gvt_ns || bound_ns < w->bound_ns) {
        simulation_break(w->s, "GVT or the bound has fallen", gvt_ns);
    }
    w->gvt_ns = gvt_ns;
    w->bound_ns = bound_ns;
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
    windows_conclude(w, gvt_ns, gvt_ns + LOOKAHEAD_NS);
}

/* Begins to sum up how many messages of the old colour are under way. */
static inline void windows_count(windows *w) {
    w->phase = GVT_COUNTING;
    w->count = w->under_way[1 - w->colour];
    MPI_Iallreduce(&w->count, &w->all_count, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &w->request);
}

/*
 * Takes the computation of GVT one step further, if that needs no waiting. Two colours are enough: no rank changes colour a
 * second time before all have changed it once and have received all messages of the colour before.
 */
static inline void windows_poll(windows *w) {
    uint64_t next_ns = model_next_ns(&w->s->model);
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
        windows_conclude(w, w->all_least[0], w->all_least[1]);
    } else if (w->all_count != 0) {
        windows_count(w);
    } else {
        w->phase = GVT_LEAST;
        w->least[0] = least_ns(next_ns, w->least_sent_ns);
        w->least[1] = least_ns(next_ns + LOOKAHEAD_NS, w->least_sent_ns);
        MPI_Iallreduce(w->least, w->all_least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, &w->request);
    }
}

/* Handles events before the bound, a batch at most, and none while there is no room for its message (network.h). */
static inline void windows_batch(windows *w) {
    simulation *s = w->s;
    message m;
    uint32_t i;
    int rank;
    for (i = 0; i < s->options->batch && model_next_ns(&s->model) < w->bound_ns && network_has_room(&s->network); i++) {
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
    windows w = {.s = s, .least_sent_ns = NEVER_NS, .request = MPI_REQUEST_NULL};
    network_open(&s->network, NULL, NETWORK_RECEIVES, windows_arrive, &w);
    while (w.gvt_ns < s->options->until_ns) {
        network_read(&s->network);
        if (++w.iterations >= s->options->interval) {
            if (s->options->sync == SYNC_WINDOWS) {
                windows_agree(&w);
            } else {
                windows_poll(&w);
            }
        }
        simulation_report(s, least_ns(model_next_ns(&s->model), w.bound_ns));
        windows_batch(&w);
    }
    network_close(&s->network);
}

#endif
