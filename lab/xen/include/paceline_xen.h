/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a guest reports its local virtual time (LVT) to Xen with one of our schedulers: what guests and the hypervisor share.
 * C99, no library.
 *
 * A report speaks for the VCPU that executes it, and for no other. There are three ways to report, which all do the same:
 *
 *   PV guests, from user space too   ud2a; .ascii "xen"; cpuid  (forced emulation)
 *   HVM and PVH guests               cpuid
 *   a guest's kernel                 the hypercall sched_op with PACELINE_XEN_SCHEDOP and a struct paceline_xen_report
 *
 * CPUID: EAX = PACELINE_XEN_LEAF, ECX = a subleaf, RBX = the LVT, RDX = flags. On return EAX is one of the results below, and
 * EBX, ECX and EDX are 0. On other hypervisors EAX is not a result: look for Xen first (leaf 0x40000000), then for
 * PACELINE_XEN_SUBLEAF_PROBE, which changes nothing and returns PACELINE_XEN_MAGIC in EBX.
 *
 * Invariants: within a simulation, which lasts as long as reports have the flag PACELINE_XEN_SIMULATION, an LVT never falls,
 * unless PACELINE_XEN_DONE was reported in between. A refused report changes only a counter.
 */
#ifndef PACELINE_XEN_H
#define PACELINE_XEN_H

#ifdef __XEN__
#include <xen/types.h>
#else
#include <stdint.h>
#endif

/* "PACE": far from the leaves that processors and hypervisors have. */
#define PACELINE_XEN_LEAF 0x50414345u
#define PACELINE_XEN_SUBLEAF_REPORT 0u
#define PACELINE_XEN_SUBLEAF_PROBE 1u
#define PACELINE_XEN_MAGIC 0x314c564cu

/* The sub-operation of the hypercall sched_op; Xen's own end below 16. */
#define PACELINE_XEN_SCHEDOP 0x5041

/* Flags, as those of the LVT page: the guest simulates and is to be run by its LVT; it only waits for others. */
#define PACELINE_XEN_SIMULATION 1u
#define PACELINE_XEN_WAITING 2u

/* The greatest LVT; and the value for "done or idle, holds back no other". Without PACELINE_XEN_SIMULATION the LVT must be 0. */
#define PACELINE_XEN_LVT_MAX ((uint64_t)0x7fffffffffffffff)
#define PACELINE_XEN_DONE ((uint64_t)0xffffffffffffffff)

/* Results. */
#define PACELINE_XEN_OK 0u
#define PACELINE_XEN_BACKWARDS 1u  /* refused: less than what was reported before */
#define PACELINE_XEN_OUTSIDE 2u    /* refused: an LVT, but not in simulation mode */
#define PACELINE_XEN_NO_REPORTS 3u /* the scheduler takes no reports */
#define PACELINE_XEN_MALFORMED 4u  /* refused: a flag or an LVT that does not exist, or no such subleaf */

/* The argument of PACELINE_XEN_SCHEDOP, which returns a result or Xen's -EFAULT. The same for 32-bit guests. */
struct paceline_xen_report {
	uint64_t lvt_ns;
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/*
 * The statistics page of the schedulers csde and csdd, which run the domain with most pending messages first. Xen counts the ports
 * of its event channels that are pending by itself. Xen cannot see what a guest has taken from there and not worked on yet: the
 * guest may write it here. Xen reads it when a VCPU of the guest has run. A guest has one page; one that is registered later
 * replaces it. Xen may read the page until then, or until the guest's event channels are reset.
 */
struct paceline_xen_page {
	uint32_t messages_left;
};

/* The sub-operation of sched_op that registers it. Returns 0, or Xen's -EFAULT, -EINVAL (no such page), -EOPNOTSUPP (the scheduler
 * reads none) or -ENOMEM. */
#define PACELINE_XEN_SCHEDOP_PAGE 0x5042

struct paceline_xen_register_page {
	uint64_t gfn;
};

#endif
