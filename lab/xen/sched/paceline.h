/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layer between Xen's core scheduler and our plug-ins, which all of them need. run_queue.h has the queues.
 *
 * The steps of a decision: note_sleepers, queue_stop, what the policy does with the unit that ran last (queue_wait if it is to be
 * chosen from the queue), queue_least, queue_run, decided. A unit that has lost its PCPU is in no tree until context_saved, which
 * calls `saved` and offers it to other PCPUs.
 *
 * Sleep: Xen calls `sleep` for most units, but not for a VCPU that blocks while it runs, and it pauses some before it calls; these
 * are noticed at the next decision. Xen calls `wake` even for units that are awake. With `awake` the plug-in sees sleep and wake
 * alternate.
 *
 * Locks: one per instance, `lock`, which is every PCPU's schedule_lock. Xen takes it around wake, sleep, yield, migrate,
 * do_schedule and report (but for PSX's, see psx.c); insert_unit, remove_unit, context_saved, timers and dumps take it themselves.
 * Inside it only Xen's timer and console locks are taken.
 */
#ifndef PACELINE_GLUE_H
#define PACELINE_GLUE_H

#include "invariants.h"
#include "run_queue.h"

static inline struct pace_sched *sched_of(const struct scheduler *ops)
{
	return ops->sched_data;
}

static inline struct pace_unit *pace_of(const struct sched_unit *unit)
{
	return unit->priv;
}

static inline void init_instance(struct pace_sched *sched, const char *name)
{
	unsigned int cpu;

	spin_lock_init(&sched->lock);
	INIT_LIST_HEAD(&sched->units);
	sched->name = name;
	sched->shared = RB_ROOT;
	sched->arrivals = sched->returns = 1ULL << 63;
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		sched->pcpus[cpu].own = RB_ROOT;
}

static inline void init_unit(struct pace_unit *own, struct sched_unit *unit)
{
	own->unit = unit;
	own->runs_on = NO_CPU;
	INIT_LIST_HEAD(&own->all);
}

/* Adds a PCPU: the rest of the plug-in's switch_sched. Xen makes it decide right after. */
static inline spinlock_t *add_cpu(struct pace_sched *sched, unsigned int cpu, void *idle_priv)
{
	sched_idle_unit(cpu)->priv = idle_priv;
	cpumask_set_cpu(cpu, &sched->cpus);
	return &sched->lock;
}

/* Removes a PCPU; Xen has moved away the unit that ran there. */
static inline void drop_cpu(struct pace_sched *sched, unsigned int cpu)
{
	ASSERT(!sched->pcpus[cpu].running);
	cpumask_clear_cpu(cpu, &sched->cpus);
	cpumask_clear_cpu(cpu, &sched->idle);
	cpumask_clear_cpu(cpu, &sched->busy);
}

static inline bool is_live(const struct timer *timer)
{
	return timer->status != TIMER_STATUS_invalid && timer->status != TIMER_STATUS_killed;
}

/* Moves the timers of the instance to a PCPU that remains, if one does. With the lock. */
static inline void keep_timers(struct pace_sched *sched, struct timer *timers, unsigned int count)
{
	unsigned int cpu = cpumask_first(&sched->cpus), i;

	for (i = 0; i < count; i++)
		if (is_live(&timers[i]) && cpu < nr_cpu_ids && !cpumask_test_cpu(timers[i].cpu, &sched->cpus))
			migrate_timer(&timers[i], cpu);
}

/* Removes a PCPU, and ends the timers if none remains: without the lock, for which a timer that goes off may be waiting. */
static inline void drop_cpu_with_timers(struct pace_sched *sched, unsigned int cpu, struct timer *timers, unsigned int count)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&sched->lock, flags);
	drop_cpu(sched, cpu);
	keep_timers(sched, timers, count);
	spin_unlock_irqrestore(&sched->lock, flags);
	for (i = 0; i < count; i++)
		if (is_live(&timers[i]) && cpumask_empty(&sched->cpus))
			kill_timer(&timers[i]);
}

/* Adds a unit, which is asleep. With the lock. */
static inline void admit(struct pace_sched *sched, struct pace_unit *own)
{
	own->privileged = is_hardware_domain(own->unit->domain);
	list_add_tail(&own->all, &sched->units);
}

/* Removes a unit; it does not run, because Xen has paused its domain. With the lock. */
static inline void forget(struct pace_sched *sched, struct pace_unit *own)
{
	ASSERT(own->state != RUNNING);
	queue_leave(sched, own);
	own->awake = false;
	list_del_init(&own->all);
}

/* Where a unit may run: on the only PCPU of its hard affinity that the instance has, or else as `otherwise` says. */
static inline struct place place_of(const struct pace_sched *sched, const struct pace_unit *own, struct place otherwise)
{
	const cpumask_t *affinity = own->unit->cpu_hard_affinity;
	struct place place = otherwise;
	unsigned int cpu, found = 0;

	for_each_cpu (cpu, &sched->cpus) {
		if (!cpumask_test_cpu(cpu, affinity))
			continue;
		place.cpu = cpu;
		if (++found > 1)
			return otherwise;
	}
	place.reach = found ? ONLY : otherwise.reach;
	return place;
}

