/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the scheduler learns of a domain's pending messages: from Xen's event channels, and from the statistics page that a guest may
 * register. Only schedulers that have the operations for it are told.
 *
 * State: none; the scheduler has the page. Invariant: a page is mapped, and held for its domain, as long as a scheduler has it;
 * code that takes it from the scheduler releases it. That must happen before the domain's memory is freed: when its ports are closed.
 *
 * Locks: none here. Ports become pending with the locks of event channels held, outside of the scheduler's.
 */
#include <xen/domain_page.h>
#include <xen/guest_access.h>
#include <xen/mm.h>
#include <xen/paceline_messages.h>
#include <xen/sched.h>

#include <asm/p2m.h>

#include "private.h"

/* NULL for a domain that is being destroyed. */
static const struct scheduler *scheduler_of(const struct domain *d)
{
	return d->cpupool ? d->cpupool->sched : NULL;
}

void paceline_port_pending(struct domain *d, unsigned int port)
{
	const struct scheduler *ops;

	rcu_read_lock(&sched_res_rculock);
	ops = scheduler_of(d);
	if (ops && ops->pending)
		ops->pending(ops, d, port);
	rcu_read_unlock(&sched_res_rculock);
}

void paceline_ports_closed(struct domain *d)
{
	const struct paceline_xen_page *page = NULL;
	const struct scheduler *ops;

	rcu_read_lock(&sched_res_rculock);
	ops = scheduler_of(d);
	if (ops && ops->ports_closed)
		ops->ports_closed(ops, d);
	if (ops && ops->page)
		page = ops->page(ops, d, NULL);
	rcu_read_unlock(&sched_res_rculock);
	paceline_release_page(page);
}

void paceline_release_page(const struct paceline_xen_page *page)
{
	struct page_info *info;

	if (!page)
		return;
	info = mfn_to_page(domain_page_map_to_mfn(page));
	unmap_domain_page_global(page);
	put_page_and_type(info);
}

/* Maps a page of the domain; NULL, and why in `error`, if there is none. */
static const struct paceline_xen_page *map_page(struct domain *d, uint64_t gfn, long *error)
{
	struct page_info *info = get_page_from_gfn(d, gfn, NULL, P2M_ALLOC);
	const struct paceline_xen_page *page;

	*error = -EINVAL;
	if (!info)
		return NULL;
	if (!get_page_type(info, PGT_writable_page)) {
		put_page(info);
		return NULL;
	}
	page = __map_domain_page_global(info);
	if (!page) {
		*error = -ENOMEM;
		put_page_and_type(info);
	}
	return page;
}

long paceline_register_page(XEN_GUEST_HANDLE_PARAM(void) arg)
{
	struct paceline_xen_register_page wanted;
	struct domain *d = current->domain;
	const struct paceline_xen_page *page;
	const struct scheduler *ops;
	long result;

	if (copy_from_guest(&wanted, arg, 1))
		return -EFAULT;
	page = map_page(d, wanted.gfn, &result);
	if (!page)
		return result;
	rcu_read_lock(&sched_res_rculock);
	ops = scheduler_of(d);
	result = ops && ops->page ? 0 : -EOPNOTSUPP;
	/* Releases the previous page, or this one if the scheduler did not take it. */
	if (result == 0)
		page = ops->page(ops, d, page);
	rcu_read_unlock(&sched_res_rculock);
	paceline_release_page(page);
	return result;
}
