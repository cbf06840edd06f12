/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Just enough of Xen to compile a plug-in on the development host. Names and meanings are Xen's; the bodies are as simple as
 * possible. See replay.c for its use.
 *
 * To add a plug-in: write sched/NAME.c with REGISTER_SCHEDULER, and name it in lab/xen-lab/tests/lab/replay/mod.rs, which compiles
 * all plug-ins with shim.c and replay.c into one program. Schedulers, and their runtime parameters, are found by their names.
 * What a plug-in needs from Xen and is missing is added here, or to shim.c if it has state.
 *
 * Locks: there is one thread. The one lock records whether it is held, and wrong nesting aborts.
 */
#ifndef PACELINE_SHIM_H
#define PACELINE_SHIM_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../include/paceline_xen.h"

#define NR_CPUS 8
#define nr_cpu_ids NR_CPUS
#define cf_check
#define __init
#define __read_mostly
#define always_inline inline
#define PRI_stime PRId64
#define MICROSECS(us) ((s_time_t)(us) * 1000)
#define MILLISECS(ms) ((s_time_t)(ms) * 1000000)
#define SECONDS(s) ((s_time_t)(s) * 1000000000)
#define XENLOG_WARNING ""
#define DOMID_FIRST_RESERVED 0x7ff0
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define ASSERT(holds)                                                                              \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

typedef int64_t s_time_t;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define printk printf
#define simple_strtoull(text, end, base) strtoull(text, (char **)(uintptr_t)(end), base)

#include "messages.h"

/* Memory. */
#define xzalloc(type) ((type *)calloc(1, sizeof(type)))
#define xfree(pointer) free(pointer)
#define ERR_PTR(error) ((void *)(intptr_t)(error))

/* Sets of CPUs. */
typedef struct cpumask {
	unsigned int bits;
} cpumask_t;

static inline bool cpumask_test_cpu(unsigned int cpu, const cpumask_t *mask)
{
	return mask->bits >> cpu & 1;
}
static inline void cpumask_set_cpu(unsigned int cpu, cpumask_t *mask)
{
	mask->bits |= 1u << cpu;
}
static inline void cpumask_clear_cpu(unsigned int cpu, cpumask_t *mask)
{
	mask->bits &= ~(1u << cpu);
}
static inline void cpumask_clear(cpumask_t *mask)
{
	mask->bits = 0;
}
static inline void cpumask_and(cpumask_t *both, const cpumask_t *a, const cpumask_t *b)
{
	both->bits = a->bits & b->bits;
}
static inline unsigned int cpumask_weight(const cpumask_t *mask)
{
	return (unsigned int)__builtin_popcount(mask->bits);
}
static inline bool cpumask_empty(const cpumask_t *mask)
{
	return !mask->bits;
}
static inline unsigned int cpumask_next(int cpu, const cpumask_t *mask)
{
	for (cpu++; cpu < NR_CPUS; cpu++)
		if (cpumask_test_cpu((unsigned int)cpu, mask))
			break;
	return (unsigned int)cpu;
}
static inline unsigned int cpumask_first(const cpumask_t *mask)
{
	return cpumask_next(-1, mask);
}
static inline unsigned int cpumask_cycle(int cpu, const cpumask_t *mask)
{
	unsigned int next = cpumask_next(cpu, mask);

	return next < NR_CPUS ? next : cpumask_first(mask);
}
#define for_each_cpu(cpu, mask) \
	for ((cpu) = cpumask_first(mask); (cpu) < nr_cpu_ids; (cpu) = cpumask_next((int)(cpu), mask))

/* Lists. */
struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}
static inline void list_add_tail(struct list_head *added, struct list_head *list)
{
	added->next = list;
	added->prev = list->prev;
	list->prev->next = added;
	list->prev = added;
}
static inline void list_add(struct list_head *added, struct list_head *list)
{
	list_add_tail(added, list->next);
}
static inline void list_del_init(struct list_head *gone)
{
	gone->next->prev = gone->prev;
	gone->prev->next = gone->next;
	INIT_LIST_HEAD(gone);
}
static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}
#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_for_each_entry(at, list, member)                                                 \
	for ((at) = list_entry((list)->next, __typeof__(*(at)), member); &(at)->member != (list); \
	     (at) = list_entry((at)->member.next, __typeof__(*(at)), member))

