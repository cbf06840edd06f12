/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest of a simulated network: what QEMU (-accel tcg,thread=single -icount shift=N,sleep=off) needs so that its virtual clock
 * advances only as far as a coordinator grants, and so that frames leave and enter at exact virtual times. It is loaded with
 * -plugin plugin.so,fd=N,cards=K and instruments no guest code: it costs nothing while the guest runs.
 *
 * One timer on QEMU's virtual clock ends each grant and delivers each frame. With -icount, timers of that clock run in the thread
 * of the VCPUs alone, between two instructions, with QEMU's big lock (BQL) held; while the callback waits for the coordinator,
 * nothing in this machine can move. With sleep=off the clock of an idle machine leaps to its next timer, so that idling takes no
 * real time; the leap is made here, in the thread of the VCPUs, once all instructions are counted.
 *
 * The main loop and the VCPUs are threads. Left alone they race, and the race decides whether the clock leaps before the
 * instructions of a VCPU that has just fallen asleep are counted. Hence the gate: the main thread gets the BQL only while the
 * VCPUs' thread sleeps, which is while the machine is paused.
 *
 * Beyond the plugin interface this uses functions that a QEMU built with modules exports (qemu.h). They are looked up by name at
 * start, so that another QEMU is refused with a sentence and not with a crash.
 */
#define _GNU_SOURCE
#include "qemu.h"
#include "wire.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CARDS = 8, MOST_WAITING = 10000 };

static NetClientState *cards[MOST_CARDS];
static QEMUTimer turn_timer;
static int64_t granted_until;
/* The frames of the grant: records, each followed by its bytes. */
static struct buffer arriving;
static size_t next_arrival;
static uint64_t arrivals_left;
/* Frames that wait in QEMU for buffers of a card's driver, and those that were lost since too many did. */
static uint64_t waiting[MOST_CARDS], dropped, dropped_told;
static bool saving;                 /* from the order to save until the machine goes on */
static int64_t saved_at;
static bool ending;                 /* the guest has asked for its end */

static pthread_t main_thread, vcpu_thread;
static bool gate_wanted = true;
/* Under the BQL: the gate is in use; the VCPUs' thread sleeps; the main thread waits for that. */
static bool vcpu_known, gated, asleep, main_waits;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fell_asleep = PTHREAD_COND_INITIALIZER;
static unsigned sleeps;             /* under `gate` */

/* The thread of QEMU's monitor polls for itself, and each leap of the clock would wake it, to find nothing: more than a third of what
 * a grant costs. So it waits in a callback, where nothing wakes it, unless the machine is being loaded or saved. Under `gate`. */
static bool monitor_held;
static pthread_cond_t monitor_freed = PTHREAD_COND_INITIALIZER;

static void wait_until_freed(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate);
    while (monitor_held) pthread_cond_wait(&monitor_freed, &gate);
    pthread_mutex_unlock(&gate);
}

static void hold_monitor(bool held) {
    if (held == monitor_held) return;
    pthread_mutex_lock(&gate);
    monitor_held = held;
    pthread_cond_broadcast(&monitor_freed);
    pthread_mutex_unlock(&gate);
    /* A monitor that QEMU serves in its main loop has no thread. */
    if (held && *qemu.mon_iothread)
        qemu.aio_bh_schedule_oneshot_full(qemu.iothread_get_aio_context(*qemu.mon_iothread), wait_until_freed, NULL, "paceline");
}

static uint64_t number_of(const NetClientState *card) {
    uint64_t number = 0;
    while (cards[number] != card) number++;
    return number;
}

/* A frame leaves a card, at the virtual time of the timer that made the card send it. */
static ssize_t frame_left(NetClientState *card, const uint8_t *bytes, size_t length) {
    tell(FRAME, qemu.qemu_clock_get_ns(VIRTUAL_CLOCK), number_of(card), bytes, length);
    return length;
}