/* Any PCPU on which the unit may run: which one it gets is decided when it runs. */
static inline struct sched_resource *any_resource(const struct sched_unit *unit)
{
	unsigned int cpu = sched_unit_master(unit);
	cpumask_t *cpus = cpumask_scratch_cpu(smp_processor_id());

	cpumask_and(cpus, cpupool_domain_master_cpumask(unit->domain), unit->cpu_hard_affinity);
	if (!cpumask_test_cpu(cpu, cpus))
		cpu = cpumask_cycle(cpu, cpus);
	ASSERT(cpu < nr_cpu_ids);
	return get_sched_res(cpu);
}

/* Notes units that cannot run any more although Xen has not said so: the one that runs on `cpu`, and the first of the queue. */
static inline void note_sleepers(struct pace_sched *sched, unsigned int cpu,
				 struct pace_unit *(*first)(const struct pace_sched *, unsigned int),
				 void (*sleep)(struct pace_sched *, struct pace_unit *))
{
	struct pace_unit *own = sched->pcpus[cpu].running;

	if (own && own->awake && !unit_runnable_state(own->unit))
		sleep(sched, own);
	while ((own = first(sched, cpu)) && !unit_runnable_state(own->unit))
		sleep(sched, own);
}

/* Charges the unit that ran last until now. */
static inline void book_run(struct pace_sched *sched, unsigned int cpu, struct pace_unit *last, s_time_t now)
{
	if (last)
		last->ran_ns += now - sched->pcpus[cpu].decided_ns;
	sched->pcpus[cpu].decided_ns = now;
}

/*
 * The end of a decision, after queue_run: `next` (NULL to idle) runs on `cpu` for `slice_ns`. A PCPU that has work of Xen's
 * own to do decides again after that, and is not asked before; a unit that it may have been asked to take is offered to others.
 */
static inline void decided(struct pace_sched *sched, unsigned int cpu, struct sched_unit *current_unit,
			   struct pace_unit *last, struct pace_unit *next, s_time_t slice_ns, bool tasklet)
{
	struct sched_unit *unit = next ? next->unit : sched_idle_unit(cpu);

	sched->decisions++;
	if (last && last != next) {
		if (last->state == WAITING)
			unlink_unit(sched, last);
		last->saving = true;
	}
	if (next && next != last) {
		next->picks++;
		sched->switches++;
	}
	if (tasklet) {
		struct pace_unit *least = queue_least(sched, cpu);

		cpumask_clear_cpu(cpu, &sched->idle);
		if (least)
			queue_offer(sched, least);
	}
	current_unit->next_time = next ? slice_ns : -1;
	current_unit->next_task = unit;
	unit->migrated = false;
	if (next && sched_unit_master(unit) != cpu) {
		sched_set_res(unit, get_sched_res(cpu));
		unit->migrated = true;
	}
}

/* The unit's registers are saved: it may run. Returns whether it waits, and so is to be offered. With the lock. */
static inline bool saved(struct pace_sched *sched, struct sched_unit *unit)
{
	struct pace_unit *own = pace_of(unit);

	if (is_idle_unit(unit))
		return false;
	own->saving = false;
	if (own->state != WAITING)
		return false;
	link_unit(sched, own);
	return true;
}

/* What an accepted report changes. */
struct news {
	bool mode, lvt, waiting;
};

/* Judges a report: 0 if it is accepted, with what the policy is to be told: mode, LVT and waiting flag, in this order. */
static inline uint32_t judge_report(struct pace_unit *own, uint64_t lvt_ns, uint32_t flags, struct news *news)
{
	bool simulates = flags & PACELINE_XEN_SIMULATION, waits = flags & PACELINE_XEN_WAITING;

	if ((flags & ~(PACELINE_XEN_SIMULATION | PACELINE_XEN_WAITING)) ||
	    (lvt_ns > PACELINE_XEN_LVT_MAX && lvt_ns != PACELINE_XEN_DONE))
		return PACELINE_XEN_MALFORMED;
	if (!simulates && lvt_ns) {
		own->outside++;
		return PACELINE_XEN_OUTSIDE;
	}
	if (simulates && own->has_lvt && lvt_ns < own->lvt_ns) {
		own->backwards++;
		return PACELINE_XEN_BACKWARDS;
	}
	own->reports++;
	news->mode = simulates != own->simulates;
	news->lvt = simulates;
	news->waiting = waits != own->waits_flag;
	own->simulates = simulates;
	own->waits_flag = waits;
	own->has_lvt = simulates && lvt_ns != PACELINE_XEN_DONE;
	own->lvt_ns = lvt_ns;
	return PACELINE_XEN_OK;
}

/* A guest's numbers for the console, one unit a line; the plug-in appends its own. With the lock. */
static inline void dump_unit(const struct pace_unit *own)
{
	printk("paceline-sched: dom=%u vcpu=%u pcpu=%d awake=%d picks=%" PRIu64 " ran_ns=%" PRIu64 " reports=%" PRIu64
	       " backwards=%" PRIu64 " outside=%" PRIu64,
	       own->unit->domain->domain_id, own->unit->unit_id, own->runs_on == NO_CPU ? -1 : (int)own->runs_on,
	       own->awake, own->picks, own->ran_ns, own->reports, own->backwards, own->outside);
}

static inline void dump_instance(const struct pace_sched *sched)
{
	printk("paceline-sched: scheduler=%s decisions=%" PRIu64 " switches=%" PRIu64 " tickles=%" PRIu64 "\n", sched->name,
	       sched->decisions, sched->switches, sched->tickles);
}

#endif
