/*
 * PHOLD on many processes of one machine, synchronized conservatively: a simulation that cannot be changed, as MPI programs
 * are that poll for messages. Its processes publish their LVT (paceline_lvt.h); `paceline pace -- phold ...` paces it.
 *
 * In each window the processes handle their events up to the bound that all have agreed on (reduce.h), burn the CPU time
 * that the shape of the load gives them for this window, and send the events that come of it into mailboxes for the next.
 * What is computed, and so the checksum, depends on the options only, never on who ran when.
 *
 * Work is a counted loop, whose speed is measured at the start or given. Prints how long it took beside the bound: all the
 * work, dealt to all cores without a gap.
 */
#define _GNU_SOURCE
#include "options.h"
#include "reduce.h"

#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* Delays lie between one and three lookaheads. */
#define LOOKAHEAD_NS UINT64_C(1000000)
#define EVENTS_PER_PROCESS 16u
#define PARTS_PER_MILLE 1000u

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

static uint64_t mixed(uint64_t value) {
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Burns CPU time. The result is of no use, but the compiler must not know. */
static void work(uint64_t rounds) {
    static volatile uint64_t sink;
    uint64_t value = sink;
    while (rounds-- > 0) {
        value = mixed(value);
    }
    sink = value;
}

/* How many rounds of work() take a millisecond of CPU time: the best of some tries, for others may disturb. */
static uint64_t measured_rounds_per_ms(void) {
    uint64_t best = 0, start_ns, rate;
    int try;
    for (try = 0; try < 8; try++) {
        start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        work(1000000);
        rate = UINT64_C(1000000) * 1000000u / (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns + 1);
        best = rate > best ? rate : best;
    }
    return best;
}

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
    case LOAD_RANDOM:
        return mixed(mixed(o->seed) ^ mixed((uint64_t)window << 32 | self)) % (2 * PARTS_PER_MILLE + 1);
    default:
        return PARTS_PER_MILLE;
    }
}

static event *mailbox(shared *all, uint32_t process, uint32_t window) {
    uint64_t room = (uint64_t)all->reduction.processes * EVENTS_PER_PROCESS;
    return all->events + room * (2u * process + window % 2);
}

static void post(shared *all, uint32_t process, uint32_t window, event sent) {
    uint32_t at = __atomic_fetch_add(&all->count[process][window % 2], 1, __ATOMIC_ACQ_REL);
    mailbox(all, process, window)[at] = sent;
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
    }
}

/* One process: all windows, from its first events to its outcome. */
static void simulate(shared *all, const options *o, uint32_t self, paceline_lvt *lvt) {
    uint32_t room = o->processes * EVENTS_PER_PROCESS, queued = 0, window, i, come;
    event *queue = (event *)malloc(room * sizeof *queue);
    outcome *mine = &all->outcomes[self];
    uint64_t bound_ns = 0, last_bound_ns, chunk, load, next_ns = UINT64_MAX / 2;
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
    reduce(&all->reduction, lvt, self, 0, 0);
    mine->start_ns = clock_ns(CLOCK_MONOTONIC);
    for (window = 1; window <= o->windows; window++) {
        /* Once all have told the least time of what they have or have sent, everything for this window has arrived. */
        last_bound_ns = bound_ns;
        bound_ns = LOOKAHEAD_NS + reduce(&all->reduction, lvt, self, window, next_ns);
        come = __atomic_exchange_n(&all->count[self][window % 2], 0, __ATOMIC_ACQ_REL);
        memcpy(queue + queued, mailbox(all, self, window), come * sizeof *queue);
        queued += come;
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
        next_ns = come < queued ? queue[come].at_ns : UINT64_MAX / 2;
        chunk = load * o->rounds_per_ms / 1000u / PARTS_PER_MILLE / (come + 1);
        for (i = 0; i <= come; i++) {
            publish(o, lvt, self, i < come ? queue[i].at_ns : bound_ns - 1);
            work(chunk);
            mine->rounds += chunk;
            if (i < come) {
                event next = {queue[i].at_ns, mixed(queue[i].key)};
                mine->checksum += mixed(queue[i].at_ns ^ mixed(queue[i].key ^ self));
                next.at_ns += LOOKAHEAD_NS + mixed(next.key) % (2 * LOOKAHEAD_NS);
                next_ns = next.at_ns < next_ns ? next.at_ns : next_ns;
                post(all, (uint32_t)(next.key % o->processes), window + 1, next);
            }
        }
        mine->events += come;
        queued -= come;
        memmove(queue, queue + come, queued * sizeof *queue);
        publish(o, lvt, self, bound_ns);
    }
    reduce(&all->reduction, lvt, self, window, 0);
    mine->end_ns = clock_ns(CLOCK_MONOTONIC);
    free(queue);
}

/* A forked process, from its slot to its end. Does not outlive its parent. */
static void child(shared *all, options o, uint32_t self, pid_t parent) {
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    char name[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    snprintf(name, sizeof name, "phold %u", self);
    if ((self != 0 || o.fault != FAULT_SILENT) && paceline_lvt_open(&lvt, name) != 0 && self == 0) {
        fprintf(stderr, "phold runs unpaced: %s\n", lvt.error);
    }
    simulate(all, &o, self, &lvt);
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

int main(int count, char **arguments) {
    options o = options_from(count, arguments);
    uint64_t mailboxes = 2 * (uint64_t)o.processes * o.processes * EVENTS_PER_PROCESS, sum = 0;
    size_t bytes = sizeof(shared) + mailboxes * sizeof(event);
    shared *all = (shared *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t cores, i;
    cpu_set_t allowed;
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
