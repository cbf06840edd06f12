/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run queues for plug-ins that run the least key first: the units that wait, in order, and those that run, with PCPU and standing.
 * The same as machines/policy/src/queues/host.rs and waiting.rs, in names and in decisions.
 *
 * State: one tree of all waiting units that may run on several PCPUs, and a tree for each PCPU of those that may run only there or
 * prefer it. Equal keys are served first come, first served, except that those put back come first. A PCPU that may be asked to
 * decide is in `idle` or in `busy`; one that has been asked is in neither until it has decided, so that two units that wake
 * together ask two PCPUs.
 *
 * Saving: from the decision that takes its PCPU until context_saved, no PCPU may run a unit. It has its key and its arrival,
 * but is in no tree.
 *
 * Locks: all of it is guarded by the one lock of the scheduler instance, which is every PCPU's schedule_lock.
 */
#ifndef PACELINE_RUN_QUEUE_H
#define PACELINE_RUN_QUEUE_H

#include "hypervisor.h"

#define NO_CPU (~0u)

/* The key that orders units: a class, the least first, and the order within it. */
struct key {
	uint64_t class;
	uint64_t order;
};

/* Which PCPUs may take a unit from its queue. */
enum reach {
	ANYWHERE, /* every PCPU on which it may run */
	NEAR,     /* every PCPU on which it may run, but `cpu` prefers it */
	ONLY,     /* `cpu` only */
};

struct place {
	enum reach reach;
	unsigned int cpu;
};

enum unit_state {
	AWAY,    /* asleep, or between two states */
	WAITING, /* has a key, an arrival and a place */
	RUNNING,
};

/* The state of a unit in all plug-ins. A plug-in's own structure begins with it; unit->priv points to it. */
struct pace_unit {
	struct sched_unit *unit;
	struct list_head all;
	enum unit_state state;
	bool privileged;
	bool awake;
	bool yielded;
	bool saving;
	unsigned int runs_on;
	struct key key;
	uint64_t arrival;
	struct place place;
	struct rb_node in_shared, in_own;
	/* What its guest has reported, and how many reports were refused. */
	bool simulates, waits_flag, has_lvt;
	uint64_t lvt_ns;
	uint64_t reports, backwards, outside;
	/* How often it was picked and how long it ran since it was added. */
	uint64_t picks, ran_ns;
};

struct pace_pcpu {
	struct pace_unit *running;
	struct key standing;
	s_time_t decided_ns;
	struct rb_root own;
};

/* The state of an instance of all plug-ins. A plug-in's own structure begins with it; ops->sched_data points to it. */
struct pace_sched {
	spinlock_t lock;
	const char *name;
	struct list_head units; /* in the order in which they were added */
	struct rb_root shared;
	cpumask_t cpus, idle, busy;
	uint64_t arrivals; /* the number of the last arrival */
	uint64_t returns;  /* the arrival number of the unit that was put back last; these count down */
	uint64_t decisions, tickles, switches;
	struct pace_pcpu pcpus[NR_CPUS];
};

static inline bool key_less(struct key a, struct key b)
{
	return a.class != b.class ? a.class < b.class : a.order < b.order;
}

static inline bool key_equal(struct key a, struct key b)
{
	return a.class == b.class && a.order == b.order;
}

/* Whether `a` comes before `b`. Arrivals are never equal. */
static inline bool comes_first(const struct pace_unit *a, const struct pace_unit *b)
{
	return key_equal(a->key, b->key) ? a->arrival < b->arrival : key_less(a->key, b->key);
}

static inline bool may_run_on(const struct pace_unit *own, unsigned int cpu)
{
	return cpumask_test_cpu(cpu, own->unit->cpu_hard_affinity);
}

#define SHARED_UNIT(node) container_of(node, struct pace_unit, in_shared)
#define OWN_UNIT(node) container_of(node, struct pace_unit, in_own)

