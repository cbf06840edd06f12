/*
 * paceline_lvt.h: a simulation program publishes its local virtual time (LVT) on a page of shared memory, so that a pacer
 * can run first the thread that is furthest behind. C99 or C++11, Linux, GCC or Clang; nothing to link; its three files
 * have to be in one folder. Agrees with src/layout.rs.
 *
 *     paceline_lvt lvt = PACELINE_LVT_ABSENT;
 *     if (paceline_lvt_open(&lvt, "rank 3") != 0)
 *         fprintf(stderr, "running unpaced: %s\n", lvt.error);
 *     ... paceline_lvt_publish(&lvt, now_ns); ...             wherever the program knows that everything before is done
 *     paceline_lvt_close(&lvt);
 *
 * The environment variable PACELINE_LVT names the page. Where it is not set, a guest of Xen with one of our schedulers tells
 * its LVT to the hypervisor instead (paceline_lvt_xen.h). Elsewhere, or where the page cannot be used,
 * the publisher is absent: all functions may be called, and do nothing.
 *
 * Invariants:
 * - A publisher belongs to the thread that has opened it, and is that thread's only one on its page. It must not be copied.
 * - A slot is its owner's until it is closed or the owner has ended;a slot whose owner has ended may be claimed by any thread.
 * - In a forked child the publisher is absent; the child opens one of its own. After exec() the new program's publisher
 *   takes over the slot of the old one.
 * - A page in a plain file kills the program (SIGBUS) if it is truncated meanwhile; sealed ones cannot be truncated.
 */
#ifndef PACELINE_LVT_H
#define PACELINE_LVT_H

#if !defined(__linux__)
#error "paceline_lvt.h is for Linux"
#endif
#if !defined(_FEATURES_H) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
#define _DEFAULT_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "paceline_lvt_slot.h"
#include "paceline_lvt_xen.h"

#define PACELINE_LVT_VERSION 2u
#define PACELINE_LVT_MAX_SLOTS 65536u
/* In `flags`: the owner is to be run by its LVT; the owner waits for others. */
#define PACELINE_LVT_SIMULATION 1u
#define PACELINE_LVT_WAITING 2u
/* In `library`: it gives the core away whenever it waits; it waits now. */
#define PACELINE_LVT_LIBRARY_YIELDS 1u
#define PACELINE_LVT_LIBRARY_WAITING 2u
/* The greatest LVT; and the value that stands for "the owner is done or idle, and holds back no thread". */
#define PACELINE_LVT_MAX ((uint64_t)INT64_MAX)
#define PACELINE_LVT_DONE UINT64_MAX

/* What a thread publishes with: a slot, or `xen`. `last_ns` 2^63 stands for nothing yet; counted round it is far from every LVT. */
typedef struct paceline_lvt {
    uint64_t last_ns;
    uint64_t lookahead_ns;
    uint64_t backwards;
    paceline_lvt_slot *slot;
    uint32_t *here; /* 1 in the process that has opened it, 0 in every child */
    uint32_t flags;
    uint32_t tid;
    void *page;
    size_t page_bytes;
    char error[192];
    uint32_t xen; /* how the hypervisor is reached, where there is no slot */
} paceline_lvt;

#define PACELINE_LVT_NOTHING_YET (PACELINE_LVT_MAX + 1u)
#define PACELINE_LVT_ABSENT {PACELINE_LVT_NOTHING_YET, UINT64_MAX, 0, NULL, NULL, 0, 0, NULL, 0, {0}, PACELINE_LVT_XEN_NONE}

/* Whether LVTs are published: 0 if absent, and in a child of the process that has opened it. */
static inline int paceline_lvt_is_present(const paceline_lvt *lvt) {
    return (lvt->slot != NULL || lvt->xen != PACELINE_LVT_XEN_NONE) && __atomic_load_n(lvt->here, __ATOMIC_RELAXED) != 0;
}

static inline void paceline_lvt_write(paceline_lvt *lvt, uint64_t lvt_ns) {
    if (paceline_lvt_is_present(lvt)) {
        lvt->backwards += lvt_ns < lvt->last_ns && lvt->last_ns != PACELINE_LVT_NOTHING_YET;
        if (lvt->slot != NULL) {
            __atomic_store_n(&lvt->slot->lvt_ns, lvt_ns, __ATOMIC_RELAXED);
        } else if (paceline_lvt_xen_report(lvt->xen, lvt_ns, lvt->flags) != PACELINE_LVT_XEN_OK) {
            return; /* refused: the last accepted report stays valid */
        }
        lvt->last_ns = lvt_ns;
    }
}

