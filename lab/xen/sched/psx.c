/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PSX: the unit with the least simulation time runs first (PSX paper, sections 2 and 3). The decisions are those of
 * machines/policy/src/simulated_time/psx.rs with its defaults `reads = "tick"` and `rereads = 0`, whose head gives the reasons.
 *
 * State: a `sim_time` per unit, by which the run queue is ordered; first come, first served among equals. DOM0 always has 0. In
 * normal mode guests have 1, which is round robin with a slice of one tick. Simulation mode begins when a guest is serviced
 * that has reported that it simulates, and ends when all have reported that they do not. In this mode a guest's sim_time is the LVT
 * that it had reported at the last tick at which it ran. An LVT equal to that of the tick before means no progress: sim_time is
 * MAX_TIME until the next tick, so that others run first.
 *
 * The paper reads a page that guests share with the hypervisor, and asks for a path without locks. Here the guest's last report
 * takes its place: a word a VCPU, which only that VCPU writes and the scheduler reads at ticks. Reports take no lock.
 *
 * Ticks are at whole multiples of `psx-tick-us` on all PCPUs that are not idle.
 *
 * Locks: the one of the instance, see paceline.h. It does not cover page_lvt and page_switch, nor what judge_report keeps of a
 * unit: the VCPU of the unit alone writes these, one report after the other, and dumps may print them a report late.
 */
#include "operations.h"

#define DOM0_TIME 0
#define NORMAL_TIME 1
/* Later than the end of every simulation. */
#define MAX_TIME UINT64_MAX

static unsigned int __read_mostly psx_tick_us = 300;
integer_runtime_param("psx-tick-us", psx_tick_us);
static const struct limits tick_limits = {10, 100000};

struct psx {
	struct pace_sched base;
	unsigned int simulating; /* units whose switch was set when it was last read */
	uint64_t flips, ends;
};

struct psx_unit {
	struct pace_unit base;
	uint64_t page_lvt;
	bool page_switch;
	bool seen_switch; /* when it was last read */
	bool flipped;
	uint64_t sim_time, prior_sim_time, ticks;
};

static inline struct psx *psx_of(struct pace_sched *sched)
{
	return container_of(sched, struct psx, base);
}

static inline struct psx_unit *psx_unit_of(struct pace_unit *own)
{
	return container_of(own, struct psx_unit, base);
}

static s_time_t tick_ns(void)
{
	return MICROSECS(within(psx_tick_us, tick_limits));
}

static struct key key_of(const struct psx_unit *own)
{
	return (struct key){.order = own->sim_time};
}

/* Reads the guest's last report. */
static void read_page(struct psx *psx, struct psx_unit *own)
{
	uint64_t lvt = read_atomic(&own->page_lvt);

	/* However low a guest's LVT, DOM0 stays below it. */
	if (lvt < NORMAL_TIME)
		lvt = NORMAL_TIME;
	own->flipped = !own->flipped && lvt == own->prior_sim_time;
	if (own->flipped) {
		own->sim_time = MAX_TIME;
		psx->flips++;
	} else {
		own->sim_time = own->prior_sim_time = lvt;
	}
}

static void end_simulation(struct psx *psx)
{
	struct psx_unit *own;

	psx->ends++;
	list_for_each_entry (own, &psx->base.units, base.all) {
		if (own->base.privileged)
			continue;
		own->sim_time = NORMAL_TIME;
		own->prior_sim_time = 0;
		own->flipped = false;
		queue_rekey(&psx->base, &own->base, key_of(own));
		if (own->base.runs_on != NO_CPU)
			queue_stand(&psx->base, own->base.runs_on, key_of(own));
	}
}

static void note_switch(struct psx *psx, struct psx_unit *own, bool simulates)
{
	bool before = own->seen_switch;

	own->seen_switch = simulates;
	if (!before && simulates)
		psx->simulating++;
	if (before && !simulates && --psx->simulating == 0)
		end_simulation(psx);
}

/* Services a unit: reads its switch, and at a tick its LVT. */
static void service(struct psx *psx, struct psx_unit *own, bool reads)
{
	if (own->base.privileged)
		return;
	note_switch(psx, own, read_atomic(&own->page_switch));
	/* After the switch: who is seen to simulate has written the LVT with which it began. */
	smp_rmb();
	if (reads && psx->simulating > 0)
		read_page(psx, own);
}

static void enqueue(struct psx *psx, struct psx_unit *own)
{
	queue_wait(&psx->base, &own->base, key_of(own), place_of(&psx->base, &own->base, (struct place){ANYWHERE, 0}));
}

static int cf_check psx_init(struct scheduler *ops)
{
	struct psx *psx = xzalloc(struct psx);

	if (!psx)
		return -ENOMEM;
	init_instance(&psx->base, "psx");
	ops->sched_data = psx;
	return 0;
}

static void *cf_check psx_alloc_udata(const struct scheduler *ops, struct sched_unit *unit, void *domdata)
{
	struct psx_unit *own = xzalloc(struct psx_unit);

	if (own)
		init_unit(&own->base, unit);
	return own;
}