/* Puts `unit` into the tree `root` by its node `member`, behind all that `before` does not put it before. */
#define tree_insert(root, unit, member, before)                                                                        \
	do {                                                                                                           \
		struct rb_node **at_ = &(root)->rb_node, *parent_ = NULL;                                              \
                                                                                                                       \
		while (*at_) {                                                                                         \
			parent_ = *at_;                                                                                \
			at_ = before(unit, container_of(parent_, __typeof__(*(unit)), member)) ? &parent_->rb_left     \
											       : &parent_->rb_right;   \
		}                                                                                                      \
		rb_link_node(&(unit)->member, parent_, at_);                                                           \
		rb_insert_color(&(unit)->member, root);                                                                \
	} while (0)

/* Puts a unit that waits into its trees. */
static inline void link_unit(struct pace_sched *sched, struct pace_unit *own)
{
	if (own->place.reach != ANYWHERE)
		tree_insert(&sched->pcpus[own->place.cpu].own, own, in_own, comes_first);
	if (own->place.reach != ONLY)
		tree_insert(&sched->shared, own, in_shared, comes_first);
}

static inline void unlink_unit(struct pace_sched *sched, struct pace_unit *own)
{
	if (own->place.reach != ANYWHERE)
		rb_erase(&own->in_own, &sched->pcpus[own->place.cpu].own);
	if (own->place.reach != ONLY)
		rb_erase(&own->in_shared, &sched->shared);
}

static inline void queue_insert(struct pace_sched *sched, struct pace_unit *own, struct key key, uint64_t arrival,
				struct place place)
{
	ASSERT(own->state == AWAY);
	own->state = WAITING;
	own->key = key;
	own->arrival = arrival;
	own->place = place;
	if (!own->saving)
		link_unit(sched, own);
}

/* The unit waits from now on, behind its equals. */
static inline void queue_wait(struct pace_sched *sched, struct pace_unit *own, struct key key, struct place place)
{
	queue_insert(sched, own, key, ++sched->arrivals, place);
}

/* The unit was interrupted and waits from now on, before its equals. */
static inline void queue_put_back(struct pace_sched *sched, struct pace_unit *own, struct key key, struct place place)
{
	queue_insert(sched, own, key, --sched->returns, place);
}

/* Removes the unit if it waits; returns whether it did. */
static inline bool queue_leave(struct pace_sched *sched, struct pace_unit *own)
{
	if (own->state != WAITING)
		return false;
	if (!own->saving)
		unlink_unit(sched, own);
	own->state = AWAY;
	return true;
}

/* If the unit waits, gives it another key, as if it had come with that one. */
static inline void queue_rekey(struct pace_sched *sched, struct pace_unit *own, struct key key)
{
	if (queue_leave(sched, own))
		queue_insert(sched, own, key, own->arrival, own->place);
}

static inline struct pace_unit *first_own(const struct pace_sched *sched, unsigned int cpu)
{
	struct rb_node *node = rb_first(&sched->pcpus[cpu].own);

	return node ? OWN_UNIT(node) : NULL;
}

/* The first of the shared tree that may run on `cpu`: the very first, unless its affinity is a part of the PCPUs. */
static inline struct pace_unit *first_shared(const struct pace_sched *sched, unsigned int cpu)
{
	struct rb_node *node = rb_first(&sched->shared);

	while (node && !may_run_on(SHARED_UNIT(node), cpu))
		node = rb_next(node);
	return node ? SHARED_UNIT(node) : NULL;
}

/* The unit that comes first on `cpu`: the least key, then the earliest arrival. */
static inline struct pace_unit *queue_least(const struct pace_sched *sched, unsigned int cpu)
{
	struct pace_unit *shared = first_shared(sched, cpu), *own = first_own(sched, cpu);

	if (!shared || !own)
		return shared ? shared : own;
	return comes_first(own, shared) ? own : shared;
}

