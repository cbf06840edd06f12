/*
 * Parameter lists of 0 to 12 words, for wrappers, and the wrapper's way to the function behind it.
 *
 * Invariant: the words that come in go out unchanged, in the same order.
 */
#ifndef PACELINE_MPI_WORDS_H
#define PACELINE_MPI_WORDS_H

#include "shim.h"

#define WORDS_1 word a0
#define WORDS_2 WORDS_1, word a1
#define WORDS_3 WORDS_2, word a2
#define WORDS_4 WORDS_3, word a3
#define WORDS_5 WORDS_4, word a4
#define WORDS_6 WORDS_5, word a5
#define WORDS_7 WORDS_6, word a6
#define WORDS_8 WORDS_7, word a7
#define WORDS_9 WORDS_8, word a8
#define WORDS_10 WORDS_9, word a9
#define WORDS_11 WORDS_10, word a10
#define WORDS_12 WORDS_11, word a11

#define PASS_1 a0
#define PASS_2 PASS_1, a1
#define PASS_3 PASS_2, a2
#define PASS_4 PASS_3, a3
#define PASS_5 PASS_4, a4
#define PASS_6 PASS_5, a5
#define PASS_7 PASS_6, a6
#define PASS_8 PASS_7, a7
#define PASS_9 PASS_8, a8
#define PASS_10 PASS_9, a9
#define PASS_11 PASS_10, a10
#define PASS_12 PASS_11, a11

/* Declares and begins the wrapper of MPI_`name`: `real` is PMPI_`name`, which is called at once if the shim is not active. */
#define BEGIN_WRAPPER(name, count)                                                                                     \
    EXPORT int MPI_##name(WORDS_##count);                                                                              \
    EXPORT int MPI_##name(WORDS_##count) {                                                                             \
        typedef int (*function)(WORDS_##count);                                                                        \
        static _Atomic(function) known;                                                                                \
        function real = atomic_load_explicit(&known, memory_order_relaxed);                                            \
        int result;                                                                                                    \
        if (__builtin_expect(real == NULL, 0)) {                                                                       \
            real = (function)find_real("PMPI_" #name, NULL, __builtin_return_address(0));                              \
            atomic_store_explicit(&known, real, memory_order_relaxed);                                                 \
        }                                                                                                              \
        if (!is_active()) {                                                                                            \
            return real(PASS_##count);                                                                                 \
        }

#define END_WRAPPER                                                                                                    \
    return result;                                                                                                     \
    }

/* Begins a call in which the thread may wait; what kind of call it was in before. */
static inline enum call enter(enum call call) {
    enum call outer = self.call;
    if (outer == NO_CALL) {
        page_enter();
    }
    self.empty_tests = 0;
    self.slow_tests = 0;
    wait_found_something();
    self.call = call;
    return outer;
}

static inline void leave(enum call outer) {
    self.call = outer;
    wait_end();
}

#endif