/* The guest has ended by itself, or QEMU was told to end; the cause by QEMU's name, since its number differs between versions. */
static void report_end(int cause) {
    const char *name = cause >= 0 && cause < qemu.ShutdownCause_lookup->size ? qemu.ShutdownCause_lookup->array[cause] : NULL;
    if (!name) name = "unknown";
    tell(ENDED, qemu.qemu_clock_get_ns(VIRTUAL_CLOCK), 0, name, strlen(name));
    flush();
    _exit(0);
}

static void receive_grant(const struct record *grant) {
    granted_until = grant->time;
    arrivals_left = grant->value;
    arriving.length = next_arrival = 0;
    for (uint64_t i = 0; i < arrivals_left; i++) {
        struct record frame;
        receive(&frame, sizeof frame);
        if (frame.kind != FRAME || frame.value >= MOST_CARDS || !cards[frame.value]) refuse("no frame for a card follows a grant");
        append(&arriving, &frame, sizeof frame);
        receive(reserve(&arriving, padded(frame.length)), frame.length);
    }
}

static struct record *next_frame(void) {
    return arrivals_left ? (struct record *)(arriving.bytes + next_arrival) : NULL;
}

/* A frame that waited has gone to the driver; or, of no length, was thrown away since the card was reset. */
static void waiting_ended(NetClientState *card, ssize_t length) {
    waiting[number_of(card)]--;
    if (length == 0) dropped++;
}

/* While the guest's driver has given a card no buffers, QEMU keeps frames and delivers them when it gives some: at an instruction of
 * the guest, so at the same virtual time in each run. Its own limit, 10,000 frames, drops without a word; so the limit is here. */
static void give(uint64_t card, const uint8_t *bytes, uint32_t length) {
    if (waiting[card] == MOST_WAITING) dropped++;
    else if (qemu.qemu_send_packet_async(cards[card], bytes, length, waiting_ended) == 0) waiting[card]++;
}

static void deliver(int64_t now) {
    struct record *frame;
    while ((frame = next_frame()) && (int64_t)frame->time <= now) {
        give(frame->value, (uint8_t *)(frame + 1), frame->length);
        next_arrival += sizeof *frame + padded(frame->length);
        arrivals_left--;
    }
}

/* The earliest time at which this machine does something by itself: now, if it computes. */
static uint64_t own_next(int64_t now) {
    if (!qemu.all_cpu_threads_idle()) return now;
    int64_t left = qemu.qemu_clock_deadline_ns_all(VIRTUAL_CLOCK, ALL_TIMERS);
    return left < 0 ? NEVER : (uint64_t)(now + left);
}

static void turn(void *unused) {
    (void)unused;
    int64_t now = qemu.qemu_clock_get_ns(VIRTUAL_CLOCK);
    /* While its state is written, the migration wakes the VCPUs' thread for small tasks, and timers run then too. A machine that
     * waited for its coordinator here would hold the lock that the migration needs. */
    if (saving) return;
    vcpu_thread = pthread_self();
    vcpu_known = true;
    gated = gate_wanted;
    hold_monitor(true);
    for (;;) {
        int cause = qemu.qemu_shutdown_requested_get();
        if (cause) report_end(cause);
        deliver(now);
        if (now < granted_until) break;
        if (dropped != dropped_told) tell(DROPPED, now, dropped_told = dropped, NULL, 0);
        struct record order;
        stand(now, own_next(now), &order);
        switch (order.kind) {
        case GRANT: receive_grant(&order); break;
        case SAVE:
            saving = true;
            saved_at = now;
            hold_monitor(false);
            qemu.vm_stop(RUN_STATE_PAUSED);
            return;
        default: _exit(0);
        }
    }
    struct record *frame = next_frame();
    qemu.timer_mod_ns(&turn_timer, frame && (int64_t)frame->time < granted_until ? (int64_t)frame->time : granted_until);
}

/* Once the machine is paused, its state may be written; then it goes on. */
static void machine_state_changed(void *unused, bool running, int state) {
    (void)unused, (void)state;
    if (!saving) return;
    if (running) {
        saving = false;
        return;
    }
    tell(PAUSED, qemu.qemu_clock_get_ns(VIRTUAL_CLOCK), 0, NULL, 0);
    flush();
}

