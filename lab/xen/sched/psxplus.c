/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PSX+: the least LVT runs first, a unit is demoted only on evidence that it waits, and no unit starves. The decisions are those of
 * machines/policy/src/simulated_time/psx_plus.rs, whose head gives the reasons and the guarantees.
 *
 * State: for every unit its account of the period, its LVT and the evidence (psxplus_unit.h); one run queue by classes: units that
 * are due for their share, DOM0, federates by their estimated LVT, all others in turn. Two timers go off once per period: when it
 * begins, and when shares fall due. For every domain its pending ports, which show whether a unit that yields has messages.
 *
 * A guest that reports that it has nothing to do is known to wait; its LVT stays what it was.
 *
 * Locks: the one of the instance, see paceline.h. Timers and new messages take it themselves; the latter come with the lock of an
 * event channel held, as Xen's own wakes do.
 */
#include "psxplus_moves.h"

integer_runtime_param("psxplus-tick-us", psxplus_tick_us);
integer_runtime_param("psxplus-patience-us", psxplus_patience_us);
integer_runtime_param("psxplus-period-us", psxplus_period_us);
integer_runtime_param("psxplus-share-percent", psxplus_share_percent);

static int cf_check plus_init(struct scheduler *ops)
{
	struct plus *plus = xzalloc(struct plus);

	if (!plus)
		return -ENOMEM;
	init_instance(&plus->base, "psxplus");
	ops->sched_data = &plus->base;
	return 0;
}

static void *cf_check plus_alloc_udata(const struct scheduler *ops, struct sched_unit *unit, void *domdata)
{
	struct plus_unit *own = xzalloc(struct plus_unit);

	if (own) {
		init_unit(&own->base, unit);
		own->pace.took_ns = 1;
	}
	return own;
}

static void *cf_check plus_alloc_domdata(const struct scheduler *ops, struct domain *d)
{
	struct plus_dom *dom = xzalloc(struct plus_dom);

	return dom ? (void *)dom : ERR_PTR(-ENOMEM);
}

/* The timers start with the first PCPU; they are killed with the last one, and start again with the next first one. */
static spinlock_t *cf_check plus_switch_sched(struct scheduler *ops, unsigned int cpu, void *pdata, void *vdata)
{
	struct plus *plus = plus_of(ops);
	bool first = cpumask_empty(&plus->base.cpus);
	spinlock_t *lock = add_cpu(&plus->base, cpu, vdata);

	if (first) {
		init_timer(&plus->timers[PERIOD_BEGINS], begin_period, plus, cpu);
		init_timer(&plus->timers[SHARES_FALL_DUE], claim_shares, plus, cpu);
		begin_period(plus);
	}
	return lock;
}

static void cf_check plus_deinit_pdata(const struct scheduler *ops, void *pdata, int cpu)
{
	drop_cpu_with_timers(sched_of(ops), cpu, plus_of(ops)->timers, TIMERS);
}

static void cf_check plus_insert_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	struct plus *plus = plus_of(ops);
	struct plus_unit *own = plus_unit_of(pace_of(unit));
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	admit(&plus->base, &own->base);
	own->grace_ns = plus->shares.period_ns;
	unit_schedule_unlock_irq(lock, unit);
}

static void cf_check plus_wake(const struct scheduler *ops, struct sched_unit *unit)
{
	struct plus *plus = plus_of(ops);
	struct plus_unit *own = plus_unit_of(pace_of(unit));

	if (own->base.awake)
		return;
	charge_unit(plus, NOW(), own);
	own->base.awake = true;
	own->pinned = is_pinned(&plus->base, &own->base);
	make_progress(own);
	if (own->base.state == RUNNING)
		return;
	enqueue(plus, own);
	queue_offer(&plus->base, &own->base);
}

static void cf_check plus_sleep(const struct scheduler *ops, struct sched_unit *unit)
{
	drop_claim(plus_unit_of(pace_of(unit)));
	pace_sleep(ops, unit);
}

static void cf_check plus_yield(const struct scheduler *ops, struct sched_unit *unit)
{
	struct plus_unit *own = plus_unit_of(pace_of(unit));
	struct plus_dom *dom = unit->domain->sched_priv;

	pace_yield(ops, unit);
	own->waits = own->waits || !count_ports(unit->domain, &dom->ports);
}

/* Whether the unit that ran last continues; if it does not and is awake, it waits. */
static bool judge_last(struct plus *plus, unsigned int cpu, struct plus_unit *own, s_time_t now, bool tasklet)
{
	struct pace_unit *least;
	bool stays;

	if (!own->base.awake)
		return false;
	own->waits = own->waits || (own->simulates && !own->base.privileged && own->stalled_ns >= patience_ns(plus, own));
	least = queue_least(&plus->base, cpu);
	stays = now < plus->pcpus[cpu].slice_end && !own->base.yielded && !tasklet &&
		(!least || !key_less(least->key, plus_standing(own)));
	own->base.yielded = false;
	if (!stays)
		enqueue(plus, own);
	return stays;
}

