/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does to a plug-in what Xen may do and the interface of a policy cannot express: contexts that are saved late, wakes and sleeps
 * meanwhile, work of Xen's own on a PCPU, affinity to some of the PCPUs, PCPUs that decide long after they were asked. There is no
 * reference to compare with; the plug-in's own invariants are checked at every decision, and Xen's at the end of each (replay.c).
 *
 * At the end all units wake and time passes: then every unit that is awake must have run.
 */
#include "machine.h"

#define ROUNDS_MAX 400

static uint64_t random_state;

/* splitmix64 */
static uint64_t any(uint64_t below)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

static struct vcpu *any_vcpu(void)
{
	unsigned int i, start = (unsigned int)any(VCPUS_MAX);

	for (i = 0; i < VCPUS_MAX; i++)
		if (machine.vcpus[(start + i) % VCPUS_MAX])
			return machine.vcpus[(start + i) % VCPUS_MAX];
	return NULL;
}

static void wake(struct sched_unit *unit)
{
	unit->runnable = true;
	spin_lock(unit->res->schedule_lock);
	machine.ops.wake(&machine.ops, unit);
	spin_unlock(unit->res->schedule_lock);
}

static void put_to_sleep(struct sched_unit *unit)
{
	unit->runnable = false;
	spin_lock(unit->res->schedule_lock);
	machine.ops.sleep(&machine.ops, unit);
	spin_unlock(unit->res->schedule_lock);
}

/* As Xen moves a unit: it sleeps, its registers are saved, it gets a PCPU, it wakes. */
static void move(struct sched_unit *unit)
{
	unsigned int all = (1u << machine.pcpus) - 1;
	bool awake = unit->runnable;

	if (unit->is_running)
		return;
	put_to_sleep(unit);
	do
		unit->cpu_hard_affinity->bits = (unsigned int)any(all + 1);
	while (!unit->cpu_hard_affinity->bits);
	spin_lock(unit->res->schedule_lock);
	if (machine.ops.migrate)
		machine.ops.migrate(&machine.ops, unit, machine.ops.pick_resource(&machine.ops, unit)->master_cpu);
	else
		sched_set_res(unit, machine.ops.pick_resource(&machine.ops, unit));
	spin_unlock(unit->res->schedule_lock);
	if (awake)
		wake(unit);
}

static void report(struct sched_unit *unit)
{
	if (!machine.ops.report || !unit->is_running)
		return;
	if (!machine.ops.reports_unlocked)
		spin_lock(unit->res->schedule_lock);
	machine.ops.report(&machine.ops, unit, any(1000), (uint32_t)any(4));
	if (!machine.ops.reports_unlocked)
		spin_unlock(unit->res->schedule_lock);
}

/* A PCPU decides if it may: the previous unit must have been saved. */
static void step_cpu(unsigned int cpu, bool tasklet)
{
	if (machine.resources[cpu].prev)
		context_saved(cpu);
	else
		decide(cpu, tasklet);
}

static void go_off(void)
{
	struct timer *timer;

	if (!machine.timer_count)
		return;
	timer = machine.timers[any(machine.timer_count)];
	if (timer->status != TIMER_STATUS_in_heap)
		return;
	timer->status = TIMER_STATUS_inactive;
	timer->function(timer->data);
}

static void step(void)
{
	struct vcpu *v = any_vcpu();
	struct sched_unit *unit = v->sched_unit;
	unsigned int cpu = (unsigned int)any(machine.pcpus);

	machine.cpu = cpu;
	switch (any(10)) {
	case 0:
	case 1:
		if (!unit->runnable || any(3) == 0)
			wake(unit);
		break;
	case 2:
		if (unit->runnable)
			put_to_sleep(unit);
		break;
	case 3:
		/* The unit is paused or blocks: the plug-in is told later, or not at all. */
		if (unit->is_running || any(4) == 0)
			unit->runnable = false;
		break;
	case 4:
		move(unit);
		break;
	case 5:
		report(unit);
		break;
	case 6:
		step_cpu(cpu, any(4) == 0);
		break;
	case 7:
		go_off();
		break;
	default:
		step_cpu(cpu, false);
	}
	if (machine.asked_count && any(2))
		step_cpu(machine.asked[any(machine.asked_count)], false);
	machine.now += (s_time_t)any(any(8) ? 2000 : 3000000);
	machine.asked_count = machine.set_count = 0;
}

void fuzz(uint64_t seed, unsigned int steps)
{
	unsigned int i, round, left;
	bool ran[VCPUS_MAX] = {};

	random_state = seed;
	while (steps--)
		step();
	for (i = 0; i < VCPUS_MAX; i++)
		if (machine.vcpus[i] && !machine.vcpus[i]->sched_unit->runnable)
			wake(machine.vcpus[i]->sched_unit);
	for (round = 0, left = 1; left && round < ROUNDS_MAX; round++) {
		machine.now += MILLISECS(100);
		for (i = 0; i < machine.timer_count; i++)
			go_off();
		for (i = 0; i < machine.pcpus; i++) {
			context_saved(i);
			decide(i, false);
			context_saved(i);
		}
		for (i = left = 0; i < VCPUS_MAX; i++) {
			if (!machine.vcpus[i])
				continue;
			ran[i] = ran[i] || machine.vcpus[i]->sched_unit->is_running;
			left += !ran[i];
			/* So that starvation, which some policies allow, does not count as a lost unit. */
			if (ran[i] && machine.vcpus[i]->sched_unit->runnable && machine.vcpus[i]->sched_unit->is_running)
				put_to_sleep(machine.vcpus[i]->sched_unit);
		}
		machine.asked_count = machine.set_count = 0;
	}
	ASSERT(!left);
}