/* The main loop ends: the guest has asked for it and fallen asleep before the VCPUs' thread came back to `turn`. */
static void shutting_down(Notifier *unused, void *cause) {
    (void)unused;
    report_end(*(int *)cause);
}

/* What the VCPUs' thread does for a main thread that waits at the gate, each time that it takes the BQL. */
static void serve_main_loop(void) {
    if (!ending && qemu.qemu_shutdown_requested_get()) {
        /* A guest that has asked for its end may compute on, and the main loop would never see it. */
        ending = true;
        qemu.timer_mod_ns(&turn_timer, 0);
    }
    /* With -icount no instruction runs while a timer of the real-time clock is due, and it is the main loop that runs them. QEMU
     * has few: one is for telling a monitor that the guest has set its calendar clock. */
    if (main_waits && qemu.qemu_clock_deadline_ns_all(REAL_CLOCK, ALL_TIMERS) == 0) qemu.qemu_clock_run_timers(REAL_CLOCK);
}

/* `asleep` changes only with the BQL held, so what a thread that holds it reads stays true. */
static void lock_bql(void *mutex, const char *file, int line) {
    qemu.qemu_mutex_lock_impl(mutex, file, line);
    pthread_t self = pthread_self();
    if (vcpu_known && pthread_equal(self, vcpu_thread)) serve_main_loop();
    if (!pthread_equal(self, main_thread)) return;
    while (gated && !asleep) {
        main_waits = true;
        pthread_mutex_lock(&gate);
        unsigned before = sleeps;
        qemu.qemu_mutex_unlock_impl(mutex, file, line);
        while (sleeps == before) pthread_cond_wait(&fell_asleep, &gate);
        pthread_mutex_unlock(&gate);
        qemu.qemu_mutex_lock_impl(mutex, file, line);
    }
    main_waits = false;
}

static void wait_cond(void *cond, void *mutex, const char *file, int line) {
    bool is_vcpu = vcpu_known && pthread_equal(pthread_self(), vcpu_thread);
    if (is_vcpu && !saving && qemu.runstate_is_running() && qemu.all_cpu_threads_idle()) {
        /* An idle machine. QEMU has its main loop advance the clock, and that wake the thread of the VCPUs again: three switches
         * between threads for each leap, which are most of what a grant costs. Here the leap is one call, and the timers that it
         * makes due run as they do when that thread wakes up. Its caller looks again whether the VCPUs are idle. */
        qemu.icount_start_warp_timer();
        qemu.qemu_clock_run_timers(VIRTUAL_CLOCK);
        return;
    }
    if (is_vcpu) {
        /* The main loop lets the clock of a machine leap whose VCPUs sleep, and only then sees that it is to pause. A timer that
         * is due keeps the clock where it is, and calls `turn` when the machine goes on. Armed in `turn`, it would run at once. */
        if (saving) qemu.timer_mod_ns(&turn_timer, saved_at);
        asleep = true;
        pthread_mutex_lock(&gate);
        sleeps++;
        pthread_cond_broadcast(&fell_asleep);
        pthread_mutex_unlock(&gate);
    }
    qemu.qemu_cond_wait_impl(cond, mutex, file, line);
    if (is_vcpu) asleep = false;
}

/* Two things that QEMU does not save of a card's queues, and a driver would see: its interrupts and its instructions would differ
 * from those of the saved guest.
 *
 * Up to where the driver has been told what was used. QEMU tells the driver of a loaded machine at the next use, whether it wants
 * to know or not. A notice without a vector reaches nobody, and has QEMU note that all is told, as it is of a machine that stands.
 *
 * Whether the device wants to be told of buffers. While it has buffers to receive into, it does not: since the first frame. */
