/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lu: the message pattern of LU of the NAS Parallel Benchmarks: SSOR iterations on a cube, whose two sweeps run through the
 * ranks as waves (NPB 2.4, ssor.f). Ranks divide x and y; each has a column of all planes. One iteration:
 *
 * - lower sweep, plane by plane upwards: the Jacobian; then the edge of that plane arrives from north and west, is used to
 *   solve, and is sent on to south and east: five numbers of 8 bytes per point;
 * - upper sweep, plane by plane downwards, from south and east to north and west;
 * - right-hand side: two layers of all planes each way in x, then in y;
 * - after the last iteration, norms over all ranks.
 *
 * The work at a point is a counted loop. One number represents the unknowns of a rank. Every edge that arrives is mixed into it,
 * and every edge that is sent carries it, so the checksum is right only if each edge was.
 *
 * Invariant: what is sent, and the checksum, depend on the side, the iterations and the number of ranks alone.
 */
#define _GNU_SOURCE
#include "program.h"

#define POINT_BYTES 40u
#define LAYERS 2u
#define SIDE_MAX 102u
/* Shares of the work at a point, of 1985 operations: scaling, Jacobian and solve of each sweep, update, right-hand side. */
enum { OPERATIONS = 1985, SCALE = 5, JACOBIAN = 466, SOLVE = 279, UPDATE = 10, RHS_DIRECTION = 160 };
enum { NORTH, SOUTH, WEST, EAST, SIDES };
enum { TAG_EDGE, TAG_LAYERS };

typedef struct part {
    mesh *mesh;
    /* Points in x, in y and in z, and how many of them are computed: those that are not on the surface of the cube. */
    uint32_t points[3], inner[3];
    /* Neighbouring ranks; MESH_ANY if there is none. */
    uint32_t around[SIDES];
    uint64_t unknowns, rounds_per_point, carry, messages_bytes;
} part;

static unsigned char edge[LAYERS * SIDE_MAX * SIDE_MAX * POINT_BYTES];

/* Works `operations` at each inner point of `planes` planes; a remainder of less than a round is kept for later. */
static void compute(part *p, uint32_t planes, uint32_t operations) {
    uint64_t all = (uint64_t)planes * p->inner[0] * p->inner[1] * operations * p->rounds_per_point + p->carry;
    work(all / OPERATIONS);
    p->carry = all % OPERATIONS;
}

static void give(part *p, uint32_t to, uint32_t tag, uint32_t bytes) {
    if (to != MESH_ANY) {
        memcpy(edge, &p->unknowns, sizeof p->unknowns);
        mesh_send(p->mesh, to, tag, edge, bytes);
        p->messages_bytes += bytes;
    }
}

static void take(part *p, uint32_t from, uint32_t tag, uint32_t bytes) {
    uint64_t came;
    if (from != MESH_ANY) {
        mesh_receive_exactly(p->mesh, from, tag, edge, bytes);
        memcpy(&came, edge, sizeof came);
        p->unknowns = mixed(p->unknowns ^ came);
    }
}

/* Edges run along y towards north and south, along x towards west and east. */
static void sweep(part *p, const uint32_t *from, const uint32_t *to) {
    uint32_t plane, bytes[2], i;
    bytes[0] = p->inner[1] * POINT_BYTES;
    bytes[1] = p->inner[0] * POINT_BYTES;
    for (plane = 0; plane < p->inner[2]; plane++) {
        compute(p, 1, JACOBIAN);
        for (i = 0; i < 2; i++) {
            take(p, p->around[from[i]], TAG_EDGE, bytes[i]);
        }
        compute(p, 1, SOLVE);
        p->unknowns = mixed(p->unknowns);
        for (i = 0; i < 2; i++) {
            give(p, p->around[to[i]], TAG_EDGE, bytes[i]);
        }
    }
}