/* Trees: ordered, but not balanced. */
struct rb_node {
	struct rb_node *rb_parent, *rb_left, *rb_right;
};
struct rb_root {
	struct rb_node *rb_node;
};
#define RB_ROOT ((struct rb_root){NULL})
#define RB_EMPTY_ROOT(root) ((root)->rb_node == NULL)

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent, struct rb_node **at)
{
	*node = (struct rb_node){.rb_parent = parent};
	*at = node;
}
static inline void rb_insert_color(struct rb_node *node, struct rb_root *root)
{
	(void)node, (void)root;
}
void rb_erase(struct rb_node *node, struct rb_root *root);
struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_last(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *node);

/* Locks. */
typedef struct spinlock {
	bool held;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}
static inline void spin_lock(spinlock_t *lock)
{
	ASSERT(!lock->held);
	lock->held = true;
}
static inline void spin_unlock(spinlock_t *lock)
{
	ASSERT(lock->held);
	lock->held = false;
}
static inline bool spin_is_locked(const spinlock_t *lock)
{
	return lock->held;
}
#define spin_lock_irqsave(lock, flags) ((flags) = 0, spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags) ((void)(flags), spin_unlock(lock))

/* Time and timers. */
enum timer_status {
	TIMER_STATUS_invalid,
	TIMER_STATUS_inactive,
	TIMER_STATUS_killed,
	TIMER_STATUS_in_heap,
};
struct timer {
	void (*function)(void *);
	void *data;
	unsigned int cpu;
	enum timer_status status;
	unsigned int number; /* in the order of init_timer: it is the number of the policy's timer */
};

s_time_t NOW(void);
void init_timer(struct timer *timer, void (*function)(void *), void *data, unsigned int cpu);
void set_timer(struct timer *timer, s_time_t expires);
void stop_timer(struct timer *timer);
void migrate_timer(struct timer *timer, unsigned int cpu);
void kill_timer(struct timer *timer);

/* Domains, VCPUs and units; a unit has one VCPU. */
struct cpupool {
	struct scheduler *sched;
};
struct domain {
	unsigned int domain_id;
	bool privileged;
	unsigned int is_dying;
	void *sched_priv;
	struct sched_unit *sched_unit_list;
	struct cpupool *cpupool;
	struct shim_messages messages;
};
struct vcpu {
	struct domain *domain;
	struct sched_unit *sched_unit;
	unsigned int vcpu_id;
};
struct sched_unit {
	struct domain *domain; /* NULL of an idle unit */
	unsigned int unit_id;
	void *priv;
	struct vcpu *vcpu_list;
	struct sched_unit *next_in_list;
	cpumask_t cpu_hard_affinity[1];
	struct sched_resource *res;
	bool runnable;
	bool migrated;
	bool is_running;
	struct sched_unit *next_task;
	s_time_t next_time;
};
struct sched_resource {
	unsigned int master_cpu;
	struct sched_unit *curr, *prev, *sched_unit_idle;
	spinlock_t *schedule_lock;
	void *sched_priv;
};

#define SCHEDULE_SOFTIRQ 1
#define XEN_SCHEDULER_NULL 9
#define for_each_sched_unit(d, unit) \
	for ((unit) = (d)->sched_unit_list; (unit); (unit) = (unit)->next_in_list)

unsigned int smp_processor_id(void);
void cpu_raise_softirq(unsigned int cpu, unsigned int nr);
struct sched_resource *get_sched_res(unsigned int cpu);
cpumask_t *cpumask_scratch_cpu(unsigned int cpu);
const cpumask_t *cpupool_domain_master_cpumask(const struct domain *d);
struct domain *rcu_lock_domain_by_id(unsigned int domid);

#define rcu_unlock_domain(d) ((void)(d))

