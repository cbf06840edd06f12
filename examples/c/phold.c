/*
 * PHOLD on many processes of one machine, synchronized conservatively: a simulation that cannot be changed, as MPI programs
 * are that poll for messages. Its processes publish their LVT (paceline_lvt.h); `paceline pace -- phold ...` paces it.
 *
 * In each window the processes handle their events up to the bound that all have agreed on (reduce.h), burn the CPU time
 * that the shape of the load gives them for this window, and send the events that come of it to others for the next.
 * What is computed, and so the checksum, depends on the options only, never on who ran when, nor on the way that messages
 * take: the processes are children of this one, or, with --tcp, ranks that are started one by one on several machines.
 *
 * Work is a counted loop, whose speed is measured at the start or given. Prints how long it took beside the bound: all the
 * work, dealt to all cores without a gap.
 */
#define _GNU_SOURCE
#include "exchange.h"
#include "options.h"
#include "work.h"

#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* Delays lie between one and three lookaheads. */
#define LOOKAHEAD_NS UINT64_C(1000000)
#define PARTS_PER_MILLE 1000u

/* The share of a window's mean cost that a process has in it, in thousandths. */
static uint64_t load_per_mille(const options *o, uint32_t self, uint32_t window) {
    uint32_t others = o->processes - 1;
    switch (o->load) {
    case LOAD_HEAVY:
        if (others == 0) {
            return PARTS_PER_MILLE;
        }
        /* Process 0 has `heavy_percent` of all the work, the others the rest. */
        return self == 0 ? (uint64_t)o->heavy_percent * o->processes * 10u
                         : (100u - (uint64_t)o->heavy_percent) * o->processes * 10u / others;
    case LOAD_HALVES:
        /* The first half of the processes has twice the work of the others. */
        return self < o->processes / 2 ? (uint64_t)2 * PARTS_PER_MILLE * o->processes / (o->processes + o->processes / 2)
                                       : (uint64_t)PARTS_PER_MILLE * o->processes / (o->processes + o->processes / 2);
    case LOAD_RANDOM:
        return mixed(mixed(o->seed) ^ mixed((uint64_t)window << 32 | self)) % (2 * PARTS_PER_MILLE + 1);
    default:
        return PARTS_PER_MILLE;
    }
}

static int by_time(const void *left, const void *right) {
    const event *a = (const event *)left, *b = (const event *)right;
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns ? -1 : 1;
    }
    return a->key < b->key ? -1 : a->key > b->key;
}

/* What a process tells of its LVT: the truth, unless this is the one that is to do something wrong. */
static void publish(const options *o, paceline_lvt *lvt, uint32_t self, uint64_t lvt_ns) {
    if (self != 0 || o->fault == FAULT_NONE) {
        paceline_lvt_publish(lvt, lvt_ns);
    } else if (o->fault == FAULT_LOWEST) {
        paceline_lvt_publish(lvt, 0);
    } else if (o->fault == FAULT_BACKWARDS) {
        paceline_lvt_publish(lvt, PACELINE_LVT_MAX - lvt_ns);
    } else if (o->fault == FAULT_RANDOM) {
        paceline_lvt_publish(lvt, mixed(lvt_ns) & PACELINE_LVT_MAX);
    }
}

