/*
 * One rank's part of the simulation: its LPs, its connection to other ranks, and its LVT. windows.h and null_messages.h build
 * on it.
 *
 * Invariants: the LVT that a rank reports is the earliest time at which it may still handle an event; it never falls. If `lvt`
 * is NULL, no function of paceline_lvt.h is called. The fault of --fault happens on rank 1, at its first report that has
 * reached --fault-at, and so always inside the main loop.
 */
#ifndef PHOLD_SIMULATION_H
#define PHOLD_SIMULATION_H

#include "network.h"
#include "paceline_lvt.h"

#include <inttypes.h>
#include <signal.h>

/* Statuses that the program ends with by MPI_Abort: a broken invariant, and --fault abort. */
#define STATUS_BROKEN 1
#define STATUS_FAULT 3

typedef struct simulation {
    const options *options;
    model model;
    network network;
    paceline_lvt *lvt; /* NULL if this rank does not publish */
    uint64_t gvts;     /* how often GVT was computed */
    uint64_t nulls;    /* null messages sent */
} simulation;

static inline uint64_t least_ns(uint64_t a_ns, uint64_t b_ns) {
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Ends the program on all ranks. */
static inline void simulation_break(const simulation *s, const char *what, uint64_t at_ns) {
    fprintf(stderr, "phold: rank %u: %s (at %" PRIu64 " ns)\n", s->model.rank, what, at_ns);
    MPI_Abort(MPI_COMM_WORLD, STATUS_BROKEN);
}

/* Publishes that everything before `lvt_ns` is done here, and causes the fault of --fault when its time has come. */
static inline void simulation_report(simulation *s, uint64_t lvt_ns) {
    const options *o = s->options;
    if (s->lvt != NULL) {
        paceline_lvt_publish(s->lvt, lvt_ns);
    }
    if (o->fault != FAULT_NONE && s->model.rank == 1 && (double)lvt_ns >= o->fault_at * (double)o->until_ns) {
        if (o->fault == FAULT_DIE) {
            raise(SIGKILL);
        }
        MPI_Abort(MPI_COMM_WORLD, STATUS_FAULT);
    }
}

/* Queues an event for an LP of this rank. */
static inline void simulation_insert(simulation *s, event e) {
    if (!model_insert(&s->model, e)) {
        simulation_break(s, "no memory for an event", e.at_ns);
    }
}

/*
 * Handles the first event of the queue, which must not be empty. The event that it causes is dropped if it is past the end, and
 * queued if it is for this rank. Else it is stored in `m`, and the rank to send it to is returned. -1 if there is none to send.
 */
static inline int simulation_handle(simulation *s, message *m) {
    uint32_t rank;
    memset(m, 0, sizeof *m);
    if (!model_handle(&s->model, &m->e)) {
        simulation_break(s, "an event has come after later ones were handled", m->e.at_ns);
    }
    if (m->e.at_ns >= s->options->until_ns) {
        return -1;
    }
    rank = model_rank_of(&s->model, m->e.lp);
    if (rank == s->model.rank) {
        simulation_insert(s, m->e);
        return -1;
    }
    return (int)rank;
}

#endif