/*
* Publishes that all events before `lvt_ns` are done. The value is written only if it is more than the lookahead ahead of
 * the last one written, or behind it; such steps backwards are counted in `backwards`.
 */
static inline void paceline_lvt_publish(paceline_lvt *lvt, uint64_t lvt_ns) {
    if (lvt_ns > PACELINE_LVT_MAX) {
        lvt_ns = PACELINE_LVT_MAX;
    }
    if (lvt_ns - lvt->last_ns > lvt->lookahead_ns) {
        paceline_lvt_write(lvt, lvt_ns);
    }
}

/* Publishes that this thread has nothing to do, and so holds back no other, until it publishes an LVT again. */
static inline void paceline_lvt_publish_done(paceline_lvt *lvt) {
    if (paceline_lvt_is_present(lvt)) {
        if (lvt->slot != NULL) {
            __atomic_store_n(&lvt->slot->lvt_ns, PACELINE_LVT_DONE, __ATOMIC_RELAXED);
        } else {
            paceline_lvt_xen_report(lvt->xen, PACELINE_LVT_DONE, lvt->flags);
        }
        lvt->last_ns = PACELINE_LVT_NOTHING_YET;
    }
}

/* Thins updates. A lookahead of at most the least delay of this thread's messages to others does not affect them. */
static inline void paceline_lvt_set_lookahead(paceline_lvt *lvt, uint64_t lookahead_ns) {
    if (lvt->slot != NULL || lvt->xen != PACELINE_LVT_XEN_NONE) {
        lvt->lookahead_ns = lookahead_ns < PACELINE_LVT_MAX ? lookahead_ns : PACELINE_LVT_MAX;
    }
}

/* The LVT to report to the hypervisor: 0 outside of a simulation, and DONE for a thread that is done. */
static inline uint64_t paceline_lvt_xen_told(const paceline_lvt *lvt) {
    return !(lvt->flags & PACELINE_LVT_SIMULATION)           ? 0
           : lvt->last_ns == PACELINE_LVT_NOTHING_YET ? PACELINE_LVT_DONE
                                                             : lvt->last_ns;
}

static inline void paceline_lvt_set_flag(paceline_lvt *lvt, uint32_t flag, int on) {
    uint32_t flags = on ? lvt->flags | flag : lvt->flags & ~flag;
    if (flags != lvt->flags && paceline_lvt_is_present(lvt)) {
        lvt->flags = flags;
        if (lvt->slot != NULL) {
            __atomic_store_n(&lvt->slot->flags, flags, __ATOMIC_RELAXED);
        } else {
            paceline_lvt_xen_report(lvt->xen, paceline_lvt_xen_told(lvt), flags);
        }
    }
}

/* Rings the bell on the page whose header this is, if the pacer wants to hear it: a thread begins to wait. */
static inline void paceline_lvt_ring(paceline_lvt_slot *header) {
    if (__atomic_load_n(&header->library, __ATOMIC_RELAXED) != 0) {
        __atomic_fetch_add(&header->pid, 1u, __ATOMIC_RELEASE);
        syscall(SYS_futex, &header->pid, 1L /* FUTEX_WAKE */, 1L, NULL, NULL, 0L);
    }
}

/* Publishes whether this thread waits for others: then it need not run before they have advanced. */
static inline void paceline_lvt_set_waiting(paceline_lvt *lvt, int waiting) {
    int begins = waiting && !(lvt->flags & PACELINE_LVT_WAITING);
    paceline_lvt_set_flag(lvt, PACELINE_LVT_WAITING, waiting);
    if (begins && lvt->page != NULL && paceline_lvt_is_present(lvt)) {
        paceline_lvt_ring((paceline_lvt_slot *)lvt->page);
    }
}

/* Publishes whether this thread simulates and is scheduled by its LVT; it is so from the start. */
static inline void paceline_lvt_set_simulation(paceline_lvt *lvt, int simulation) {
    paceline_lvt_set_flag(lvt, PACELINE_LVT_SIMULATION, simulation);
}

