/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entry points of messages.c, for the places in Xen that lab/xen/insert hooks.
 */
#ifndef XEN_PACELINE_MESSAGES_H
#define XEN_PACELINE_MESSAGES_H

#include <xen/paceline_xen.h>
#include <xen/sched.h>

/* A port of the domain has become pending. With the locks of event channels. */
void paceline_port_pending(struct domain *d, unsigned int port);

/* All ports of the domain are closed; the memory that has their state, and its statistics page, are freed after this. */
void paceline_ports_closed(struct domain *d);

/* The sub-operation PACELINE_XEN_SCHEDOP_PAGE of sched_op; `arg` is a struct paceline_xen_register_page of the guest. */
long paceline_register_page(XEN_GUEST_HANDLE_PARAM(void) arg);

/* Unmaps a statistics page, if there is one, and gives it back to its domain. */
void paceline_release_page(const struct paceline_xen_page *page);

#endif
