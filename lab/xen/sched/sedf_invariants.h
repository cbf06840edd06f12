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
static inline unsigned int check_order(const struct rb_root *root)
{
	struct rb_node *node, *next;
	unsigned int count = 0;

	for (node = rb_first(root); node; node = next, count++) {
		next = rb_next(node);
		if (next)
			ASSERT(order_less(&BY_ORDER(node)->spot, &BY_ORDER(next)->spot));
	}
	return count;
}

static inline unsigned int check_ranks(const struct rb_root *root)
{
	struct rb_node *node, *next;
	unsigned int count = 0;

	for (node = rb_first(root); node; node = next, count++) {
		next = rb_next(node);
		if (next)
			ASSERT(rank_less(&BY_RANK(node)->spot, &BY_RANK(next)->spot));
	}
	return count;
}

static inline unsigned int check_periods(const struct rb_root *root)
{
	struct rb_node *node, *next;
	unsigned int count = 0;

	for (node = rb_first(root); node; node = next, count++) {
		next = rb_next(node);
		if (next)
			ASSERT(period_less(BY_PERIOD(node), BY_PERIOD(next)));
	}
	return count;
}

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

		in_periods -= check_periods(&pcpu->periods);
		for (kind = 0; kind < LINES; kind++) {
			unsigned int count = check_order(&pcpu->lines[kind].in_order);

			in_lines -= count;
			ASSERT(check_ranks(&pcpu->lines[kind].by_rank) == (sedf->rule == PLAIN ? 0 : count));
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
