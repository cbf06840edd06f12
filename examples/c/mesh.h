/*
 * Messages between processes over TCP, each process connected with every other: what a message library does for programs
 * whose processes are on several machines. C99, Linux.
 *
 * Messages have a tag; what one rank sends to another comes in the order in which it was sent. A receiver waits as MPI
 * libraries do: it polls, or polls and yields, or sleeps.
 *
 * Invariants: a receive looks at the oldest message of each rank only, and takes it if the tag is its own; of several ranks,
 * the one whose message came first, whenever it became the oldest. Where it is to be of one rank, that rank's oldest message must
 * have the tag. What has come but is not taken stays in a buffer of bounded size, and beyond that with its sender. Whoever waits
 * to send takes in what comes meanwhile, so that two who send to each other both get on.
 * Every failure ends the program with status 1 and a line that names the rank.
 */
#ifndef PACELINE_MESH_H
#define PACELINE_MESH_H

#include "mesh_connect.h"

/* The tag of what the functions for all ranks send; programs have tags of their own. */
#define MESH_COLLECTIVE UINT32_MAX
#define MESH_VALUES_MAX 16u

/* The header of the oldest message of a rank, if that is there whole. */
static inline int mesh_head(const mesh *m, uint32_t rank, mesh_header *header) {
    const mesh_peer *peer = &m->peers[rank];
    if (peer->whole == peer->start) {
        return 0;
    }
    memcpy(header, peer->buffer + peer->start, sizeof *header);
    return 1;
}

/* Numbers the messages of a rank that are there whole since it was last looked at. */
static inline void mesh_number(mesh *m, uint32_t rank) {
    mesh_peer *peer = &m->peers[rank];
    mesh_header header;
    while (peer->end - peer->whole >= sizeof header) {
        memcpy(&header, peer->buffer + peer->whole, sizeof header);
        if (header.bytes > MESH_BYTES_MAX) {
            errno = 0;
            mesh_fail(m, rank, "sends more than is allowed");
        }
        if (peer->end - peer->whole - sizeof header < header.bytes) {
            break;
        }
        header.arrived = ++m->arrivals;
        memcpy(peer->buffer + peer->whole, &header, sizeof header);
        peer->whole += (uint32_t)sizeof header + header.bytes;
    }
}

/* Takes in what has come from a rank, as far as there is room. */
static inline void mesh_take_in(mesh *m, uint32_t rank) {
    mesh_peer *peer = &m->peers[rank];
    ssize_t length;
    if (peer->start > 0) {
        memmove(peer->buffer, peer->buffer + peer->start, peer->end - peer->start);
        peer->end -= peer->start;
        peer->whole -= peer->start;
        peer->start = 0;
    }
    while (peer->socket >= 0 && peer->end < MESH_BUFFER_BYTES) {
        length = recv(peer->socket, peer->buffer + peer->end, MESH_BUFFER_BYTES - peer->end, 0);
        if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (length < 0 && errno != ECONNRESET) {
            mesh_fail(m, rank, "receiving");
        } else if (length <= 0) {
            /* It has said all it had to say; who waits for more of it fails then. */
            close(peer->socket);
            peer->socket = -1;
        } else {
            peer->end += (uint32_t)length;
        }
    }
    peer->full = peer->socket >= 0 && peer->end == MESH_BUFFER_BYTES;
    mesh_number(m, rank);
}

/* Looks for messages once, in the order in which they came; sleeps until there are some if it is to. */
static inline void mesh_look(mesh *m, int sleeps) {
    struct epoll_event events[MESH_RANKS_MAX];
    int i, count = epoll_wait(m->poll, events, MESH_RANKS_MAX, sleeps ? -1 : 0);
    for (i = 0; i < count; i++) {
        mesh_take_in(m, events[i].data.u32);
    }
}

/* What a header and data have left to send after the first `sent` bytes of both. */
static inline int mesh_rest(struct iovec *parts, mesh_header *header, const void *data, size_t sent) {
    size_t first = sizeof *header;
    if (sent < first) {
        parts[0].iov_base = (char *)header + sent;
        parts[0].iov_len = first - sent;
        parts[1].iov_base = (void *)(uintptr_t)data;
        parts[1].iov_len = header->bytes;
        return 2;
    }
    parts[0].iov_base = (char *)(uintptr_t)data + (sent - first);
    parts[0].iov_len = header->bytes - (sent - first);
    return 1;
}

/* Sends a message of at most MESH_BYTES_MAX; over when it has left for the network. */
static inline void mesh_send(mesh *m, uint32_t to, uint32_t tag, const void *data, uint32_t bytes) {
    mesh_header header = {tag, bytes, 0};
    size_t sent = 0;
    m->sent++;
    while (sent < sizeof header + bytes) {
        struct iovec parts[2];
        struct msghdr message;
        ssize_t length;
        memset(&message, 0, sizeof message);
        message.msg_iov = parts;
        message.msg_iovlen = (size_t)mesh_rest(parts, &header, data, sent);
        errno = EPIPE;
        length = m->peers[to].socket < 0 ? -1 : sendmsg(m->peers[to].socket, &message, MSG_NOSIGNAL);
        if (length >= 0) {
            sent += (size_t)length;
        } else if (errno == EAGAIN || errno == EINTR) {
            mesh_look(m, 0);
        } else {
            mesh_fail(m, to, "sending");
        }
    }
}

