/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a report of an LVT costs with the instance's lock, and with words that its VCPU alone writes (sched/psx.c): nanoseconds a
 * report, while as many threads as are named report at once, each for a VCPU of its own.
 *
 *   cc -O2 -pthread -o reports reports.c && ./reports [THREADS [REPORTS]]
 *
 * It measures the two ways alone: no hypercall, no scheduler that reads. Both ways take turns; medians with the least and the most.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 9
#define THREADS_MAX 64

struct vcpu {
	uint64_t page_lvt;
	bool page_switch;
	uint64_t reports;
} __attribute__((aligned(128)));

static struct vcpu vcpus[THREADS_MAX];
static pthread_spinlock_t lock;
static pthread_barrier_t start;
static uint64_t count;
static bool locks;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void report(struct vcpu *v, uint64_t lvt_ns)
{
	v->reports++;
	__atomic_store_n(&v->page_lvt, lvt_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&v->page_switch, true, __ATOMIC_RELEASE);
}

static void *reporter(void *argument)
{
	struct vcpu *v = argument;
	uint64_t lvt_ns;

	pthread_barrier_wait(&start);
	for (lvt_ns = 1; lvt_ns <= count; lvt_ns++) {
		if (locks)
			pthread_spin_lock(&lock);
		report(v, lvt_ns);
		if (locks)
			pthread_spin_unlock(&lock);
	}
	return NULL;
}

/* Nanoseconds that a report takes its thread. */
static double measure(unsigned int threads)
{
	pthread_t all[THREADS_MAX];
	unsigned int i;
	double begin;

	for (i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, reporter, &vcpus[i]))
			exit(1);
	pthread_barrier_wait(&start);
	begin = now_ns();
	for (i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return (now_ns() - begin) / (double)count;
}

static int ascending(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;

	return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	double times[2][ROUNDS], ratios[ROUNDS];
	unsigned int round, way;

	count = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000000;
	if (threads < 1 || threads > THREADS_MAX || !count) {
		fprintf(stderr, "usage: reports [THREADS, 1 to %d [REPORTS, at least 1]]\n", THREADS_MAX);
		return 2;
	}
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&start, NULL, (unsigned int)threads + 1);
	for (round = 0; round < ROUNDS; round++) {
		/* Whoever is first changes. */
		for (way = 0; way < 2; way++) {
			locks = (way + round) % 2;
			times[locks][round] = measure((unsigned int)threads);
		}
		ratios[round] = times[1][round] / times[0][round];
	}
	for (way = 0; way < 2; way++) {
		qsort(times[way], ROUNDS, sizeof(double), ascending);
		printf("%s: %.1f ns a report [%.1f, %.1f]\n", way ? "with the lock" : "words", times[way][ROUNDS / 2],
		       times[way][0], times[way][ROUNDS - 1]);
	}
	qsort(ratios, ROUNDS, sizeof(double), ascending);
	printf("ratio: %.1f [%.1f, %.1f], %ld threads\n", ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1], threads);
	return 0;
}
