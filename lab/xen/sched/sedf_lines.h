/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of SEDF: the state of units, domains and PCPUs, and the trees that hold units. sedf_moves.h has the moves
 * between them.
 *
 * State: per PCPU three lines, each a tree in its own order and, under a rule, a second one in the order of preference: most
 * pending messages first. Each PCPU also has a tree of the units that wait for a period to begin.
 *
 * Invariant: the key of a unit in a line is kept in its spot, which changes only while the unit is not in that tree.
 *
 * Locks: all of it is guarded by the lock of the instance.
 */
#ifndef PACELINE_SEDF_LINES_H
#define PACELINE_SEDF_LINES_H

#include "ports.h"
#include "sedf_share.h"

/* The line of an awake unit; for the one that runs, the line from which it was chosen. The first line that is not empty is served. */
enum line_kind {
	LINE_RUN,     /* the period has begun, the slice is not used up: the earliest deadline first */
	LINE_PENALTY, /* extra time for those that lost some of their slice by blocking */
	LINE_EXTRA,   /* extra time, least used first */
	NOWHERE,
};
#define LINES 3

enum rule {
	PLAIN,
	MOST_PENDING,      /* csde */
	MOST_PENDING_DOM0, /* csdd: DOM0 first if it has a message */
};

struct spot {
	uint64_t order, arrival;
	/* The rank: preferred units, most messages, longest wait; compared from left to right, then by the order. */
	uint64_t behind, no_messages, chosen_ns;
};

struct line {
	struct rb_root in_order, by_rank;
};

struct sedf_pcpu {
	struct line lines[LINES];
	struct rb_root periods;
	uint64_t slice_end_ns, least_score_ns;
};

struct sedf {
	struct pace_sched base;
	enum rule rule;
	struct list_head doms;
	uint64_t now_ns; /* the time of the last operation, which never falls */
	uint64_t arrivals;
	uint64_t admitted; /* number of units admitted so far */
	uint64_t recounts, forfeits;
	struct sedf_pcpu pcpus[NR_CPUS];
	struct load loads[NR_CPUS];
};

struct sedf_dom {
	struct list_head all, units;
	struct domain *domain;
	bool privileged;
	struct share share;
	struct ports ports;
	const struct paceline_xen_page *page; /* the statistics page, if it has registered one */
	unsigned int left;		      /* messages that it has taken and not worked on, by its page */
	uint64_t events;
};

struct sedf_unit {
	struct pace_unit base;
	struct sedf_dom *dom;
	struct list_head of_dom;
	unsigned int home;
	uint64_t number; /* in the order in which they were added, to break ties */
	enum line_kind place;
	struct spot spot;
	bool waits_for_period;
	struct rb_node order_node, rank_node, period_node;
	uint64_t deadline_ns; /* the end of the period; 0 before the first */
	uint64_t arrival;     /* among equal deadlines */
	uint64_t used_ns, lost_ns, score_ns;
	uint64_t chosen_ns, charged_ns; /* when it was last chosen, and the time up to which it is charged */
};

#define BY_ORDER(node) container_of(node, struct sedf_unit, order_node)
#define BY_RANK(node) container_of(node, struct sedf_unit, rank_node)
#define BY_PERIOD(node) container_of(node, struct sedf_unit, period_node)

static inline struct sedf *sedf_of(const struct scheduler *ops)
{
	return container_of(sched_of(ops), struct sedf, base);
}

static inline struct sedf_unit *sedf_unit_of(struct pace_unit *own)
{
	return own ? container_of(own, struct sedf_unit, base) : NULL;
}

static inline struct sedf_unit *running_on(const struct sedf *sedf, unsigned int cpu)
{
	return sedf_unit_of(sedf->base.pcpus[cpu].running);
}

static inline bool order_less(const struct sedf_unit *a, const struct sedf_unit *b)
{
	return a->spot.order != b->spot.order ? a->spot.order < b->spot.order : a->spot.arrival < b->spot.arrival;
}

static inline bool rank_less(const struct sedf_unit *a, const struct sedf_unit *b)
{
	if (a->spot.behind != b->spot.behind)
		return a->spot.behind < b->spot.behind;
	if (a->spot.no_messages != b->spot.no_messages)
		return a->spot.no_messages < b->spot.no_messages;
	if (a->spot.chosen_ns != b->spot.chosen_ns)
		return a->spot.chosen_ns < b->spot.chosen_ns;
	return order_less(a, b);
}

/* When the period of an awake unit began or will begin. */
static inline uint64_t period_begins_ns(const struct sedf_unit *own)
{
	return own->deadline_ns - own->dom->share.period_ns;
}

static inline bool period_less(const struct sedf_unit *a, const struct sedf_unit *b)
{
	uint64_t begins_a = period_begins_ns(a), begins_b = period_begins_ns(b);

	return begins_a != begins_b ? begins_a < begins_b : a->number < b->number;
}

static inline void set_rank(const struct sedf *sedf, struct sedf_unit *own)
{
	unsigned int messages = own->dom->ports.count + own->dom->left;

	own->spot.behind = !(sedf->rule == MOST_PENDING_DOM0 && own->dom->privileged && messages);
	own->spot.no_messages = UINT64_MAX - messages;
	own->spot.chosen_ns = own->chosen_ns;
}

static inline void link_rank(struct line *line, struct sedf_unit *own)
{
	tree_insert(&line->by_rank, own, rank_node, rank_less);
}

static inline void link_line(struct sedf *sedf, struct sedf_unit *own)
{
	struct line *line = &sedf->pcpus[own->home].lines[own->place];

	tree_insert(&line->in_order, own, order_node, order_less);
	if (sedf->rule != PLAIN)
		link_rank(line, own);
}

static inline void unlink_line(struct sedf *sedf, struct sedf_unit *own)
{
	struct line *line = &sedf->pcpus[own->home].lines[own->place];

	rb_erase(&own->order_node, &line->in_order);
	if (sedf->rule != PLAIN)
		rb_erase(&own->rank_node, &line->by_rank);
}

static inline void link_period(struct sedf *sedf, struct sedf_unit *own)
{
	tree_insert(&sedf->pcpus[own->home].periods, own, period_node, period_less);
	own->waits_for_period = true;
}

static inline struct sedf_unit *first_in(const struct line *line)
{
	struct rb_node *node = rb_first(&line->in_order);

	return node ? BY_ORDER(node) : NULL;
}

static inline struct sedf_unit *next_period(const struct sedf *sedf, unsigned int cpu)
{
	struct rb_node *node = rb_first(&sedf->pcpus[cpu].periods);

	return node ? BY_PERIOD(node) : NULL;
}

#endif
