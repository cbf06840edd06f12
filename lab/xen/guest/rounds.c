/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rounds: the message rounds of NetWarp's evaluation: does a message that takes a detour arrive after the direct one?
 *
 * In each round rank 0 sends a 0 to rank 1 and then a 0 to rank 2; rank 1 sends a 1 to rank 2 as soon as it has received; rank
 * 2 receives two messages from any rank. In the order of time those are 0, then 1. Every other pair is an error: the scheduler
 * has let rank 1 run ahead of what rank 0 was doing. The last rank counts errors by pairs, and by rounds in which a 1 came
 * before its own 0; both counts are equal if rounds do not overlap, as with barriers.
 *
 * Three ranks, one in each guest. Messages are in the order in which they came to the guest, as epoll reports it.
 */
#define _GNU_SOURCE
#include "program.h"

enum { TAG_DATA, TAG_CLOSING };
enum { PACING_BARRIER, PACING_CLOSED, PACING_FREE };

typedef struct heard {
    uint64_t errors, overtaken, received[2];
} heard;

/* Rank 2: two messages from any rank. */
static void hear(mesh *m, heard *h) {
    uint32_t values[2], bytes, i;
    for (i = 0; i < 2; i++) {
        mesh_receive(m, MESH_ANY, TAG_DATA, &values[i], sizeof values[i], &bytes);
        if (bytes != sizeof values[i] || values[i] > 1) {
            errno = 0;
            mesh_fail(m, m->self, "a message is neither 0 nor 1");
        }
        h->overtaken += values[i] == 1 && h->received[0] <= h->received[1];
        h->received[values[i]]++;
    }
    h->errors += values[0] != 0 || values[1] != 1;
}

static void one_round(mesh *m, heard *h, uint64_t pacing) {
    uint32_t value = m->self;
    char nothing = 0;
    if (m->self == 0) {
        mesh_send(m, 1, TAG_DATA, &value, sizeof value);
        mesh_send(m, 2, TAG_DATA, &value, sizeof value);
    } else if (m->self == 1) {
        mesh_receive_exactly(m, 0, TAG_DATA, &value, sizeof value);
        value = 1;
        mesh_send(m, 2, TAG_DATA, &value, sizeof value);
    } else {
        hear(m, h);
    }
    if (pacing == PACING_BARRIER) {
        mesh_barrier(m);
    } else if (pacing == PACING_CLOSED && m->self == 2) {
        mesh_send(m, 0, TAG_CLOSING, &nothing, 0);
    } else if (pacing == PACING_CLOSED && m->self == 0) {
        mesh_receive_exactly(m, 2, TAG_CLOSING, &nothing, 0);
    }
}

int main(int count, char **arguments) {
    static mesh m;
    static const char *const pacings[] = {"barrier", "closed", "free", NULL};
    uint64_t rank = 0, wait = 0, rounds = 1000, pacing = 0, start_us, i;
    const char *peers = NULL;
    heard h = {0, 0, {0, 0}};
    const option options[] = {
        {"--rank", NULL, NULL, &rank, 0, 2},
        {"--tcp", NULL, &peers, NULL, 0, 0},
        {"--wait", waits, NULL, &wait, 0, 0},
        {"--rounds", NULL, NULL, &rounds, 1, 1000000},
        {"--pacing", pacings, NULL, &pacing, 0, 0},
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    read_options("rounds", options, count, arguments);
    if (peers != NULL && mesh_count(peers) != 3) {
        refuse("rounds", options, "--tcp", "needs three addresses");
    }
    join_ranks(&m, "rounds", options, rank, peers, wait);
    mesh_barrier(&m);
    start_us = now_us();
    for (i = 0; i < rounds; i++) {
        one_round(&m, &h, pacing);
    }
    mesh_barrier(&m);
    printf("paceline: program=rounds rank=%u rounds=%" PRIu64, m.self, rounds);
    if (m.self == 2) {
        printf(" errors=%" PRIu64 " overtaken=%" PRIu64, h.errors, h.overtaken);
    }
    printf(" elapsed_us=%" PRIu64 "\n", now_us() - start_us);
    mesh_close(&m);
    return 0;
}
