/*
 * The options of phold.c. A mistake is told with what is allowed, and ends the program with status 2.
 */
#ifndef PHOLD_OPTIONS_H
#define PHOLD_OPTIONS_H

#include "mesh_connect.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum load { LOAD_HEAVY, LOAD_RANDOM, LOAD_EQUAL, LOAD_HALVES };
enum fault { FAULT_NONE, FAULT_LOWEST, FAULT_SILENT, FAULT_BACKWARDS, FAULT_RANDOM };

typedef struct options {
    uint32_t processes, windows, cost_us, heavy_percent, rank;
    uint64_t seed, rounds_per_ms;
    const char *tcp;
    int load, wait, way, flags_waiting, fault;
} options;

static const char *const OPTIONS_USAGE =
    "usage: phold [--processes 8] [--windows 10] [--cost-us 5000] [--load heavy|random|equal|halves]\n"
    "             [--heavy 40] [--wait busy|yield|futex] [--gvt all-reduce|ring] [--flag yes|no] [--seed 1]\n"
    "             [--rate ROUNDS_PER_MS] [--fault none|lowest|silent|backwards|random] [--rank 0 --tcp HOST:PORT,HOST:PORT,...]\n"
    "--cost-us: mean CPU time of a process in a window. --heavy: percent of all work that process 0 has under --load heavy.\n"
    "--flag: whether processes raise the flag `waiting` of their slot. --rate: measured if not given.\n"
    "--fault: what process 0 does wrong: tells the lowest LVT for ever, none, one that goes backwards, or any at random.\n"
    "--tcp: the addresses of all processes, of which this is only the one with this rank; instead of --processes.\n";

static inline void options_refuse(const char *name, const char *value, const char *allowed) {
    fprintf(stderr, "phold: %s %s: %s\n%s", name, value == NULL ? "" : value, allowed, OPTIONS_USAGE);
    exit(2);
}

static inline uint64_t options_number(const char *name, const char *value, uint64_t least, uint64_t most) {
    char *end, allowed[80];
    uint64_t number;
    errno = 0;
    number = strtoull(value, &end, 10);
    if (errno != 0 || end == value || *end != 0 || *value == '-' || number < least || number > most) {
        snprintf(allowed, sizeof allowed, "has to be a number from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        options_refuse(name, value, allowed);
    }
    return number;
}

/* Which of the words, up to a NULL, the value is. */
static inline int options_word(const char *name, const char *value, const char *const *words) {
    int i;
    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0) {
            return i;
        }
    }
    options_refuse(name, value, "is none of the words that are allowed");
    return 0;
}

static inline options options_from(int count, char **arguments) {
    static const char *const loads[] = {"heavy", "random", "equal", "halves", NULL};
    static const char *const waits[] = {"busy", "yield", "futex", NULL};
    static const char *const ways[] = {"all-reduce", "ring", NULL};
    static const char *const flags[] = {"no", "yes", NULL};
    static const char *const faults[] = {"none", "lowest", "silent", "backwards", "random", NULL};
    options o = {8, 10, 5000, 40, 0, 1, 0, NULL, 0, 0, 0, 0, 0};
    int i;
    for (i = 1; i < count; i += 2) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(name, "--help") == 0) {
            fputs(OPTIONS_USAGE, stdout);
            exit(0);
        }
        if (value == NULL) {
            options_refuse(name, value, "needs a value, or is unknown");
        } else if (strcmp(name, "--processes") == 0) {
            o.processes = (uint32_t)options_number(name, value, 1, 1024);
        } else if (strcmp(name, "--windows") == 0) {
            o.windows = (uint32_t)options_number(name, value, 1, 1000000);
        } else if (strcmp(name, "--cost-us") == 0) {
            o.cost_us = (uint32_t)options_number(name, value, 1, 10000000);
        } else if (strcmp(name, "--heavy") == 0) {
            o.heavy_percent = (uint32_t)options_number(name, value, 0, 100);
        } else if (strcmp(name, "--rank") == 0) {
            o.rank = (uint32_t)options_number(name, value, 0, MESH_RANKS_MAX - 1);
        } else if (strcmp(name, "--tcp") == 0) {
            o.tcp = value;
            o.processes = mesh_count(value);
            if (o.processes == 0) {
                options_refuse(name, value, "has to be at most 64 addresses HOST:PORT with commas between them");
            }
        } else if (strcmp(name, "--seed") == 0) {
            o.seed = options_number(name, value, 0, UINT64_MAX);
        } else if (strcmp(name, "--rate") == 0) {
            o.rounds_per_ms = options_number(name, value, 1, 1000000000);
        } else if (strcmp(name, "--load") == 0) {
            o.load = options_word(name, value, loads);
        } else if (strcmp(name, "--wait") == 0) {
            o.wait = options_word(name, value, waits);
        } else if (strcmp(name, "--gvt") == 0) {
            o.way = options_word(name, value, ways);
        } else if (strcmp(name, "--flag") == 0) {
            o.flags_waiting = options_word(name, value, flags);
        } else if (strcmp(name, "--fault") == 0) {
            o.fault = options_word(name, value, faults);
        } else {
            options_refuse(name, value, "is unknown");
        }
    }
    if (o.tcp != NULL && (o.rank >= o.processes || o.way != 0)) {
        options_refuse("--tcp", o.tcp, "needs a --rank that has an address, and --gvt all-reduce");
    }
    return o;
}

#endif
