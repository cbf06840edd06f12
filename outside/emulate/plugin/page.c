/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's side of the page (page.h). */
#define _GNU_SOURCE
#include "page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, CACHE_LINE = 64 };
/* After so many spins in vain, or more, two to the power of it sleeps follow without one. */
enum { MOST_IN_VAIN = 6 };

struct page {
    /* Of the coordinator. */
    struct {
        _Alignas(CACHE_LINE) _Atomic uint32_t turn; /* the number of the last order; the guest's bell */
        uint32_t kind;
        uint64_t time, value;
        _Atomic uint32_t waits;     /* the coordinator waits here, and not at the socket */
        uint32_t spin_ns;           /* how long to look for the next order before sleeping; 0 of one that knows no such thing */
    } order;
    /* Of the guest. */
    struct {
        _Alignas(CACHE_LINE) _Atomic uint32_t bell; /* the coordinator's: how often it was rung */
        _Atomic uint32_t turn;      /* the number of the order that was answered here last */
        uint64_t time, next;
    } answer;
    /* Of both. */
    struct {
        _Alignas(CACHE_LINE) _Atomic uint32_t guest;
        _Atomic uint32_t coordinator;
    } sleeps;
};
_Static_assert(offsetof(struct page, order.waits) == 24 && offsetof(struct page, order.spin_ns) == 28 &&
                   offsetof(struct page, answer.next) == CACHE_LINE + 16 &&
                   offsetof(struct page, sleeps.coordinator) == 2 * CACHE_LINE + 4,
               "page.rs has the same layout");

static struct page *page;
static uint32_t turn;

int make_page(void) {
    int fd = memfd_create("paceline-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, PAGE_BYTES) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) return -1;
    void *start = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (start == MAP_FAILED) return -1;
    page = start;
    return fd;
}

void ring(void) {
    if (!page) return;
    atomic_fetch_add(&page->answer.bell, 1);
    /* The coordinator alone says that it sleeps no more: it may have heard this already and be about to sleep again, and the next
     * ring must find that. */
    if (atomic_load(&page->sleeps.coordinator)) syscall(SYS_futex, &page->answer.bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool answer_on_page(uint64_t time, uint64_t next) {
    if (!atomic_load(&page->order.waits)) return false;
    page->answer.time = time;
    page->answer.next = next;
    atomic_store(&page->answer.turn, turn);
    ring();
    return true;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Looks for an order as long as the coordinator allows: it may answer within microseconds on another core, and waking this
 * thread takes 25 us. Where both share a core, or others compute on it, that is in vain, and then done seldom;
 * src/guest/spin.rs is the same. */
static void spin(void) {
    static unsigned in_vain, to_skip;
    uint32_t most = page->order.spin_ns;
    if (!most) return;
    if (to_skip) {
        to_skip--;
        return;
    }
    int64_t end = now_ns() + most;
    do {
        if (atomic_load(&page->order.turn) != turn) {
            in_vain = 0;
            return;
        }
        __builtin_ia32_pause();
    } while (now_ns() < end);
    if (in_vain < MOST_IN_VAIN) in_vain++;
    to_skip = 1u << in_vain;
}

void wait_for_order(uint32_t *kind, uint64_t *time, uint64_t *value) {
    spin();
    while (atomic_load(&page->order.turn) == turn) {
        atomic_store(&page->sleeps.guest, 1);
        syscall(SYS_futex, &page->order.turn, FUTEX_WAIT, turn, NULL, NULL, 0);
    }
    atomic_store(&page->sleeps.guest, 0);
    turn = atomic_load(&page->order.turn);
    *kind = page->order.kind;
    *time = page->order.time;
    *value = page->order.value;
}
