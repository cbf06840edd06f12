/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks of NSX: its parameters, the state of units and domains, and the three timers that correct the clocks of idle units.
 * nsx.c describes the scheduler; no other file includes this one.
 *
 * State: a unit's LVT is ref_time + nticks * tick. It rises by whole ticks, and falls for DOM0 only, which the master timer sets
 * to sys_lvt. A unit whose LVT changes while it waits is queued by the new one, and keeps its arrival among equals.
 *
 * Locks: all of it is guarded by the lock of the instance, which the timers take.
 */
#ifndef PACELINE_NSX_CLOCKS_H
#define PACELINE_NSX_CLOCKS_H

#include "operations.h"

#define MASTER_TICKS 10

enum {
	MASTER,
	MASTER_LVT,
	MASTER_ALL_LVT,
	TIMERS,
};

static unsigned int __read_mostly nsx_tick_us = 100;
integer_runtime_param("nsx-tick-us", nsx_tick_us);
static const struct limits tick_limits = {30, 30000};

static unsigned int __read_mostly nsx_dom0_ticks = 1;
integer_runtime_param("nsx-dom0-ticks", nsx_dom0_ticks);
static const struct limits dom0_limits = {1, 100};

static unsigned int __read_mostly nsx_max_diff_ticks = 10;
integer_runtime_param("nsx-max-diff-ticks", nsx_max_diff_ticks);
static const struct limits max_diff_limits = {1, 1000000};

static unsigned int __read_mostly nsx_adjust_ms = 60000;
integer_runtime_param("nsx-adjust-ms", nsx_adjust_ms);
static unsigned int __read_mostly nsx_adjust_all_ms = 60000;
integer_runtime_param("nsx-adjust-all-ms", nsx_adjust_all_ms);
static const struct limits adjust_limits = {1, 3600000};

struct nsx {
	struct pace_sched base;
	struct timer timers[TIMERS];
	uint64_t tick_ns, sys_lvt_ns, sys_lvt_next_ns;
	uint64_t admitted; /* number of units admitted so far */
	s_time_t slice_end_ns[NR_CPUS];
	uint64_t masters, adjusts, adjusts_all, raises, steals;
};

struct nsx_dom {
	const struct domain *domain;
	uint64_t lvt_ns;
};

struct nsx_unit {
	struct pace_unit base;
	struct nsx_dom *dom;
	unsigned int home; /* the PCPU in whose run queue it waits */
	uint64_t ref_time_ns, nticks;
};

static inline struct nsx *nsx_of(struct pace_sched *sched)
{
	return container_of(sched, struct nsx, base);
}

static inline struct nsx_unit *nsx_unit_of(struct pace_unit *own)
{
	return container_of(own, struct nsx_unit, base);
}

static inline uint64_t lvt_ns(const struct nsx *nsx, const struct nsx_unit *own)
{
	return own->ref_time_ns + own->nticks * nsx->tick_ns;
}

static inline struct key key_of(const struct nsx *nsx, const struct nsx_unit *own)
{
	return (struct key){.order = lvt_ns(nsx, own)};
}

static inline struct place place_near(const struct nsx *nsx, const struct nsx_unit *own)
{
	return place_of(&nsx->base, &own->base, (struct place){NEAR, own->home});
}

/* Sets the LVT of a unit, in its queue too. A running unit keeps its standing for the rest of its slice. */
static inline void put_at(struct nsx *nsx, struct nsx_unit *own, uint64_t at_ns)
{
	own->ref_time_ns = at_ns;
	own->nticks = 0;
	queue_rekey(&nsx->base, &own->base, key_of(nsx, own));
}

static inline void raise_to(struct nsx *nsx, struct nsx_unit *own, uint64_t at_ns)
{
	if (lvt_ns(nsx, own) < at_ns) {
		put_at(nsx, own, at_ns);
		nsx->raises++;
	}
}

