/*
 * The connections of mesh.h: who the ranks are, and how they find each other.
 *
 * A process is a rank in a list of addresses, `HOST:PORT,HOST:PORT,...`. It listens at its own address for the ranks after
 * it, and connects to those before it, again and again until they are there.
 *
 * Invariant: once mesh_open() is over there is one connection with every other rank, and nobody listens any more.
 * Every failure ends the program with status 1 and a line that names the rank.
 */
#ifndef PACELINE_MESH_CONNECT_H
#define PACELINE_MESH_CONNECT_H

#include "paceline_lvt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define MESH_RANKS_MAX 64u
#define MESH_ANY UINT32_MAX
/* The greatest message, and what of a rank's messages is taken in before they are received. */
#define MESH_BYTES_MAX (1u << 20)
#define MESH_BUFFER_BYTES (2u * MESH_BYTES_MAX)
/* How often, and after how long, a rank that is not there yet is tried again. */
#define MESH_TRIES_MAX 3000
#define MESH_RETRY_NS 50000000L

enum mesh_wait { MESH_BUSY, MESH_YIELD, MESH_BLOCK };

/* What a message begins with. `arrived` is the receiver's: the number of the message among all that have come to it. */
typedef struct mesh_header {
    uint32_t tag, bytes;
    uint64_t arrived;
} mesh_header;

/* Another rank. What it has sent lies from `start` to `end`, in whole messages with their numbers up to `whole`. `full`: there
 * was more. */
typedef struct mesh_peer {
    int socket, full;
    uint32_t start, whole, end;
    unsigned char *buffer;
} mesh_peer;

typedef struct mesh {
    const char *program;
    uint32_t self, ranks;
    int wait, poll, flags_waiting;
    paceline_lvt *lvt;
    uint64_t arrivals, sent;
    mesh_peer peers[MESH_RANKS_MAX];
} mesh;

/* Ends the program: what failed, and with which rank. */
static inline void mesh_fail(const mesh *m, uint32_t rank, const char *what) {
    fprintf(stderr, "%s: rank %u with rank %u: %s%s%s\n", m->program, m->self, rank, what, errno ? ": " : "",
            errno ? strerror(errno) : "");
    exit(1);
}

/* The address of a rank in the list; 0 if there is none, or none that is NUMBERS:PORT. */
static inline int mesh_address(const char *peers, uint32_t rank, struct sockaddr_in *address) {
    char host[64], *port, *end;
    unsigned long number;
    size_t length;
    for (; rank > 0 && peers != NULL; rank--) {
        peers = strchr(peers, ',');
        peers = peers == NULL ? NULL : peers + 1;
    }
    length = peers == NULL ? 0 : strcspn(peers, ",");
    if (length == 0 || length >= sizeof host) {
        return 0;
    }
    memcpy(host, peers, length);
    host[length] = 0;
    port = strchr(host, ':');
    if (port == NULL) {
        return 0;
    }
    *port++ = 0;
    number = strtoul(port, &end, 10);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)number);
    return *port >= '0' && *port <= '9' && *end == 0 && number > 0 && number <= UINT16_MAX &&
           inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

/* How many addresses a list has; 0 if one of them is none, or there are too many. */
static inline uint32_t mesh_count(const char *peers) {
    struct sockaddr_in address;
    uint32_t ranks = 1, i;
    for (i = 0; peers[i] != 0; i++) {
        ranks += peers[i] == ',';
    }
    for (i = 0; i < ranks && ranks <= MESH_RANKS_MAX && mesh_address(peers, i, &address); i++) {
    }
    return i == ranks ? ranks : 0;
}

/* A socket that listens at the rank's address or is connected with it; -1 and `errno` if that fails. */
static inline int mesh_reach(const mesh *m, const char *peers, uint32_t rank, int listens) {
    struct timeval patience = {2, 0};
    struct sockaddr_in address;
    int fd, on = 1, failed;
    if (!mesh_address(peers, rank, &address)) {
        errno = 0;
        mesh_fail(m, rank, "has no address");
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        failed = listens ? bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, MESH_RANKS_MAX) != 0
                         : connect(fd, (struct sockaddr *)&address, sizeof address) != 0;
        if (failed) {
            failed = errno;
            close(fd);
            errno = failed;
            fd = -1;
        }
    }
    return fd;
}

/* Keeps a connection: sends at once what is to be sent, never waits in a call, and is looked at by the poll. */
static inline void mesh_keep(mesh *m, uint32_t rank, int fd) {
    struct epoll_event event;
    int on = 1;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN | EPOLLET;
    event.data.u32 = rank;
    if (m->peers[rank].socket >= 0) {
        mesh_fail(m, rank, "has come twice");
    }
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 || epoll_ctl(m->poll, EPOLL_CTL_ADD, fd, &event) != 0) {
        mesh_fail(m, rank, "setting up the connection");
    }
    m->peers[rank].socket = fd;
    m->peers[rank].buffer = (unsigned char *)mmap(NULL, MESH_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->peers[rank].buffer == MAP_FAILED) {
        mesh_fail(m, rank, "no memory for its messages");
    }
}

/* Connects with all others. The mesh is zero but for `program`, `wait` and what concerns the LVT. */
static inline void mesh_open(mesh *m, uint32_t self, const char *peers) {
    struct timespec retry = {0, MESH_RETRY_NS};
    int listener, fd, tries;
    uint32_t rank, hello;
    m->self = self;
    m->ranks = mesh_count(peers);
    for (rank = 0; rank < MESH_RANKS_MAX; rank++) {
        m->peers[rank].socket = -1;
    }
    m->poll = epoll_create1(EPOLL_CLOEXEC);
    listener = mesh_reach(m, peers, self, 1);
    if (m->poll < 0 || listener < 0) {
        mesh_fail(m, self, "listening");
    }
    for (rank = 0; rank < self; rank++) {
        for (tries = 0; (fd = mesh_reach(m, peers, rank, 0)) < 0; tries++) {
            if (tries == MESH_TRIES_MAX) {
                mesh_fail(m, rank, "cannot be reached");
            }
            nanosleep(&retry, NULL);
        }
        hello = htonl(self);
        if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello) {
            mesh_fail(m, rank, "saying who this is");
        }
        mesh_keep(m, rank, fd);
    }
    for (rank = self + 1; rank < m->ranks; rank++) {
        fd = accept(listener, NULL, NULL);
        errno = 0;
        if (fd < 0 || recv(fd, &hello, sizeof hello, MSG_WAITALL) != (ssize_t)sizeof hello || ntohl(hello) <= self ||
            ntohl(hello) >= m->ranks) {
            mesh_fail(m, rank, "who connected is no rank after this one");
        }
        mesh_keep(m, ntohl(hello), fd);
    }
    close(listener);
}

#endif
