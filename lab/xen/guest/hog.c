/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hog: takes all CPU time it gets, for some units of work or until SIGTERM ends it, and prints how much work it did.
 */
#define _GNU_SOURCE
#include "program.h"

static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

int main(int count, char **arguments) {
    uint64_t units = 0, unit = 10000, done = 0, start_us = now_us();
    const option options[] = {
        {"--units", NULL, NULL, &units, 0, UINT64_MAX / 2}, /* 0: without end */
        {"--unit", NULL, NULL, &unit, 1, 1000000000},       /* rounds of work */
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    struct sigaction action;
    read_options("hog", options, count, arguments);
    memset(&action, 0, sizeof action);
    action.sa_handler = end;
    sigaction(SIGTERM, &action, NULL);
    while (!ended && (units == 0 || done < units)) {
        work(unit);
        done++;
    }
    printf("paceline: program=hog units=%" PRIu64 " unit=%" PRIu64 " elapsed_us=%" PRIu64 "\n", done, unit,
           now_us() - start_us);
    return 0;
}
