/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages for domains: event-channel ports that become pending, as xen/insert's hooks tell of them. pending.c passes them on to the
 * scheduler of the domain.
 */
#ifndef XEN_PACELINE_PENDING_H
#define XEN_PACELINE_PENDING_H

struct domain;

/* A port of the domain that was not pending is so now. The caller holds a lock of the event channel. */
void paceline_pending(struct domain *d, unsigned int port);

/* All ports of the domain are closed, and the memory that tells which are pending goes. */
void paceline_ports_closed(struct domain *d);

#endif