static void complete(NetClientState *card) {
    void *device = qemu.qemu_get_nic_opaque(qemu.qemu_get_peer(card, 0));
    for (int queue = 0; queue < qemu.virtio_get_num_queues(device); queue++) {
        uint16_t vector = qemu.virtio_queue_vector(device, queue);
        /* Its driver is not there, or takes the interrupts of the bus, which have no vectors. */
        if (vector == NO_VECTOR) continue;
        qemu.virtio_queue_set_vector(device, queue, NO_VECTOR);
        qemu.virtio_notify(device, qemu.virtio_get_queue(device, queue));
        qemu.virtio_queue_set_vector(device, queue, vector);
    }
    void *receiving = qemu.virtio_get_queue(device, RECEIVE_QUEUE);
    if (qemu.virtio_queue_get_last_avail_idx(device, RECEIVE_QUEUE) && !qemu.virtio_queue_empty(receiving))
        qemu.virtio_queue_set_notification(receiving, 0);
}

/* A machine that was saved standing comes up standing. Nothing says when it has been loaded, so this looks every millisecond. */
static QEMUTimer loaded_timer;
static void start_loaded(void *unused) {
    (void)unused;
    if (qemu.runstate_check(RUN_STATE_PAUSED)) {
        for (int i = 0; i < MOST_CARDS && cards[i]; i++) complete(cards[i]);
        qemu.vm_start();
    } else qemu.timer_mod_ns(&loaded_timer, qemu.qemu_clock_get_ns(REAL_CLOCK) + 1000000);
}

/* Keeps the main loop awake, and real-time timers falling due: what the gate protects from, and what it must not wait for, is then
 * frequent. For its test. A pause between, since a thread that takes the BQL again at once would starve the VCPUs' thread. */
static QEMUTimer awake_timer, due_timer;
static void keep_awake(void *unused) {
    (void)unused;
    qemu.timer_mod_ns(&awake_timer, qemu.qemu_clock_get_ns(HOST_CLOCK) + 20000);
}
static void fall_due(void *unused) {
    (void)unused;
    qemu.timer_mod_ns(&due_timer, qemu.qemu_clock_get_ns(REAL_CLOCK) + 1000000);
}

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_API;

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    static NetClientInfo client = {.type = NET_CLIENT_STREAM, .size = NET_CLIENT_SIZE, .receive = frame_left};
    static Notifier shutdown = {.notify = shutting_down};
    (void)id, (void)info;
    int count = 0;
    bool loaded = false, busy = false;
    for (int i = 0; i < argc; i++) {
        if (sscanf(argv[i], "fd=%d", &wire_fd) == 1 || sscanf(argv[i], "cards=%d", &count) == 1) continue;
        else if (!strcmp(argv[i], "gate=off")) gate_wanted = false;
        else if (!strcmp(argv[i], "busy=on")) busy = true;
        else if (!strcmp(argv[i], "loaded=on")) loaded = true;
        else refuse("the plugin's arguments are fd=N, cards=K, loaded=on, gate=off, busy=on");
    }
    if (count < 0 || count > MOST_CARDS) refuse("a guest has at most 8 cards");
    find_qemu();
    watch_coordinator();
    main_thread = pthread_self();
    for (int i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        cards[i] = qemu.qemu_new_net_client(&client, NULL, "paceline", name);
    }
    qemu.timer_init_full(&turn_timer, NULL, VIRTUAL_CLOCK, 1, 0, turn, NULL);
    qemu.timer_mod_ns(&turn_timer, 0);
    qemu.qemu_add_vm_change_state_handler(machine_state_changed, NULL);
    qemu.qemu_register_shutdown_notifier(&shutdown);
    if (loaded) {
        qemu.timer_init_full(&loaded_timer, NULL, REAL_CLOCK, 1, 0, start_loaded, NULL);
        qemu.timer_mod_ns(&loaded_timer, 0);
    }
    if (busy) {
        qemu.timer_init_full(&awake_timer, NULL, HOST_CLOCK, 1, 0, keep_awake, NULL);
        qemu.timer_init_full(&due_timer, NULL, REAL_CLOCK, 1, 0, fall_due, NULL);
        keep_awake(NULL);
        fall_due(NULL);
    }
    *qemu.bql_mutex_lock_func = lock_bql;
    *qemu.qemu_cond_wait_func = wait_cond;
    greet();
    return 0;
}
