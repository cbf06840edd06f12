/*
 * How a thread waits whose MPI library has found nothing: it yields, and when that does not help, it sleeps.
 *
 * A wait for a message yields twice, then sleeps on the bell of its process, which the sender rings. A yield that returned at
 * once, because no other thread wanted the core, counts less: with a core of its own a thread polls for longer. A collective call
 * yields for long, because the messages inside it ring no bell, and then takes short sleeps. A test does not wait, because the
 * program has other work; but a program that does nothing but test is waiting, and one that does little else yields.
 *
 * Invariants:
 * - Between reading the bell and sleeping on it lies a poll (bell.h).
 * - Every sleep ends after SLEEP_MAX_NS.
 * - What is announced, in the cell or on the page, is withdrawn when the call returns.
 */
#define _GNU_SOURCE
#include "shim.h"

#define MESSAGE_YIELDS 2u
#define TEST_YIELDS 20u
#define COLLECTIVE_YIELDS 20000u
#define COLLECTIVE_YIELDING_NS 50000000L
/* A yield that takes less time than this is quick, and the number below of quick ones count as one. */
#define QUICK_NS 1000L
#define QUICK_YIELDS 32u
#define BELL_SLEEP_NS 100000L
#define SHORT_SLEEP_NS 50000L
#define SLEEP_MAX_NS 1000000L
/* How long after a large send the receiver's library is expected to need this one. */
#define REPLIES_NS 1000000L

__thread struct thread self;

/* Set once there may be messages that ring no bell. */
static _Atomic int has_silent_messages;
/* No thread of this process sleeps before this time. */
static _Atomic long replies_until_ns;
/* What threads without a cell sleep on. */
static struct cell nobodys;

void wait_expect_silent_messages(void) {
    if (!atomic_load_explicit(&has_silent_messages, memory_order_relaxed)) {
        atomic_store(&has_silent_messages, 1);
    }
}

void wait_expect_replies(void) {
    atomic_store_explicit(&replies_until_ns, now_ns() + REPLIES_NS, memory_order_relaxed);
}

static void set_waiting(int waiting) {
    if (self.waiting != waiting) {
        self.waiting = waiting;
        page_set_waiting(waiting);
        /* In a wait that consists of many tests, only once. */
        if (waiting && self.began_ns == 0) {
            page_ring();
        }
    }
}

static void withdraw(void) {
    if (self.announced) {
        self.announced = 0;
        bell_withdraw(room_own_cell());
    }
}

static void yield(long now) {
    syscall(SYS_sched_yield);
    if (now_ns() - now >= QUICK_NS || ++self.quick_yields % QUICK_YIELDS == 0) {
        self.yields++;
    }
}

/* Sleeps if that has been announced; otherwise announces it, so that the library polls once more before. */
static void sleep_on(struct cell *cell, long first_ns) {
    struct cell *own = room_own_cell();
    if (cell == own && !self.announced) {
        self.announced = 1;
        self.seen = bell_announce(own);
        return;
    }
    self.limit_ns = self.limit_ns == 0 ? first_ns : self.limit_ns * 2;
    if (self.limit_ns > SLEEP_MAX_NS) {
        self.limit_ns = SLEEP_MAX_NS;
    }
    bell_sleep(cell, self.announced ? self.seen : atomic_load(&cell->bell), self.limit_ns);
    self.seen = atomic_load_explicit(&cell->bell, memory_order_acquire);
}

/* One step of a wait for a message whose sender rings, if `rings`. */
static void step(int rings, uint32_t yields, int may_sleep) {
    long now = now_ns();
    if (self.began_ns == 0) {
        self.began_ns = now;
    }
    rings = rings && room_own_cell() != NULL && !atomic_load_explicit(&has_silent_messages, memory_order_relaxed) &&
            now >= atomic_load_explicit(&replies_until_ns, memory_order_relaxed) && peers_are_all_here();
    if (!may_sleep ||
        (rings ? self.yields < yields
               : self.yields < COLLECTIVE_YIELDS && now - self.began_ns < COLLECTIVE_YIELDING_NS)) {
        yield(now);
    } else if (rings) {
        sleep_on(room_own_cell(), BELL_SLEEP_NS);
    } else {
        sleep_on(&nobodys, SHORT_SLEEP_NS);
    }
}

/* The library has polled and found nothing. */
void wait_found_nothing(void) {
    /* MPICH polls under a lock that its other threads need. */
    int may_sleep = !(shim_library == MPICH && shim_multiple);
    self.idle_polls++;
    if (self.call == TEST) {
        return;
    }
    if (self.send_to != NULL && self.yields == 0) {
        /* The receiver may have to answer before this send is over. */
        bell_ring(self.send_to);
    }
    set_waiting(1);
    step(self.call == POINT_TO_POINT, MESSAGE_YIELDS, may_sleep);
    if (self.call == NO_CALL) {
        /* The shim would not see the end of this wait. */
        set_waiting(0);
    }
}

/* The library has polled and found something, or a new wait begins. */
void wait_found_something(void) {
    self.yields = 0;
    self.limit_ns = 0;
    self.began_ns = 0;
    withdraw();
}

/* A test has found nothing, and there was nothing but tests for a while. */
void wait_in_test(void) {
    set_waiting(1);
    step(1, TEST_YIELDS, 1);
    set_waiting(0);
}

/* The same where the program does a little between its tests: it only yields, as Open MPI itself would in every test. */
void wait_in_slow_test(void) {
    self.waiting = 1;
    page_set_waiting(1);
    yield(now_ns());
    set_waiting(0);
}

/* Ends the call in which the thread may have waited. */
void wait_end(void) {
    wait_found_something();
    set_waiting(0);
}
