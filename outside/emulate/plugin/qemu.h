/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin uses of QEMU beyond its plugin interface: declarations as they are in QEMU 10.0 to 11.1, and their look-up.
 *
 * A list of names is at once the fields of `qemu` and what `find_qemu` looks up: no name is used that was not found.
 */
#ifndef PACELINE_QEMU_H
#define PACELINE_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The version of the plugin interface. QEMU refuses to load a plugin of another range: 10.0 takes 2 to 4, 11.1 none below 7. What this
 * plugin uses of the interface, being loaded, is the same in all; scripts/emulator gives the number that fits its QEMU. */
#ifndef PLUGIN_API
#error "PLUGIN_API is the version of QEMU's plugin interface"
#endif

enum { REAL_CLOCK = 0, VIRTUAL_CLOCK = 1, HOST_CLOCK = 2, NET_CLIENT_STREAM = 6, RUN_STATE_PAUSED = 4, ALL_TIMERS = -1 };
/* The vector of a queue of virtio without interrupts (virtio 1.2, 4.1.5.1.2). */
enum { NO_VECTOR = 0xffff, RECEIVE_QUEUE = 0 };
/* At least the size of QEMU's NetClientState, which is about 400 bytes. */
enum { NET_CLIENT_SIZE = 8192 };

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
    void *others[20];               /* none of them is needed */
} NetClientInfo;
typedef struct Notifier {
    void (*notify)(struct Notifier *, void *);
    void *next, *previous;
} Notifier;
typedef struct { const char *const *array; const void *features; int size; } EnumLookup;
typedef struct { int64_t major, minor, micro; } VersionTriple;
typedef struct { VersionTriple *qemu; char *package; } VersionInfo;
typedef void LockFunction(void *mutex, const char *file, int line);
typedef void WaitFunction(void *condition, void *mutex, const char *file, int line);

/* SYMBOL(type of a pointer to it, name) */
#define QEMU_SYMBOLS(SYMBOL) \
    SYMBOL(int64_t (*)(int clock), qemu_clock_get_ns) \
    SYMBOL(int64_t (*)(int clock, int attributes), qemu_clock_deadline_ns_all) \
    SYMBOL(bool (*)(int clock), qemu_clock_run_timers) \
    SYMBOL(void (*)(QEMUTimer *, void *group, int clock, int scale, int attributes, void (*)(void *), void *), timer_init_full) \
    SYMBOL(void (*)(QEMUTimer *, int64_t time), timer_mod_ns) \
    SYMBOL(NetClientState *(*)(NetClientInfo *, NetClientState *peer, const char *model, const char *name), qemu_new_net_client) \
    SYMBOL(ssize_t (*)(NetClientState *, const uint8_t *, int, void (*sent)(NetClientState *, ssize_t)), qemu_send_packet_async) \
    SYMBOL(NetClientState *(*)(NetClientState *, int queue), qemu_get_peer) \
    SYMBOL(void *(*)(NetClientState *), qemu_get_nic_opaque) \
    SYMBOL(int (*)(void *device), virtio_get_num_queues) \
    SYMBOL(void *(*)(void *device, int queue), virtio_get_queue) \
    SYMBOL(uint16_t (*)(void *device, int queue), virtio_queue_vector) \
    SYMBOL(void (*)(void *device, int queue, uint16_t vector), virtio_queue_set_vector) \
    SYMBOL(void (*)(void *device, void *queue), virtio_notify) \
    SYMBOL(unsigned (*)(void *device, int queue), virtio_queue_get_last_avail_idx) \
    SYMBOL(int (*)(void *queue), virtio_queue_empty) \
    SYMBOL(void (*)(void *queue, int enable), virtio_queue_set_notification) \
    SYMBOL(bool (*)(void), all_cpu_threads_idle) \
    SYMBOL(int (*)(void), qemu_shutdown_requested_get) \
    SYMBOL(void (*)(Notifier *), qemu_register_shutdown_notifier) \
    SYMBOL(const EnumLookup *, ShutdownCause_lookup) \
    SYMBOL(void *(*)(void (*)(void *, bool running, int state), void *), qemu_add_vm_change_state_handler) \
    SYMBOL(int (*)(int state), vm_stop) \
    SYMBOL(void (*)(void), vm_start) \
    SYMBOL(bool (*)(int state), runstate_check) \
    SYMBOL(bool (*)(void), runstate_is_running) \
    SYMBOL(void (*)(void), icount_start_warp_timer) \
    SYMBOL(void **, mon_iothread) \
    SYMBOL(void *(*)(void *thread), iothread_get_aio_context) \
    SYMBOL(void (*)(void *context, void (*)(void *), void *, const char *name), aio_bh_schedule_oneshot_full) \
    SYMBOL(LockFunction **, bql_mutex_lock_func) \
    SYMBOL(WaitFunction **, qemu_cond_wait_func) \
    SYMBOL(LockFunction *, qemu_mutex_lock_impl) \
    SYMBOL(LockFunction *, qemu_mutex_unlock_impl) \
    SYMBOL(WaitFunction *, qemu_cond_wait_impl)

#define FIELD(type, name) __typeof__(type) name;
extern struct qemu_symbols { QEMU_SYMBOLS(FIELD) } qemu;
#undef FIELD

/* major << 32 | minor << 16 | micro */
extern uint64_t qemu_version;

/* Looks everything up; where QEMU is of a version that was never tried, or lacks a name, tells the coordinator and exits. */
void find_qemu(void);

#endif
