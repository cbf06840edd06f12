/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The invariants of SEDF's lines, checked at the end of every decision in builds with debugging (and in the shim).
 *
 * - A unit that is awake runs, is in a line, or waits for its period: none is lost. A sleeping unit is in no line.
 * - A unit that is awake and has a slice waits for its period exactly if it is neither in the run line nor runs from it.
 * - A unit runs at home. Each tree is in order, and contains exactly the units whose state says so.
 * - The assumed number of pending ports of a domain is the size of its set.
 *
 * Locks: the one of the instance is held.
 */
#ifndef PACELINE_SEDF_INVARIANTS_H
#define PACELINE_SEDF_INVARIANTS_H

#include "sedf_moves.h"

#ifndef NDEBUG
static inline void check_ports(const struct ports *ports)
{
	unsigned int word, count = 0;
	uint64_t bits;

	for (word = 0; word < WORDS_MAX; word++) {
		ASSERT(!ports->words[word] == !(ports->touched >> word & 1));
		for (bits = ports->words[word]; bits; bits &= bits - 1)
			count++;
	}
	ASSERT(count == ports->count);
}

static inline void check_lines(const struct sedf *sedf)
{
	unsigned int cpu, kind, in_lines = 0, in_periods = 0;
	const struct sedf_unit *own;
	const struct sedf_dom *dom;

	list_for_each_entry (own, &sedf->base.units, base.all) {
		bool runs = running_on(sedf, own->home) == own, takes_turns = own->place != LINE_RUN;

		ASSERT(runs == (own->base.state == RUNNING) && runs == (own->base.runs_on == own->home));
		ASSERT(own->base.awake || (own->place == NOWHERE && !runs));
		ASSERT(own->waits_for_period == (own->base.awake && own->dom->share.slice_ns && takes_turns));
		ASSERT(!own->base.awake || own->place != NOWHERE || own->waits_for_period);
		in_lines += !runs && own->place != NOWHERE;
		in_periods += own->waits_for_period;
	}
	for_each_cpu (cpu, &sedf->base.cpus) {
		const struct sedf_pcpu *pcpu = &sedf->pcpus[cpu];

		in_periods -= check_tree(&pcpu->periods, struct sedf_unit, period_node, period_less);
		for (kind = 0; kind < LINES; kind++) {
			const struct line *line = &pcpu->lines[kind];
			unsigned int count = check_tree(&line->in_order, struct sedf_unit, order_node, order_less);
			unsigned int ranked = check_tree(&line->by_rank, struct sedf_unit, rank_node, rank_less);

			in_lines -= count;
			ASSERT(ranked == (sedf->rule == PLAIN ? 0 : count));
		}
	}
	ASSERT(in_lines == 0 && in_periods == 0);
	list_for_each_entry (dom, &sedf->doms, all)
		check_ports(&dom->ports);
}
#else
static inline void check_lines(const struct sedf *sedf)
{
}
#endif

#endif