/* Whose message is to be received next: of `from`, or of whomever whose came first. MESH_ANY if there is none yet. */
static inline uint32_t mesh_match(const mesh *m, uint32_t from, uint32_t tag) {
    uint32_t rank, found = MESH_ANY, lost = MESH_ANY, open = 0;
    uint64_t first = UINT64_MAX;
    mesh_header header = {0, 0, 0};
    for (rank = 0; rank < m->ranks; rank++) {
        const mesh_peer *peer = &m->peers[rank];
        if (rank == m->self || (from != MESH_ANY && rank != from)) {
            continue;
        }
        open += peer->socket >= 0;
        lost = peer->socket < 0 ? rank : lost;
        if (!mesh_head(m, rank, &header)) {
            continue;
        }
        if (header.tag != tag && from == rank) {
            errno = 0;
            mesh_fail(m, rank, "sends something else than is expected of it");
        }
        if (header.tag == tag && header.arrived < first) {
            first = header.arrived;
            found = rank;
        }
    }
    if (found == MESH_ANY && open == 0) {
        errno = 0;
        mesh_fail(m, lost, "has ended while a message of it was waited for");
    }
    return found;
}

/* Receives a message with this tag from a rank, or from whomever; its size goes to `bytes`. Returns who sent it. */
static inline uint32_t mesh_receive(mesh *m, uint32_t from, uint32_t tag, void *data, uint32_t room, uint32_t *bytes) {
    uint32_t rank = mesh_match(m, from, tag);
    mesh_header header = {0, 0, 0};
    mesh_peer *peer;
    if (rank == MESH_ANY) {
        mesh_look(m, 0);
        rank = mesh_match(m, from, tag);
    }
    if (rank == MESH_ANY && m->flags_waiting) {
        paceline_lvt_set_waiting(m->lvt, 1);
    }
    while (rank == MESH_ANY) {
        if (m->wait == MESH_YIELD) {
            sched_yield();
        }
        mesh_look(m, m->wait == MESH_BLOCK);
        rank = mesh_match(m, from, tag);
    }
    if (m->flags_waiting) {
        paceline_lvt_set_waiting(m->lvt, 0);
    }
    peer = &m->peers[rank];
    mesh_head(m, rank, &header);
    if (header.bytes > room) {
        errno = 0;
        mesh_fail(m, rank, "a message is greater than what it is received into");
    }
    memcpy(data, peer->buffer + peer->start + sizeof header, header.bytes);
    *bytes = header.bytes;
    peer->start += (uint32_t)sizeof header + header.bytes;
    if (peer->full) {
        /* The poll tells of news only, and this is none. */
        mesh_take_in(m, rank);
    }
    return rank;
}

/* Receives a message of known size. */
static inline void mesh_receive_exactly(mesh *m, uint32_t from, uint32_t tag, void *data, uint32_t bytes) {
    uint32_t came;
    mesh_receive(m, from, tag, data, bytes, &came);
    if (came != bytes) {
        errno = 0;
        mesh_fail(m, from, "a message has another size than is expected");
    }
}

/* Waits until all ranks are here: in step s everybody tells the rank 2^s after it (dissemination). */
static inline void mesh_barrier(mesh *m) {
    uint32_t distance;
    char nothing = 0;
    for (distance = 1; distance < m->ranks; distance *= 2) {
        mesh_send(m, (m->self + distance) % m->ranks, MESH_COLLECTIVE, &nothing, 0);
        mesh_receive_exactly(m, (m->self + m->ranks - distance) % m->ranks, MESH_COLLECTIVE, &nothing, 0);
    }
}

/*
 * The sums of `count` values over all ranks, in place. Recursive doubling between the greatest power of two of them; each rank
 * beyond that hands its share to a neighbour first and gets the result last.
 */
static inline void mesh_sum(mesh *m, uint64_t *values, uint32_t count) {
    uint64_t others[MESH_VALUES_MAX];
    uint32_t bytes = count * (uint32_t)sizeof *values, power, beyond, place, bit, other, i;
    int paired;
    for (power = 1; 2 * power <= m->ranks; power *= 2) {
    }
    beyond = m->ranks - power;
    paired = m->self < 2 * beyond;
    if (paired && m->self % 2 == 0) {
        mesh_send(m, m->self + 1, MESH_COLLECTIVE, values, bytes);
        mesh_receive_exactly(m, m->self + 1, MESH_COLLECTIVE, values, bytes);
        return;
    }
    place = paired ? m->self / 2 : m->self - beyond;
    for (bit = paired ? 0 : 1; bit <= power / 2; bit = bit == 0 ? 1 : 2 * bit) {
        if (bit == 0) {
            mesh_receive_exactly(m, m->self - 1, MESH_COLLECTIVE, others, bytes);
        } else {
            other = place ^ bit;
            other = other < beyond ? 2 * other + 1 : other + beyond;
            mesh_send(m, other, MESH_COLLECTIVE, values, bytes);
            mesh_receive_exactly(m, other, MESH_COLLECTIVE, others, bytes);
        }
        for (i = 0; i < count; i++) {
            values[i] += others[i];
        }
    }
    if (paired) {
        mesh_send(m, m->self - 1, MESH_COLLECTIVE, values, bytes);
    }
}

/* Sends what is on its way, and says farewell to all. */
static inline void mesh_close(mesh *m) {
    uint32_t rank;
    for (rank = 0; rank < m->ranks; rank++) {
        if (m->peers[rank].socket >= 0) {
            close(m->peers[rank].socket);
        }
        if (m->peers[rank].buffer != NULL) {
            munmap(m->peers[rank].buffer, MESH_BUFFER_BYTES);
        }
    }
    close(m->poll);
}

#endif
