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
/* The number of units in a tree of `type` by the node `member`, which must be in the order of `before`. */
#define check_tree(root, type, member, before)                                                                         \
	({                                                                                                             \
		struct rb_node *node_, *next_;                                                                         \
		unsigned int count_ = 0;                                                                               \
                                                                                                                       \
		for (node_ = rb_first(root); node_; node_ = next_, count_++) {                                         \
			next_ = rb_next(node_);                                                                        \
			if (next_)                                                                                     \
				ASSERT(before(container_of(node_, type, member), container_of(next_, type, member)));  \
		}                                                                                                      \
		count_;                                                                                                \
	})

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
	ASSERT(check_tree(&sched->shared, struct pace_unit, in_shared, comes_first) == in_shared);
	for_each_cpu (cpu, &sched->cpus) {
		const struct pace_pcpu *pcpu = &sched->pcpus[cpu];

		in_own -= check_tree(&pcpu->own, struct pace_unit, in_own, comes_first);
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