/* One process: all windows, from its first events to its outcome. */
static void simulate(place *p, const options *o, outcome *mine) {
    uint32_t room = o->processes * EVENTS_PER_PROCESS, self = p->self, queued = 0, window, i, come;
    event *queue = (event *)malloc(room * sizeof *queue);
    uint64_t bound_ns = 0, last_bound_ns, chunk, load, next_ns = NEVER_NS;
    if (queue == NULL) {
        _exit(1);
    }
    for (i = 0; i < EVENTS_PER_PROCESS; i++) {
        queue[queued].key = mixed(mixed(o->seed) ^ ((uint64_t)self << 32 | i));
        queue[queued].at_ns = queue[queued].key % (2 * LOOKAHEAD_NS);
        next_ns = queue[queued].at_ns < next_ns ? queue[queued].at_ns : next_ns;
        queued++;
    }
    /* Everybody is there. */
    agree(p, 0, 0, queue, &queued);
    mine->start_ns = clock_ns(CLOCK_MONOTONIC);
    for (window = 1; window <= o->windows; window++) {
        last_bound_ns = bound_ns;
        bound_ns = LOOKAHEAD_NS + agree(p, window, next_ns, queue, &queued);
        qsort(queue, queued, sizeof *queue, by_time);
        if (queued > 0 && queue[0].at_ns < last_bound_ns) {
            fprintf(stderr, "phold: an event for %" PRIu64 " ns has come when everything before %" PRIu64 " ns was done\n",
                    queue[0].at_ns, last_bound_ns);
            _exit(1);
        }
        for (come = 0; come < queued && queue[come].at_ns < bound_ns; come++) {
        }
        /* A part of the window's work with each event, and one that no event stands for. */
        load = load_per_mille(o, self, window) * o->cost_us;
        next_ns = come < queued ? queue[come].at_ns : NEVER_NS;
        chunk = load * o->rounds_per_ms / 1000u / PARTS_PER_MILLE / (come + 1);
        for (i = 0; i <= come; i++) {
            publish(o, p->lvt, self, i < come ? queue[i].at_ns : bound_ns - 1);
            work(chunk);
            mine->rounds += chunk;
            if (i < come) {
                event next = {queue[i].at_ns, mixed(queue[i].key)};
                mine->checksum += mixed(queue[i].at_ns ^ mixed(queue[i].key ^ self));
                next.at_ns += LOOKAHEAD_NS + mixed(next.key) % (2 * LOOKAHEAD_NS);
                next_ns = next.at_ns < next_ns ? next.at_ns : next_ns;
                post(p, (uint32_t)(next.key % o->processes), window + 1, next);
            }
        }
        mine->events += come;
        queued -= come;
        memmove(queue, queue + come, queued * sizeof *queue);
        publish(o, p->lvt, self, bound_ns);
    }
    agree(p, window, 0, queue, &queued);
    mine->end_ns = clock_ns(CLOCK_MONOTONIC);
    free(queue);
}

/* A forked process, from its slot to its end. Does not outlive its parent. */
static void child(shared *all, options o, uint32_t self, pid_t parent) {
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    place p = {all, NULL, NULL, self, o.processes, &lvt};
    char name[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    snprintf(name, sizeof name, "phold %u", self);
    if ((self != 0 || o.fault != FAULT_SILENT) && paceline_lvt_open(&lvt, name) != 0 && self == 0) {
        fprintf(stderr, "phold runs unpaced: %s\n", lvt.error);
    }
    simulate(&p, &o, &all->outcomes[self]);
    paceline_lvt_close(&lvt);
    _exit(0);
}

/* Waits for `count` children. The first that fails ends all: the others would wait for it for ever. */
static int all_succeed(pid_t *children, uint32_t count) {
    uint32_t left, i;
    int status, failed = 0;
    for (left = count; left > 0; left--) {
        pid_t ended = wait(&status);
        for (i = 0; i < count; i++) {
            children[i] = children[i] == ended ? 0 : children[i];
        }
        if (!failed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
            fprintf(stderr, "phold: a process has ended early; ending all\n");
            failed = 1;
            for (i = 0; i < count; i++) {
                if (children[i] > 0) {
                    kill(children[i], SIGKILL);
                }
            }
        }
    }
    return !failed;
}

/* Forks `count` children. With a rate of 0 they only measure it, all at once, since cores that share parts slow each other. */
static int run(shared *all, const options *o, uint32_t count, int measures) {
    static pid_t children[PROCESSES_MAX];
    pid_t parent = getpid();
    uint32_t i;
    for (i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0 && measures) {
            all->outcomes[i].rounds_per_ms = measured_rounds_per_ms();
            _exit(0);
        } else if (children[i] == 0) {
            child(all, *o, i, parent);
        } else if (children[i] < 0) {
            perror("phold: fork");
            while (i-- > 0) {
                kill(children[i], SIGKILL);
            }
            return 0;
        }
    }
    return all_succeed(children, count);
}

