/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the shim that have state: trees, the clock, timers, softirqs, CPUs. See shim.h.
 *
 * State: `machine`, which is reset with every sequence of operations. It collects what a plug-in asks for (PCPUs to decide,
 * timers) until replay.c prints it.
 */
#include "machine.h"

struct machine machine;

void rb_erase(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *parent = node->rb_parent, *heir, *below;
	struct rb_node **at = !parent ? &root->rb_node : parent->rb_left == node ? &parent->rb_left : &parent->rb_right;

	ASSERT(*at == node);
	if (!node->rb_left || !node->rb_right) {
		heir = node->rb_left ? node->rb_left : node->rb_right;
		*at = heir;
		if (heir)
			heir->rb_parent = parent;
	} else {
		for (heir = node->rb_right; heir->rb_left;)
			heir = heir->rb_left;
		if (heir != node->rb_right) {
			below = heir->rb_right;
			heir->rb_parent->rb_left = below;
			if (below)
				below->rb_parent = heir->rb_parent;
			heir->rb_right = node->rb_right;
			heir->rb_right->rb_parent = heir;
		}
		heir->rb_left = node->rb_left;
		heir->rb_left->rb_parent = heir;
		heir->rb_parent = parent;
		*at = heir;
	}
	*node = (struct rb_node){NULL, NULL, NULL};
}

struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *node = root->rb_node;

	while (node && node->rb_left)
		node = node->rb_left;
	return node;
}

struct rb_node *rb_last(const struct rb_root *root)
{
	struct rb_node *node = root->rb_node;

	while (node && node->rb_right)
		node = node->rb_right;
	return node;
}

struct rb_node *rb_next(const struct rb_node *node)
{
	const struct rb_root right = {node->rb_right};

	if (node->rb_right)
		return rb_first(&right);
	while (node->rb_parent && node->rb_parent->rb_right == node)
		node = node->rb_parent;
	return node->rb_parent;
}

s_time_t NOW(void)
{
	return machine.now;
}

unsigned int smp_processor_id(void)
{
	return machine.cpu;
}

struct sched_resource *get_sched_res(unsigned int cpu)
{
	ASSERT(cpu < machine.pcpus);
	return &machine.resources[cpu];
}

cpumask_t *cpumask_scratch_cpu(unsigned int cpu)
{
	ASSERT(cpu < machine.pcpus);
	return &machine.scratch;
}

const cpumask_t *cpupool_domain_master_cpumask(const struct domain *d)
{
	ASSERT(d);
	return &machine.online;
}

struct domain *rcu_lock_domain_by_id(unsigned int domid)
{
	return domid < DOMAINS_MAX ? machine.domains[domid] : NULL;
}

void cpu_raise_softirq(unsigned int cpu, unsigned int nr)
{
	unsigned int i;

	ASSERT(nr == SCHEDULE_SOFTIRQ && cpu < machine.pcpus);
	for (i = 0; i < machine.asked_count; i++)
		if (machine.asked[i] == cpu)
			return;
	machine.asked[machine.asked_count++] = cpu;
}

void init_timer(struct timer *timer, void (*function)(void *), void *data, unsigned int cpu)
{
	ASSERT(machine.timer_count < TIMERS_MAX);
	*timer = (struct timer){function, data, cpu, TIMER_STATUS_inactive, machine.timer_count};
	machine.timers[machine.timer_count++] = timer;
}

void set_timer(struct timer *timer, s_time_t expires)
{
	ASSERT(timer->status == TIMER_STATUS_inactive || timer->status == TIMER_STATUS_in_heap);
	ASSERT(machine.set_count < TIMERS_SET_MAX);
	timer->status = TIMER_STATUS_in_heap;
	machine.set[machine.set_count].number = timer->number;
	machine.set[machine.set_count++].expires = expires;
}

void stop_timer(struct timer *timer)
{
	if (timer->status == TIMER_STATUS_in_heap)
		timer->status = TIMER_STATUS_inactive;
}

void migrate_timer(struct timer *timer, unsigned int cpu)
{
	timer->cpu = cpu;
}

void kill_timer(struct timer *timer)
{
	if (timer->status != TIMER_STATUS_invalid)
		timer->status = TIMER_STATUS_killed;
}
