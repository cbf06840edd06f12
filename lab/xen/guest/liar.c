/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * liar: takes all CPU time it gets and reports meaningless local virtual times to the hypervisor:
 *
 *     random      random ones, half of which go back
 *     least       the least possible, again and again
 *     never       reports that it simulates, and then nothing
 *     forward     the same steps as an honest simulation
 *
 * If --tells is not 0, it ends after this many units of work, with one report for each.
 */
#include "paceline_lvt.h"

#include "program.h"

enum { RANDOM, LEAST, NEVER, FORWARD };

int main(int count, char **arguments) {
    static const char *const kinds[] = {"random", "least", "never", "forward", NULL};
    uint64_t kind = FORWARD, tells = 1000, unit = 10000, done, start_us = now_us();
    const option options[] = {
        {"--kind", kinds, NULL, &kind, 0, 0},
        {"--tells", NULL, NULL, &tells, 0, UINT64_MAX / 2}, /* 0: without end */
        {"--unit", NULL, NULL, &unit, 1, 1000000000},       /* rounds of work */
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    int opened;
    read_options("liar", options, count, arguments);
    opened = paceline_lvt_open(&lvt, "liar");
    printf("paceline: program=liar kind=%s told=%d\n", kinds[kind], opened == 0 && paceline_lvt_is_present(&lvt));
    fflush(stdout);
    for (done = 0; tells == 0 || done < tells; done++) {
        work(unit);
        if (kind != NEVER) {
            paceline_lvt_publish(&lvt, kind == RANDOM ? mixed(done) >> 20 : kind == LEAST ? 0 : done * 1000);
        }
    }
    printf("paceline: program=liar kind=%s units=%" PRIu64 " elapsed_us=%" PRIu64 "\n", kinds[kind], done, now_us() - start_us);
    return 0;
}
