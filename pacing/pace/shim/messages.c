/*
 * The wrappers of MPI's point-to-point functions: sends ring the bell of the destination, receives and waits are waits for a
 * message, and tests count as waits only when there is nothing but tests.
 *
 * Invariants:
 * - A send rings after the library has taken the message, and while a blocking send waits.
 * - Outputs of a function that has failed are not read.
 */
#define _GNU_SOURCE
#include "words.h"

/* A thread waits after this many tests in a row that found nothing, with less than the time below between two of them. */
#define EMPTY_TESTS 8u
#define TESTS_APART_NS 1500L
/* With other work between them, as in a loop that also looks at its own queue, it yields after so many, less than this apart. */
#define SLOW_EMPTY_TESTS 16u
#define SLOW_TESTS_APART_NS 100000L

static void sent(word comm, word rank, int large) {
    struct cell *cell = peer_look_up(comm, (int)rank);
    if (cell != NULL) {
        bell_ring(cell);
        if (large) {
            wait_expect_replies();
        }
    }
}

/* More elements than this count as a large message while the library has not yet checked that their type is valid. */
#define ELEMENTS_LARGE 512u

/* Blocking sends, with the places of the destination and the communicator. `large` as below. */
#define BLOCKING_SEND(name, count, to, comm, large)                                                                        \
    BEGIN_WRAPPER(name, count)                                                                                         \
    enum call outer = enter(POINT_TO_POINT);                                                                           \
    self.send_to = peer_known(comm, (int)(to));                                                                        \
    if (self.send_to != NULL && (large)) {                                                                             \
        wait_expect_replies();                                                                                         \
    }                                                                                                                  \
    result = real(PASS_##count);                                                                                       \
    self.send_to = NULL;                                                                                               \
    leave(outer);                                                                                                      \
    if (result == 0) {                                                                                                 \
        sent(comm, to, 0);                                                                                             \
        page_count_message();                                                                                          \
    }                                                                                                                  \
    END_WRAPPER

BLOCKING_SEND(Send, 6, a3, a5, (uint32_t)a1 > ELEMENTS_LARGE)
BLOCKING_SEND(Ssend, 6, a3, a5, 1)
BLOCKING_SEND(Rsend, 6, a3, a5, (uint32_t)a1 > ELEMENTS_LARGE)
BLOCKING_SEND(Bsend, 6, a3, a5, (uint32_t)a1 > ELEMENTS_LARGE)
BLOCKING_SEND(Sendrecv, 12, a3, a10, (uint32_t)a1 > ELEMENTS_LARGE)
BLOCKING_SEND(Sendrecv_replace, 9, a3, a7, (uint32_t)a1 > ELEMENTS_LARGE)

/* `large`: the receiver's library has to answer before the send completes. */
#define NONBLOCKING_SEND(name, large)                                                                                  \
    BEGIN_WRAPPER(name, 7)                                                                                             \
    enum call outer = enter(TEST);                                                                                     \
    result = real(PASS_7);                                                                                             \
    leave(outer);                                                                                                      \
    if (result == 0) {                                                                                                 \
        sent(a5, a3, large);                                                                                           \
        page_count_message();                                                                                          \
    }                                                                                                                  \
    END_WRAPPER

NONBLOCKING_SEND(Isend, is_large(a1, a2))
NONBLOCKING_SEND(Irsend, is_large(a1, a2))
NONBLOCKING_SEND(Ibsend, is_large(a1, a2))
NONBLOCKING_SEND(Issend, 1)

/* Functions that only start an operation; `then` is executed after a success. */
#define STARTING(name, count, then)                                                                                    \
    BEGIN_WRAPPER(name, count)                                                                                         \
    enum call outer = enter(TEST);                                                                                     \
    result = real(PASS_##count);                                                                                       \
    leave(outer);                                                                                                      \
    if (result == 0) {                                                                                                 \
        then;                                                                                                          \
    }                                                                                                                  \
    END_WRAPPER

STARTING(Irecv, 7, (void)0)
STARTING(Imrecv, 5, (void)0)
STARTING(Start, 1, peers_ring_all())
STARTING(Startall, 2, peers_ring_all())

/* Functions that return when a message has arrived; `counts` if they deliver it. */
#define WAITING(name, count, counts)                                                                                   \
    BEGIN_WRAPPER(name, count)                                                                                         \
    enum call outer = enter(POINT_TO_POINT);                                                                           \
    result = real(PASS_##count);                                                                                       \
    leave(outer);                                                                                                      \
    if (result == 0 && (counts)) {                                                                                     \
        page_count_message();                                                                                          \
    }                                                                                                                  \
    END_WRAPPER

WAITING(Recv, 7, 1)
WAITING(Mrecv, 5, 1)
WAITING(Probe, 4, 0)
WAITING(Mprobe, 5, 0)
WAITING(Wait, 2, 1)
WAITING(Waitany, 4, 1)
WAITING(Waitall, 3, 1)
WAITING(Waitsome, 5, 1)

/* After a test that found nothing, and began so long after the one before. */
static void found_none(long apart_ns) {
    if (apart_ns > SLOW_TESTS_APART_NS) {
        self.slow_tests = 0;
    }
    self.slow_tests++;
    if (apart_ns > TESTS_APART_NS) {
        self.empty_tests = 0;
        wait_found_something();
        if (self.slow_tests > SLOW_EMPTY_TESTS) {
            wait_in_slow_test();
        }
    } else if (++self.empty_tests > EMPTY_TESTS) {
        wait_in_test();
    }
}

/* After a test that began at `entered` and has found something (1), nothing (0), or had nothing to find (-1). */
static void tested(int found, long entered) {
    if (found > 0) {
        self.empty_tests = 0;
        self.slow_tests = 0;
        wait_end();
        page_count_message();
    } else if (found == 0) {
        found_none(entered - self.left_ns);
    }
    self.left_ns = now_ns();
}

/* An `int` that the library has written. */
static int output(word place) {
    return *(const int *)place;
}

/* `nothing`, evaluated before the call: there is no request to find. Such a call succeeds at once, again and again. */
#define TESTING(name, count, nothing, found)                                                                           \
    BEGIN_WRAPPER(name, count)                                                                                         \
    long entered = now_ns();                                                                                           \
    int has_nothing = (nothing);                                                                                       \
    enum call outer = self.call;                                                                                       \
    if (outer == NO_CALL) {                                                                                            \
        page_enter();                                                                                                  \
    }                                                                                                                  \
    self.call = TEST;                                                                                                  \
    result = real(PASS_##count);                                                                                       \
    self.call = outer;                                                                                                 \
    tested(result != 0 || has_nothing ? -1 : (found), entered);                                                                     \
    END_WRAPPER

TESTING(Test, 3, peers_are_no_requests(1, a0), output(a1) != 0)
TESTING(Testany, 5, 0, output(a3) == 0 ? 0 : output(a2) >= 0 ? 1 : -1)
TESTING(Testall, 4, peers_are_no_requests((int)a0, a1), output(a2) != 0)
/* Below 0, no request was active. */
TESTING(Testsome, 5, 0, output(a2) == 0 ? 0 : output(a2) > 0 ? 1 : -1)
TESTING(Iprobe, 5, 0, output(a3) != 0)
TESTING(Improbe, 6, 0, output(a3) != 0)