static void right_hand_side(part *p) {
    uint32_t axis, bytes;
    for (axis = 0; axis < 2; axis++) {
        uint32_t before = p->around[axis == 0 ? NORTH : WEST], after = p->around[axis == 0 ? SOUTH : EAST];
        bytes = LAYERS * p->points[1 - axis] * p->points[2] * POINT_BYTES;
        give(p, after, TAG_LAYERS, bytes);
        take(p, before, TAG_LAYERS, bytes);
        give(p, before, TAG_LAYERS, bytes);
        take(p, after, TAG_LAYERS, bytes);
        compute(p, p->inner[2], RHS_DIRECTION);
    }
    compute(p, p->inner[2], RHS_DIRECTION);
}

/* Part `place` of `parts` of a side; the first ones are larger if the side does not divide evenly. Neighbours are `stride` apart. */
static void divide(part *p, uint32_t axis, uint32_t side, uint32_t parts, uint32_t place, uint32_t stride) {
    uint32_t *around = &p->around[2 * axis];
    around[0] = place > 0 ? p->mesh->self - stride : MESH_ANY;
    around[1] = place + 1 < parts ? p->mesh->self + stride : MESH_ANY;
    p->points[axis] = side / parts + (place < side % parts);
    p->inner[axis] = p->points[axis] - (place == 0) - (place + 1 == parts);
}

int main(int count, char **arguments) {
    static const uint32_t low[2] = {NORTH, WEST}, high[2] = {SOUTH, EAST};
    static mesh m;
    uint64_t rank = 0, wait = 0, side = 12, iterations = 10, start_us, i, ranks, across = 1, along, norm;
    const char *peers = NULL;
    part p;
    const option options[] = {
        {"--rank", NULL, NULL, &rank, 0, MESH_RANKS_MAX - 1},
        {"--tcp", NULL, &peers, NULL, 0, 0},
        {"--wait", waits, NULL, &wait, 0, 0},
        {"--side", NULL, NULL, &side, 6, SIDE_MAX}, /* class S: 12, W: 33, A: 64, B: 102 */
        {"--iterations", NULL, NULL, &iterations, 1, 100000},
        {"--point", NULL, NULL, &p.rounds_per_point, 1, 1000000}, /* rounds of work at a point in an iteration */
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    memset(&p, 0, sizeof p);
    p.rounds_per_point = 100;
    read_options("lu", options, count, arguments);
    ranks = peers == NULL ? 0 : mesh_count(peers);
    if (ranks == 0 || (ranks & (ranks - 1)) != 0) {
        refuse("lu", options, "--tcp", "needs a power of two of addresses");
    }
    /* Half of the powers, rounded down, goes to y (proc_grid.f). */
    while (4 * across * across <= ranks) {
        across *= 2;
    }
    along = ranks / across;
    if (side / along < 3) {
        refuse("lu", options, "--side", "leaves a rank less than three points");
    }
    join_ranks(&m, "lu", options, rank, peers, wait);
    p.mesh = &m;
    divide(&p, 0, (uint32_t)side, (uint32_t)along, (uint32_t)(rank % along), 1);
    divide(&p, 1, (uint32_t)side, (uint32_t)across, (uint32_t)(rank / along), (uint32_t)along);
    p.points[2] = (uint32_t)side;
    p.inner[2] = (uint32_t)side - 2;
    p.unknowns = mixed(rank);
    mesh_barrier(&m);
    start_us = now_us();
    right_hand_side(&p);
    for (i = 0; i < iterations; i++) {
        compute(&p, p.inner[2], SCALE);
        sweep(&p, low, high);
        sweep(&p, high, low);
        compute(&p, p.inner[2], UPDATE);
        right_hand_side(&p);
    }
    norm = p.unknowns;
    mesh_sum(&m, &norm, 1);
    printf("paceline: program=lu rank=%u ranks=%u side=%" PRIu64 " iterations=%" PRIu64 " checksum=%016" PRIx64
           " messages=%" PRIu64 " bytes=%" PRIu64 " elapsed_us=%" PRIu64 "\n",
           m.self, m.ranks, side, iterations, norm, m.sent, p.messages_bytes, now_us() - start_us);
    mesh_close(&m);
    return 0;
}
