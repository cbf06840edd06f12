/*
 * The hooks by which the MPI libraries show that they have polled without finding anything.
 *
 * Open MPI's opal_progress calls sched_yield when it has found nothing, if mpi_yield_when_idle is 1; otherwise it never
 * does, and the shim then changes nothing. Debian's MPICH polls by ucp_worker_progress, which returns how much it has found, and
 * never yields by itself.
 *
 * Invariant: outside of the MPI library sched_yield is the system call and nothing else.
 */
#define _GNU_SOURCE
#include "shim.h"

typedef int (*progress_function)(void);
typedef unsigned (*worker_function)(void *);

EXPORT int sched_yield(void);
EXPORT int opal_progress(void);

EXPORT int sched_yield(void) {
    if (!is_active() || (!self.in_progress && self.call == NO_CALL)) {
        return (int)syscall(SYS_sched_yield);
    }
    wait_found_nothing();
    /* In a test the caller continues at once. */
    return 0;
}

/* Returns nothing in some versions; their callers ignore the value. */
EXPORT int opal_progress(void) {
    static _Atomic(progress_function) real;
    progress_function found = atomic_load_explicit(&real, memory_order_relaxed);
    uint32_t idle_polls = self.idle_polls;
    int result, outer = self.in_progress;
    if (found == NULL) {
        found = (progress_function)find_real("opal_progress", (void *)opal_progress, __builtin_return_address(0));
        atomic_store_explicit(&real, found, memory_order_relaxed);
    }
    if (!is_active()) {
        return found();
    }
    self.in_progress = 1;
    result = found();
    self.in_progress = outer;
    if (self.idle_polls == idle_polls) {
        wait_found_something();
    }
    return result;
}

EXPORT unsigned ucp_worker_progress(void *worker) {
    static _Atomic(worker_function) real;
    worker_function found = atomic_load_explicit(&real, memory_order_relaxed);
    unsigned count;
    if (found == NULL) {
        found = (worker_function)find_real("ucp_worker_progress", (void *)ucp_worker_progress, __builtin_return_address(0));
        atomic_store_explicit(&real, found, memory_order_relaxed);
    }
    count = found(worker);
    /* Under Open MPI, opal_progress decides. */
    if (is_active() && shim_library == MPICH) {
        if (count != 0) {
            wait_found_something();
        } else {
            wait_found_nothing();
        }
    }
    return count;
}
