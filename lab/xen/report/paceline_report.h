/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entry points of lvt_report.c, for the places in Xen that lab/xen/insert hooks. paceline_xen.h describes them for guests.
 */
#ifndef XEN_PACELINE_REPORT_H
#define XEN_PACELINE_REPORT_H

#include <xen/paceline_xen.h>
#include <xen/sched.h>

struct cpu_user_regs;

/* The VCPU that executes this reports. Returns a result of paceline_xen.h. */
uint32_t paceline_report(struct vcpu *v, uint64_t lvt_ns, uint32_t flags);

/* The sub-operation PACELINE_XEN_SCHEDOP of sched_op; `arg` is a struct paceline_xen_report of the guest. */
long paceline_sched_op(XEN_GUEST_HANDLE_PARAM(void) arg);

/* A CPUID that a guest executes, forced or not: if it has our leaf, executes it and returns true. */
bool paceline_cpuid(struct cpu_user_regs *regs);

#endif
