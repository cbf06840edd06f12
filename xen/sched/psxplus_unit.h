/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What PSX+ knows of a unit, where that puts it in the order of all, and the share of a period that every unit is guaranteed. The same
 * as crates/policy/src/simulated_time/psx_plus/vcpu.rs and shares.rs, which tell why.
 *
 * Invariant: the key depends on nothing but what is here, so whoever changes any of it has the run queue put right.
 *
 * Locks: all of it is guarded by the lock of the instance.
 */
#ifndef PACELINE_PSXPLUS_UNIT_H
#define PACELINE_PSXPLUS_UNIT_H

#include "paceline.h"

/* Classes, the first first. */
#define DUE 0
#define DOM0 1
#define FEDERATE 2
#define OTHERS 3

/* How fast the LVT of a unit rises with the CPU time that it gets, to tell where it is between two reports. */
struct pace {
	uint64_t lap_ns; /* CPU time since the LVT has changed, without what it is known to have waited */
	uint64_t step;   /* the last rise */
	/* Rises, and the CPU time that they took; each report halves the weight of those before it. */
	uint64_t rises;
	uint64_t took_ns;
};

/* What a unit has had of the period. */
struct account {
	uint64_t got_ns;
	bool entitled; /* awake since the period began */
	bool due;      /* runs before all who are not due, until it has its share */
};

enum flag {
	FLAG_UNUSED, /* the guest does not use its waiting flag */
	FLAG_UNSET,
	FLAG_SET,
};

struct plus_unit {
	struct pace_unit base;
	bool pinned;
	bool late; /* is due still though the period is over */
	bool simulates;
	uint64_t grace_ns; /* how much longer it may run before it has to have said whether it simulates */
	bool waits;        /* is known to wait */
	enum flag flag;
	uint64_t lvt, highest_lvt;
	uint64_t stalled_ns; /* how long it has run since it has last made progress */
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
	uint64_t share_ns; /* what everybody gets of this period */
};

/* Whether the unit may run on one PCPU only, as somebody wants it: not because there is just one. */
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
	/* Two reports in no time say nothing of the pace. */
	if (lvt == before || !pace->lap_ns)
		return;
	pace->took_ns = pace->took_ns / 2 + pace->lap_ns;
	pace->lap_ns = 0;
	/* After a rollback it takes as long to come back as it took to get there: nothing is known of the next step. */
	pace->step = lvt > before ? lvt - before : 0;
	pace->rises = add_saturating(pace->rises / 2, pace->step);
}

/* product / divisor, where that is less than 2^64. Xen has no division of 128 bits. */
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
 * Where a unit is now that has reported `lvt`: on its way to where the next report will be if that is as far as the last was.
 * One that is overdue goes on as real time does, which is slow in most models.
 */
static inline uint64_t pace_expected(const struct pace *pace, uint64_t lvt)
{
	unsigned __int128 product = (unsigned __int128)pace->lap_ns * pace->rises;
	unsigned __int128 most = (unsigned __int128)pace->step * pace->took_ns + pace->took_ns;

	if (product < most)
		return add_saturating(lvt, divide_wide(product, pace->took_ns));
	return add_saturating(lvt, add_saturating(pace->step, pace->lap_ns));
}

/* Where it comes in the queue. */
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

/* The same while it runs: within a slice, no other of the last class goes before it. */
static inline struct key plus_standing(const struct plus_unit *own)
{
	struct key key = plus_key(own);

	if (key.class == OTHERS)
		key.order = 0;
	return key;
}

/* It has run for `ran_ns`, until `now`. */
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

/* Whether it simulates. What it did in a simulation before says nothing of the next one, which begins where it likes. */
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
 * A period begins with so many units awake, of which so many at most are pinned to one PCPU. How long after its begin shares fall
 * due.
 */
static inline uint64_t shares_begin(struct shares *shares, unsigned int pcpus, unsigned int awake, unsigned int pinned)
{
	uint64_t part = part_ns(shares), fair = awake > pcpus ? part * pcpus / awake : part;
	uint64_t of_pinned = part / (pinned ? pinned : 1);

	shares->share_ns = fair < of_pinned ? fair : of_pinned;
	return shares->period_ns - part - shares->share_ns;
}

#endif
