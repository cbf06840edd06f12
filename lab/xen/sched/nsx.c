/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NSX: a virtual clock on every unit, and the unit whose clock is furthest behind runs first (NSX paper, section III). The
 * decisions are those of machines/policy/src/simulated_time/nsx.rs with its default settings, whose head gives the reasons.
 *
 * State: a unit's LVT is ref_time + nticks * tick. At every tick, a PCPU charges its running unit a whole tick, however
 * long it has run; the slice is one tick, for DOM0 `nsx-dom0-ticks`. Ticks are at whole multiples of the tick on all
 * PCPUs, not staggered: on every PCPU that has idled once, this is when the tickers of Xen's credit scheduler go off, whose
 * code the paper reuses. Ticks are counted at the decisions that end with them, so no ticker is needed. dom_lvt is the greatest
 * LVT of a domain's units, sys_lvt the least dom_lvt of all guests, sys_lvt_next the greatest. Three timers:
 *
 *   master           every 10 ticks: computes these, and puts DOM0 at sys_lvt, down or up
 *   master_lvt       every `nsx-adjust-ms`: raises all units of a guest to its dom_lvt
 *   master_all_lvt   every `nsx-adjust-all-ms`: raises all units of all guests to sys_lvt_next, if a guest lags by more than
 *                    `nsx-max-diff-ticks` (the paper's NW_MAX_DIFF)
 *
 * Units of a new domain start at sys_lvt. A domain that is dying never runs again: it does not hold sys_lvt back. A run queue
 * per PCPU, and least-LVT stealing: the least of all queues runs, a PCPU's own first among equals. A unit that has used up its
 * slice comes behind its equals; one that was interrupted within it comes before them. A changed parameter takes effect at the next
 * master timer; ticks that were charged before keep their length.
 *
 * Locks: the one of the instance, see paceline.h; the timers take it themselves.
 */
#include "nsx_clocks.h"

static void enqueue(struct nsx *nsx, struct nsx_unit *own)
{
	queue_wait(&nsx->base, &own->base, key_of(nsx, own), place_near(nsx, own));
}

/* The unit waits: asks its own PCPU if that runs a greater LVT, and an idle one. A unit that is being saved is offered later. */
static void tickle(struct nsx *nsx, struct nsx_unit *own)
{
	struct pace_sched *sched = &nsx->base;
	unsigned int home = own->base.place.cpu, idle;

	if (own->base.saving)
		return;
	if (cpumask_test_cpu(home, &sched->busy) && key_less(own->base.key, sched->pcpus[home].standing))
		queue_ask(sched, home);
	idle = queue_idle_for(sched, &own->base);
	if (idle != NO_CPU)
		queue_ask(sched, idle);
}

static int cf_check nsx_init(struct scheduler *ops)
{
	struct nsx *nsx = xzalloc(struct nsx);

	if (!nsx)
		return -ENOMEM;
	init_instance(&nsx->base, "nsx");
	nsx->tick_ns = MICROSECS(within(nsx_tick_us, tick_limits));
	ops->sched_data = nsx;
	return 0;
}

static void *cf_check nsx_alloc_domdata(const struct scheduler *ops, struct domain *d)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	struct nsx_dom *dom = xzalloc(struct nsx_dom);
	unsigned long flags;

	if (!dom)
		return ERR_PTR(-ENOMEM);
	dom->domain = d;
	spin_lock_irqsave(&nsx->base.lock, flags);
	dom->lvt_ns = nsx->sys_lvt_ns;
	spin_unlock_irqrestore(&nsx->base.lock, flags);
	return dom;
}

static void *cf_check nsx_alloc_udata(const struct scheduler *ops, struct sched_unit *unit, void *domdata)
{
	struct nsx_unit *own = xzalloc(struct nsx_unit);

	if (!own)
		return NULL;
	init_unit(&own->base, unit);
	own->dom = domdata;
	return own;
}

static spinlock_t *cf_check nsx_switch_sched(struct scheduler *ops, unsigned int cpu, void *pdata, void *vdata)
{
	struct nsx *nsx = nsx_of(sched_of(ops));

	start_timers(nsx, cpu);
	return add_cpu(&nsx->base, cpu, vdata);
}

static void cf_check nsx_deinit_pdata(const struct scheduler *ops, void *pdata, int cpu)
{
	drop_cpu_with_timers(sched_of(ops), cpu, nsx_of(sched_of(ops))->timers, TIMERS);
}

static void cf_check nsx_move_timers(const struct scheduler *ops, struct sched_resource *sr)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	unsigned long flags;

	spin_lock_irqsave(&nsx->base.lock, flags);
	keep_timers(&nsx->base, nsx->timers, TIMERS);
	spin_unlock_irqrestore(&nsx->base.lock, flags);
}

/* The first PCPU of a new unit: the next one in turn of those on which it may run. */
static unsigned int first_home(const struct nsx *nsx, const struct nsx_unit *own)
{
	unsigned int left = nsx->admitted % cpumask_weight(&nsx->base.cpus), cpu = cpumask_first(&nsx->base.cpus);

	while (left--)
		cpu = cpumask_next(cpu, &nsx->base.cpus);
	return may_run_on(&own->base, cpu) ? cpu : sched_unit_master(own->base.unit);
}

static void cf_check nsx_insert_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	struct nsx_unit *own = nsx_unit_of(pace_of(unit));
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	admit(&nsx->base, &own->base);
	own->home = first_home(nsx, own);
	sched_set_res(unit, get_sched_res(own->home));
	own->ref_time_ns = nsx->sys_lvt_ns;
	own->nticks = 0;
	nsx->admitted++;
	unit_schedule_unlock_irq(lock, unit);
}