static void print(const shared *all, const options *o, uint32_t cores) {
    uint64_t checksum = 0, events = 0, rounds = 0, start_ns = UINT64_MAX, end_ns = 0;
    struct rusage used;
    double work_s, elapsed_s;
    uint32_t i;
    for (i = 0; i < o->processes; i++) {
        const outcome *one = &all->outcomes[i];
        checksum += one->checksum;
        events += one->events;
        rounds += one->rounds;
        start_ns = one->start_ns < start_ns ? one->start_ns : start_ns;
        end_ns = one->end_ns > end_ns ? one->end_ns : end_ns;
    }
    getrusage(RUSAGE_CHILDREN, &used);
    work_s = (double)rounds / (double)o->rounds_per_ms / 1e3;
    elapsed_s = (double)(end_ns - start_ns) / 1e9;
    printf("processes %u\ncores %u\nwindows %u\nevents %" PRIu64 "\nchecksum %016" PRIx64 "\n", o->processes, cores,
           o->windows, events, checksum);
    printf("rounds_per_ms %" PRIu64 "\nwork_s %.6f\ncpu_s %.6f\nelapsed_s %.6f\nslowdown %.3f\n", o->rounds_per_ms, work_s,
           (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
           elapsed_s, elapsed_s * cores / work_s);
}

/* One rank of a simulation over several machines. Every rank tells what all have computed, and its own time. */
static int run_rank(const options *o) {
    static mesh m;
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    place p = {NULL, &m, NULL, o->rank, o->processes, &lvt};
    outcome mine = {0, 0, 0, 0, 0, 0};
    uint64_t sums[3];
    char name[16];
    snprintf(name, sizeof name, "phold %u", o->rank);
    if ((o->rank != 0 || o->fault != FAULT_SILENT) && paceline_lvt_open(&lvt, name) != 0) {
        fprintf(stderr, "phold runs unpaced: %s\n", lvt.error);
    }
    p.letters = (letter *)calloc(o->processes, sizeof *p.letters);
    if (p.letters == NULL) {
        perror("phold");
        return 1;
    }
    m.program = "phold";
    m.wait = o->wait;
    m.flags_waiting = o->flags_waiting;
    m.lvt = &lvt;
    mesh_open(&m, o->rank, o->tcp);
    simulate(&p, o, &mine);
    paceline_lvt_publish_done(&lvt);
    sums[0] = mine.checksum;
    sums[1] = mine.events;
    sums[2] = mine.rounds;
    m.wait = MESH_BLOCK;
    mesh_sum(&m, sums, 3);
    printf("paceline: program=phold rank=%u processes=%u windows=%u events=%" PRIu64 " checksum=%016" PRIx64 " work_us=%" PRIu64
           " messages=%" PRIu64 " reports=%s elapsed_us=%" PRIu64 "\n",
           o->rank, o->processes, o->windows, sums[1], sums[0], sums[2] * 1000u / o->rounds_per_ms, m.sent,
           paceline_lvt_is_present(&lvt) ? "yes" : "no", (mine.end_ns - mine.start_ns) / 1000u);
    mesh_close(&m);
    paceline_lvt_close(&lvt);
    free(p.letters);
    return 0;
}

int main(int count, char **arguments) {
    options o = options_from(count, arguments);
    uint64_t mailboxes = 2 * (uint64_t)o.processes * o.processes * EVENTS_PER_PROCESS, sum = 0;
    size_t bytes = sizeof(shared) + mailboxes * sizeof(event);
    shared *all = (shared *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t cores, i;
    cpu_set_t allowed;
    if (o.tcp != NULL) {
        o.rounds_per_ms = o.rounds_per_ms == 0 ? measured_rounds_per_ms() : o.rounds_per_ms;
        return run_rank(&o);
    }
    if (all == MAP_FAILED || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        perror("phold");
        return 1;
    }
    cores = (uint32_t)CPU_COUNT(&allowed);
    if (o.rounds_per_ms == 0) {
        uint32_t measurers = cores < PROCESSES_MAX ? cores : PROCESSES_MAX;
        if (!run(all, &o, measurers, 1)) {
            return 1;
        }
        for (i = 0; i < measurers; i++) {
            sum += all->outcomes[i].rounds_per_ms;
        }
        o.rounds_per_ms = sum / measurers;
    }
    all->reduction.processes = o.processes;
    all->reduction.wait = (uint32_t)o.wait;
    all->reduction.way = (uint32_t)o.way;
    all->reduction.flags_waiting = (uint32_t)o.flags_waiting;
    all->reduction.least_ns[0] = UINT64_MAX;
    if (!run(all, &o, o.processes, 0)) {
        return 1;
    }
    print(all, &o, cores);
    return 0;
}
