/*
 * The options of phold.c, read before MPI is initialized, since --threads decides how.
 *
 * Invariants: nothing here prints or exits. `error` holds the first mistake, or is empty. All ranks read the same options and
 * so find the same mistake; main() lets only rank 0 report it.
 */
#ifndef PHOLD_OPTIONS_H
#define PHOLD_OPTIONS_H

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The simulated time that a message takes at least, and the unit of --until. */
#define LOOKAHEAD_NS UINT64_C(1000000000)

enum sync_mode { SYNC_WINDOWS, SYNC_OPTIMISTIC_LIKE, SYNC_NULL_MESSAGES };
enum fault { FAULT_NONE, FAULT_ABORT, FAULT_DIE };

typedef struct options {
    uint32_t lps, messages, batch, interval;
    uint64_t seed, until_ns, rounds_per_ms;
    double remote, work_ns, heavy, fault_at;
    int sync, lvt, fault, threads, help;
    char error[200];
} options;

static const char *const SYNC_WORDS[] = {"windows", "optimistic-like", "null-messages", NULL};
static const char *const FAULT_WORDS[] = {"none", "abort", "die", NULL};
static const char *const SWITCH_WORDS[] = {"no", "yes", NULL};

static const char *const OPTIONS_USAGE =
    "usage: mpirun -n RANKS phold [--sync windows|optimistic-like|null-messages] [--lps 256] [--messages 4]\n"
    "             [--remote 0.25] [--until 20] [--seed 1] [--work 0] [--heavy 1] [--rate ROUNDS_PER_MS] [--batch 16]\n"
    "             [--interval 16] [--lvt yes|no] [--threads no|yes] [--fault none|abort|die] [--fault-at 0.5]\n"
    "--lps: logical processes of all ranks together. --messages: initial messages of each LP.\n"
    "--remote: probability that a message goes to any LP, or, with --sync null-messages, to an LP of a neighbour rank.\n"
    "--until: simulated time at which the run ends; the lookahead is 1, the mean delay of a message 2.\n"
    "--work: CPU time of an event in ns. --heavy: factor on it for the events of rank 0.\n"
    "--rate: speed of the loop that uses up this CPU time; measured if not given.\n"
    "--batch: most events between two tests for messages. --interval: iterations between two computations of GVT.\n"
    "--lvt: whether ranks publish their LVT. --threads: whether each rank has a second thread that calls MPI.\n"
    "--fault: rank 1 calls MPI_Abort, or is killed, when its LVT reaches the fraction --fault-at of --until.\n";

static inline void options_refuse(options *o, const char *name, const char *value, const char *allowed) {
    if (o->error[0] == 0) {
        snprintf(o->error, sizeof o->error, "phold: %.30s %.30s: %.120s", name, value, allowed);
    }
}

static inline uint64_t options_count(options *o, const char *name, const char *value, uint64_t least, uint64_t most) {
    char *end, allowed[80];
    uint64_t number;
    errno = 0;
    number = strtoull(value, &end, 10);
    if (errno != 0 || *value < '0' || *value > '9' || *end != 0 || number < least || number > most) {
        snprintf(allowed, sizeof allowed, "has to be a whole number from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        options_refuse(o, name, value, allowed);
        return least;
    }
    return number;
}

static inline double options_real(options *o, const char *name, const char *value, double least, double most) {
    char *end, allowed[80];
    double number = strtod(value, &end);
    if (end == value || *end != 0 || !(number >= least && number <= most)) {
        snprintf(allowed, sizeof allowed, "has to be a number from %g to %.0f", least, most);
        options_refuse(o, name, value, allowed);
        return least;
    }
    return number;
}

/* The index of the value among the words, which end with NULL. */
static inline int options_word(options *o, const char *name, const char *value, const char *const *words) {
    char allowed[80] = "has to be";
    int i;
    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0) {
            return i;
        }
        snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), "%s %s", i == 0 ? "" : " or", words[i]);
    }
    options_refuse(o, name, value, allowed);
    return 0;
}

static inline void options_set(options *o, const char *name, const char *value) {
    if (strcmp(name, "--lps") == 0) {
        o->lps = (uint32_t)options_count(o, name, value, 1, 1000000);
    } else if (strcmp(name, "--messages") == 0) {
        o->messages = (uint32_t)options_count(o, name, value, 1, 1000);
    } else if (strcmp(name, "--batch") == 0) {
        o->batch = (uint32_t)options_count(o, name, value, 1, 1000000);
    } else if (strcmp(name, "--interval") == 0) {
        o->interval = (uint32_t)options_count(o, name, value, 1, 1000000);
    } else if (strcmp(name, "--seed") == 0) {
        o->seed = options_count(o, name, value, 0, UINT64_MAX);
    } else if (strcmp(name, "--rate") == 0) {
        o->rounds_per_ms = options_count(o, name, value, 1, 1000000000);
    } else if (strcmp(name, "--until") == 0) {
        o->until_ns = (uint64_t)llround(options_real(o, name, value, 0.001, 1e6) * (double)LOOKAHEAD_NS);
    } else if (strcmp(name, "--remote") == 0) {
        o->remote = options_real(o, name, value, 0.0, 1.0);
    } else if (strcmp(name, "--work") == 0) {
        o->work_ns = options_real(o, name, value, 0.0, 1e9);
    } else if (strcmp(name, "--heavy") == 0) {
        o->heavy = options_real(o, name, value, 0.0, 1e6);
    } else if (strcmp(name, "--fault-at") == 0) {
        o->fault_at = options_real(o, name, value, 0.0, 1.0);
    } else if (strcmp(name, "--sync") == 0) {
        o->sync = options_word(o, name, value, SYNC_WORDS);
    } else if (strcmp(name, "--fault") == 0) {
        o->fault = options_word(o, name, value, FAULT_WORDS);
    } else if (strcmp(name, "--lvt") == 0) {
        o->lvt = options_word(o, name, value, SWITCH_WORDS);
    } else if (strcmp(name, "--threads") == 0) {
        o->threads = options_word(o, name, value, SWITCH_WORDS);
    } else {
        options_refuse(o, name, value, "is unknown; --help shows all options");
    }
}

static inline options options_from(int count, char **arguments) {
    options o = {.lps = 256, .messages = 4, .batch = 16, .interval = 16, .seed = 1, .until_ns = 20 * LOOKAHEAD_NS,
                 .remote = 0.25, .heavy = 1.0, .fault_at = 0.5, .lvt = 1};
    int i;
    for (i = 1; i < count && !o.help; i += 2) {
        if (strcmp(arguments[i], "--help") == 0) {
            o.help = 1;
        } else if (i + 1 == count) {
            options_refuse(&o, arguments[i], "", "is unknown or lacks its value; --help shows all options");
        } else {
            options_set(&o, arguments[i], arguments[i + 1]);
        }
    }
    return o;
}

/* What can only be checked once the number of ranks is known. */
static inline void options_check_ranks(options *o, uint32_t ranks) {
    char value[20];
    if (o->lps < ranks) {
        snprintf(value, sizeof value, "%u", o->lps);
        options_refuse(o, "--lps", value, "has to be at least the number of ranks");
    }
    if (o->fault != FAULT_NONE && ranks < 2) {
        options_refuse(o, "--fault", FAULT_WORDS[o->fault], "needs at least 2 ranks; with one it has to be none");
    }
}

#endif
