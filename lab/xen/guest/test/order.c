/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of messages for a rank that reads late: rank 0 sends two messages to rank 2 and then one to rank 1, which sends one to
 * rank 2. Rank 2 reads when all three have arrived, takes the first one, and then the earliest of the others: the second one of
 * rank 0. Prints the senders in that order.
 *
 * order --rank RANK --tcp ADDRESSES: run as three processes.
 */
#define _GNU_SOURCE
#include "../program.h"

#include <sys/ioctl.h>

enum { TAG_FIRST, TAG_THEN, TAG_GO };

/* Waits until this many bytes of a rank have arrived, and reads none of them. */
static void wait_for(const mesh *m, uint32_t rank, size_t bytes) {
    int there = 0;
    while ((size_t)there < bytes) {
        if (ioctl(m->peers[rank].socket, FIONREAD, &there) != 0) {
            mesh_fail(m, rank, "looking");
        }
        sched_yield();
    }
}

int main(int count, char **arguments) {
    static mesh m;
    uint32_t value = 0, bytes, first, second;
    const char *peers = NULL;
    uint64_t rank = 0;
    const option options[] = {
        {"--rank", NULL, NULL, &rank, 0, 2},
        {"--tcp", NULL, &peers, NULL, 0, 0},
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    read_options("order", options, count, arguments);
    join_ranks(&m, "order", options, rank, peers, MESH_YIELD);
    if (m.self == 0) {
        mesh_send(&m, 2, TAG_FIRST, &value, sizeof value);
        mesh_send(&m, 2, TAG_THEN, &value, sizeof value);
        mesh_send(&m, 1, TAG_GO, &value, sizeof value);
    } else if (m.self == 1) {
        mesh_receive_exactly(&m, 0, TAG_GO, &value, sizeof value);
        mesh_send(&m, 2, TAG_THEN, &value, sizeof value);
    } else {
        wait_for(&m, 0, 2 * (sizeof(mesh_header) + sizeof value));
        wait_for(&m, 1, sizeof(mesh_header) + sizeof value);
        mesh_receive_exactly(&m, 0, TAG_FIRST, &value, sizeof value);
        first = mesh_receive(&m, MESH_ANY, TAG_THEN, &value, sizeof value, &bytes);
        second = mesh_receive(&m, MESH_ANY, TAG_THEN, &value, sizeof value, &bytes);
        printf("%u %u\n", first, second);
    }
    mesh_barrier(&m);
    mesh_close(&m);
    return 0;
}
