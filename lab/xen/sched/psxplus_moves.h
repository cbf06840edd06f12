/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The moves of PSX+: what changes a unit's place in the order, which PCPU is then asked to decide, and the work of the two timers.
 * Included by psxplus.c, whose head describes the scheduler.
 *
 * Locks: the lock of the instance is held, except in the two timers, which take it.
 */
#ifndef PACELINE_PSXPLUS_MOVES_H
#define PACELINE_PSXPLUS_MOVES_H

#include "operations.h"
#include "psxplus_unit.h"
#include "ports.h"

enum {
	PERIOD_BEGINS,
	SHARES_FALL_DUE,
	TIMERS,
};

/* Runtime parameters. */
static unsigned int __read_mostly psxplus_tick_us = 300;
static unsigned int __read_mostly psxplus_patience_us = 300;
static unsigned int __read_mostly psxplus_period_us = 30000;
static unsigned int __read_mostly psxplus_share_percent = 5;
static const struct limits tick_limits = {10, 100000}, patience_limits = {1, 1000000};
static const struct limits period_limits = {1000, 10000000}, percent_limits = {1, 50};

struct plus_pcpu {
	s_time_t charged, slice_end;
};

struct plus {
	struct pace_sched base;
	struct shares shares;
	struct timer timers[TIMERS];
	uint64_t periods, claims;
	struct plus_pcpu pcpus[NR_CPUS];
};

struct plus_dom {
	struct ports ports;
};

static inline struct plus *plus_of(const struct scheduler *ops)
{
	return container_of(sched_of(ops), struct plus, base);
}

static inline struct plus_unit *plus_unit_of(struct pace_unit *own)
{
	return container_of(own, struct plus_unit, base);
}

static inline uint64_t tick_ns(void)
{
	return MICROSECS(within(psxplus_tick_us, tick_limits));
}

/* How long a unit may run without progress before it is known to wait. */
static inline uint64_t patience_ns(const struct plus *plus, const struct plus_unit *own)
{
	uint64_t patience = MICROSECS(within(psxplus_patience_us, patience_limits));

	return own->flag == FLAG_UNSET && plus->shares.period_ns > patience ? plus->shares.period_ns : patience;
}

/* How long a unit may run before its standing changes, at most a tick. */
static inline uint64_t slice_ns(const struct plus *plus, const struct plus_unit *own)
{
	uint64_t tick = tick_ns(), left = tick;
	struct key key = plus_key(own);

	if (key.class == DUE)
		return plus->shares.share_ns - own->account.got_ns;
	if (key.class == FEDERATE)
		left = own->simulates ? patience_ns(plus, own) - own->stalled_ns : own->grace_ns;
	return left < tick ? left : tick;
}

/* Charges the unit that runs on `cpu` for the time it has run until now. */
static inline void charge(struct plus *plus, s_time_t now, unsigned int cpu)
{
	struct pace_unit *own = plus->base.pcpus[cpu].running;
	s_time_t charged = plus->pcpus[cpu].charged;

	plus->pcpus[cpu].charged = now;
	if (own)
		plus_charge(plus_unit_of(own), now - charged, now, plus->shares.share_ns);
}

static inline void charge_all(struct plus *plus, s_time_t now)
{
	unsigned int cpu;

	for_each_cpu (cpu, &plus->base.cpus)
		charge(plus, now, cpu);
}

static inline void charge_unit(struct plus *plus, s_time_t now, const struct plus_unit *own)
{
	if (own->base.runs_on != NO_CPU)
		charge(plus, now, own->base.runs_on);
}

/* Updates the place of a unit after its key has changed; if it waits, it may preempt. */
static inline void reorder(struct plus *plus, struct plus_unit *own)
{
	if (own->base.runs_on != NO_CPU) {
		queue_stand(&plus->base, own->base.runs_on, plus_standing(own));
	} else if (own->base.state == WAITING) {
		queue_rekey(&plus->base, &own->base, plus_key(own));
		queue_offer(&plus->base, &own->base);
	}
}

/* If the unit runs and one waits that comes before it, asks its PCPU to decide. */
static inline void give_way(struct plus *plus, const struct plus_unit *own)
{
	struct pace_unit *least;

	if (own->base.runs_on == NO_CPU)
		return;
	least = queue_least(&plus->base, own->base.runs_on);
	if (least && key_less(least->key, plus_standing(own)))
		queue_ask(&plus->base, own->base.runs_on);
}

