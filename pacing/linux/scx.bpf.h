/*
 * The parts of the kernel's interface that the policy uses, written by hand: types, helpers and functions of the extensible
 * scheduling class (sched_ext), Linux 6.16 and later. No generated vmlinux.h and no libbpf header is needed.
 *
 * Only the members that are used are declared; their offsets are found when the policy is loaded (CO-RE), so their order
 * here does not matter. Functions of the kernel are weak: the loader reports one that is missing.
 */
#ifndef PACELINE_SCX_BPF_H
#define PACELINE_SCX_BPF_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;
#define false 0
#define true 1
#define NULL ((void *)0)

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __ksym __attribute__((section(".ksyms")))
#define __weak __attribute__((weak))
#define __noinline __attribute__((noinline))
#define __always_inline inline __attribute__((always_inline))
#define READ_ONCE(place) (*(const volatile typeof(place) *)&(place))
#define WRITE_ONCE(place, value) (*(volatile typeof(place) *)&(place) = (value))

/* Maps (enum bpf_map_type, flags of BPF_MAP_CREATE). */
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_NO_PREALLOC (1U << 0)
#define BPF_F_MMAPABLE (1U << 10)
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define CLOCK_MONOTONIC 1

/* sched_ext: built-in queues, flags. */
#define SCX_DSQ_LOCAL_ON ((1ULL << 63) | (1ULL << 62)) /* and the number of the CPU */
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_OPS_SWITCH_PARTIAL (1ULL << 3)
#define SCX_TASK_QUEUED 1U

struct bpf_timer {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 weight;
	u32 flags;
};

struct task_struct {
	s32 pid;
	u64 start_boottime;
	struct sched_ext_entity scx;
};

enum scx_exit_kind { SCX_EXIT_NONE = 0 };

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
};

struct scx_cpu_release_args;

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	void (*enable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#pragma clang attribute pop

/* Helpers, by their numbers in include/uapi/linux/bpf.h. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 bytes, const void *from) = (void *)115;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *p, void *value, u64 flags) = (void *)156;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static long (*const bpf_loop)(u32 times, void *callback, void *context, u64 flags) = (void *)181;

/* Functions of the kernel. */
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;
extern s32 scx_bpf_create_dsq(u64 dsq, s32 node) __ksym __weak;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle) __ksym __weak;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local(u64 dsq) __ksym __weak;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 enq_flags) __ksym __weak;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq) __ksym __weak;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym __weak;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym __weak;
extern u32 scx_bpf_reenqueue_local(void) __ksym __weak;
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq, u64 flags) __ksym __weak;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym __weak;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym __weak;

#endif