static inline void compute_lvts(struct nsx *nsx)
{
	uint64_t least_ns = UINT64_MAX, most_ns = 0;
	struct nsx_unit *own;
	bool guests = false;

	list_for_each_entry (own, &nsx->base.units, base.all)
		own->dom->lvt_ns = 0;
	list_for_each_entry (own, &nsx->base.units, base.all) {
		uint64_t own_ns = lvt_ns(nsx, own);

		if (own->dom->lvt_ns < own_ns)
			own->dom->lvt_ns = own_ns;
	}
	list_for_each_entry (own, &nsx->base.units, base.all) {
		uint64_t dom_ns = own->dom->lvt_ns;

		if (own->base.privileged || own->dom->domain->is_dying)
			continue;
		guests = true;
		if (dom_ns < least_ns)
			least_ns = dom_ns;
		if (dom_ns > most_ns)
			most_ns = dom_ns;
	}
	if (guests) {
		nsx->sys_lvt_ns = least_ns;
		nsx->sys_lvt_next_ns = most_ns;
	}
}

/* Applies a changed length of the tick: ticks that were charged keep theirs. */
static inline void note_tick(struct nsx *nsx)
{
	uint64_t tick_ns = MICROSECS(within(nsx_tick_us, tick_limits));
	struct nsx_unit *own;

	if (tick_ns == nsx->tick_ns)
		return;
	list_for_each_entry (own, &nsx->base.units, base.all) {
		own->ref_time_ns = lvt_ns(nsx, own);
		own->nticks = 0;
	}
	nsx->tick_ns = tick_ns;
}

static void cf_check master_tick(void *data)
{
	struct nsx *nsx = data;
	struct nsx_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&nsx->base.lock, flags);
	nsx->masters++;
	note_tick(nsx);
	compute_lvts(nsx);
	list_for_each_entry (own, &nsx->base.units, base.all)
		if (own->base.privileged)
			put_at(nsx, own, nsx->sys_lvt_ns);
	set_timer(&nsx->timers[MASTER], NOW() + MASTER_TICKS * nsx->tick_ns);
	spin_unlock_irqrestore(&nsx->base.lock, flags);
}

/* Adjust_lvt of the paper. */
static void cf_check adjust_lvt(void *data)
{
	struct nsx *nsx = data;
	struct nsx_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&nsx->base.lock, flags);
	nsx->adjusts++;
	compute_lvts(nsx);
	list_for_each_entry (own, &nsx->base.units, base.all)
		if (!own->base.privileged)
			raise_to(nsx, own, own->dom->lvt_ns);
	set_timer(&nsx->timers[MASTER_LVT], NOW() + MILLISECS(within(nsx_adjust_ms, adjust_limits)));
	spin_unlock_irqrestore(&nsx->base.lock, flags);
}

/* Adjust_all_lvt of the paper. */
static void cf_check adjust_all_lvt(void *data)
{
	struct nsx *nsx = data;
	struct nsx_unit *own;
	unsigned long flags;
	bool lags;

	spin_lock_irqsave(&nsx->base.lock, flags);
	nsx->adjusts_all++;
	compute_lvts(nsx);
	lags = nsx->sys_lvt_next_ns - nsx->sys_lvt_ns > nsx->tick_ns * within(nsx_max_diff_ticks, max_diff_limits);
	list_for_each_entry (own, &nsx->base.units, base.all)
		if (lags && !own->base.privileged)
			raise_to(nsx, own, nsx->sys_lvt_next_ns);
	set_timer(&nsx->timers[MASTER_ALL_LVT], NOW() + MILLISECS(within(nsx_adjust_all_ms, adjust_limits)));
	spin_unlock_irqrestore(&nsx->base.lock, flags);
}

static inline void start_timer(struct nsx *nsx, unsigned int number, void (*function)(void *), unsigned int cpu, s_time_t after)
{
	if (is_live(&nsx->timers[number]))
		return;
	init_timer(&nsx->timers[number], function, nsx, cpu);
	set_timer(&nsx->timers[number], NOW() + after);
}

/* Starts the timers with the first PCPU of the instance, or the first after it had none. */
static inline void start_timers(struct nsx *nsx, unsigned int cpu)
{
	start_timer(nsx, MASTER, master_tick, cpu, MASTER_TICKS * nsx->tick_ns);
	start_timer(nsx, MASTER_LVT, adjust_lvt, cpu, MILLISECS(within(nsx_adjust_ms, adjust_limits)));
	start_timer(nsx, MASTER_ALL_LVT, adjust_all_lvt, cpu, MILLISECS(within(nsx_adjust_all_ms, adjust_limits)));
}

#endif
