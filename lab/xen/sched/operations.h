/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations that several plug-ins have in common, as Xen calls them, and the limits of their parameters. A plug-in puts those
 * that do all it needs into its table, and calls the others from its own operations.
 *
 * Locks: see paceline.h. pace_sleep and pace_yield are called with the lock; pace_context_saved, pace_remove_unit and
 * pace_deinit_pdata take it.
 */
#ifndef PACELINE_OPERATIONS_H
#define PACELINE_OPERATIONS_H

#include "paceline.h"

struct limits {
	unsigned int least, most;
};

/* A parameter that is out of bounds counts as the nearest allowed value. */
static inline unsigned int within(unsigned int value, struct limits limits)
{
	return value < limits.least ? limits.least : value > limits.most ? limits.most : value;
}

/* The unit has nothing to do any more. */
static inline void fall_asleep(struct pace_sched *sched, struct pace_unit *own)
{
	own->awake = false;
	queue_leave(sched, own);
}

/* Frees the instance of a plug-in, whose structure begins with a pace_sched. */
static inline void cf_check pace_deinit(struct scheduler *ops)
{
	xfree(ops->sched_data);
	ops->sched_data = NULL;
}

/* Frees what a plug-in has allocated for a unit or a domain, and has removed from its lists. */
static inline void cf_check pace_free(const struct scheduler *ops, void *priv)
{
	xfree(priv);
}

static inline void cf_check pace_deinit_pdata(const struct scheduler *ops, void *pdata, int cpu)
{
	drop_cpu_with_timers(sched_of(ops), cpu, NULL, 0);
}

static inline spinlock_t *cf_check pace_switch_sched(struct scheduler *ops, unsigned int cpu, void *pdata, void *vdata)
{
	return add_cpu(sched_of(ops), cpu, vdata);
}

static inline void cf_check pace_remove_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	forget(sched_of(ops), pace_of(unit));
	unit_schedule_unlock_irq(lock, unit);
}

static inline struct sched_resource *cf_check pace_pick_resource(const struct scheduler *ops, const struct sched_unit *unit)
{
	return any_resource(unit);
}

/* The running unit is taken off at once. */
static inline void cf_check pace_sleep(const struct scheduler *ops, struct sched_unit *unit)
{
	struct pace_unit *own = pace_of(unit);

	fall_asleep(sched_of(ops), own);
	if (own->state == RUNNING)
		cpu_raise_softirq(own->runs_on, SCHEDULE_SOFTIRQ);
}

/* The next decision takes it into account. */
static inline void cf_check pace_yield(const struct scheduler *ops, struct sched_unit *unit)
{
	pace_of(unit)->yielded = true;
}

/* A waiting unit may run elsewhere from now on. */
static inline void cf_check pace_context_saved(const struct scheduler *ops, struct sched_unit *unit)
{
	struct pace_sched *sched = sched_of(ops);
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	if (saved(sched, unit))
		queue_offer(sched, pace_of(unit));
	unit_schedule_unlock_irq(lock, unit);
}

/* What the tables of all plug-ins have; a plug-in's own operations begin with `prefix`. */
#define PACE_OPERATIONS(prefix)                                                                                        \
	.sched_id = XEN_SCHEDULER_NULL, .deinit = pace_deinit, .alloc_udata = prefix##_alloc_udata,                    \
	.free_udata = pace_free, .insert_unit = prefix##_insert_unit, .wake = prefix##_wake,                           \
	.do_schedule = prefix##_do_schedule, .dump_settings = prefix##_dump_settings

#endif
