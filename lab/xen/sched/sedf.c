/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SEDF, simple earliest deadline first: a guaranteed slice of every period, and extra time from what is left over. And CSDE and
 * CSDD on top of it: among the units that SEDF would let run, the one whose domain has most messages pending on its event channels
 * comes first, then the one that has waited longest; CSDD takes DOM0 first if it has any (co-scheduling thesis, sections
 * 3.1.5.2 and 4.4.4). The decisions are those of machines/policy/src/deadline/sedf.rs and csde.rs, whose heads give the reasons.
 *
 * State: sedf_lines.h has the lines of the PCPUs and the moves between them. A unit belongs to one PCPU, its home: the only one
 * of its affinity, or the one with fewest units that can promise its share, until it is moved. So no other PCPU can take a
 * unit that has just lost its PCPU, and it is in its line from do_schedule on.
 *
 * Shares: DOM0 has 15 ms of every 20 ms and extra time, guests have extra time only, until dom0 or the administrator sets another share by
 * the runtime parameter `sedf-domain=DOMID:PERIOD:SLICE:EXTRA` (microseconds; EXTRA is 0 or 1). On no PCPU is more than the whole
 * promised. `sedf-quantum-us` is a turn of extra time.
 *
 * Messages: ports.h counts ports that are pending; Xen says when one becomes so. Added to these are the messages that a guest
 * has taken and not worked on yet, by its statistics page. The page is read when a unit of the guest has run, because otherwise it
 * cannot have changed. A message causes no decision by itself.
 *
 * Locks: the one of the instance, see paceline.h. Xen reports ports with their event-channel locks held, which are taken before it.
 */
#include "operations.h"
#include "sedf_domains.h"
#include "sedf_invariants.h"

static unsigned int __read_mostly sedf_quantum_us = 500;
integer_runtime_param("sedf-quantum-us", sedf_quantum_us);
static const struct limits quantum_limits = {1, 1000000};

static uint64_t quantum_ns(void)
{
	return MICROSECS(within(sedf_quantum_us, quantum_limits));
}

static struct sedf_unit *own_of(const struct sched_unit *unit)
{
	return sedf_unit_of(pace_of(unit));
}

static int init_as(struct scheduler *ops, enum rule rule, const char *name)
{
	struct sedf *sedf = xzalloc(struct sedf);

	if (!sedf)
		return -ENOMEM;
	init_instance(&sedf->base, name);
	INIT_LIST_HEAD(&sedf->doms);
	sedf->rule = rule;
	ops->sched_data = &sedf->base;
	return 0;
}

static int cf_check sedf_init(struct scheduler *ops)
{
	return init_as(ops, PLAIN, "sedf");
}

static int cf_check csde_init(struct scheduler *ops)
{
	return init_as(ops, MOST_PENDING, "csde");
}

static int cf_check csdd_init(struct scheduler *ops)
{
	return init_as(ops, MOST_PENDING_DOM0, "csdd");
}

static void *cf_check sedf_alloc_udata(const struct scheduler *ops, struct sched_unit *unit, void *domdata)
{
	struct sedf_unit *own = xzalloc(struct sedf_unit);

	if (!own)
		return NULL;
	init_unit(&own->base, unit);
	INIT_LIST_HEAD(&own->of_dom);
	own->dom = domdata;
	own->place = NOWHERE;
	return own;
}

/* The unit stays at home if it may. */
static struct sched_resource *cf_check sedf_pick_resource(const struct scheduler *ops, const struct sched_unit *unit)
{
	const struct sedf_unit *own = own_of(unit);
	struct sedf *sedf = sedf_of(ops);
	unsigned int best;

	if (cpumask_test_cpu(own->home, &sedf->base.cpus) && may_run_on(&own->base, own->home))
		return get_sched_res(own->home);
	best = best_home(&sedf->base, sedf->loads, &own->base, &own->dom->share);
	return best == NO_CPU ? any_resource(unit) : get_sched_res(best);
}

static void cf_check sedf_insert_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own = own_of(unit);
	spinlock_t *lock = unit_schedule_lock_irq(unit);
	unsigned int best = best_home(&sedf->base, sedf->loads, &own->base, &own->dom->share);

	admit(&sedf->base, &own->base);
	list_add_tail(&own->of_dom, &own->dom->units);
	own->number = sedf->admitted++;
	own->home = best == NO_CPU ? sched_unit_master(unit) : best;
	sched_set_res(unit, get_sched_res(own->home));
	give_share(&sedf->loads[own->home], &own->dom->share);
	unit_schedule_unlock_irq(lock, unit);
}

static void cf_check sedf_remove_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own = own_of(unit);
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	note_time(sedf, NOW());
	sedf_fall_asleep(sedf, own);
	take_share(&sedf->loads[own->home], &own->dom->share);
	list_del_init(&own->of_dom);
	forget(&sedf->base, &own->base);
	unit_schedule_unlock_irq(lock, unit);
}

