/*
 * What the processes of phold.c agree by: the least of their next event times, found once for each window, over shared
 * counters or by a token that goes round; and how they wait for each other, which is what a pacer has to deal with.
 *
 * Invariants: every process calls reduce() once for each round, with the same way and wait; nobody gets out of round N
 * before everybody has come to it. Waiting ends when all get on; a process that dies is noticed by the parent, who ends all.
 */
#ifndef PHOLD_REDUCE_H
#define PHOLD_REDUCE_H

#include "paceline_lvt.h"

#include <linux/futex.h>
#include <sched.h>

#define PROCESSES_MAX 1024

enum wait_mode { WAIT_BUSY, WAIT_YIELD, WAIT_FUTEX };
enum reduce_way { WAY_ALL_REDUCE, WAY_RING };

/* Shared by all processes. `round` and `turn` count up, and are what processes wait on. */
typedef struct reduction {
    uint32_t processes, wait, way, flags_waiting;
    _Alignas(64) uint32_t round;
    uint32_t arrived;
    uint64_t least_ns[2]; /* found in even and odd rounds */
    struct {
        _Alignas(64) uint32_t turn; /* how often the token has come by here */
        uint64_t token_ns[2]; /* of each lap: the next round may begin before the last lap has been seen */
    } place[PROCESSES_MAX];
} reduction;

/* What a process waits on another for: until `*word` is no longer `old`. Polls as MPI libraries do, unless told otherwise. */
static inline void wait_for_change(const reduction *all, paceline_lvt *lvt, uint32_t *word, uint32_t old) {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != old) {
        return;
    }
    if (all->flags_waiting) {
        paceline_lvt_set_waiting(lvt, 1);
    }
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old) {
        if (all->wait == WAIT_FUTEX) {
            syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0);
        } else if (all->wait == WAIT_YIELD) {
            sched_yield();
        } else {
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
    }
    if (all->flags_waiting) {
        paceline_lvt_set_waiting(lvt, 0);
    }
}

static inline void change(const reduction *all, uint32_t *word) {
    __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
    if (all->wait == WAIT_FUTEX) {
        syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

/* Over shared counters: the last to come lets all go on. */
static inline uint64_t all_reduce(reduction *all, paceline_lvt *lvt, uint32_t round, uint64_t next_ns) {
    uint64_t *least_ns = &all->least_ns[round % 2];
    uint64_t seen_ns = __atomic_load_n(least_ns, __ATOMIC_RELAXED);
    while (next_ns < seen_ns &&
           !__atomic_compare_exchange_n(least_ns, &seen_ns, next_ns, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    if (__atomic_add_fetch(&all->arrived, 1, __ATOMIC_ACQ_REL) == all->processes) {
        __atomic_store_n(&all->arrived, 0, __ATOMIC_RELAXED);
        /* Everybody has read what was found in the round before. */
        __atomic_store_n(&all->least_ns[(round + 1) % 2], UINT64_MAX, __ATOMIC_RELAXED);
        change(all, &all->round);
    } else {
        wait_for_change(all, lvt, &all->round, round);
    }
    return __atomic_load_n(least_ns, __ATOMIC_ACQUIRE);
}

/* A token goes round twice: gathers the least time, and then tells it. Each process must run for it to get on. */
static inline uint64_t ring(reduction *all, paceline_lvt *lvt, uint32_t self, uint32_t round, uint64_t next_ns) {
    uint32_t next = (self + 1) % all->processes, lap;
    uint64_t came_ns;
    for (lap = 0; lap < 2; lap++) {
        if (self != 0 || lap != 0) {
            /* Process 0 starts the token, and so sees it once a round. */
            wait_for_change(all, lvt, &all->place[self].turn, self == 0 ? round : 2 * round + lap);
            /* Process 0 sees the end of the first lap when it is to begin the second. */
            came_ns = all->place[self].token_ns[self == 0 ? 0 : lap];
            next_ns = lap == 1 || came_ns < next_ns ? came_ns : next_ns;
        }
        if (lap == 0 || next != 0) {
            all->place[next].token_ns[lap] = next_ns;
            change(all, &all->place[next].turn);
        }
    }
    return next_ns;
}

/* The least `next_ns` of all processes. */
static inline uint64_t reduce(reduction *all, paceline_lvt *lvt, uint32_t self, uint32_t round, uint64_t next_ns) {
    if (all->processes == 1) {
        return next_ns;
    }
    return all->way == WAY_RING ? ring(all, lvt, self, round, next_ns) : all_reduce(all, lvt, round, next_ns);
}

#endif