static inline bool is_idle_unit(const struct sched_unit *unit)
{
	return !unit->domain;
}
static inline bool is_hardware_domain(const struct domain *d)
{
	return d->privileged;
}
static inline bool unit_runnable(const struct sched_unit *unit)
{
	return unit->runnable;
}
static inline bool unit_runnable_state(const struct sched_unit *unit)
{
	return unit->runnable;
}
static inline unsigned int sched_unit_master(const struct sched_unit *unit)
{
	return unit->res->master_cpu;
}
static inline struct sched_unit *sched_idle_unit(unsigned int cpu)
{
	return get_sched_res(cpu)->sched_unit_idle;
}
static inline struct sched_unit *curr_on_cpu(unsigned int cpu)
{
	return get_sched_res(cpu)->curr;
}
static inline unsigned int sched_get_resource_cpu(unsigned int cpu)
{
	return cpu;
}
static inline void sched_set_res(struct sched_unit *unit, struct sched_resource *res)
{
	unit->res = res;
}
static inline spinlock_t *unit_schedule_lock_irq(const struct sched_unit *unit)
{
	spin_lock(unit->res->schedule_lock);
	return unit->res->schedule_lock;
}
static inline void unit_schedule_unlock_irq(spinlock_t *lock, const struct sched_unit *unit)
{
	ASSERT(lock == unit->res->schedule_lock);
	spin_unlock(lock);
}

/* The table of operations, with those that lab/xen/insert adds. */
struct scheduler {
	const char *name, *opt_name;
	unsigned int sched_id;
	void *sched_data;
	int (*init)(struct scheduler *);
	void (*deinit)(struct scheduler *);
	void (*free_udata)(const struct scheduler *, void *);
	void *(*alloc_udata)(const struct scheduler *, struct sched_unit *, void *);
	void (*free_pdata)(const struct scheduler *, void *, int);
	void *(*alloc_pdata)(const struct scheduler *, int);
	void (*deinit_pdata)(const struct scheduler *, void *, int);
	void *(*alloc_domdata)(const struct scheduler *, struct domain *);
	void (*free_domdata)(const struct scheduler *, void *);
	spinlock_t *(*switch_sched)(struct scheduler *, unsigned int, void *, void *);
	void (*insert_unit)(const struct scheduler *, struct sched_unit *);
	void (*remove_unit)(const struct scheduler *, struct sched_unit *);
	void (*sleep)(const struct scheduler *, struct sched_unit *);
	void (*wake)(const struct scheduler *, struct sched_unit *);
	void (*yield)(const struct scheduler *, struct sched_unit *);
	void (*context_saved)(const struct scheduler *, struct sched_unit *);
	void (*do_schedule)(const struct scheduler *, struct sched_unit *, s_time_t, bool);
	struct sched_resource *(*pick_resource)(const struct scheduler *, const struct sched_unit *);
	void (*migrate)(const struct scheduler *, struct sched_unit *, unsigned int);
	void (*dump_settings)(const struct scheduler *);
	void (*dump_cpu_state)(const struct scheduler *, int);
	void (*move_timers)(const struct scheduler *, struct sched_resource *);
	/* Ours. */
	uint32_t (*report)(const struct scheduler *, struct sched_unit *, uint64_t, uint32_t);
	bool reports_unlocked;
	void (*pending)(const struct scheduler *, struct domain *, unsigned int);
	void (*ports_closed)(const struct scheduler *, struct domain *);
	const struct paceline_xen_page *(*page)(const struct scheduler *, struct domain *, const struct paceline_xen_page *);
};

/* Schedulers and runtime parameters, where replay.c finds them. */
#define REGISTER_SCHEDULER(x) \
	const struct scheduler *const x##_entry __attribute__((section("shim_schedulers"), used)) = &x

struct shim_param {
	const char *name;
	unsigned int *value;
	int (*parse)(const char *);
};
/* Pointers, as for schedulers: between structures the linker may leave gaps. */
#define SHIM_PARAM(id, ...)                                                     \
	static const struct shim_param id##_param = {__VA_ARGS__};              \
	static const struct shim_param *const id##_entry __attribute__((section("shim_params"), used)) = &id##_param
#define integer_runtime_param(param, variable) SHIM_PARAM(variable, .name = param, .value = &(variable))
#define custom_runtime_param(param, function, init) SHIM_PARAM(function, .name = param, .parse = function)

#endif
