/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ep: the message pattern of EP of the NAS Parallel Benchmarks. Every rank works on its share of the batches, and sends
 * nothing before it is done; then two sums, ten counts and the time are reduced over all, one after the other (NPB 2.4,
 * ep.f). A batch stands for pairs of random numbers: a counted loop, and numbers that are drawn and counted by their ring.
 *
 * Invariant: the checksum depends on the batches alone, on any number of ranks. One rank needs no --tcp.
 */
#define _GNU_SOURCE
#include "program.h"

#define RINGS 10u

/* The sums over all pairs, and how many fell into each ring. */
typedef struct tally {
    uint64_t sums[2], rings[RINGS];
} tally;

static void draw(tally *t, uint64_t batch) {
    uint64_t one = mixed(batch), other = mixed(one);
    t->sums[0] += one;
    t->sums[1] += other;
    t->rings[(one ^ other) % RINGS]++;
}

int main(int count, char **arguments) {
    static mesh m;
    uint64_t rank = 0, wait = 0, batches = 100, batch_rounds = 100000, ranks = 1, checksum = 0, own_us, start_us, end_us, i;
    const char *peers = NULL;
    tally mine = {{0, 0}, {0}};
    const option options[] = {
        {"--rank", NULL, NULL, &rank, 0, MESH_RANKS_MAX - 1},
        {"--tcp", NULL, &peers, NULL, 0, 0},
        {"--wait", waits, NULL, &wait, 0, 0},
        {"--batches", NULL, NULL, &batches, 1, 1000000000},
        {"--batch", NULL, NULL, &batch_rounds, 1, 1000000000}, /* rounds of work in each */
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    read_options("ep", options, count, arguments);
    if (peers != NULL) {
        join_ranks(&m, "ep", options, rank, peers, wait);
        ranks = m.ranks;
        mesh_barrier(&m);
    }
    start_us = now_us();
    for (i = rank; i < batches; i += ranks) {
        work(batch_rounds);
        draw(&mine, i);
    }
    own_us = now_us() - start_us;
    if (peers != NULL) {
        mesh_sum(&m, &mine.sums[0], 1);
        mesh_sum(&m, &mine.sums[1], 1);
        mesh_sum(&m, mine.rings, RINGS);
        mesh_sum(&m, &own_us, 1);
    }
    end_us = now_us();
    for (i = 0; i < RINGS; i++) {
        checksum = mixed(checksum ^ mine.rings[i]);
    }
    printf("paceline: program=ep rank=%" PRIu64 " ranks=%" PRIu64 " batches=%" PRIu64 " checksum=%016" PRIx64
           " own_us=%" PRIu64 " elapsed_us=%" PRIu64 "\n",
           rank, ranks, batches, checksum ^ mine.sums[0] ^ mixed(mine.sums[1]), own_us / ranks, end_us - start_us);
    if (peers != NULL) {
        mesh_close(&m);
    }
    return 0;
}
