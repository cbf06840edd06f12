/*
 * What programs do that stand for simulations and computations: random numbers from keys, CPU time burnt in a counted loop,
 * and clocks. C99.
 */
#ifndef PACELINE_WORK_H
#define PACELINE_WORK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t mixed(uint64_t value) {
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static inline uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Burns CPU time. The result is of no use, but the compiler must not know. */
static inline void work(uint64_t rounds) {
    static volatile uint64_t sink;
    uint64_t value = sink;
    while (rounds-- > 0) {
        value = mixed(value);
    }
    sink = value;
}

/* How many rounds of work() take a millisecond of CPU time: the best of some tries, for others may disturb. */
static inline uint64_t measured_rounds_per_ms(void) {
    uint64_t best = 0, start_ns, rate;
    int try;
    for (try = 0; try < 8; try++) {
        start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        work(1000000);
        rate = UINT64_C(1000000) * 1000000u / (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns + 1);
        best = rate > best ? rate : best;
    }
    return best;
}

#endif
