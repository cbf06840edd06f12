/*
 * The programs of the kernel lab: well-behaved simulations with a known bound, and programs that misbehave.
 *
 *     load windows PROCESSES WINDOWS MEAN_MS random|heavy|equal busy|pause|yield|flag|asleep barrier|ring
 *     load liar|silent|backwards|scribble|hog SECONDS
 *     load births SECONDS PROCESSES
 *
 * `windows` is a conservative simulation: in every window each process works, publishes its LVT, and waits for all others, by
 * polling shared memory (or asleep). "ring" sends a token twice around instead, as some GVT
 * algorithms do. Work is a counted loop, calibrated alone at the start, so costs are in ns of an undisturbed CPU.
 *
 * Prints one line: `work_ms`, the sum of all work; `path_ms`, the least time that is possible if a CPU that polls uses up time of
 * the others too (all virtual CPUs of the lab share one clock of instructions): twice the heaviest process of each window, or
 * all work of the window if that is more; `elapsed_ms`; `gap_ms`, the longest time for which a process that wanted to run did not.
 */
#define _GNU_SOURCE
#include "paceline_lvt.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define PROCESSES_MAX 1024

/* What a process does while it waits for the others. */
enum wait { WAIT_BUSY, WAIT_PAUSE, WAIT_YIELD, WAIT_FLAG, WAIT_ASLEEP, WAITS };
static const char *const wait_names[WAITS] = {"busy", "pause", "yield", "flag", "asleep"};

/* How the work of a window is spread over the processes. */
enum shape { SHAPE_RANDOM, SHAPE_HEAVY, SHAPE_EQUAL, SHAPES };
static const char *const shape_names[SHAPES] = {"random", "heavy", "equal"};

/* How a window ends. */
enum end { END_BARRIER, END_RING, ENDS };
static const char *const end_names[ENDS] = {"barrier", "ring"};

/* How a program misuses the page; a hog does not use it at all. */
enum misuse { MISUSE_LIAR, MISUSE_SILENT, MISUSE_BACKWARDS, MISUSE_SCRIBBLE, MISUSE_HOG, MISUSES };
static const char *const misuse_names[MISUSES] = {"liar", "silent", "backwards", "scribble", "hog"};

/* The place of a word in a list of names, or -1. */
static int find_name(const char *const *names, int count, const char *word)
{
	for (int place = 0; place < count; place++)
		if (!strcmp(names[place], word))
			return place;
	return -1;
}

/* Shared by all processes, each counter on a cache line of its own. */
struct shared {
	struct {
		uint64_t windows; /* that the process has finished */
		uint64_t gap_ns;
		uint64_t pad[6];
	} of[PROCESSES_MAX];
	uint64_t token;           /* hops it has made */
	uint32_t finished;        /* processes that have finished this window: a futex */
};

static struct shared *shared;
static double loops_per_ns = 1;
static volatile uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(double ns)
{
	uint64_t x = sink, loops = (uint64_t)(ns * loops_per_ns);

	for (uint64_t i = 0; i < loops; i++)
		x = x * 6364136223846793005u + i;
	sink = x;
}

static void calibrate(void)
{
	const double probe_ns = 3e6;
	uint64_t start = now_ns();

	spin(probe_ns);
	loops_per_ns = probe_ns / (double)(now_ns() - start);
}

/* Remembers the longest time between two calls that follow each other closely while the process runs. */
static void look_for_gap(uint64_t *last_ns, uint64_t *gap_ns)
{
	uint64_t now = now_ns();

	if (*last_ns && now - *last_ns > *gap_ns)
		*gap_ns = now - *last_ns;
	*last_ns = now;
}

static void work(double ns, uint64_t *gap_ns)
{
	uint64_t last = 0;

	for (; ns > 0; ns -= 2e5) {
		look_for_gap(&last, gap_ns);
		spin(ns < 2e5 ? ns : 2e5);
	}
	look_for_gap(&last, gap_ns);
}