static void cf_check nsx_wake(const struct scheduler *ops, struct sched_unit *unit)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	struct nsx_unit *own = nsx_unit_of(pace_of(unit));

	if (own->base.awake)
		return;
	own->base.awake = true;
	if (own->base.state == RUNNING)
		return;
	enqueue(nsx, own);
	tickle(nsx, own);
}

static void cf_check nsx_migrate(const struct scheduler *ops, struct sched_unit *unit, unsigned int cpu)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	struct nsx_unit *own = nsx_unit_of(pace_of(unit));

	own->home = cpu;
	sched_set_res(unit, get_sched_res(cpu));
	if (queue_leave(&nsx->base, &own->base)) {
		enqueue(nsx, own);
		tickle(nsx, own);
	}
}

/*
 * Until here a unit that has lost its PCPU is in no queue from which another PCPU could steal it. Its own PCPU runs no greater LVT,
 * unless the unit slept and woke meanwhile.
 */
static void cf_check nsx_context_saved(const struct scheduler *ops, struct sched_unit *unit)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	if (saved(&nsx->base, unit))
		tickle(nsx, nsx_unit_of(pace_of(unit)));
	unit_schedule_unlock_irq(lock, unit);
}

/* Queues the unit that ran last on `cpu` and is awake, or returns true if it continues for the rest of its slice. */
static bool requeue(struct nsx *nsx, unsigned int cpu, struct nsx_unit *last, s_time_t now, bool yielded, bool tasklet)
{
	const struct pace_unit *least = queue_least_near(&nsx->base, cpu);
	/* Within its slice it is compared by the LVT with which it was picked. */
	bool first = !least || !key_less(least->key, nsx->base.pcpus[cpu].standing);

	if (now >= nsx->slice_end_ns[cpu] || yielded) {
		enqueue(nsx, last);
		return false;
	}
	if (first && !tasklet)
		return true;
	queue_put_back(&nsx->base, &last->base, key_of(nsx, last), place_near(nsx, last));
	return false;
}

static void cf_check nsx_do_schedule(const struct scheduler *ops, struct sched_unit *current_unit, s_time_t now,
				     bool tasklet)
{
	unsigned int cpu = sched_get_resource_cpu(smp_processor_id());
	struct nsx *nsx = nsx_of(sched_of(ops));
	struct pace_sched *sched = &nsx->base;
	uint64_t ticks = now / nsx->tick_ns, before = sched->pcpus[cpu].decided_ns / nsx->tick_ns;
	struct pace_unit *last, *next = NULL;
	struct key standing = {};
	bool stays = false, yielded;

	note_sleepers(sched, cpu, queue_least_near, fall_asleep);
	standing = sched->pcpus[cpu].standing;
	last = queue_stop(sched, cpu);
	book_run(sched, cpu, last, now);
	if (last) {
		nsx_unit_of(last)->nticks += ticks - before;
		yielded = last->yielded;
		last->yielded = false;
		stays = last->awake && requeue(nsx, cpu, nsx_unit_of(last), now, yielded, tasklet);
	}
	if (!tasklet)
		next = stays ? last : queue_least_near(sched, cpu);
	if (next && !stays) {
		standing = next->key;
		nsx->steals += next != last && nsx_unit_of(next)->home != cpu;
		nsx_unit_of(next)->home = cpu;
		nsx->slice_end_ns[cpu] = (ticks + (next->privileged ? within(nsx_dom0_ticks, dom0_limits) : 1)) * nsx->tick_ns;
	}
	queue_run(sched, cpu, next, standing);
	decided(sched, cpu, current_unit, last, next, nsx->slice_end_ns[cpu] - now, tasklet);
	check_instance(sched);
}

static void cf_check nsx_dump_settings(const struct scheduler *ops)
{
	struct nsx *nsx = nsx_of(sched_of(ops));
	struct nsx_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&nsx->base.lock, flags);
	dump_instance(&nsx->base);
	printk("paceline-sched: tick_ns=%" PRIu64 " dom0_ticks=%u sys_lvt=%" PRIu64 " sys_lvt_next=%" PRIu64
	       " masters=%" PRIu64 " adjusts=%" PRIu64 " adjusts_all=%" PRIu64 " raises=%" PRIu64 " steals=%" PRIu64 "\n",
	       nsx->tick_ns, within(nsx_dom0_ticks, dom0_limits), nsx->sys_lvt_ns, nsx->sys_lvt_next_ns, nsx->masters,
	       nsx->adjusts, nsx->adjusts_all, nsx->raises, nsx->steals);
	list_for_each_entry (own, &nsx->base.units, base.all) {
		dump_unit(&own->base);
		printk(" lvt=%" PRIu64 " dom_lvt=%" PRIu64 " home=%u\n", lvt_ns(nsx, own), own->dom->lvt_ns, own->home);
	}
	spin_unlock_irqrestore(&nsx->base.lock, flags);
}

static const struct scheduler nsx_def = {
	.name = "NSX, a virtual clock per VCPU",
	.opt_name = "nsx",
	.init = nsx_init,
	PACE_OPERATIONS(nsx),
	.alloc_domdata = nsx_alloc_domdata,
	.free_domdata = pace_free,
	.switch_sched = nsx_switch_sched,
	.deinit_pdata = nsx_deinit_pdata,
	.move_timers = nsx_move_timers,
	.pick_resource = pace_pick_resource,
	.remove_unit = pace_remove_unit,
	.sleep = pace_sleep,
	.yield = pace_yield,
	.migrate = nsx_migrate,
	.context_saved = nsx_context_saved,
};
REGISTER_SCHEDULER(nsx_def);
