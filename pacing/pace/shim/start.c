/*
 * Where the shim begins and ends: MPI_Init, MPI_Init_thread and MPI_Finalize.
 *
 * Before the library is initialized, its version string shows which one it is. The process then claims its cell, so that by the end
 * of MPI_Init, in which all ranks synchronize, all of them have one.
 *
 * Invariants:
 * - With an unknown library, nothing is ever changed; the process with rank 0, or without a rank, says so in one line.
 * - `active` is 0 in forked children, and wherever the system cannot guarantee that.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "words.h"

#define VERSION_BYTES 8192 /* MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the larger one */
#define THREAD_MULTIPLE 3  /* in both libraries */

static uint32_t never_active;
_Atomic(uint32_t *) shim_active = &never_active;
enum library shim_library;
int shim_multiple;

/* Which library the caller uses; for an unknown one, `version` is the first line of its version string. */
static enum library recognize(char *version, const void *caller) {
    int (*get_version)(char *, int *) = (int (*)(char *, int *))find_symbol("PMPI_Get_library_version", NULL, caller);
    static const char open_mpi[] = "Open MPI v", mpich[] = "MPICH Version";
    int length = 0;
    strcpy(version, "unknown");
    if (get_version == NULL || get_version(version, &length) != 0) {
        return LIBRARY_NONE;
    }
    version[VERSION_BYTES - 1] = 0;
    if (strncmp(version, open_mpi, sizeof open_mpi - 1) == 0 && find_symbol("ompi_mpi_comm_world", NULL, caller) != NULL) {
        return OPEN_MPI;
    }
    if (strncmp(version, mpich, sizeof mpich - 1) == 0) {
        return MPICH;
    }
    version[strcspn(version, "\r\n")] = 0;
    return LIBRARY_NONE;
}

/* A word that is 1 in this process and 0 in its children; NULL if the system cannot provide that. */
static uint32_t *make_active(void) {
    uint32_t *place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
        return NULL;
    }
    if (madvise(place, sizeof *place, MADV_WIPEONFORK) != 0) {
        munmap(place, sizeof *place);
        return NULL;
    }
    *place = 1;
    return place;
}

/* Begins the shim before the library is initialized. */
static void begin(const void *caller) {
    char *version = malloc(VERSION_BYTES);
    const char *variable = NULL;
    int32_t rank = job_rank(&variable);
    uint32_t *active;
    if (version == NULL) {
        return;
    }
    shim_library = recognize(version, caller);
    if (shim_library == LIBRARY_NONE && rank <= 0) {
        fprintf(stderr,
                "paceline: the MPI library is not supported by the shim (%.100s); the pacer cannot see which ranks wait\n",
                version);
    }
    free(version);
    if (shim_library == LIBRARY_NONE || (active = make_active()) == NULL) {
        return;
    }
    if (rank >= 0) {
        room_open(job_key(variable), (uint32_t)rank);
    }
    page_open(rank >= 0 ? rank : 0);
    atomic_store(&shim_active, active);
    self.call = COLLECTIVE;
}

/*
 * Says in one line if ranks wait in another way than the pacer has told the user. Open MPI's setting may come from places that the
 * pacer does not know, and Open MPI 4.0 ignores those that it finds in files (its issue 6433); MPICH without UCX polls where the shim
 * has no hook.
 */
static void check_yielding(const void *caller) {
    const char *announced = getenv("PACELINE_MPI_YIELDS"), *variable, *why = NULL;
    const unsigned char *set = (const unsigned char *)find_symbol("opal_progress_yield_when_idle", NULL, caller);
    int yields = announced != NULL && announced[0] == '1';
    if (announced == NULL || job_rank(&variable) > 0) {
        return;
    }
    if (set == NULL) {
        set = (const unsigned char *)find_symbol("ompi_mpi_yield_when_idle", NULL, caller);
    }
    if (shim_library == OPEN_MPI && set != NULL && (*set != 0) != yields) {
        why = yields ? "mpi_yield_when_idle is 0" : "mpi_yield_when_idle is 1";
    } else if (shim_library == MPICH && yields &&
               find_symbol("ucp_worker_progress", (void *)ucp_worker_progress, caller) == NULL) {
        why = "this MPICH does not use UCX";
    }
    if (why != NULL && yields) {
        fprintf(stderr, "paceline: MPI ranks keep their core while they wait after all: %s; the pacer cannot see which ranks wait\n",
                why);
    } else if (why != NULL) {
        fprintf(stderr, "paceline: MPI ranks that wait give their core away after all: %s\n", why);
    }
}

/* Completes that after the library is initialized. */
static void begun(int result, const void *caller) {
    int (*query_thread)(int *) = (int (*)(int *))find_symbol("PMPI_Query_thread", NULL, caller);
    int level = THREAD_MULTIPLE;
    if (!is_active()) {
        return;
    }
    leave(NO_CALL);
    if (result != 0) {
        atomic_store(&shim_active, &never_active);
        room_close();
        return;
    }
    shim_multiple = query_thread == NULL || query_thread(&level) != 0 || level == THREAD_MULTIPLE;
    peers_open(caller);
    check_yielding(caller);
}

EXPORT int MPI_Init(word argc, word argv);
EXPORT int MPI_Init_thread(word argc, word argv, word required, word provided);
EXPORT int MPI_Finalize(void);

EXPORT int MPI_Init(word argc, word argv) {
    const void *caller = __builtin_return_address(0);
    int (*real)(word, word) = (int (*)(word, word))find_real("PMPI_Init", NULL, caller);
    int result;
    begin(caller);
    result = real(argc, argv);
    begun(result, caller);
    return result;
}

EXPORT int MPI_Init_thread(word argc, word argv, word required, word provided) {
    const void *caller = __builtin_return_address(0);
    int (*real)(word, word, word, word) =
        (int (*)(word, word, word, word))find_real("PMPI_Init_thread", NULL, caller);
    int result;
    begin(caller);
    result = real(argc, argv, required, provided);
    begun(result, caller);
    return result;
}

EXPORT int MPI_Finalize(void) {
    int (*real)(void) = (int (*)(void))find_real("PMPI_Finalize", NULL, __builtin_return_address(0));
    int result;
    if (!is_active()) {
        return real();
    }
    enter(COLLECTIVE);
    result = real();
    leave(NO_CALL);
    page_close();
    atomic_store(&shim_active, &never_active);
    room_close();
    return result;
}