static void cf_check sedf_wake(const struct scheduler *ops, struct sched_unit *unit)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own = own_of(unit);
	const struct share *share = &own->dom->share;
	uint64_t least_ns = sedf->pcpus[own->home].least_score_ns;

	if (own->base.awake)
		return;
	note_time(sedf, NOW());
	own->base.awake = true;
	if (own->deadline_ns <= sedf->now_ns) {
		/* Long unblocking, or the first wake: a period begins. */
		begin_period(sedf, own);
		own->deadline_ns = sedf->now_ns + share->period_ns;
	} else if (period_begins_ns(own) <= sedf->now_ns) {
		/* Short unblocking: the rest of the slice is lost. */
		own->lost_ns = share->slice_ns > own->used_ns ? share->slice_ns - own->used_ns : 0;
		own->used_ns = 0;
		own->deadline_ns += share->period_ns;
	}
	/* Sleep does not save up extra time. */
	if (own->score_ns < least_ns)
		own->score_ns = least_ns;
	enter(sedf, own);
	ask_if_better(sedf, own);
}

static void cf_check sedf_sleep(const struct scheduler *ops, struct sched_unit *unit)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own = own_of(unit);

	if (!own->base.awake)
		return;
	note_time(sedf, NOW());
	sedf_fall_asleep(sedf, own);
	if (curr_on_cpu(own->home) == unit)
		cpu_raise_softirq(own->home, SCHEDULE_SOFTIRQ);
}

/* A turn of extra time counts in full when the rest is given up. In its slice, the unit with the earliest deadline continues. */
static void cf_check sedf_yield(const struct scheduler *ops, struct sched_unit *unit)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own = own_of(unit);
	uint64_t ran_ns;

	note_time(sedf, NOW());
	ran_ns = sedf->now_ns - own->charged_ns;
	if (own->place == LINE_EXTRA && ran_ns < quantum_ns())
		own->score_ns += quantum_ns() - ran_ns;
}

static void cf_check sedf_migrate(const struct scheduler *ops, struct sched_unit *unit, unsigned int cpu)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own = own_of(unit);
	uint64_t old_least_ns = sedf->pcpus[own->home].least_score_ns;

	note_time(sedf, NOW());
	leave(sedf, own);
	take_share(&sedf->loads[own->home], &own->dom->share);
	give_share(&sedf->loads[cpu], &own->dom->share);
	own->home = cpu;
	sched_set_res(unit, get_sched_res(cpu));
	if (!own->base.awake)
		return;
	/* As far behind the least here as there. */
	own->score_ns = sedf->pcpus[cpu].least_score_ns + (own->score_ns > old_least_ns ? own->score_ns - old_least_ns : 0);
	enter(sedf, own);
	ask_if_better(sedf, own);
}

static void cf_check sedf_context_saved(const struct scheduler *ops, struct sched_unit *unit)
{
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	saved(sched_of(ops), unit);
	unit_schedule_unlock_irq(lock, unit);
}

/* The unit to run, checked to be runnable: Xen pauses some before it says so. */
static struct sedf_unit *choose_runnable(struct sedf *sedf, unsigned int cpu)
{
	struct sedf_unit *next;

	while ((next = choose(sedf, cpu)) && !unit_runnable_state(next->base.unit))
		sedf_fall_asleep(sedf, next);
	return next;
}

static void cf_check sedf_do_schedule(const struct scheduler *ops, struct sched_unit *current_unit, s_time_t now,
				      bool tasklet)
{
	unsigned int cpu = sched_get_resource_cpu(smp_processor_id());
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *last = running_on(sedf, cpu), *next, *period;
	uint64_t slice_ns = 0, left_ns;

	note_time(sedf, now);
	if (!is_idle_unit(current_unit)) {
		struct sedf_unit *own = own_of(current_unit);

		if (sedf->rule != PLAIN)
			read_page(sedf, own->dom);
		/* It may have slept and woken since, and be in a line. */
		if (own->base.awake && !unit_runnable_state(current_unit))
			sedf_fall_asleep(sedf, own);
	}
	if (running_on(sedf, cpu)) {
		leave(sedf, last);
		enter(sedf, last);
	}
	begin_periods(sedf, cpu);
	forfeit(sedf, cpu);
	next = tasklet ? NULL : choose_runnable(sedf, cpu);
	period = next_period(sedf, cpu);
	if (next) {
		unlink_line(sedf, next);
		next->chosen_ns = next->charged_ns = sedf->now_ns;
		slice_ns = next->place == LINE_RUN ? next->dom->share.slice_ns - next->used_ns : quantum_ns();
	}
	if (period) {
		left_ns = period_begins_ns(period) - sedf->now_ns;
		slice_ns = next && slice_ns < left_ns ? slice_ns : left_ns;
	}
	queue_run(&sedf->base, cpu, next ? &next->base : NULL, (struct key){});
	decided(&sedf->base, cpu, current_unit, last ? &last->base : NULL, next ? &next->base : NULL, slice_ns, tasklet);
	if (next)
		sedf->pcpus[cpu].slice_end_ns = sedf->now_ns + slice_ns;
	else if (period)
		current_unit->next_time = slice_ns;
	check_lines(sedf);
}