static void cf_check plus_do_schedule(const struct scheduler *ops, struct sched_unit *current_unit, s_time_t now,
				      bool tasklet)
{
	unsigned int cpu = sched_get_resource_cpu(smp_processor_id());
	struct plus *plus = plus_of(ops);
	struct pace_sched *sched = &plus->base;
	struct pace_unit *last, *next = NULL;
	s_time_t slice_end = plus->pcpus[cpu].slice_end, fresh_end;
	bool stays = false;

	note_sleepers(sched, cpu, queue_least, plus_fall_asleep);
	charge(plus, now, cpu);
	last = queue_stop(sched, cpu);
	book_run(sched, cpu, last, now);
	if (last)
		stays = judge_last(plus, cpu, plus_unit_of(last), now, tasklet);
	if (!tasklet)
		next = stays ? last : queue_least(sched, cpu);
	queue_run(sched, cpu, next, next ? plus_standing(plus_unit_of(next)) : (struct key){});
	if (next) {
		fresh_end = now + slice_ns(plus, plus_unit_of(next));
		plus->pcpus[cpu].slice_end = stays && slice_end < fresh_end ? slice_end : fresh_end;
	}
	decided(sched, cpu, current_unit, last, next, plus->pcpus[cpu].slice_end - now, tasklet);
	check_instance(sched);
}

/* A port of the domain has become pending. */
static void cf_check plus_pending(const struct scheduler *ops, struct domain *d, unsigned int port)
{
	struct plus *plus = plus_of(ops);
	struct plus_dom *dom;
	struct sched_unit *unit;
	unsigned long flags;

	spin_lock_irqsave(&plus->base.lock, flags);
	dom = d->sched_priv;
	if (dom) {
		note_port(&dom->ports, port);
		for_each_sched_unit (d, unit)
			if (unit->priv && plus_unit_of(pace_of(unit))->waits)
				restore(plus, NOW(), plus_unit_of(pace_of(unit)));
	}
	spin_unlock_irqrestore(&plus->base.lock, flags);
}

static void cf_check plus_ports_closed(const struct scheduler *ops, struct domain *d)
{
	struct plus *plus = plus_of(ops);
	struct plus_dom *dom;
	unsigned long flags;

	spin_lock_irqsave(&plus->base.lock, flags);
	dom = d->sched_priv;
	if (dom)
		forget_ports(&dom->ports);
	spin_unlock_irqrestore(&plus->base.lock, flags);
}

static uint32_t cf_check plus_report(const struct scheduler *ops, struct sched_unit *unit, uint64_t lvt_ns, uint32_t flags)
{
	struct plus *plus = plus_of(ops);
	struct plus_unit *own = plus_unit_of(pace_of(unit));
	s_time_t now = NOW();
	struct news news;
	uint32_t result;

	result = judge_report(&own->base, lvt_ns, flags, &news);
	if (result != PACELINE_XEN_OK)
		return result;
	if (news.mode) {
		charge_unit(plus, now, own);
		plus_mode(own, own->base.simulates);
		restore(plus, now, own);
		give_way(plus, own);
	}
	if (news.lvt) {
		charge_unit(plus, now, own);
		if (lvt_ns == PACELINE_XEN_DONE)
			plus_idle(own);
		else
			plus_lvt(own, lvt_ns);
		reorder(plus, own);
		if (lvt_ns == PACELINE_XEN_DONE)
			give_way(plus, own);
	}
	if (news.waiting)
		tell_waiting(plus, now, own, own->base.waits_flag);
	return PACELINE_XEN_OK;
}

static void cf_check plus_dump_settings(const struct scheduler *ops)
{
	struct plus *plus = plus_of(ops);
	struct plus_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&plus->base.lock, flags);
	dump_instance(&plus->base);
	printk("paceline-sched: tick_ns=%" PRIu64 " period_ns=%" PRIu64 " share_ns=%" PRIu64 " periods=%" PRIu64 " claims=%" PRIu64 "\n",
	       tick_ns(), plus->shares.period_ns, plus->shares.share_ns, plus->periods, plus->claims);
	list_for_each_entry (own, &plus->base.units, base.all) {
		struct key key = plus_key(own);

		dump_unit(&own->base);
		printk(" class=%" PRIu64 " order=%" PRIu64 " lvt=%" PRIu64 " got_ns=%" PRIu64 " denied=%" PRIu64 " lacked_ns=%" PRIu64 "\n",
		       key.class, key.order, own->lvt, own->account.got_ns, own->denied, own->lacked_ns);
	}
	spin_unlock_irqrestore(&plus->base.lock, flags);
}

static const struct scheduler plus_def = {
	.name = "PSX+, the least LVT first, with a share for every unit",
	.opt_name = "psxplus",
	.init = plus_init,
	PACE_OPERATIONS(plus),
	.alloc_domdata = plus_alloc_domdata,
	.free_domdata = pace_free,
	.switch_sched = plus_switch_sched,
	.deinit_pdata = plus_deinit_pdata,
	.pick_resource = pace_pick_resource,
	.remove_unit = pace_remove_unit,
	.sleep = plus_sleep,
	.yield = plus_yield,
	.context_saved = pace_context_saved,
	.report = plus_report,
	.pending = plus_pending,
	.ports_closed = plus_ports_closed,
};
REGISTER_SCHEDULER(plus_def);