/* Waits until a counter has got to `least`. */
static void await(const uint64_t *counter, uint64_t least, enum wait how, uint64_t *gap_ns)
{
	uint64_t last = 0;

	for (uint64_t polls = 0; __atomic_load_n(counter, __ATOMIC_ACQUIRE) < least; polls++) {
		if (how == WAIT_YIELD)
			sched_yield();
		else if (how == WAIT_PAUSE)
			__builtin_ia32_pause();
		if (polls % 4096 == 0)
			look_for_gap(&last, gap_ns);
	}
}

static void barrier(int me, int processes, uint64_t window, enum wait how, uint64_t *gap_ns)
{
	__atomic_store_n(&shared->of[me].windows, window, __ATOMIC_RELEASE);
	if (how == WAIT_ASLEEP) {
		uint32_t seen = __atomic_add_fetch(&shared->finished, 1, __ATOMIC_ACQ_REL), all = (uint32_t)(window * (uint64_t)processes);

		if (seen == all)
			syscall(SYS_futex, &shared->finished, FUTEX_WAKE, PROCESSES_MAX, NULL, NULL, 0);
		for (; seen < all; seen = __atomic_load_n(&shared->finished, __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &shared->finished, FUTEX_WAIT, seen, NULL, NULL, 0);
		return;
	}
	for (int other = 0; other < processes; other++)
		await(&shared->of[other].windows, window, how, gap_ns);
}

/* The token is here when it has made as many hops; two rounds end the window for all. */
static void ring(int me, int processes, uint64_t window, enum wait how, uint64_t *gap_ns)
{
	for (uint64_t round = 2 * (window - 1); round < 2 * window; round++) {
		uint64_t hops = round * (uint64_t)processes + (uint64_t)me;

		await(&shared->token, hops, how, gap_ns);
		__atomic_store_n(&shared->token, hops + 1, __ATOMIC_RELEASE);
	}
	await(&shared->token, 2 * window * (uint64_t)processes, how, gap_ns);
}

static void simulate(int me, int processes, int windows, const double *cost_ns, enum wait how, enum end end)
{
	paceline_lvt lvt = PACELINE_LVT_ABSENT;
	uint64_t gap_ns = 0;

	if (paceline_lvt_open(&lvt, "window") != 0)
		fprintf(stderr, "load: unpaced: %s\n", lvt.error);
	for (uint64_t window = 1; window <= (uint64_t)windows; window++) {
		work(cost_ns[(window - 1) * (uint64_t)processes + (uint64_t)me], &gap_ns);
		paceline_lvt_publish(&lvt, window * 1000000);
		if (how == WAIT_FLAG)
			paceline_lvt_set_waiting(&lvt, 1);
		if (end == END_RING)
			ring(me, processes, window, how, &gap_ns);
		else
			barrier(me, processes, window, how, &gap_ns);
		if (how == WAIT_FLAG)
			paceline_lvt_set_waiting(&lvt, 0);
	}
	paceline_lvt_close(&lvt);
	shared->of[me].gap_ns = gap_ns;
}

static int windows(int processes, int count, double mean_ns, enum shape shape, enum wait how, enum end end)
{
	double *cost_ns = calloc((size_t)(processes * count), sizeof *cost_ns), work_ns = 0, path_ns = 0, drawn;
	uint64_t seed = 1, start, gap_ns = 0;
	int failed = 0, status;

	for (int window = 0; window < count; window++) {
		double sum = 0, most = 0;

		for (int i = 0; i < processes; i++) {
			double *cost = &cost_ns[window * processes + i];

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			drawn = (double)(seed >> 33) / (double)(1u << 31);
			*cost = mean_ns;
			if (shape == SHAPE_RANDOM)
				*cost = mean_ns * 2 * drawn;
			else if (shape == SHAPE_HEAVY)
				*cost = i == 0 ? mean_ns * processes * 0.9 : mean_ns * processes * 0.1 / (processes - 1);
			sum += *cost;
			most = *cost > most ? *cost : most;
		}
		work_ns += sum;
		path_ns += sum > 2 * most ? sum : 2 * most;
	}
	start = now_ns();
	for (int i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			perror("load: fork"), exit(1);
		if (child == 0) {
			simulate(i, processes, count, cost_ns, how, end);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	for (int i = 0; i < processes; i++)
		gap_ns = shared->of[i].gap_ns > gap_ns ? shared->of[i].gap_ns : gap_ns;
	printf("done work_ms=%.1f path_ms=%.1f elapsed_ms=%.1f gap_ms=%.1f\n", work_ns / 1e6, path_ns / 1e6, (double)(now_ns() - start) / 1e6,
	       (double)gap_ns / 1e6);
	free(cost_ns);
	return failed != 0;
}

/* Always wants to run, and misuses the page as its name says. */
static int misbehave(enum misuse misuse, double seconds)
{
	paceline_lvt lvt = PACELINE_LVT_ABSENT;
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), last = 0, gap_ns = 0, published = PACELINE_LVT_MAX, seed = 1;

	if (misuse != MISUSE_HOG && misuse != MISUSE_SILENT && paceline_lvt_open(&lvt, misuse_names[misuse]) != 0)
		fprintf(stderr, "load: unpaced: %s\n", lvt.error);
	for (; now_ns() < end; look_for_gap(&last, &gap_ns)) {
		spin(1e5);
		if (misuse == MISUSE_LIAR)
			paceline_lvt_publish(&lvt, 0);
		else if (misuse == MISUSE_BACKWARDS)
			paceline_lvt_publish(&lvt, published -= 1000000);
		for (size_t i = 0; misuse == MISUSE_SCRIBBLE && lvt.page && i < 1024; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			((volatile uint64_t *)lvt.page)[(seed >> 33) % (lvt.page_bytes / 8)] = seed;
		}
	}
	printf("done gap_ms=%.1f\n", (double)gap_ns / 1e6);
	fflush(stdout);
	_exit(0);
}

/* Processes that are born, publish for a while, and die, some of them by signal 9, in no order. */
static int births(double seconds, int processes)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), seed = 1, born = 0;
	pid_t alive[PROCESSES_MAX] = {0};

	while (now_ns() < end) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		int place = (int)((seed >> 33) % (uint64_t)processes);

		if (alive[place]) {
			if (seed >> 62 == 0)
				kill(alive[place], SIGKILL);
			waitpid(alive[place], NULL, 0);
		}
		alive[place] = fork();
		if (alive[place] < 0)
			perror("load: fork"), exit(1);
		if (alive[place] == 0) {
			paceline_lvt lvt = PACELINE_LVT_ABSENT;
			uint64_t gap_ns = 0, steps = (seed >> 40) % 64;

			paceline_lvt_open(&lvt, "birth");
			for (uint64_t step = 0; step < steps; step++) {
				work(1e5, &gap_ns);
				paceline_lvt_publish(&lvt, (seed >> 20) + step * 1000);
				if (step % 16 == 15)
					usleep(200);
			}
			if (seed & (1u << 20))
				paceline_lvt_close(&lvt);
			_exit(0);
		}
		born++;
	}
	for (int place = 0; place < processes; place++)
		if (alive[place])
			waitpid(alive[place], NULL, 0);
	printf("done born=%llu\n", (unsigned long long)born);
	return 0;
}

int main(int count, char **words)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return perror("load: mmap"), 1;
	calibrate();
	if (count == 8 && !strcmp(words[1], "windows") && atoi(words[2]) > 0 && atoi(words[2]) <= PROCESSES_MAX) {
		int shape = find_name(shape_names, SHAPES, words[5]), how = find_name(wait_names, WAITS, words[6]);
		int end = find_name(end_names, ENDS, words[7]);

		if (shape >= 0 && how >= 0 && end >= 0)
			return windows(atoi(words[2]), atoi(words[3]), atof(words[4]) * 1e6, (enum shape)shape, (enum wait)how, (enum end)end);
	}
	if (count == 3 && find_name(misuse_names, MISUSES, words[1]) >= 0)
		return misbehave((enum misuse)find_name(misuse_names, MISUSES, words[1]), atof(words[2]));
	if (count == 4 && !strcmp(words[1], "births") && atoi(words[3]) > 0 && atoi(words[3]) <= PROCESSES_MAX)
		return births(atof(words[2]), atoi(words[3]));
	fprintf(stderr, "load: see the head of lab/linux/load.c\n");
	return 2;
}