static void cf_check sedf_dump_settings(const struct scheduler *ops)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&sedf->base.lock, flags);
	dump_instance(&sedf->base);
	printk("paceline-sched: quantum_ns=%" PRIu64 " recounts=%" PRIu64 " forfeits=%" PRIu64 "\n", quantum_ns(),
	       sedf->recounts, sedf->forfeits);
	list_for_each_entry (own, &sedf->base.units, base.all) {
		const struct sedf_dom *dom = own->dom;

		dump_unit(&own->base);
		printk(" home=%u period_ns=%" PRIu64 " slice_ns=%" PRIu64 " extra=%d deadline_ns=%" PRIu64 " used_ns=%" PRIu64
		       " extra_ns=%" PRIu64 " pending=%u left=%u events=%" PRIu64 " beyond=%" PRIu64 "\n",
		       own->home, dom->share.period_ns, dom->share.slice_ns, dom->share.extra, own->deadline_ns, own->used_ns,
		       own->score_ns, dom->ports.count, dom->left, dom->events, dom->ports.beyond);
	}
	spin_unlock_irqrestore(&sedf->base.lock, flags);
}

#ifdef CONFIG_HYPFS
static char domain_param[48] = "DOMID:PERIOD:SLICE:EXTRA";

static void __init cf_check domain_param_init(struct param_hypfs *par)
{
	custom_runtime_set_var(par, domain_param);
}
#endif

static int cf_check parse_domain_param(const char *text);
custom_runtime_param("sedf-domain", parse_domain_param, domain_param_init);

static int cf_check parse_domain_param(const char *text)
{
	const struct scheduler *ops;
	struct share share;
	unsigned int domid;
	struct domain *d;
	int result;

	if (!parse_share(text, &domid, &share)) {
		printk(XENLOG_WARNING "paceline-sched: sedf-domain cannot be %s; allowed: DOMID:PERIOD:SLICE:EXTRA, in us: a period of "
				      "%u to %u, a slice up to that, 1 for extra time, and 0 only with a slice\n",
		       text, PERIOD_US_MIN, PERIOD_US_MAX);
		return -EINVAL;
	}
	d = rcu_lock_domain_by_id(domid);
	if (!d)
		return -ESRCH;
	ops = d->cpupool ? d->cpupool->sched : NULL;
	result = ops && ops->do_schedule == sedf_do_schedule ? adjust(sedf_of(ops), d, &share) : -EOPNOTSUPP;
	rcu_unlock_domain(d);
	if (result == -ENOSPC)
		printk(XENLOG_WARNING "paceline-sched: d%u cannot have %s: its PCPU would have to promise more than 100 %%\n",
		       domid, text);
	return result;
}

#define SEDF_OPERATIONS                                                                                                \
	PACE_OPERATIONS(sedf), .alloc_domdata = sedf_alloc_domdata, .free_domdata = sedf_free_domdata,                 \
	.switch_sched = pace_switch_sched, .deinit_pdata = pace_deinit_pdata, .pick_resource = sedf_pick_resource,     \
	.remove_unit = sedf_remove_unit, .sleep = sedf_sleep, .yield = sedf_yield, .migrate = sedf_migrate,            \
	.context_saved = sedf_context_saved

#define MESSAGE_OPERATIONS .pending = sedf_pending, .ports_closed = sedf_ports_closed, .page = sedf_page

static const struct scheduler sedf_def = {
	.name = "SEDF, a slice of every period",
	.opt_name = "sedf",
	.init = sedf_init,
	SEDF_OPERATIONS,
};
REGISTER_SCHEDULER(sedf_def);

static const struct scheduler csde_def = {
	.name = "CSDE, SEDF with most pending messages first",
	.opt_name = "csde",
	.init = csde_init,
	SEDF_OPERATIONS,
	MESSAGE_OPERATIONS,
};
REGISTER_SCHEDULER(csde_def);

static const struct scheduler csdd_def = {
	.name = "CSDD, SEDF with DOM0 first if it has messages, then most pending",
	.opt_name = "csdd",
	.init = csdd_init,
	SEDF_OPERATIONS,
	MESSAGE_OPERATIONS,
};
REGISTER_SCHEDULER(csdd_def);
