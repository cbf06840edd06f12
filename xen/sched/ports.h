/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many messages wait for a domain: event-channel ports that are pending, counted without looking at every port.
 *
 * Xen sees a port become pending, but not how the guest clears it: that is a bit in the guest's memory. So a domain has a set of
 * the ports that are believed to be pending. A port enters it when Xen makes it pending. It leaves it when the count is wanted
 * and the guest's memory says that it is pending no more. Only ports in the set are looked at, so each look finds a port that
 * still waits, or one that will not be looked at again until its next message.
 *
 * Invariant: the set holds every port that is pending, up to PORTS_MAX: a count can only be too high, and count_ports puts it
 * right. Ports from PORTS_MAX on, of which only guests with FIFO event channels can have any, are not counted but in `beyond`.
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

/* `port` is pending from now on; whether it was not believed to be. */
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

/* The ports are closed, and the guest's memory that told of them goes. */
static inline void forget_ports(struct ports *ports)
{
	memset(ports->words, 0, sizeof ports->words);
	ports->touched = 0;
	ports->count = 0;
}

#endif