static inline void restore(struct plus *plus, s_time_t now, struct plus_unit *own)
{
	unsigned int cpu = own->base.runs_on;

	charge_unit(plus, now, own);
	make_progress(own);
	reorder(plus, own);
	/* Its slice may be longer than its patience. */
	if (cpu != NO_CPU && plus->pcpus[cpu].slice_end > now + (s_time_t)patience_ns(plus, own))
		queue_ask(&plus->base, cpu);
}

static inline void tell_waiting(struct plus *plus, s_time_t now, struct plus_unit *own, bool waits)
{
	own->flag = waits ? FLAG_SET : FLAG_UNSET;
	if (!waits) {
		restore(plus, now, own);
		return;
	}
	own->waits = true;
	reorder(plus, own);
	give_way(plus, own);
}

static inline void enqueue(struct plus *plus, struct plus_unit *own)
{
	struct place place = place_of(&plus->base, &own->base, (struct place){ANYWHERE, 0});

	queue_wait(&plus->base, &own->base, plus_key(own), place);
}

/* A unit that is not awake during all of a period has no claim to a share of it. */
static inline void drop_claim(struct plus_unit *own)
{
	own->account.entitled = own->account.due = false;
}

static inline void plus_fall_asleep(struct pace_sched *sched, struct pace_unit *own)
{
	drop_claim(plus_unit_of(own));
	fall_asleep(sched, own);
}

/* A period is over: notes by how much a unit that was awake all through it got less than its share. */
static inline void note_denied(const struct plus *plus, struct plus_unit *own)
{
	uint64_t share = plus->shares.share_ns, got = own->account.got_ns;

	if (!own->account.entitled || got >= share)
		return;
	own->denied++;
	if (own->lacked_ns < share - got)
		own->lacked_ns = share - got;
}

static void cf_check begin_period(void *data)
{
	struct plus *plus = data;
	struct pace_sched *sched = &plus->base;
	unsigned int pinned[NR_CPUS] = {}, awake = 0, most_pinned = 0, cpu;
	struct plus_unit *own;
	unsigned long flags;
	uint64_t due_after;
	s_time_t now;

	spin_lock_irqsave(&sched->lock, flags);
	now = NOW();
	charge_all(plus, now);
	plus->periods++;
	plus->shares.period_ns = MICROSECS(within(psxplus_period_us, period_limits));
	plus->shares.percent = within(psxplus_share_percent, percent_limits);
	list_for_each_entry (own, &sched->units, base.all) {
		awake += own->base.awake;
		if (!own->base.awake || !own->pinned)
			continue;
		cpu = cpumask_first(own->base.unit->cpu_hard_affinity);
		if (++pinned[cpu] > most_pinned)
			most_pinned++;
	}
	/* Only a unit that was pinned elsewhere during the period can still be due. All accounts are new before any unit is reordered. */
	list_for_each_entry (own, &sched->units, base.all) {
		own->late = own->account.due;
		note_denied(plus, own);
		own->account = (struct account){.entitled = own->base.awake};
	}
	list_for_each_entry (own, &sched->units, base.all)
		if (own->late)
			reorder(plus, own);
	due_after = shares_begin(&plus->shares, cpumask_weight(&sched->cpus), awake, most_pinned);
	if (!cpumask_empty(&sched->cpus)) {
		set_timer(&plus->timers[SHARES_FALL_DUE], now + due_after);
		set_timer(&plus->timers[PERIOD_BEGINS], now + plus->shares.period_ns);
	}
	spin_unlock_irqrestore(&sched->lock, flags);
}

static void cf_check claim_shares(void *data)
{
	struct plus *plus = data;
	struct pace_sched *sched = &plus->base;
	struct plus_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	plus->claims++;
	charge_all(plus, NOW());
	list_for_each_entry (own, &sched->units, base.all)
		own->account.due = own->account.entitled && own->account.got_ns < plus->shares.share_ns;
	list_for_each_entry (own, &sched->units, base.all)
		if (own->account.due)
			reorder(plus, own);
	/* Units that run already stop when they have their share. */
	list_for_each_entry (own, &sched->units, base.all)
		if (own->account.due && own->base.runs_on != NO_CPU)
			queue_ask(sched, own->base.runs_on);
	spin_unlock_irqrestore(&sched->lock, flags);
}

#endif
