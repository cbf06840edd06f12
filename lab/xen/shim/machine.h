/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine that the shim simulates, shared by shim.c and replay.c: CPUs, domains and VCPUs by number, the clock, and what the
 * plug-in has asked for since the last operation.
 */
#ifndef PACELINE_MACHINE_H
#define PACELINE_MACHINE_H

#include "shim.h"

#define DOMAINS_MAX 64
#define VCPUS_MAX 256
#define TIMERS_MAX 8
#define TIMERS_SET_MAX 16

struct machine {
	struct scheduler ops;
	struct cpupool pool;
	s_time_t now;
	unsigned int pcpus, cpu;
	cpumask_t online, scratch;
	struct sched_resource resources[NR_CPUS];
	struct sched_unit idle[NR_CPUS];
	struct vcpu idle_vcpus[NR_CPUS];
	struct domain *domains[DOMAINS_MAX];
	struct vcpu *vcpus[VCPUS_MAX];
	struct timer *timers[TIMERS_MAX];
	unsigned int timer_count;
	/* Asked for, in this order. */
	unsigned int asked[NR_CPUS], asked_count;
	struct {
		unsigned int number;
		s_time_t expires;
	} set[TIMERS_SET_MAX];
	unsigned int set_count;
};

extern struct machine machine;

/* Runs a decision on `cpu` without its end; returns the unit that ran before. `tasklet`: Xen has work of its own to do there. */
struct sched_unit *decide(unsigned int cpu, bool tasklet);

/* The end of a decision: the context of the unit that has lost the PCPU is saved. */
void context_saved(unsigned int cpu);

/* `steps` random steps with all CPUs, domains and VCPUs; see fuzz.c. */
void fuzz(uint64_t seed, unsigned int steps);

#endif
