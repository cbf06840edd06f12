/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The moves between the lines of SEDF, and the choice from them: the same as machines/policy/src/deadline/sedf/queues.rs, in names
 * and in decisions. sedf.c describes the scheduler.
 *
 * Invariants: an awake unit that does not run is in at most one line of its home, one that runs or sleeps in none; an awake unit,
 * even one that runs, waits for its period exactly if it has a slice and its period is to come. A rank can only be too good,
 * because a count of messages can only be too high: the messages of the first by rank are counted again until its rank is right.
 *
 * Locks: all of it is guarded by the lock of the instance.
 */
#ifndef PACELINE_SEDF_MOVES_H
#define PACELINE_SEDF_MOVES_H

#include "sedf_lines.h"

static inline void note_time(struct sedf *sedf, s_time_t now)
{
	if ((uint64_t)now > sedf->now_ns)
		sedf->now_ns = now;
}

/* Begins a period with nothing used and nothing lost. */
static inline void begin_period(struct sedf *sedf, struct sedf_unit *own)
{
	own->used_ns = own->lost_ns = 0;
	own->charged_ns = sedf->now_ns;
}

/* Puts an awake unit that is in no line into the line where it belongs. */
static inline void enter(struct sedf *sedf, struct sedf_unit *own)
{
	const struct share *share = &own->dom->share;
	uint64_t begins_ns = period_begins_ns(own), arrival = ++sedf->arrivals;

	if (share->slice_ns && begins_ns <= sedf->now_ns) {
		if (own->place != LINE_RUN)
			own->arrival = arrival;
		own->place = LINE_RUN;
		own->spot = (struct spot){.order = own->deadline_ns, .arrival = own->arrival};
	} else if (own->lost_ns) {
		own->place = LINE_PENALTY;
		/* The greater the loss in proportion to the period, the less. Ten seconds shifted by 20 bits fit. */
		own->spot = (struct spot){.order = (share->period_ns << 20) / own->lost_ns, .arrival = arrival};
	} else if (share->extra) {
		own->place = LINE_EXTRA;
		own->spot = (struct spot){.order = own->score_ns, .arrival = arrival};
	} else {
		own->place = NOWHERE;
	}
	set_rank(sedf, own);
	if (own->place != NOWHERE)
		link_line(sedf, own);
	if (share->slice_ns && own->place != LINE_RUN)
		link_period(sedf, own);
}

/* Charges the running unit for the time it has run; it keeps its place in the run line among equal deadlines. */
static inline void charge(struct sedf *sedf, struct sedf_unit *own)
{
	const struct share *share = &own->dom->share;
	uint64_t ran_ns = sedf->now_ns - own->charged_ns;

	ASSERT(own->place != NOWHERE);
	own->base.ran_ns += ran_ns;
	if (own->place == LINE_RUN)
		own->used_ns += ran_ns;
	else if (own->place == LINE_PENALTY)
		own->lost_ns = 0;
	else
		own->score_ns += ran_ns;
	/* More than once only if Xen was late by more than a slice. */
	while (own->place == LINE_RUN && own->used_ns >= share->slice_ns) {
		own->used_ns -= share->slice_ns;
		own->deadline_ns += share->period_ns;
	}
	if (own->place != LINE_RUN)
		own->place = NOWHERE;
}

/* Takes a unit out of its lines, or off its PCPU. */
static inline void leave(struct sedf *sedf, struct sedf_unit *own)
{
	if (own->waits_for_period) {
		rb_erase(&own->period_node, &sedf->pcpus[own->home].periods);
		own->waits_for_period = false;
	}
	if (running_on(sedf, own->home) != own) {
		if (own->place != NOWHERE)
			unlink_line(sedf, own);
		own->place = NOWHERE;
		return;
	}
	queue_stop(&sedf->base, own->home);
	charge(sedf, own);
}

/* Moves units whose period has begun to the run line. */
static inline void begin_periods(struct sedf *sedf, unsigned int cpu)
{
	struct sedf_unit *own;

	while ((own = next_period(sedf, cpu)) && period_begins_ns(own) <= sedf->now_ns) {
		leave(sedf, own);
		own->lost_ns = 0;
		enter(sedf, own);
	}
}

/* Units whose deadline has passed lose the rest of that slice, and enter the current period. */
static inline void forfeit(struct sedf *sedf, unsigned int cpu)
{
	struct sedf_unit *own;
	uint64_t period_ns;

	while ((own = first_in(&sedf->pcpus[cpu].lines[LINE_RUN])) && own->deadline_ns <= sedf->now_ns) {
		period_ns = own->dom->share.period_ns;
		leave(sedf, own);
		own->used_ns = 0;
		own->deadline_ns += ((sedf->now_ns - own->deadline_ns) / period_ns + 1) * period_ns;
		enter(sedf, own);
		sedf->forfeits++;
	}
}

/* Ranks the waiting units of a domain again, because its number of messages has changed. */
static inline void rank_again(struct sedf *sedf, struct sedf_dom *dom)
{
	struct sedf_unit *own;
	struct line *line;

	list_for_each_entry (own, &dom->units, of_dom) {
		if (own->place == NOWHERE || running_on(sedf, own->home) == own)
			continue;
		line = &sedf->pcpus[own->home].lines[own->place];
		rb_erase(&own->rank_node, &line->by_rank);
		set_rank(sedf, own);
		link_rank(line, own);
	}
}

/* Counts the pending messages of a domain; returns whether the number differs from the assumed one. */
static inline bool recount(struct sedf *sedf, struct sedf_dom *dom)
{
	unsigned int before = dom->ports.count;

	if (count_ports(dom->domain, &dom->ports) == before)
		return false;
	sedf->recounts++;
	rank_again(sedf, dom);
	return true;
}

/* The unit to run: the first of the first line that is not empty, by the rule if there is one. */
static inline struct sedf_unit *choose(struct sedf *sedf, unsigned int cpu)
{
	struct sedf_pcpu *pcpu = &sedf->pcpus[cpu];
	struct sedf_unit *own = first_in(&pcpu->lines[LINE_EXTRA]);
	struct line *line = pcpu->lines;

	if (own && own->spot.order > pcpu->least_score_ns)
		pcpu->least_score_ns = own->spot.order;
	while (line < pcpu->lines + LINES && RB_EMPTY_ROOT(&line->in_order))
		line++;
	if (line == pcpu->lines + LINES)
		return NULL;
	if (sedf->rule == PLAIN)
		return first_in(line);
	do
		own = BY_RANK(rb_first(&line->by_rank));
	while (recount(sedf, own->dom));
	return own;
}

/* Asks for a decision if a unit that has just entered a line may change it. */
static inline void ask_if_better(struct sedf *sedf, const struct sedf_unit *own)
{
	const struct sedf_unit *runs = running_on(sedf, own->home);
	bool better = !runs || own->place == LINE_RUN;

	if (!better && own->place == LINE_PENALTY)
		better = runs->place == LINE_PENALTY ? order_less(own, runs) : runs->place == LINE_EXTRA;
	if (better || (own->dom->share.slice_ns && period_begins_ns(own) < sedf->pcpus[own->home].slice_end_ns))
		queue_ask(&sedf->base, own->home);
}

static inline void sedf_fall_asleep(struct sedf *sedf, struct sedf_unit *own)
{
	leave(sedf, own);
	own->base.awake = false;
	own->place = NOWHERE;
}

#endif
