/*
 * Patterns of MPI programs, for the tests of the shim: `program KIND` prints one line that depends on everything that was received.
 *
 * Invariant: the line is the same in every run, under every MPI library that reduces in the same order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (1 << 20)
#define WORLD MPI_COMM_WORLD
#define ANY MPI_STATUS_IGNORE

static int rank, size;
static uint64_t sum = 0xcbf29ce484222325u;

/* How often the shim, which calls this function instead of the C library's, has yielded or slept. */
static _Atomic long pauses;

long syscall(long number, ...) {
    static long (*real)(long, ...);
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        words[i] = va_arg(list, long);
    }
    va_end(list);
    if (real == NULL) {
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    }
    if (number == SYS_sched_yield || number == SYS_futex) {
        pauses++;
    }
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static void add(const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    while (length-- > 0) {
        sum = (sum ^ *byte++) * 0x100000001b3u;
    }
}

static void ping_pong(void) {
    int other = rank ^ 1, value = 0;
    for (int i = 0; i < 300 && other < size; i++) {
        if ((rank & 1) == 0) {
            value += i;
            MPI_Send(&value, 1, MPI_INT, other, 7, WORLD);
            MPI_Recv(&value, 1, MPI_INT, other, 7, WORLD, ANY);
        } else {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, ANY);
            value = value * 3 + rank;
            MPI_Ssend(&value, 1, MPI_INT, other, 7, WORLD);
        }
        add(&value, sizeof value);
    }
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD);
}

static void collectives(void) {
    double value = 1.0 / (rank + 3), total, all[64] = {0};
    for (int i = 0; i < 60; i++) {
        MPI_Allreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, WORLD);
        add(&total, sizeof total);
        value = total / (1.1 + rank + i);
        MPI_Allgather(&value, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, WORLD);
        add(all, sizeof all);
        MPI_Bcast(&value, 1, MPI_DOUBLE, i % size, WORLD);
        MPI_Reduce(&value, &total, 1, MPI_DOUBLE, MPI_MAX, 0, WORLD);
        MPI_Scan(&value, &total, 1, MPI_DOUBLE, MPI_SUM, WORLD);
        add(&total, sizeof total);
        MPI_Barrier(WORLD);
        value += rank;
    }
}

/* Receives from all others by testing again and again, as optimistic simulators do. */
static void polling(void) {
    int values[64], got[64], count, left, index[64];
    MPI_Request receives[64], send;
    for (int round = 0; round < 40; round++) {
        left = size - 1;
        for (int i = 0; i < size; i++) {
            receives[i] = MPI_REQUEST_NULL;
            if (i != rank) {
                MPI_Irecv(&got[i], 1, MPI_INT, i, round, WORLD, &receives[i]);
            }
        }
        for (int i = 0; i < size; i++) {
            values[i] = rank * 1000 + round * i;
            if (i != rank) {
                int done = 0;
                MPI_Isend(&values[i], 1, MPI_INT, i, round, WORLD, &send);
                while (!done) {
                    MPI_Test(&send, &done, ANY);
                }
            }
        }
        while (left > 0) {
            MPI_Testsome(size, receives, &count, index, MPI_STATUSES_IGNORE);
            left -= count > 0 ? count : 0;
        }
        got[rank] = 0;
        add(got, (size_t)size * sizeof got[0]);
    }
    for (int there = 0; rank == 0 && !there;) {
        MPI_Iprobe(MPI_ANY_SOURCE, 99, WORLD, &there, ANY);
    }
    if (rank == 0) {
        MPI_Recv(&count, 1, MPI_INT, MPI_ANY_SOURCE, 99, WORLD, ANY);
    } else if (rank == size - 1) {
        usleep(20000);
        MPI_Send(&rank, 1, MPI_INT, 0, 99, WORLD);
    }
}

/* Some microseconds of other work. */
static void look_elsewhere(void) {
    static volatile unsigned work;
    for (int i = 0; i < 2000; i++) {
        work += (unsigned)i;
    }
}

