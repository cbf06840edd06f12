/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages for the domains of the shim: event-channel ports that are pending, and the statistics page. The guest's side of both
 * is memory that it writes without a call, as the operations `clear` and `left` of replay.c do.
 */
#ifndef PACELINE_SHIM_MESSAGES_H
#define PACELINE_SHIM_MESSAGES_H

#define SHIM_PORTS 4096

struct shim_messages {
	uint64_t ports[SHIM_PORTS / 64];
	struct paceline_xen_page page;
};

#define read_atomic(pointer) (*(const volatile __typeof__(*(pointer)) *)(pointer))
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define write_atomic(pointer, value) (*(volatile __typeof__(*(pointer)) *)(pointer) = (value))

static inline bool shim_port(const struct shim_messages *messages, unsigned int port)
{
	ASSERT(port < SHIM_PORTS);
	return messages->ports[port / 64] >> port % 64 & 1;
}

/* Makes a port pending; returns whether it was not pending before. */
static inline bool shim_set_port(struct shim_messages *messages, unsigned int port)
{
	bool before = shim_port(messages, port);

	messages->ports[port / 64] |= UINT64_C(1) << port % 64;
	return !before;
}

static inline void shim_clear_port(struct shim_messages *messages, unsigned int port)
{
	ASSERT(shim_port(messages, port));
	messages->ports[port / 64] &= ~(UINT64_C(1) << port % 64);
}

static inline void paceline_release_page(const struct paceline_xen_page *page)
{
	(void)page;
}

#define port_is_pending(d, port) shim_port(&(d)->messages, port)

#endif
