/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The domains of SEDF: how one gets another share, and what is known of its messages. sedf.c describes the scheduler, and is the
 * only file that includes this one.
 *
 * Invariant: the page of a domain is mapped as long as the domain has it: code that unmaps it takes it from the domain first.
 *
 * Locks: the one of the instance. Functions here take it, except those marked "With the lock".
 */
#ifndef PACELINE_SEDF_DOMAINS_H
#define PACELINE_SEDF_DOMAINS_H

#include "sedf_moves.h"

/* A greater number on a page counts as this. */
#define LEFT_MAX 0x1000000

static void *cf_check sedf_alloc_domdata(const struct scheduler *ops, struct domain *d)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_dom *dom = xzalloc(struct sedf_dom);
	unsigned long flags;

	if (!dom)
		return ERR_PTR(-ENOMEM);
	dom->domain = d;
	dom->privileged = is_hardware_domain(d);
	dom->share = share_of_newcomer(dom->privileged);
	INIT_LIST_HEAD(&dom->units);
	spin_lock_irqsave(&sedf->base.lock, flags);
	list_add_tail(&dom->all, &sedf->doms);
	spin_unlock_irqrestore(&sedf->base.lock, flags);
	return dom;
}

static void cf_check sedf_free_domdata(const struct scheduler *ops, void *data)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_dom *dom = data;
	unsigned long flags;

	if (!dom)
		return;
	spin_lock_irqsave(&sedf->base.lock, flags);
	list_del_init(&dom->all);
	spin_unlock_irqrestore(&sedf->base.lock, flags);
	/* There still is a page only if the domain moves to another pool. */
	paceline_release_page(dom->page);
	xfree(dom);
}

/* Reads from its page how many messages a guest under a rule has taken and not worked on. With the lock. */
static inline void read_page(struct sedf *sedf, struct sedf_dom *dom)
{
	unsigned int left = dom->page ? read_atomic(&dom->page->messages_left) : 0;

	if (left > LEFT_MAX)
		left = LEFT_MAX;
	if (left != dom->left) {
		dom->left = left;
		rank_again(sedf, dom);
	}
}

/* The data of a domain, if it is one of ours: it may be moving to another pool. With the lock. */
static inline struct sedf_dom *dom_of(struct sedf *sedf, const struct domain *d)
{
	struct sedf_dom *dom;

	list_for_each_entry (dom, &sedf->doms, all)
		if (dom->domain == d)
			return dom;
	return NULL;
}

/* Xen has made a port of the domain pending. */
static void cf_check sedf_pending(const struct scheduler *ops, struct domain *d, unsigned int port)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_dom *dom;
	unsigned long flags;

	spin_lock_irqsave(&sedf->base.lock, flags);
	dom = dom_of(sedf, d);
	if (dom) {
		dom->events++;
		if (note_port(&dom->ports, port))
			rank_again(sedf, dom);
	}
	spin_unlock_irqrestore(&sedf->base.lock, flags);
}

/* The ports of the domain are closed, and the memory that has their state is freed after this. */
static void cf_check sedf_ports_closed(const struct scheduler *ops, struct domain *d)
{
	struct sedf *sedf = sedf_of(ops);
	struct sedf_dom *dom;
	unsigned long flags;

	spin_lock_irqsave(&sedf->base.lock, flags);
	dom = dom_of(sedf, d);
	if (dom) {
		forget_ports(&dom->ports);
		rank_again(sedf, dom);
	}
	spin_unlock_irqrestore(&sedf->base.lock, flags);
}

/* Gives the domain a statistics page, or none; returns the one that it had. A domain that is not ours keeps none. */
static const struct paceline_xen_page *cf_check sedf_page(const struct scheduler *ops, struct domain *d,
							   const struct paceline_xen_page *page)
{
	struct sedf *sedf = sedf_of(ops);
	const struct paceline_xen_page *before = page;
	struct sedf_dom *dom;
	unsigned long flags;

	spin_lock_irqsave(&sedf->base.lock, flags);
	dom = dom_of(sedf, d);
	if (dom) {
		before = dom->page;
		dom->page = page;
		read_page(sedf, dom);
	}
	spin_unlock_irqrestore(&sedf->base.lock, flags);
	return before;
}

/* Whether the PCPUs can promise a domain another share. With the lock. */
static inline bool can_adjust(struct sedf *sedf, struct sedf_dom *dom, const struct share *share)
{
	struct sedf_unit *own;
	bool can = true;

	list_for_each_entry (own, &dom->units, of_dom)
		take_share(&sedf->loads[own->home], &dom->share);
	list_for_each_entry (own, &dom->units, of_dom) {
		can = can && can_promise(&sedf->loads[own->home], share);
		give_share(&sedf->loads[own->home], share);
	}
	if (can)
		return true;
	list_for_each_entry (own, &dom->units, of_dom) {
		take_share(&sedf->loads[own->home], share);
		give_share(&sedf->loads[own->home], &dom->share);
	}
	return false;
}

/* Gives a domain another share. A period begins at once for those that are awake; the others begin one when they wake. */
static inline int adjust(struct sedf *sedf, const struct domain *d, const struct share *share)
{
	struct sedf_dom *dom;
	struct sedf_unit *own;
	unsigned long flags;
	int result = -ESRCH;

	spin_lock_irqsave(&sedf->base.lock, flags);
	dom = dom_of(sedf, d);
	if (dom)
		result = can_adjust(sedf, dom, share) ? 0 : -ENOSPC;
	if (result == 0) {
		note_time(sedf, NOW());
		/* All leave before the share changes on which their keys depend. */
		list_for_each_entry (own, &dom->units, of_dom)
			leave(sedf, own);
		dom->share = *share;
		list_for_each_entry (own, &dom->units, of_dom) {
			begin_period(sedf, own);
			own->deadline_ns = own->base.awake ? sedf->now_ns + share->period_ns : 0;
			if (!own->base.awake)
				continue;
			enter(sedf, own);
			ask_if_better(sedf, own);
		}
	}
	spin_unlock_irqrestore(&sedf->base.lock, flags);
	return result;
}

#endif