static void cf_check psx_insert_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	struct psx_unit *own = psx_unit_of(pace_of(unit));
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	admit(sched_of(ops), &own->base);
	own->sim_time = own->base.privileged ? DOM0_TIME : NORMAL_TIME;
	unit_schedule_unlock_irq(lock, unit);
}

static void cf_check psx_remove_unit(const struct scheduler *ops, struct sched_unit *unit)
{
	struct psx *psx = psx_of(sched_of(ops));
	struct psx_unit *own = psx_unit_of(pace_of(unit));
	spinlock_t *lock = unit_schedule_lock_irq(unit);

	note_switch(psx, own, false);
	forget(&psx->base, &own->base);
	unit_schedule_unlock_irq(lock, unit);
}

static void cf_check psx_wake(const struct scheduler *ops, struct sched_unit *unit)
{
	struct psx *psx = psx_of(sched_of(ops));
	struct psx_unit *own = psx_unit_of(pace_of(unit));

	if (own->base.awake)
		return;
	own->base.awake = true;
	if (own->base.state == RUNNING)
		return;
	enqueue(psx, own);
	queue_offer(&psx->base, &own->base);
}

static void cf_check psx_do_schedule(const struct scheduler *ops, struct sched_unit *current_unit, s_time_t now,
				     bool tasklet)
{
	unsigned int cpu = sched_get_resource_cpu(smp_processor_id());
	struct psx *psx = psx_of(sched_of(ops));
	struct pace_sched *sched = &psx->base;
	s_time_t tick = tick_ns(), before = sched->pcpus[cpu].decided_ns;
	struct pace_unit *last, *next = NULL, *least;
	struct psx_unit *own;
	bool goes_on, stays = false;
	uint64_t ticks;

	note_sleepers(sched, cpu, queue_least, fall_asleep);
	last = queue_stop(sched, cpu);
	book_run(sched, cpu, last, now);
	if (last) {
		own = psx_unit_of(last);
		ticks = now / tick - before / tick;
		own->ticks += ticks;
		/* Between ticks, the running unit is first among its equals: its tick is not over. */
		least = queue_least(sched, cpu);
		goes_on = ticks == 0 && !last->yielded && (!least || least->key.order >= own->sim_time);
		last->yielded = false;
		service(psx, own, ticks > 0);
		stays = last->awake && goes_on && !tasklet;
		if (last->awake && goes_on && tasklet)
			queue_put_back(sched, last, key_of(own), place_of(sched, last, (struct place){ANYWHERE, 0}));
		else if (last->awake && !stays)
			enqueue(psx, own);
	}
	if (!tasklet)
		next = stays ? last : queue_least(sched, cpu);
	queue_run(sched, cpu, next, next ? key_of(psx_unit_of(next)) : (struct key){});
	decided(sched, cpu, current_unit, last, next, tick - now % tick, tasklet);
	check_instance(sched);
}

/* Without the lock: see the head. */
static uint32_t cf_check psx_report(const struct scheduler *ops, struct sched_unit *unit, uint64_t lvt_ns, uint32_t flags)
{
	struct psx_unit *own = psx_unit_of(pace_of(unit));
	struct news news;
	uint32_t result = judge_report(&own->base, lvt_ns, flags, &news);

	if (result != PACELINE_XEN_OK)
		return result;
	if (news.lvt)
		write_atomic(&own->page_lvt, lvt_ns);
	smp_wmb();
	write_atomic(&own->page_switch, own->base.simulates);
	return result;
}

static void cf_check psx_dump_settings(const struct scheduler *ops)
{
	struct psx *psx = psx_of(sched_of(ops));
	struct psx_unit *own;
	unsigned long flags;

	spin_lock_irqsave(&psx->base.lock, flags);
	dump_instance(&psx->base);
	printk("paceline-sched: tick_ns=%" PRI_stime " simulating=%u flips=%" PRIu64 " ends=%" PRIu64 "\n", tick_ns(),
	       psx->simulating, psx->flips, psx->ends);
	list_for_each_entry (own, &psx->base.units, base.all) {
		dump_unit(&own->base);
		printk(" sim_time=%" PRIu64 " prior_sim_time=%" PRIu64 " ticks=%" PRIu64 "\n", own->sim_time,
		       own->prior_sim_time, own->ticks);
	}
	spin_unlock_irqrestore(&psx->base.lock, flags);
}

static const struct scheduler psx_def = {
	.name = "PSX, the least simulation time first",
	.opt_name = "psx",
	.init = psx_init,
	PACE_OPERATIONS(psx),
	.switch_sched = pace_switch_sched,
	.deinit_pdata = pace_deinit_pdata,
	.pick_resource = pace_pick_resource,
	.remove_unit = psx_remove_unit,
	.sleep = pace_sleep,
	.yield = pace_yield,
	.context_saved = pace_context_saved,
	.report = psx_report,
	.reports_unlocked = true,
};
REGISTER_SCHEDULER(psx_def);
