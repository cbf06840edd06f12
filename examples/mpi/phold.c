/*
 * PHOLD over MPI: a small stand-in for simulators such as ROSS and ns-3. Its ranks wait for each other by the same MPI calls.
 * They publish their LVT (paceline_lvt.h) unless --lvt no is given.
 *
 * LPs send each other events (model.h). Each rank holds a block of the LPs and exchanges messages with other ranks (network.h,
 * simulation.h). There are two ways to synchronize the ranks: windows.h computes GVT, by blocking or by non-blocking
 * reductions, and null_messages.h sends null messages. pinger.h adds a second thread that calls MPI.
 *
 * Invariant: the events, and so the checksum, depend only on --lps, --messages, --remote, --until and --seed. They are the same
 * with any number of ranks, any MPI library, and windows or optimistic-like. With null-messages, the destinations depend on
 * the number of ranks too, because LPs send to neighbour ranks only.
 *
 * Rank 0 prints one line for each result: name and value. `seconds` is the wall time between two barriers around the main loop;
 * `work_s` is the CPU time of --work over all events, which one core would need; `cpu_s` is the CPU time that all ranks used in
 * the main loop. The exit status is 2 for a bad option and 1 for a broken invariant.
 */
#define _GNU_SOURCE
#include "null_messages.h"
#include "pinger.h"
#include "windows.h"

#include <sys/resource.h>

/* The results that are summed up over all ranks. */
enum { SUM_EVENTS, SUM_CHECKSUM, SUM_MESSAGES, SUM_NULLS, SUM_ROUNDS, SUM_PINGS, SUM_CPU_US, SUMS };

static uint64_t cpu_us(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Rank 0 measures for all ranks, so that an event costs the same on each. */
static void find_rate(options *o, int rank) {
    if (o->rounds_per_ms == 0 && o->work_ns > 0.0) {
        o->rounds_per_ms = rank == 0 ? measured_rounds_per_ms() : 0;
        MPI_Bcast(&o->rounds_per_ms, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    }
}

/* Runs the main loop of this rank, which publishes its LVT. Returns the wall time. */
static double run(simulation *s, uint64_t *used_us) {
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    char name[24];
    double start_s;
    if (s->options->lvt) {
        snprintf(name, sizeof name, "phold %u", s->model.rank);
        if (paceline_lvt_open(&lvt, name) != 0 && s->model.rank == 0) {
            fprintf(stderr, "phold runs unpaced: %s\n", lvt.error);
        }
        s->lvt = &lvt;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start_s = MPI_Wtime();
    *used_us = cpu_us();
    if (s->options->sync == SYNC_NULL_MESSAGES) {
        ring_run(s);
    } else {
        windows_run(s);
    }
    if (s->lvt != NULL) {
        paceline_lvt_close(&lvt);
        s->lvt = NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    *used_us = cpu_us() - *used_us;
    return MPI_Wtime() - start_s;
}

static void print(const simulation *s, const uint64_t *sums, double seconds) {
    const options *o = s->options;
    printf("ranks %u\nsync %s\nlps %u\n", s->model.ranks, SYNC_WORDS[o->sync], o->lps);
    printf("events %" PRIu64 "\nchecksum %016" PRIx64 "\n", sums[SUM_EVENTS], sums[SUM_CHECKSUM]);
    printf("messages %" PRIu64 "\nnulls %" PRIu64 "\n", sums[SUM_MESSAGES] - sums[SUM_NULLS], sums[SUM_NULLS]);
    printf("gvts %" PRIu64 "\npings %" PRIu64 "\n", s->gvts, sums[SUM_PINGS]);
    printf("rounds_per_ms %" PRIu64 "\n", o->rounds_per_ms);
    printf("work_s %.6f\n", o->rounds_per_ms == 0 ? 0.0 : (double)sums[SUM_ROUNDS] / (double)o->rounds_per_ms / 1e3);
    printf("cpu_s %.6f\nseconds %.6f\n", (double)sums[SUM_CPU_US] / 1e6, seconds);
}

/* Everything between MPI_Init and MPI_Finalize. The options are good. Returns the exit status. */
static int simulate(options *o, int rank, int ranks) {
    static simulation s;
    static pinger p;
    uint64_t mine[SUMS], sums[SUMS], used_us;
    double seconds;
    s.options = o;
    find_rate(o, rank);
    if (!model_open(&s.model, o, (uint32_t)rank, (uint32_t)ranks)) {
        simulation_break(&s, "no memory for the LPs", 0);
    }
    if (o->threads && !pinger_start(&p, rank, ranks)) {
        simulation_break(&s, "the second thread cannot be started", 0);
    }
    seconds = run(&s, &used_us);
    if (o->threads && !pinger_stop(&p)) {
        simulation_break(&s, "a ping was lost", o->until_ns);
    }
    mine[SUM_EVENTS] = s.model.events;
    mine[SUM_CHECKSUM] = s.model.checksum;
    mine[SUM_MESSAGES] = s.network.sent;
    mine[SUM_NULLS] = s.nulls;
    mine[SUM_ROUNDS] = s.model.rounds;
    mine[SUM_PINGS] = p.pings;
    mine[SUM_CPU_US] = used_us;
    MPI_Reduce(mine, sums, SUMS, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        print(&s, sums, seconds);
    }
    model_close(&s.model);
    return 0;
}

int main(int count, char **arguments) {
    options o = options_from(count, arguments);
    int rank, ranks, level = MPI_THREAD_MULTIPLE, status = 0;
    if (o.threads) {
        MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
    } else {
        MPI_Init(&count, &arguments);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    options_check_ranks(&o, (uint32_t)ranks);
    if (level < MPI_THREAD_MULTIPLE) {
        options_refuse(&o, "--threads", "yes", "has to be no, for this MPI library has no MPI_THREAD_MULTIPLE");
    }
    if (o.help || o.error[0] != 0) {
        if (rank == 0 && o.help) {
            fputs(OPTIONS_USAGE, stdout);
        } else if (rank == 0) {
            fprintf(stderr, "%s\n", o.error);
        }
        status = o.help ? 0 : 2;
    } else {
        status = simulate(&o, rank, ranks);
    }
    MPI_Finalize();
    return status;
}
