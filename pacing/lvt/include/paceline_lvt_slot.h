/*
 * The part of paceline_lvt.h about slots of the LVT page: how they lie in memory, whose they are, and how a thread gets one.
 *
 * Invariants: a slot has one holder at a time, even if several threads try at once. Any thread may take a slot whose owner has ended;
 * what cannot be found out about an owner counts as alive.
 */
#ifndef PACELINE_LVT_SLOT_H
#define PACELINE_LVT_SLOT_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(MAP_ANONYMOUS) || !defined(O_CLOEXEC)
#error "include paceline_lvt.h before the system's headers, or compile with -D_DEFAULT_SOURCE"
#endif

#define PACELINE_LVT_RECORD_BYTES 64u
#define PACELINE_LVT_NAME_BYTES 24u
/* How many slots a claimer, who finds none free, looks up in /proc. */
#define PACELINE_LVT_LOOKED_UP_MAX 64u

/*
 * A slot as it lies in memory. `start_time` is 0 while the slot changes hands. `library` and `messages` are written by the
 * preloaded shim of a communication library (pacing/pace/shim). In the header, `pid` is the bell, and `library` says whether
 * the pacer wants to hear it.
 */
typedef struct paceline_lvt_slot {
    uint64_t lvt_ns;
    uint32_t flags;
    uint32_t tid;
    uint64_t start_time;
    uint32_t pid;
    uint32_t library;
    char name[PACELINE_LVT_NAME_BYTES];
    uint64_t messages;
} paceline_lvt_slot;

/* The thread that owns a slot. */
typedef struct paceline_lvt_owner {
    uint32_t pid;
    uint32_t tid;
    uint64_t start_time;
} paceline_lvt_owner;

/* When a thread was started, from /proc; 0 and `errno` where that cannot be read, 0 and `errno` 0 for a thread's remains. */
static inline uint64_t paceline_lvt_start_time(uint32_t pid, uint32_t tid) {
    char path[64], text[1024];
    const char *field;
    ssize_t length;
    int number, fd;
    snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    /* The name in parentheses may hold anything; the state behind it is field 3, the start time field 22. */
    field = strrchr(text, ')');
    if (field == NULL) {
        errno = length < 0 ? errno : ENOENT;
        return 0;
    }
    if (field[1] == ' ' && (field[2] == 'Z' || field[2] == 'X' || field[2] == 'x')) {
        errno = 0;
        return 0;
    }
    for (number = 2; number < 22 && field != NULL; number++) {
        field = strchr(field + 1, ' ');
    }
    errno = EINVAL;
    return field == NULL ? 0 : strtoull(field, NULL, 10);
}

/* Whether no thread has the owner's id. */
static inline int paceline_lvt_has_no_thread(const paceline_lvt_owner *owner) {
    long result;
    if (owner->tid > INT32_MAX || owner->pid > INT32_MAX) {
        return 1;
    }
    /* The process is not known while the slot changes hands. */
    result = owner->start_time == 0 ? syscall(SYS_tkill, (long)owner->tid, 0L)
                                    : syscall(SYS_tgkill, (long)owner->pid, (long)owner->tid, 0L);
    return result == -1 && (errno == ESRCH || errno == EINVAL);
}

/* Whether the owner has ended. What cannot be found out is taken for alive. */
static inline int paceline_lvt_is_gone(const paceline_lvt_owner *owner) {
    uint64_t start_time;
    if (paceline_lvt_has_no_thread(owner)) {
        return 1;
    }
    if (owner->start_time == 0) {
        return 0;
    }
    start_time = paceline_lvt_start_time(owner->pid, owner->tid);
    return start_time == 0 ? errno == 0 || errno == ENOENT || errno == ESRCH : start_time != owner->start_time;
}

/* The owner of a slot; 0 where it is just changing hands. */
static inline int paceline_lvt_owner_of(const paceline_lvt_slot *slot, paceline_lvt_owner *owner) {
    owner->tid = __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE);
    owner->start_time = __atomic_load_n(&slot->start_time, __ATOMIC_ACQUIRE);
    owner->pid = __atomic_load_n(&slot->pid, __ATOMIC_RELAXED);
    return __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == owner->tid;
}

/* Makes `tid` the holder of a slot that is free, or whose owner has ended. Returns 0 if another thread was quicker. */
static inline int paceline_lvt_take_over(paceline_lvt_slot *slot, const paceline_lvt_owner *owner, uint32_t tid) {
    uint64_t start_time = owner->start_time;
    uint32_t holder = owner->tid;
    /* `start_time` is set first: from then on the slot changes hands, and only the thread that has set it to 0 may continue. */
    if (start_time != 0 &&
        !__atomic_compare_exchange_n(&slot->start_time, &start_time, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return 0;
    }
    if (!__atomic_compare_exchange_n(&slot->tid, &holder, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return 0;
    }
    /* A thread that claims its own slot again keeps what its communication library says. */
    if (owner->tid != tid) {
        __atomic_store_n(&slot->library, 0u, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->messages, (uint64_t)0, __ATOMIC_RELAXED);
    }
    return 1;
}

/* Finds a slot and makes `tid` its holder: one that it had before exec(), that is free, or whose owner has ended. */
static inline paceline_lvt_slot *paceline_lvt_find(paceline_lvt_slot *slots, uint32_t count, uint32_t tid) {
    paceline_lvt_owner owner;
    uint32_t i, pass, at, end;
    for (pass = 0; pass < 4; pass++) {
        end = pass == 3 && count > PACELINE_LVT_LOOKED_UP_MAX ? PACELINE_LVT_LOOKED_UP_MAX : count;
        for (i = 0; i < end; i++) {
            at = pass == 3 ? (tid % count + i) % count : i;
            if (paceline_lvt_owner_of(&slots[at], &owner) &&
                (pass == 0   ? owner.tid == tid
                 : pass == 1 ? owner.tid == 0
                 : pass == 2 ? paceline_lvt_has_no_thread(&owner)
                             : paceline_lvt_is_gone(&owner)) &&
                paceline_lvt_take_over(&slots[at], &owner, tid)) {
                return &slots[at];
            }
        }
    }
    return NULL;
}

#endif
