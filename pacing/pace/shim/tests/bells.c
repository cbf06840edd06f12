/*
 * A stress of the bells: two threads pass a counter to each other, and each sleeps after some polls. How many polls, and how long
 * the other takes, is chosen at random each time, so that messages often come just when the other is about to sleep.
 *
 * A wake-up that is lost shows as a sleep that lasts until its time limit, which is far longer than anything else here.
 * Prints how many sleeps there were, and how many of them reached the limit.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "../bell.h"

#define THREADS 2
#define ROUNDS 300000u
#define LIMIT_NS 500000000L

static struct cell cells[THREADS];
static struct {
    _Alignas(64) _Atomic uint32_t value;
} mail[THREADS];

static void *pass_on(void *argument) {
    uint32_t own = (uint32_t)(uintptr_t)argument, next = (own + 1) % THREADS, state = own + 1;
    struct cell *cell = &cells[own];
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        int announced = 0;
        uint32_t seen = 0, polls;
        state = state * 1664525u + 1013904223u;
        polls = state >> 23;
        while (atomic_load_explicit(&mail[own].value, memory_order_acquire) < round) {
            if (polls > 0) {
                polls--;
            } else if (!announced) {
                seen = bell_announce(cell);
                announced = 1;
            } else {
                bell_sleep(cell, seen, LIMIT_NS);
                seen = atomic_load_explicit(&cell->bell, memory_order_acquire);
            }
        }
        if (announced) {
            bell_withdraw(cell);
        }
        state = state * 1664525u + 1013904223u;
        for (volatile uint32_t spin = state >> 24; spin > 0; spin--) {
        }
        /* The first thread opens the next round. */
        atomic_store_explicit(&mail[next].value, next == 0 ? round + 1 : round, memory_order_release);
        bell_ring(&cells[next]);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    unsigned sleeps = 0, limits = 0;
    atomic_store(&mail[0].value, 1);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, pass_on, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sleeps += cells[i].sleeps;
        limits += cells[i].limits;
    }
    printf("sleeps %u limits %u\n", sleeps, limits);
    return 0;
}
