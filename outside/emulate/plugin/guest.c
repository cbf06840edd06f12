/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest of a simulated network: what QEMU (10.0, -accel tcg -icount shift=N,sleep=off) needs so that its virtual clock advances
 * only as far as a coordinator grants, and so that frames leave and enter at exact virtual times. Loaded with
 * -plugin plugin.so,fd=N; it instruments no guest code, so it costs nothing while the guest runs.
 *
 * One timer on QEMU's virtual clock ends every grant and delivers every frame. Its callback runs with QEMU's big lock (BQL) held,
 * in the VCPU's thread when the guest computes, in the main thread when it idles; while it waits for the coordinator nothing of
 * this machine can move. Beyond the plugin interface it uses functions that a QEMU built with modules exports: timers, a network
 * client, and the two hooks of QEMU's lock profiler. Their declarations stand below and are those of QEMU 10.0.
 *
 * Main loop and VCPU are threads: left alone they race, and the race decides at which instruction a bottom half runs, or whether
 * the clock leaps over instructions not yet counted. Therefore the gate: the main thread gets the BQL only while the VCPU sleeps.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* QEMU 10.0 */
typedef struct { const char *target; struct { int min, cur; } version; bool system; struct { int vcpus, max; } smp; } qemu_info_t;
typedef struct QEMUTimer {
    int64_t expire_time;
    void *timer_list;
    void (*cb)(void *);
    void *opaque;
    struct QEMUTimer *next;
    int attributes, scale;
} QEMUTimer;
typedef struct NetClientState NetClientState;
typedef struct {
    int type;
    size_t size;
    ssize_t (*receive)(NetClientState *, const uint8_t *, size_t);
    void *others[20];
} NetClientInfo;
enum { REAL_CLOCK = 0, VIRTUAL_CLOCK = 1, NET_CLIENT_STREAM = 6, RUN_STATE_PAUSED = 4 };
extern int64_t qemu_clock_get_ns(int clock);
extern int64_t qemu_clock_deadline_ns_all(int clock, int attributes);
extern void timer_init_full(QEMUTimer *, void *group, int clock, int scale, int attributes, void (*)(void *), void *);
extern void timer_mod_ns(QEMUTimer *, int64_t);
extern NetClientState *qemu_new_net_client(NetClientInfo *, NetClientState *peer, const char *model, const char *name);
extern ssize_t qemu_send_packet(NetClientState *, const uint8_t *, int);
extern bool all_cpu_threads_idle(void);
extern int qemu_shutdown_requested_get(void);
extern int vm_stop(int state);
extern void vm_start(void);
extern bool runstate_check(int state);
extern void (*bql_mutex_lock_func)(void *mutex, const char *file, int line);
extern void (*qemu_cond_wait_func)(void *cond, void *mutex, const char *file, int line);
extern void qemu_mutex_lock_impl(void *mutex, const char *file, int line);
extern void qemu_mutex_unlock_impl(void *mutex, const char *file, int line);
extern void qemu_cond_wait_impl(void *cond, void *mutex, const char *file, int line);
__attribute__((visibility("default"))) int qemu_plugin_version = 4;

/* What goes over the socket, in the machine's byte order. To the guest: a grant, then its frames. From it: a record for each frame
 * sent, then one with the nic STOPPED, whose eight bytes say when the guest would do something by itself at the earliest. */
struct grant { uint64_t until; uint32_t frames, end; };
struct record { uint64_t time; uint32_t nic, length; };
enum { GO, END, STOP };
enum { STOPPED = 0xffffffff, GONE = 0xfffffffe, NICS = 8, LONGEST = 65536 };

static int fd = -1;
static NetClientState *nics[NICS];
static QEMUTimer timer, start_timer;
static int64_t until;
static bool debug;
static struct { uint8_t *bytes; size_t length, room; } out, in;
static size_t next_frame;           /* in `in` */
static uint32_t frames_left;
static pthread_t main_thread, vcpu_thread;
static bool gate_wanted = true;
static bool gated, asleep;          /* under the BQL: the gate is in use; the VCPUs' thread sleeps */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fell_asleep = PTHREAD_COND_INITIALIZER;
static unsigned sleeps;             /* under `gate` */

static void fail(const char *what) {
    fprintf(stderr, "guest: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static void append(const void *bytes, size_t length) {
    if (out.length + length > out.room) {
        out.room = 2 * (out.length + length);
        if (!(out.bytes = realloc(out.bytes, out.room))) fail("memory");
    }
    memcpy(out.bytes + out.length, bytes, length);
    out.length += length;
}

static void flush(void) {
    for (size_t done = 0; done < out.length;) {
        ssize_t n = write(fd, out.bytes + done, out.length - done);
        if (n <= 0 && errno != EINTR) _exit(0); /* the coordinator is gone */
        if (n > 0) done += n;
    }
    out.length = 0;
}

static void get(void *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t n = read(fd, (char *)bytes + done, length - done);
        if (n == 0 || (n < 0 && errno != EINTR)) _exit(0);
        if (n > 0) done += n;
    }
}

/* A frame leaves the guest, at the virtual time of the instruction or the timer that made the card send it. */
static ssize_t sent(NetClientState *nic, const uint8_t *bytes, size_t length) {
    struct record r = {qemu_clock_get_ns(VIRTUAL_CLOCK), 0, length};
    while (nics[r.nic] != nic) r.nic++;
    append(&r, sizeof r);
    append(bytes, length);
    return length;
}

