/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of guests share: options of the form --name value, ways to wait, and result lines, which begin with
 * `paceline: program=NAME` and continue with key=value. A mistake in the options ends a program with status 2.
 *
 * Programs take counts of work, never times, so that what they compute depends on their options alone.
 */
#ifndef PACELINE_GUEST_PROGRAM_H
#define PACELINE_GUEST_PROGRAM_H

#include "../../../examples/c/mesh.h"
#include "../../../examples/c/work.h"

#include <inttypes.h>

/* An option: a number, or words if `text` is set. With `words`, a list that ends with NULL, the number is the index of the word. */
typedef struct option {
    const char *name;
    const char *const *words;
    const char **text;
    uint64_t *number, least, most;
} option;

static const char *const waits[] = {"busy", "yield", "block", NULL};

static inline void refuse(const char *program, const option *options, const char *name, const char *wrong) {
    fprintf(stderr, "%s: %s: %s; known are", program, name, wrong);
    for (; options->name != NULL; options++) {
        int i;
        fprintf(stderr, " %s", options->name);
        for (i = 0; options->words != NULL && options->words[i] != NULL; i++) {
            fprintf(stderr, "%c%s", i == 0 ? ' ' : '|', options->words[i]);
        }
        if (options->words == NULL && options->text == NULL) {
            fprintf(stderr, " %" PRIu64 "..%" PRIu64, options->least, options->most);
        }
    }
    fprintf(stderr, "\n");
    exit(2);
}

static inline void read_options(const char *program, const option *options, int count, char **arguments) {
    int i;
    for (i = 1; i < count; i += 2) {
        const option *found = options;
        char *end;
        while (found->name != NULL && strcmp(found->name, arguments[i]) != 0) {
            found++;
        }
        if (found->name == NULL || i + 1 == count) {
            refuse(program, options, arguments[i], found->name == NULL ? "is unknown" : "needs a value");
        } else if (found->text != NULL) {
            *found->text = arguments[i + 1];
        } else if (found->words != NULL) {
            for (*found->number = 0; found->words[*found->number] != NULL; ++*found->number) {
                if (strcmp(found->words[*found->number], arguments[i + 1]) == 0) {
                    break;
                }
            }
            if (found->words[*found->number] == NULL) {
                refuse(program, options, arguments[i], "is none of the words that are allowed");
            }
        } else {
            errno = 0;
            *found->number = strtoull(arguments[i + 1], &end, 10);
            if (errno != 0 || *end != 0 || arguments[i + 1][0] < '0' || arguments[i + 1][0] > '9' ||
                *found->number < found->least || *found->number > found->most) {
                refuse(program, options, arguments[i], "is no number that is allowed");
            }
        }
    }
}

/* Connects the ranks of a program. Ends it if there are no addresses or too few. */
static inline void join_ranks(mesh *m, const char *program, const option *options, uint64_t rank, const char *peers,
                              uint64_t wait) {
    if (peers == NULL || rank >= mesh_count(peers)) {
        refuse(program, options, "--tcp", "needs addresses HOST:PORT,HOST:PORT,... with one for --rank");
    }
    m->program = program;
    m->wait = (int)wait;
    mesh_open(m, (uint32_t)rank, peers);
}

static inline uint64_t now_us(void) {
    return clock_ns(CLOCK_MONOTONIC) / 1000u;
}

#endif