/* One step of a loop that waits for the message in `receive`; whether it has come. Loops do more than to test it. */
static int look(int loop, MPI_Request *receive, MPI_Request *none, MPI_Request *pair) {
    int done = 0, other, index;
    switch (loop) {
    case 0:
        MPI_Test(receive, &done, ANY);
        look_elsewhere();
        return done;
    case 1: /* a request that has completed long ago */
        MPI_Test(none, &other, ANY);
        MPI_Test(receive, &done, ANY);
        return done;
    case 2:
        MPI_Testall(2, pair, &other, MPI_STATUSES_IGNORE);
        MPI_Test(receive, &done, ANY);
        return done;
    case 3:
        MPI_Iprobe(MPI_ANY_SOURCE, 98, WORLD, &other, ANY);
        MPI_Iprobe(MPI_ANY_SOURCE, 97, WORLD, &other, ANY);
        look_elsewhere();
        MPI_Test(receive, &done, ANY);
        return done;
    case 4:
        MPI_Testany(1, receive, &index, &done, ANY);
        look_elsewhere();
        return done;
    case 5:
        MPI_Testsome(1, receive, &index, &other, MPI_STATUSES_IGNORE);
        look_elsewhere();
        return index != 0;
    default:
        MPI_Testall(1, receive, &done, MPI_STATUSES_IGNORE);
        look_elsewhere();
        look_elsewhere();
        return done;
    }
}

/* Loops that wait by testing and do a little besides. With the shim they give the core away, whatever they do besides. */
static void slow_polling(void) {
    int is_shimmed = getenv("PACELINE_MPI") != NULL;
    for (int loop = 0; loop < 7; loop++) {
        MPI_Barrier(WORLD);
        if (rank == 0) {
            usleep(50000);
            for (int to = 1; to < size; to++) {
                MPI_Send(&loop, 1, MPI_INT, to, loop, WORLD);
            }
        } else {
            MPI_Request receive, none = MPI_REQUEST_NULL, pair[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            long before = pauses;
            int got = 0;
            MPI_Irecv(&got, 1, MPI_INT, 0, loop, WORLD, &receive);
            while (!look(loop, &receive, &none, pair)) {
            }
            add(&got, sizeof got);
            if (is_shimmed && pauses == before) {
                fprintf(stderr, "rank %d polled in loop %d and kept its core\n", rank, loop);
                MPI_Abort(WORLD, 1);
            }
        }
    }
}

/* Rings in communicators that come and go, some of which have the ranks in reverse order. */
static void rings(void) {
    for (int round = 0; round < 20; round++) {
        MPI_Comm half, copy;
        int own, others, value = rank + round, from;
        MPI_Comm_split(WORLD, rank & 1, round & 1 ? -rank : rank, &half);
        MPI_Comm_dup(half, &copy);
        MPI_Comm_rank(copy, &own);
        MPI_Comm_size(copy, &others);
        for (int i = 0; i < 10; i++) {
            MPI_Sendrecv(&value, 1, MPI_INT, (own + 1) % others, i, &from, 1, MPI_INT, (own + others - 1) % others, i, copy, ANY);
            add(&from, sizeof from);
            value = from + own;
            MPI_Sendrecv_replace(&value, 1, MPI_INT, (own + others - 1) % others, i, (own + 1) % others, i, half, ANY);
        }
        MPI_Comm_free(&half);
        MPI_Comm_free(&copy);
    }
}

static void large(void) {
    static int out[LARGE / sizeof(int)], in[LARGE / sizeof(int)];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < 6; round++) {
        MPI_Request requests[2];
        for (size_t i = 0; i < LARGE / sizeof(int); i++) {
            out[i] = (int)i * (rank + round);
        }
        if (round % 3 == 0) {
            MPI_Irecv(in, LARGE, MPI_BYTE, before, 0, WORLD, &requests[0]);
            MPI_Isend(out, LARGE, MPI_BYTE, next, 0, WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else if (round % 3 == 1) {
            MPI_Sendrecv(out, LARGE, MPI_BYTE, next, 0, in, LARGE, MPI_BYTE, before, 0, WORLD, ANY);
        } else if (rank & 1) {
            MPI_Recv(in, LARGE, MPI_BYTE, before, 0, WORLD, ANY);
            MPI_Send(out, LARGE, MPI_BYTE, next, 0, WORLD);
        } else {
            MPI_Send(out, LARGE, MPI_BYTE, next, 0, WORLD);
            MPI_Recv(in, LARGE, MPI_BYTE, before, 0, WORLD, ANY);
        }
        add(in, sizeof in);
    }
}

static void *thread(void *argument) {
    int tag = (int)(intptr_t)argument, value = rank, from = 0;
    for (int i = 0; i < 50; i++) {
        MPI_Request request;
        MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, tag, WORLD, &request);
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, tag, WORLD);
        MPI_Wait(&request, ANY);
        value = from * 5 + tag;
    }
    return (void *)(intptr_t)value;
}

