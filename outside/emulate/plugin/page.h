/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page of memory that guest and coordinator share: orders, answers that are one record, and a bell for each side, so that a grant
 * and its answer are two wake-ups (futex(2)) and nothing else. outside/emulate/src/guest/page.rs has the other side.
 *
 * The guest makes it, a file in memory without a name whose size nobody can change, and the coordinator opens it as a descriptor of
 * this process.
 *
 * Invariants: each word is written by one side, except `sleeps`, which the sleeper sets and either side clears. The words of an
 * order change only while the guest stands, and those of an answer only while it runs: `turn` is written after them and read before
 * them. Who sleeps sets `sleeps`, then looks at the turn or the bell again, which the kernel compares before it sleeps; who rings
 * changes that word first, then looks at `sleeps`: one of the two sees the other.
 */
#ifndef PACELINE_PAGE_H
#define PACELINE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Gives the page's descriptor, negative if there is none. */
int make_page(void);
/* Wakes a coordinator that waits at the page, if there is a page: something has come over the socket. */
void ring(void);
/* Answers the last order on the page; false if the coordinator does not wait there. */
bool answer_on_page(uint64_t time, uint64_t next);
/* Blocks until there is an order. */
void wait_for_order(uint32_t *kind, uint64_t *time, uint64_t *value);

#endif
