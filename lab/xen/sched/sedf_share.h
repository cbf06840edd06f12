/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a domain is promised under SEDF, and which PCPU can promise it: the same as machines/policy/src/deadline/sedf/share.rs.
 *
 * Invariant: on no PCPU do the promised parts add up to more than the whole, except if Xen leaves no choice: a unit that is added or
 * moved cannot be refused. A share that a user asks for can be.
 *
 * Locks: all of it is guarded by the lock of the instance.
 */
#ifndef PACELINE_SEDF_SHARE_H
#define PACELINE_SEDF_SHARE_H

#include "paceline.h"

/* All of a PCPU, in the fixed-point parts that promises are added in. */
#define WHOLE_BITS 40
#define WHOLE (1ULL << WHOLE_BITS)

#define PERIOD_US_MIN 10
#define PERIOD_US_MAX 10000000

/* What every unit of a domain gets: a guaranteed time in every period, and part of what is left over. */
struct share {
	uint64_t period_ns, slice_ns;
	bool extra;
};

/* What a PCPU has promised. */
struct load {
	unsigned int units;
	uint64_t parts;
};

/* The defaults of Xen 4.1: DOM0 has three quarters of every 20 ms, guests have extra time only. */
static inline struct share share_of_newcomer(bool privileged)
{
	if (privileged)
		return (struct share){.period_ns = MILLISECS(20), .slice_ns = MILLISECS(15), .extra = true};
	return (struct share){.period_ns = MILLISECS(100), .extra = true};
}

/* slice / period of the whole, rounded down: a long division, bit by bit, because Xen has no 128-bit division. */
static inline uint64_t share_parts(const struct share *share)
{
	uint64_t parts = share->slice_ns / share->period_ns, rest = share->slice_ns % share->period_ns;
	unsigned int bit;

	for (bit = 0; bit < WHOLE_BITS; bit++) {
		rest <<= 1;
		parts <<= 1;
		if (rest >= share->period_ns) {
			rest -= share->period_ns;
			parts |= 1;
		}
	}
	return parts;
}

static inline bool can_promise(const struct load *load, const struct share *share)
{
	return share->slice_ns == 0 || load->parts + share_parts(share) <= WHOLE;
}

static inline void give_share(struct load *load, const struct share *share)
{
	load->units++;
	load->parts += share_parts(share);
}

static inline void take_share(struct load *load, const struct share *share)
{
	load->units--;
	load->parts -= share_parts(share);
}

/* By how much a PCPU falls short of one more unit with this share. */
static inline uint64_t short_of(const struct load *load, uint64_t parts)
{
	return load->parts + parts > WHOLE ? load->parts + parts - WHOLE : 0;
}

/* Which of two PCPUs one more unit is better off on: the first of equals. */
static inline bool better_off(const struct load *a, const struct load *b, uint64_t parts)
{
	uint64_t short_a = short_of(a, parts), short_b = short_of(b, parts);

	if (short_a != short_b)
		return short_a < short_b;
	if (a->units != b->units)
		return a->units < b->units;
	return a->parts < b->parts;
}

/* Where one more unit is best off, of the PCPUs that it may run on; NO_CPU if there are none. */
static inline unsigned int best_home(const struct pace_sched *sched, const struct load *loads, const struct pace_unit *own,
				     const struct share *share)
{
	unsigned int cpu, best = NO_CPU;
	uint64_t parts = share_parts(share);

	for_each_cpu (cpu, &sched->cpus)
		if (may_run_on(own, cpu) && (best == NO_CPU || better_off(&loads[cpu], &loads[best], parts)))
			best = cpu;
	return best;
}

/* A number in microseconds up to `:` or the end, in nanoseconds; false if there is none or it is greater than `most_us`. */
static inline bool parse_us(const char **at, uint64_t most_us, uint64_t *ns)
{
	const char *end;
	unsigned long long us = simple_strtoull(*at, &end, 10);

	if (end == *at || (*end && *end != ':') || us > most_us)
		return false;
	*at = *end ? end + 1 : end;
	*ns = us * 1000;
	return true;
}

/* DOMID:PERIOD:SLICE:EXTRA, in microseconds; EXTRA is 0 or 1. False if the text is not a share. */
static inline bool parse_share(const char *text, unsigned int *domid, struct share *share)
{
	uint64_t domid_ns, extra_ns;

	if (!parse_us(&text, DOMID_FIRST_RESERVED - 1, &domid_ns) || !parse_us(&text, PERIOD_US_MAX, &share->period_ns) ||
	    !parse_us(&text, PERIOD_US_MAX, &share->slice_ns) || !parse_us(&text, 1, &extra_ns) || *text)
		return false;
	*domid = domid_ns / 1000;
	share->extra = extra_ns;
	return share->period_ns >= MICROSECS(PERIOD_US_MIN) && share->slice_ns <= share->period_ns &&
	       (share->slice_ns || share->extra);
}

#endif
