/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The number of pending messages of a domain: its pending event-channel ports, counted without reading every port.
 *
 * Xen sees a port become pending, but not how the guest clears it: that is a bit in the guest's memory. So a domain has a set of
 * the ports that are assumed to be pending. A port enters it when Xen makes it pending. It leaves it when a count finds in the
 * guest's memory that it is no longer pending. Only ports in the set are read, so each read finds a port that is still pending, or
 * one that will not be read again until its next message.
 *
 * Invariant: the set holds every port that is pending, up to PORTS_MAX: a count can only be too high, and count_ports corrects
 * it. Ports from PORTS_MAX on, of which only guests with FIFO event channels can have any, are only counted in `beyond`.
 *
 * Locks: all of it is guarded by the lock of the instance.
 */
#ifndef PACELINE_PORTS_H
#define PACELINE_PORTS_H

#include "paceline.h"

#define WORD_BITS 64
#define WORDS_MAX 64
#define PORTS_MAX (WORD_BITS * WORDS_MAX)

struct ports {
	uint64_t words[WORDS_MAX];
	uint64_t touched; /* which words are not 0 */
	unsigned int count;
	uint64_t beyond;
};

/* Notes that `port` is pending; returns whether it was not in the set. */
static inline bool note_port(struct ports *ports, unsigned int port)
{
	uint64_t bit = 1ULL << port % WORD_BITS;

	if (port >= PORTS_MAX) {
		ports->beyond++;
		return false;
	}
	if (ports->words[port / WORD_BITS] & bit)
		return false;
	ports->words[port / WORD_BITS] |= bit;
	ports->touched |= 1ULL << port / WORD_BITS;
	ports->count++;
	return true;
}

/* How many ports are pending, by the guest's memory. */
static inline unsigned int count_ports(const struct domain *d, struct ports *ports)
{
	uint64_t words = ports->touched;

	while (words) {
		unsigned int word = __builtin_ctzll(words);
		uint64_t bits = ports->words[word];

		words &= words - 1;
		while (bits) {
			unsigned int bit = __builtin_ctzll(bits);

			bits &= bits - 1;
			if (!port_is_pending(d, word * WORD_BITS + bit)) {
				ports->words[word] &= ~(1ULL << bit);
				ports->count--;
			}
		}
		if (!ports->words[word])
			ports->touched &= ~(1ULL << word);
	}
	return ports->count;
}

/* Empties the set: the ports are closed, and the guest's memory that has their state is freed. */
static inline void forget_ports(struct ports *ports)
{
	memset(ports->words, 0, sizeof ports->words);
	ports->touched = 0;
	ports->count = 0;
}

#endif