static struct record *frame(void) { return frames_left ? (struct record *)(in.bytes + next_frame) : NULL; }

/* False if the machine is to be stopped, to be saved. */
static bool receive_grant(void) {
    struct grant g;
    get(&g, sizeof g);
    if (g.end == END) _exit(0);
    if (g.end == STOP) return false;
    until = g.until;
    frames_left = g.frames;
    in.length = next_frame = 0;
    for (uint32_t i = 0; i < g.frames; i++) {
        struct record r;
        get(&r, sizeof r);
        size_t padded = (r.length + 7) & ~7u;
        if (in.length + sizeof r + padded > in.room) {
            in.room = 2 * (in.length + sizeof r + padded);
            if (!(in.bytes = realloc(in.bytes, in.room))) fail("memory");
        }
        memcpy(in.bytes + in.length, &r, sizeof r);
        get(in.bytes + in.length + sizeof r, r.length);
        in.length += sizeof r + padded;
    }
    return true;
}

/* The earliest time at which this machine does something by itself: now, if it computes. */
static int64_t own_next(int64_t now) {
    if (!all_cpu_threads_idle()) return now;
    int64_t deadline = qemu_clock_deadline_ns_all(VIRTUAL_CLOCK, -1);
    return deadline < 0 ? INT64_MAX : now + deadline;
}

static void turn(void *unused __attribute__((unused))) {
    int64_t now = qemu_clock_get_ns(VIRTUAL_CLOCK);
    struct record *r;
    vcpu_thread = pthread_self(); /* timers of this clock run in no other */
    gated = gate_wanted;
    for (;;) {
        for (; (r = frame()) && (int64_t)r->time <= now; frames_left--) {
            qemu_send_packet(nics[r->nic], (uint8_t *)(r + 1), r->length);
            next_frame += sizeof *r + ((r->length + 7) & ~7u);
        }
        if (now < until) break;
        int64_t next = own_next(now);
        if (debug) fprintf(stderr, "now %ld next %+ld\n", now, next - now);
        struct record stop = {now, qemu_shutdown_requested_get() ? GONE : STOPPED, sizeof next};
        append(&stop, sizeof stop);
        append(&next, sizeof next);
        flush();
        if (stop.nic == GONE) _exit(0);
        if (!receive_grant()) {
            vm_stop(RUN_STATE_PAUSED);
            return;
        }
    }
    timer_mod_ns(&timer, r && (int64_t)r->time < until ? (int64_t)r->time : until);
}

/* The gate. `asleep` changes only with the BQL held, so what a thread that holds it reads stays true. */
static void lock_bql(void *mutex, const char *file, int line) {
    qemu_mutex_lock_impl(mutex, file, line);
    if (!pthread_equal(pthread_self(), main_thread)) return;
    while (gated && !asleep) {
        pthread_mutex_lock(&gate);
        unsigned before = sleeps;
        qemu_mutex_unlock_impl(mutex, file, line);
        while (sleeps == before) pthread_cond_wait(&fell_asleep, &gate);
        pthread_mutex_unlock(&gate);
        qemu_mutex_lock_impl(mutex, file, line);
    }
}

static void wait_cond(void *cond, void *mutex, const char *file, int line) {
    bool vcpu = gated && pthread_equal(pthread_self(), vcpu_thread);
    if (vcpu) {
        asleep = true;
        pthread_mutex_lock(&gate);
        sleeps++;
        pthread_cond_broadcast(&fell_asleep);
        pthread_mutex_unlock(&gate);
    }
    qemu_cond_wait_impl(cond, mutex, file, line);
    if (vcpu) asleep = false;
}

/* A machine that was saved standing comes up standing. */
static void start_loaded(void *unused __attribute__((unused))) {
    if (runstate_check(RUN_STATE_PAUSED)) vm_start();
    else timer_mod_ns(&start_timer, qemu_clock_get_ns(REAL_CLOCK) + 1000000);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id __attribute__((unused)),
                                                               const qemu_info_t *info __attribute__((unused)), int argc, char **argv) {
    static NetClientInfo client = {.type = NET_CLIENT_STREAM, .size = 8192, .receive = sent};
    int count = 1;
    for (int i = 0; i < argc; i++) {
        if (sscanf(argv[i], "fd=%d", &fd) == 1 || sscanf(argv[i], "nics=%d", &count) == 1) continue;
        if (!strcmp(argv[i], "gate=off")) { gate_wanted = false; continue; }
        if (!strcmp(argv[i], "gate=on")) continue;
        if (!strcmp(argv[i], "loaded=on")) {
            timer_init_full(&start_timer, NULL, REAL_CLOCK, 1, 0, start_loaded, NULL);
            timer_mod_ns(&start_timer, 0);
            continue;
        }
        fprintf(stderr, "guest: unknown argument %s\n", argv[i]);
        return 1;
    }
    main_thread = pthread_self();
    debug = getenv("NETWARP_DEBUG");
    for (int i = 0; i < count && i < NICS; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        nics[i] = qemu_new_net_client(&client, NULL, "paceline", name);
    }
    timer_init_full(&timer, NULL, VIRTUAL_CLOCK, 1, 0, turn, NULL);
    timer_mod_ns(&timer, 0);
    bql_mutex_lock_func = lock_bql;
    qemu_cond_wait_func = wait_cond;
    return 0;
}