/* Frees the slot and makes the publisher absent. */
static inline void paceline_lvt_close(paceline_lvt *lvt) {
    static const paceline_lvt absent = PACELINE_LVT_ABSENT;
    uint32_t holder = lvt->tid;
    if (lvt->slot == NULL && paceline_lvt_is_present(lvt)) {
        paceline_lvt_xen_report(lvt->xen, 0, 0);
    } else if (paceline_lvt_is_present(lvt) && __atomic_load_n(&lvt->slot->tid, __ATOMIC_RELAXED) == holder) {
        __atomic_store_n(&lvt->slot->start_time, (uint64_t)0, __ATOMIC_RELEASE);
        __atomic_compare_exchange_n(&lvt->slot->tid, &holder, 0u, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    if (lvt->here != NULL) {
        munmap(lvt->here, sizeof *lvt->here);
    }
    if (lvt->page != NULL) {
        munmap(lvt->page, lvt->page_bytes);
    }
    *lvt = absent;
}

/* The map that is pinned at `path`, or -1 and `errno`; its entries, or 0 where they are no records that can be mapped. */
static inline int paceline_lvt_open_map(const char *path, uint32_t *entries) {
    struct {
        uint64_t pathname;
        uint32_t fd, flags;
    } get = {(uint64_t)(uintptr_t)path, 0, 0};
    uint32_t info[6] = {0, 0, 0, 0, 0, 0}; /* type, id, bytes of keys and of values, entries, flags */
    struct {
        uint32_t fd, length;
        uint64_t info;
    } ask = {0, sizeof info, (uint64_t)(uintptr_t)info};
    int fd = (int)syscall(SYS_bpf, 7L /* BPF_OBJ_GET */, &get, sizeof get);
    ask.fd = (uint32_t)fd;
    if (fd >= 0 && syscall(SYS_bpf, 15L /* BPF_OBJ_GET_INFO_BY_FD */, &ask, sizeof ask) != 0) {
        close(fd);
        return -1;
    }
    /* An array with the flag BPF_F_MMAPABLE. */
    *entries = info[0] == 2 && info[3] == PACELINE_LVT_RECORD_BYTES && (info[5] & 0x400u) ? info[4] : 0;
    return fd;
}

/* Checks and maps the page. Returns NULL, or the error as text, with `errno` if a system call failed. */
static inline const char *paceline_lvt_map(paceline_lvt *lvt, const char *path, int fd, int is_map, uint32_t entries) {
    const uint32_t *header; /* the magic bytes, version, bytes of a record, slots */
    struct stat file;
    uint64_t bytes;
    void *page;
    if (is_map ? stat(path, &file) : fstat(fd, &file)) {
        return "looking at it";
    }
    errno = 0;
    bytes = is_map ? (uint64_t)entries * PACELINE_LVT_RECORD_BYTES : (uint64_t)file.st_size;
    if (!S_ISREG(file.st_mode) || bytes < 2 * PACELINE_LVT_RECORD_BYTES || bytes % PACELINE_LVT_RECORD_BYTES != 0 ||
        bytes > (PACELINE_LVT_MAX_SLOTS + 1) * PACELINE_LVT_RECORD_BYTES) {
        return "not an LVT page (its kind or size is wrong)";
    }
    if ((file.st_uid != geteuid() && geteuid() != 0) || (file.st_mode & 077) != 0) {
        return "belongs to another user, or its mode is not 600";
    }
    page = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        return "mapping it";
    }
    lvt->page = page;
    lvt->page_bytes = (size_t)bytes;
    header = (const uint32_t *)page;
    if (memcmp(header, "PACELVT", 8) != 0) {
        return "not an LVT page (it does not begin with PACELVT)";
    }
    if (header[2] != PACELINE_LVT_VERSION || header[3] != PACELINE_LVT_RECORD_BYTES) {
        return "has another version of the layout than this program";
    }
    return header[4] == bytes / PACELINE_LVT_RECORD_BYTES - 1 ? NULL : "its size does not fit the number of slots in its header";
}

/* Makes the publisher this process's, and no child's. 0 where that fails. */
static inline int paceline_lvt_be_here(paceline_lvt *lvt) {
    void *here = mmap(NULL, sizeof *lvt->here, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (here == MAP_FAILED || madvise(here, sizeof *lvt->here, MADV_WIPEONFORK) != 0) {
        return 0;
    }
    lvt->here = (uint32_t *)here;
    *lvt->here = 1;
    return 1;
}

/* Claims a slot of the mapped page. Returns NULL, or the error as text, with `errno` if a system call failed. */
static inline const char *paceline_lvt_claim(paceline_lvt *lvt, const char *name) {
    uint32_t i, room = 0, pid = (uint32_t)getpid(), tid = (uint32_t)syscall(SYS_gettid);
    uint64_t start_time = paceline_lvt_start_time(pid, tid);
    if (start_time == 0) {
        return "/proc does not give the start time of this thread";
    }
    if (!paceline_lvt_be_here(lvt)) {
        return "claiming a slot";
    }
    i = (uint32_t)(lvt->page_bytes / PACELINE_LVT_RECORD_BYTES - 1);
    lvt->slot = paceline_lvt_find((paceline_lvt_slot *)lvt->page + 1, i, tid);
    if (lvt->slot == NULL) {
        errno = 0;
        return "all slots are taken";
    }
    lvt->tid = tid;
    lvt->flags = PACELINE_LVT_SIMULATION;
    lvt->lookahead_ns = 0;
    /* As many whole characters as have room. */
    for (i = 0; i <= PACELINE_LVT_NAME_BYTES && (i == 0 || name[i - 1] != 0); i++) {
        room = ((unsigned char)name[i] & 0xc0u) == 0x80u ? room : i;
    }
    __atomic_store_n(&lvt->slot->lvt_ns, (uint64_t)0, __ATOMIC_RELAXED);
    __atomic_store_n(&lvt->slot->flags, lvt->flags, __ATOMIC_RELAXED);
    __atomic_store_n(&lvt->slot->pid, pid, __ATOMIC_RELAXED);
    memset(lvt->slot->name, 0, PACELINE_LVT_NAME_BYTES);
    memcpy(lvt->slot->name, name, room);
    __atomic_store_n(&lvt->slot->start_time, start_time, __ATOMIC_RELEASE);
    return NULL;
}

/*
 * Claims a slot for the calling thread on the page at `path`: LVT 0, in simulation mode, not waiting. 0, or -1 with the
 * reason in `lvt->error`; the publisher is absent then. `lvt` must be absent before.
 */
static inline int paceline_lvt_open_path(paceline_lvt *lvt, const char *path, const char *name) {
    const char *wrong = "looking for it";
    struct statfs system;
    uint32_t entries = 0;
    int fd, is_map, error;
    if (statfs(path, &system) == 0) {
        wrong = "opening it";
        is_map = (uint32_t)system.f_type == 0xcafe4a11u; /* BPF_FS_MAGIC */
        /* Without O_NONBLOCK, a page that is a pipe would be waited for. */
        fd = is_map ? paceline_lvt_open_map(path, &entries) : open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0) {
            wrong = paceline_lvt_map(lvt, path, fd, is_map, entries);
            close(fd);
        }
    }
    if (wrong == NULL) {
        wrong = paceline_lvt_claim(lvt, name);
    }
    if (wrong != NULL) {
        error = errno;
        paceline_lvt_close(lvt);
        snprintf(lvt->error, sizeof lvt->error, "LVT page %.60s: %.60s%s%.60s", path, wrong, error ? ": " : "",
                 error ? strerror(error) : "");
    }
    return wrong == NULL ? 0 : -1;
}

/*
 * Tells the hypervisor, where this is a guest of a Xen that takes reports; else the publisher stays absent. What the kernel says
 * of the hypervisor stands in `folder`. 0, or -1 with the reason in `lvt->error`. `lvt` must be absent before.
 */
static inline int paceline_lvt_open_xen(paceline_lvt *lvt, const char *folder) {
    uint32_t via = paceline_lvt_xen_find(folder, PACELINE_LVT_SIMULATION);
    if (via == PACELINE_LVT_XEN_NONE) {
        return 0;
    }
    if (!paceline_lvt_be_here(lvt)) {
        snprintf(lvt->error, sizeof lvt->error, "reports to Xen: %.60s", strerror(errno));
        return -1;
    }
    lvt->xen = via;
    lvt->flags = PACELINE_LVT_SIMULATION;
    lvt->lookahead_ns = 0;
    lvt->last_ns = 0;
    return 0;
}

/*
 * As paceline_lvt_open_path, on the page that PACELINE_LVT names. Where it names none, the hypervisor is told if it takes
 * reports; else 0, and the publisher is absent.
 */
static inline int paceline_lvt_open(paceline_lvt *lvt, const char *name) {
    const char *path = getenv("PACELINE_LVT");
    return path == NULL || path[0] == 0 ? paceline_lvt_open_xen(lvt, "/sys/hypervisor")
                                        : paceline_lvt_open_path(lvt, path, name);
}

#endif
