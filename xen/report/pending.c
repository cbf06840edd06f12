/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells schedulers that choose by messages, or by who waits for some, of event-channel ports that become pending.
 *
 * State: none; what is pending is counted by the scheduler.
 *
 * Locks: called with locks of the event channel held, inside of which the scheduler takes its own, as Xen's wakes do.
 */
#include <xen/paceline_pending.h>
#include <xen/sched.h>

#include "private.h"

void paceline_pending(struct domain *d, unsigned int port)
{
	const struct scheduler *ops;

	rcu_read_lock(&sched_res_rculock);
	ops = d->cpupool ? d->cpupool->sched : NULL;
	if (ops && ops->pending)
		ops->pending(ops, d, port);
	rcu_read_unlock(&sched_res_rculock);
}

void paceline_ports_closed(struct domain *d)
{
	const struct scheduler *ops;

	rcu_read_lock(&sched_res_rculock);
	ops = d->cpupool ? d->cpupool->sched : NULL;
	if (ops && ops->ports_closed)
		ops->ports_closed(ops, d);
	rcu_read_unlock(&sched_res_rculock);
}
