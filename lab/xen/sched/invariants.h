/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The invariants of the run queues, checked at the end of every decision in builds with debugging (and in the shim). A plug-in
 * that keeps its units in run_queue.h's trees calls check_instance after `decided`.
 *
 * - A unit that is awake runs or waits: none is lost.
 * - A unit that waits is awake, and is in the trees of its place once; each tree is in order. A unit that is being saved is in none.
 * - A unit runs on the PCPU that runs it. A PCPU is idle, busy or asked.
 */
#ifndef PACELINE_INVARIANTS_H
#define PACELINE_INVARIANTS_H

#include "run_queue.h"

#ifndef NDEBUG
static inline unsigned int check_tree(const struct rb_root *tree, bool shared)
{
	struct rb_node *node, *next;
	unsigned int count = 0;

	for (node = rb_first(tree); node; node = next, count++) {
		next = rb_next(node);
		if (next)
			ASSERT(shared ? comes_first(SHARED_UNIT(node), SHARED_UNIT(next))
				      : comes_first(OWN_UNIT(node), OWN_UNIT(next)));
	}
	return count;
}

static inline void check_unit(const struct pace_sched *sched, const struct pace_unit *own)
{
	ASSERT(own->state != AWAY || !own->awake);
	ASSERT((own->state == RUNNING) == (own->runs_on != NO_CPU));
	if (own->state == RUNNING)
		ASSERT(sched->pcpus[own->runs_on].running == own && !own->saving);
	if (own->state == WAITING)
		ASSERT(own->awake);
}

static inline void check_instance(const struct pace_sched *sched)
{
	unsigned int cpu, in_shared = 0, in_own = 0;
	const struct pace_unit *own;

	list_for_each_entry (own, &sched->units, all) {
		check_unit(sched, own);
		if (own->state != WAITING || own->saving)
			continue;
		in_shared += own->place.reach != ONLY;
		in_own += own->place.reach != ANYWHERE;
	}
	ASSERT(check_tree(&sched->shared, true) == in_shared);
	for_each_cpu (cpu, &sched->cpus) {
		const struct pace_pcpu *pcpu = &sched->pcpus[cpu];

		in_own -= check_tree(&pcpu->own, false);
		ASSERT(!pcpu->running || pcpu->running->runs_on == cpu);
		if (cpumask_test_cpu(cpu, &sched->idle))
			ASSERT(!pcpu->running && !cpumask_test_cpu(cpu, &sched->busy));
		if (cpumask_test_cpu(cpu, &sched->busy))
			ASSERT(pcpu->running);
	}
	ASSERT(in_own == 0);
}
#else
static inline void check_instance(const struct pace_sched *sched)
{
}
#endif

#endif
