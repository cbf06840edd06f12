/*
 * The slot of a thread on the LVT page that PACELINE_LVT names: there the thread publishes that its library yields, when it waits,
 * and how many messages it has passed.
 *
 * A thread takes its slot at its first MPI call that is wrapped. If the program publishes an LVT, the slot that it has
 * claimed is used as it is. If it claims one later, it takes over this one.
 *
 * Invariants:
 * - Only the thread whose id is in the slot writes to it, and it checks the id first: the program may have closed its
 *   publisher, which frees the slot.
 * - Of a slot that the program has claimed, only `library` and `messages` are written.
 * - Nothing is claimed in a hook, which may be called from a signal handler.
 */
#define _GNU_SOURCE
#include "../../lvt/include/paceline_lvt.h"

#include "shim.h"

/* The time between two attempts to claim a slot, at first and at most. */
#define CLAIM_PAUSE_NS 1000000L
#define CLAIM_PAUSE_MAX_NS 1000000000L

static paceline_lvt_slot *header;
static uint32_t slot_count;
static int32_t own_rank;

/* Maps the page; without one, nothing here does anything. */
void page_open(int32_t rank) {
    const char *path = getenv("PACELINE_LVT"), *wrong;
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    struct statfs system;
    uint32_t entries = 0;
    int is_map, fd;
    own_rank = rank;
    if (path == NULL || path[0] == 0 || statfs(path, &system) != 0) {
        return;
    }
    is_map = (uint32_t)system.f_type == 0xcafe4a11u; /* BPF_FS_MAGIC */
    fd = is_map ? paceline_lvt_open_map(path, &entries) : open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    wrong = paceline_lvt_map(&lvt, path, fd, is_map, entries);
    close(fd);
    if (wrong == NULL) {
        slot_count = (uint32_t)(lvt.page_bytes / PACELINE_LVT_RECORD_BYTES - 1);
        header = lvt.page;
    } else if (lvt.page != NULL) {
        munmap(lvt.page, lvt.page_bytes);
    }
}

static paceline_lvt_slot *own_slot(void) {
    paceline_lvt_slot *slot = self.slot;
    return slot != NULL && __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == self.tid ? slot : NULL;
}

static paceline_lvt_slot *claim(uint32_t tid) {
    paceline_lvt_slot *slots = header + 1, *slot;
    uint64_t start_time = paceline_lvt_start_time((uint32_t)getpid(), tid);
    char name[PACELINE_LVT_NAME_BYTES] = {0}, text[64];
    for (uint32_t i = 0; i < slot_count; i++) {
        if (__atomic_load_n(&slots[i].tid, __ATOMIC_ACQUIRE) == tid &&
            __atomic_load_n(&slots[i].start_time, __ATOMIC_ACQUIRE) == start_time && start_time != 0) {
            return &slots[i];
        }
    }
    slot = start_time == 0 ? NULL : paceline_lvt_find(slots, slot_count, tid);
    if (slot == NULL) {
        return NULL;
    }
    snprintf(text, sizeof text, "rank %d%s", own_rank, tid == (uint32_t)getpid() ? "" : " thread");
    memcpy(name, text, strnlen(text, sizeof name));
    __atomic_store_n(&slot->lvt_ns, (uint64_t)0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->flags, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->library, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->messages, (uint64_t)0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->pid, (uint32_t)getpid(), __ATOMIC_RELAXED);
    memcpy(slot->name, name, sizeof name);
    __atomic_store_n(&slot->start_time, start_time, __ATOMIC_RELEASE);
    return slot;
}

/* Claims a slot for this thread if it has none. */
void page_enter(void) {
    long now;
    if (header == NULL || own_slot() != NULL || (now = now_ns()) < self.claim_after_ns) {
        return;
    }
    if (self.tid == 0) {
        self.tid = (uint32_t)syscall(SYS_gettid);
    }
    self.slot = claim(self.tid);
    /* If all slots are taken, the search for one is expensive. */
    self.claim_pause_ns = self.slot != NULL ? CLAIM_PAUSE_NS : self.claim_pause_ns * 2 + CLAIM_PAUSE_NS;
    if (self.claim_pause_ns > CLAIM_PAUSE_MAX_NS) {
        self.claim_pause_ns = CLAIM_PAUSE_MAX_NS;
    }
    self.claim_after_ns = now + self.claim_pause_ns;
}

void page_set_waiting(int waiting) {
    paceline_lvt_slot *slot = own_slot();
    if (slot != NULL) {
        /* A thread that waits here does so by yielding. */
        uint32_t library = __atomic_load_n(&slot->library, __ATOMIC_RELAXED);
        uint32_t now = waiting ? library | PACELINE_LVT_LIBRARY_YIELDS | PACELINE_LVT_LIBRARY_WAITING
                               : library & ~PACELINE_LVT_LIBRARY_WAITING;
        __atomic_store_n(&slot->library, now, __ATOMIC_RELEASE);
    }
}

/* Tells the pacer that a thread has begun to wait. */
void page_ring(void) {
    if (own_slot() != NULL) {
        int before = errno;
        paceline_lvt_ring(header);
        errno = before;
    }
}

void page_count_message(void) {
    paceline_lvt_slot *slot = own_slot();
    if (slot != NULL) {
        uint64_t messages = __atomic_load_n(&slot->messages, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->messages, messages + 1, __ATOMIC_RELAXED);
    }
}

/* The library yields no more: from now on the program itself publishes whether this thread waits. */
void page_close(void) {
    paceline_lvt_slot *slot = own_slot();
    if (slot != NULL) {
        __atomic_store_n(&slot->library, 0u, __ATOMIC_RELAXED);
    }
}
