/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a unit under PSX+, its key in the run queue, and the share of a period that every unit is guaranteed. The same as
 * machines/policy/src/simulated_time/psx_plus/vcpu.rs and shares.rs, which give the reasons.
 *
 * Invariant: the key depends on nothing but this state, so code that changes any of it must update the run queue.
 *
 * Locks: all of it is guarded by the lock of the instance.
 */
#ifndef PACELINE_PSXPLUS_UNIT_H
#define PACELINE_PSXPLUS_UNIT_H

#include "paceline.h"

/* Classes, the first one runs first. */
#define DUE 0
#define DOM0 1
#define FEDERATE 2
#define OTHERS 3

/* How fast the LVT of a unit rises with the CPU time that it gets, to estimate it between two reports. */
struct pace {
	uint64_t lap_ns; /* CPU time since the LVT last changed, without time in which it was known to wait */
	uint64_t step;   /* the last rise */
	/* Rises, and the CPU time that they took; each report halves the weight of those before it. */
	uint64_t rises;
	uint64_t took_ns;
};

/* The CPU time that a unit has got in the period, and whether it is due. */
struct account {
	uint64_t got_ns;
	bool entitled; /* awake since the period began */
	bool due;      /* runs before all that are not due, until it has its share */
};

enum flag {
	FLAG_UNUSED, /* the guest does not use its waiting flag */
	FLAG_UNSET,
	FLAG_SET,
};

struct plus_unit {
	struct pace_unit base;
	bool pinned;
	bool late; /* is still due although the period is over */
	bool simulates;
	uint64_t grace_ns; /* how much longer it may run as a federate without saying whether it simulates */
	bool waits;        /* is known to wait */
	enum flag flag;
	uint64_t lvt, highest_lvt;
	uint64_t stalled_ns; /* how long it has run since it last made progress */
	s_time_t ran_until;
	struct pace pace;
	struct account account;
	/* Periods in which it got less than its share, and the most that it lacked. */
	uint64_t denied, lacked_ns;
};

/* What all units may claim in a period. */
struct shares {
	uint64_t period_ns;
	uint64_t percent;
	uint64_t share_ns; /* the share of every unit in this period */
};

/* Whether the unit is restricted to one PCPU by its affinity, and not because there is only one. */
static inline bool is_pinned(const struct pace_sched *sched, const struct pace_unit *own)
{
	if (place_of(sched, own, (struct place){ANYWHERE, 0}).reach != ONLY)
		return false;
	return cpumask_weight(&sched->cpus) > 1 || cpumask_weight(own->unit->cpu_hard_affinity) == 1;
}

static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline void pace_report(struct pace *pace, uint64_t before, uint64_t lvt)
{
	/* Two reports without CPU time between them say nothing about the pace. */
	if (lvt == before || !pace->lap_ns)
		return;
	pace->took_ns = pace->took_ns / 2 + pace->lap_ns;
	pace->lap_ns = 0;
	/* After a rollback the step is 0: it takes as long to come back as it took to get there, and the next rise is unknown. */
	pace->step = lvt > before ? lvt - before : 0;
	pace->rises = add_saturating(pace->rises / 2, pace->step);
}

/* product / divisor, which must be less than 2^64. Xen has no 128-bit division. */
static inline uint64_t divide_wide(unsigned __int128 product, uint64_t divisor)
{
	uint64_t quotient = 0, rest = product >> 64, low = (uint64_t)product;
	unsigned int bit;

	if (!rest)
		return low / divisor;
	for (bit = 64; bit-- > 0;) {
		bool carry = rest >> 63;

		rest = rest << 1 | (low >> bit & 1);
		if (carry || rest >= divisor) {
			rest -= divisor;
			quotient |= 1ULL << bit;
		}
	}
	return quotient;
}

/*
 * The estimated LVT of a unit that last reported `lvt`: it rises at its pace until it has risen by the last step. If no report has
 * come by then, the estimate is that step plus one nanosecond for each nanosecond of CPU time since the last change.
 */
static inline uint64_t pace_expected(const struct pace *pace, uint64_t lvt)
{
	unsigned __int128 product = (unsigned __int128)pace->lap_ns * pace->rises;
	unsigned __int128 most = (unsigned __int128)pace->step * pace->took_ns + pace->took_ns;

	if (product < most)
		return add_saturating(lvt, divide_wide(product, pace->took_ns));
	return add_saturating(lvt, add_saturating(pace->step, pace->lap_ns));
}

/* Its key in the queue. */
static inline struct key plus_key(const struct plus_unit *own)
{
	if (own->account.due)
		return (struct key){DUE, !own->pinned};
	if (own->base.privileged && !own->waits)
		return (struct key){DOM0, 0};
	if ((own->simulates || own->grace_ns) && !own->waits)
		return (struct key){FEDERATE, pace_expected(&own->pace, own->lvt)};
	return (struct key){OTHERS, own->ran_until};
}

/* Its key while it runs: within a slice, no other of the last class comes before it. */
static inline struct key plus_standing(const struct plus_unit *own)
{
	struct key key = plus_key(own);

	if (key.class == OTHERS)
		key.order = 0;
	return key;
}

/* Charges it for `ran_ns`, until `now`. */
static inline void plus_charge(struct plus_unit *own, uint64_t ran_ns, s_time_t now, uint64_t share_ns)
{
	own->stalled_ns += ran_ns;
	own->grace_ns -= own->grace_ns < ran_ns ? own->grace_ns : ran_ns;
	own->ran_until = now;
	if (!own->waits)
		own->pace.lap_ns += ran_ns;
	own->account.got_ns += ran_ns;
	own->account.due = own->account.due && own->account.got_ns < share_ns;
}

static inline void make_progress(struct plus_unit *own)
{
	own->waits = false;
	own->stalled_ns = 0;
}

static inline void plus_lvt(struct plus_unit *own, uint64_t lvt)
{
	pace_report(&own->pace, own->lvt, lvt);
	own->lvt = lvt;
	if (lvt > own->highest_lvt) {
		own->highest_lvt = lvt;
		make_progress(own);
	}
}

/* It has nothing to do. Its next LVT is progress, whatever it is. */
static inline void plus_idle(struct plus_unit *own)
{
	own->waits = true;
	own->highest_lvt = 0;
}

/* Notes whether it simulates. A new simulation may begin at any LVT, so what is known from an earlier one is dropped. */
static inline void plus_mode(struct plus_unit *own, bool simulates)
{
	if (simulates && !own->simulates) {
		own->lvt = own->highest_lvt = 0;
		own->pace = (struct pace){.took_ns = 1};
		own->flag = FLAG_UNUSED;
	}
	own->simulates = simulates;
	own->grace_ns = 0;
}

static inline uint64_t part_ns(const struct shares *shares)
{
	return shares->period_ns * shares->percent / 100;
}

/*
 * Begins a period with `awake` units awake, of which at most `pinned` are pinned to any one PCPU. Returns how long after its
 * beginning shares fall due.
 */
static inline uint64_t shares_begin(struct shares *shares, unsigned int pcpus, unsigned int awake, unsigned int pinned)
{
	uint64_t part = part_ns(shares), fair = awake > pcpus ? part * pcpus / awake : part;
	uint64_t of_pinned = part / (pinned ? pinned : 1);

	shares->share_ns = fair < of_pinned ? fair : of_pinned;
	return shares->period_ns - part - shares->share_ns;
}

#endif