static void threads(void) {
    pthread_t handles[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&handles[i], NULL, thread, (void *)(intptr_t)(i + 1));
    }
    for (int i = 0; i < 3; i++) {
        void *value;
        pthread_join(handles[i], &value);
        add(&value, sizeof value);
    }
}

static void persistent(void) {
    int out = 0, in = 0;
    MPI_Request requests[2];
    MPI_Recv_init(&in, 1, MPI_INT, (rank + size - 1) % size, 1, WORLD, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, (rank + 1) % size, 1, WORLD, &requests[1]);
    for (int i = 0; i < 100; i++) {
        out = in * 7 + rank;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        add(&in, sizeof in);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void nonblocking(void) {
    double value = 1.0 / (rank + 7), total;
    for (int i = 0; i < 60; i++) {
        MPI_Request request;
        int done = 0;
        MPI_Iallreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, WORLD, &request);
        while (!done) {
            MPI_Test(&request, &done, ANY);
        }
        add(&total, sizeof total);
        value = total / (2 + rank);
        MPI_Ibarrier(WORLD, &request);
        MPI_Wait(&request, ANY);
    }
}

/* One message goes round, sometimes slowly, so that all ranks but one wait long enough to sleep. */
static void token(void) {
    int value = 0;
    for (int i = 0; i < 300; i++) {
        if (rank > 0 || i > 0) {
            MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, 3, WORLD, ANY);
        }
        value = value * 3 + rank;
        if (i % 20 == rank) {
            usleep(1500);
        }
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 3, WORLD);
        add(&value, sizeof value);
    }
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, size - 1, 3, WORLD, ANY);
    }
}

/* A child that yields outlives its parent's waits for a while. */
static void forking(void) {
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        for (int i = 0; i < 1000; i++) {
            sched_yield();
        }
        _exit(3);
    }
    ping_pong();
    waitpid(child, &status, 0);
    add(&status, sizeof status);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"ping-pong", ping_pong},     {"token", token},     {"collectives", collectives}, {"polling", polling},
                 {"rings", rings},             {"large", large},     {"threads", threads},         {"persistent", persistent},
                 {"nonblocking", nonblocking}, {"forking", forking}, {"slow-polling", slow_polling}};
    int level, multiple = count > 1 && strcmp(arguments[1], "threads") == 0;
    uint64_t sums[64];
    MPI_Init_thread(&count, &arguments, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (count > 1 && strcmp(arguments[1], kinds[i].name) == 0 && (!multiple || level == MPI_THREAD_MULTIPLE)) {
            kinds[i].run();
        }
    }
    MPI_Gather(&sum, 1, MPI_UINT64_T, sums, 1, MPI_UINT64_T, 0, WORLD);
    for (int i = 0; rank == 0 && i < size; i++) {
        printf("%016llx%c", (unsigned long long)sums[i], i + 1 < size ? ' ' : '\n');
    }
    MPI_Finalize();
    return 0;
}