/* The same, but among equal keys those of the PCPU's own tree come first. */
static inline struct pace_unit *queue_least_near(const struct pace_sched *sched, unsigned int cpu)
{
	struct pace_unit *shared = first_shared(sched, cpu), *own = first_own(sched, cpu);

	if (!shared || !own)
		return shared ? shared : own;
	return key_less(shared->key, own->key) ? shared : own;
}

/* `cpu` decides: the unit that ran there runs no more. */
static inline struct pace_unit *queue_stop(struct pace_sched *sched, unsigned int cpu)
{
	struct pace_unit *before = sched->pcpus[cpu].running;

	sched->pcpus[cpu].running = NULL;
	cpumask_clear_cpu(cpu, &sched->idle);
	cpumask_clear_cpu(cpu, &sched->busy);
	if (before) {
		before->state = AWAY;
		before->runs_on = NO_CPU;
	}
	return before;
}

/* `cpu` has decided, for `own` if that is not NULL. */
static inline void queue_run(struct pace_sched *sched, unsigned int cpu, struct pace_unit *own, struct key standing)
{
	struct pace_pcpu *pcpu = &sched->pcpus[cpu];

	ASSERT(!pcpu->running);
	pcpu->running = own;
	pcpu->standing = standing;
	if (!own) {
		cpumask_set_cpu(cpu, &sched->idle);
		return;
	}
	queue_leave(sched, own);
	ASSERT(!own->saving);
	own->state = RUNNING;
	own->runs_on = cpu;
	cpumask_set_cpu(cpu, &sched->busy);
}

/* The unit that runs on `cpu` has another standing. */
static inline void queue_stand(struct pace_sched *sched, unsigned int cpu, struct key standing)
{
	sched->pcpus[cpu].standing = standing;
}

/* Asks for a decision on `cpu`. */
static inline void queue_ask(struct pace_sched *sched, unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &sched->idle);
	cpumask_clear_cpu(cpu, &sched->busy);
	sched->tickles++;
	cpu_raise_softirq(cpu, SCHEDULE_SOFTIRQ);
}

/* An idle PCPU that can take the unit, which waits, and has not been asked yet. */
static inline unsigned int queue_idle_for(const struct pace_sched *sched, const struct pace_unit *own)
{
	unsigned int cpu;

	if (own->place.reach != ANYWHERE && cpumask_test_cpu(own->place.cpu, &sched->idle))
		return own->place.cpu;
	if (own->place.reach == ONLY)
		return NO_CPU;
	for_each_cpu (cpu, &sched->idle)
		if (may_run_on(own, cpu))
			return cpu;
	return NO_CPU;
}

/* Of the PCPUs that can take a unit at `own`'s place and were not asked, the one that runs the greatest standing. */
static inline unsigned int queue_greatest_for(const struct pace_sched *sched, const struct pace_unit *own)
{
	unsigned int cpu, greatest = NO_CPU;

	for_each_cpu (cpu, &sched->busy) {
		if (own->place.reach == ONLY ? cpu != own->place.cpu : !may_run_on(own, cpu))
			continue;
		if (greatest == NO_CPU || !key_less(sched->pcpus[cpu].standing, sched->pcpus[greatest].standing))
			greatest = cpu;
	}
	return greatest;
}

/*
 * Offers a unit that waits: asks an idle PCPU, or else the one whose unit has the greatest standing if that is greater than
 * the unit's key. A unit that is being saved is offered when that is done.
 */
static inline void queue_offer(struct pace_sched *sched, const struct pace_unit *own)
{
	unsigned int cpu;

	if (own->state != WAITING || own->saving)
		return;
	cpu = queue_idle_for(sched, own);
	if (cpu == NO_CPU) {
		cpu = queue_greatest_for(sched, own);
		if (cpu != NO_CPU && !key_less(own->key, sched->pcpus[cpu].standing))
			cpu = NO_CPU;
	}
	if (cpu != NO_CPU)
		queue_ask(sched, cpu);
}

#endif
