/*
 * sched-restore: the second guard of `paceline pace`. It sets every paced thread back to its normal scheduling class when the pacer
 * has died or hangs, whatever has become of the first guard.
 *
 *     sched-restore SLOTS PRIORITY SILENCE_MS, with the pacer's pipe as standard input
 *
 * It is a program of its own so that its name, its command line and its executable file all differ from the pacer's: `pkill`,
 * `pkill -f`, `killall` and `pidof` by the pacer's name do not find it. It has a session of its own and is no child of the pacer, so
 * that signals to the pacer's group, session or children do not reach it.
 *
 * The pipe carries messages of 24 bytes: slot (u32), thread (i32), its start time (u64), its normal class (i32), its process (i32). A
 * message whose slot is not below SLOTS is a sign of life. When the pipe closes, all threads are set back, and the program ends. When
 * nothing comes for SILENCE_MS, they are set back too, and the program continues to wait.
 *
 * Invariants: a thread is set back only while it is the same thread, by its start time. After the paced threads, those that they
 * forked while they were in the idle class, which a fork inherits, are set back to the normal class.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* More generations than a command has. */
#define GENERATIONS 64
#define SLOTS_MAX (1u << 20)

struct ward {
    uint32_t slot;
    int32_t tid;
    uint64_t start_time;
    int32_t normal;
    int32_t pid;
};

_Static_assert(sizeof(struct ward) == 24, "as src/guard.rs writes it");

static struct ward *wards;
static uint32_t slots;

/* When a thread was started: field 22 of its `stat`, counted from the end of its name, which may hold anything; 0 if it has ended. */
static unsigned long long start_time(int tid) {
    char path[64], text[1024];
    const char *field;
    unsigned long long start = 0;
    size_t length;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/stat", tid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    field = strrchr(text, ')');
    if (field == NULL ||
        sscanf(field + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &start) != 1) {
        return 0;
    }
    return start;
}

/* Without privileges SCHED_RESET_ON_FORK cannot be cleared again; it does no harm. An error means that the thread has ended. */
static void set(int tid, int class) {
    struct sched_param none = {0};
    if (sched_setscheduler(tid, class, &none) != 0 && errno == EPERM) {
        sched_setscheduler(tid, class | SCHED_RESET_ON_FORK, &none);
    }
}

/* Sets the idle threads of a process and of its children back to the normal class. */
static void restore_strays(int pid, int generations) {
    char path[64];
    struct dirent *entry;
    DIR *tasks;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        int tid = atoi(entry->d_name), child;
        FILE *children;
        if (tid <= 0) {
            continue;
        }
        if ((sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) == SCHED_IDLE) {
            set(tid, SCHED_OTHER);
        }
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, tid);
        children = generations > 0 ? fopen(path, "re") : NULL;
        while (children != NULL && fscanf(children, "%d", &child) == 1) {
            restore_strays(child, generations - 1);
        }
        if (children != NULL) {
            fclose(children);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
}

static void restore_all(void) {
    int last = 0;
    for (uint32_t slot = 0; slot < slots; slot++) {
        struct ward *ward = &wards[slot];
        if (ward->tid > 0 && start_time(ward->tid) == ward->start_time) {
            set(ward->tid, ward->normal);
        } else {
            ward->tid = 0;
        }
    }
    for (uint32_t slot = 0; slot < slots; slot++) {
        /* Threads of a process mostly have slots in a row. */
        if (wards[slot].tid > 0 && wards[slot].pid != last) {
            last = wards[slot].pid;
            restore_strays(last, GENERATIONS);
        }
    }
}

/* Keeps only the pipe, and leaves the pacer's session and family. */
static void leave_pacer(void) {
    syscall(SYS_close_range, 1u, ~0u, 0u);
    if (fork() != 0) {
        _exit(0);
    }
    setsid();
    if (chdir("/") != 0) {
        /* It only holds the folder's file system. */
    }
    prctl(PR_SET_NAME, "sched-restore");
    for (size_t i = 0; i < 4; i++) {
        signal((int[]){SIGHUP, SIGINT, SIGQUIT, SIGTERM}[i], SIG_IGN);
    }
}

int main(int argc, char **argv) {
    struct sched_param own = {argc > 3 ? atoi(argv[2]) : 0};
    int silence = argc > 3 ? atoi(argv[3]) : 0;
    slots = argc > 3 ? (uint32_t)atoi(argv[1]) : 0;
    wards = slots > 0 && slots <= SLOTS_MAX ? calloc(slots, sizeof *wards) : NULL;
    if (wards == NULL || silence <= 0) {
        return 2;
    }
    leave_pacer();
    if (own.sched_priority > 0) {
        /* If this is not permitted, the pacer sets no real-time priorities either. */
        sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &own);
    }
    for (;;) {
        struct pollfd ready = {0, POLLIN, 0};
        struct ward ward;
        ssize_t length;
        int found = poll(&ready, 1, silence);
        if (found == 0) {
            restore_all();
        }
        if (found <= 0) {
            continue;
        }
        /* Messages arrive whole, because they are shorter than what a pipe writes atomically. */
        length = read(0, &ward, sizeof ward);
        if (length == sizeof ward && ward.slot < slots) {
            wards[ward.slot] = ward;
        } else if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
            break;
        }
    }
    restore_all();
    return 0;
}
