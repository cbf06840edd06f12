/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the plug-ins need from Xen. With PACELINE_SHIM they are compiled for the development host, where shim/shim.h replaces
 * Xen. No other file in this folder depends on that.
 */
#ifndef PACELINE_HYPERVISOR_H
#define PACELINE_HYPERVISOR_H

#ifdef PACELINE_SHIM
#include <shim.h>
#else
#include <xen/cpumask.h>
#include <xen/errno.h>
#include <xen/event.h>
#include <xen/init.h>
#include <xen/inttypes.h>
#include <xen/lib.h>
#include <xen/list.h>
#include <xen/paceline_messages.h>
#include <xen/paceline_xen.h>
#include <xen/param.h>
#include <xen/rbtree.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/spinlock.h>
#include <xen/time.h>
#include <xen/timer.h>

#include "private.h"

#ifndef UINT64_MAX
#define UINT64_MAX (~(uint64_t)0)
#endif

/*
 * Whether the guest's memory says that a port is pending. No lock is needed: a port that is opened or closed meanwhile may count as
 * either, and the memory exists until `ports_closed`.
 */
static inline bool port_is_pending(const struct domain *d, unsigned int port)
{
	return port_is_valid(d, port) && evtchn_is_pending(d, evtchn_from_port(d, port));
}
#endif

#endif
