/*
 * Which cell belongs to a rank of a communicator.
 *
 * The ranks of MPI_COMM_WORLD have one array; other intracommunicators have theirs in a small table, made at their first send
 * and dropped by MPI_Comm_free and MPI_Comm_disconnect. Remote ranks of an intercommunicator, and ranks outside of MPI_COMM_WORLD,
 * are not rung.
 *
 * Invariants:
 * - Of the MPI library, only functions are called that are local by the standard.
 * - No rank is rung, and none sleeps on a bell, before all ranks of the job were seen in the room: if one rank is on another
 *   machine, or has no shim, its messages ring no bell.
 * - A stale array costs a needless wake-up, or a sleep to its time limit; it cannot lead outside of the room.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define TABLE_ENTRIES 64u
#define LARGE_BYTES 4096
/* How long after an incomplete search for all ranks the next one is made. */
#define LOOK_PAUSE_NS 10000000L
#define MPICH_COMM_WORLD 0x44000000u
#define MPICH_REQUEST_NULL 0x2c000000u

typedef int (*function1)(word);
typedef int (*function2)(word, word);
typedef int (*function5)(word, word, word, word, word);

struct array {
    word comm;
    int size;
    struct cell *cells[];
};

static word world;
static word no_request;
static int world_size;
static _Atomic(struct array *) world_array;
static _Atomic long look_after_ns;
static struct array *table[TABLE_ENTRIES];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static function2 comm_group, comm_size, comm_test_inter, type_size;
static function5 translate_ranks;
static function1 group_free;

/* A handle as the library passes it: MPICH's have 32 bits. */
static word handle_in(const unsigned char *bytes) {
    word handle = 0;
    memcpy(&handle, bytes, shim_library == MPICH ? 4 : 8);
    return handle;
}

static word as_handle(word argument) {
    return shim_library == MPICH ? (uint32_t)argument : argument;
}

void peers_open(const void *caller) {
    function2 comm_rank = (function2)find_symbol("PMPI_Comm_rank", NULL, caller);
    int size = 0, rank = -1;
    const char *variable;
    comm_group = (function2)find_symbol("PMPI_Comm_group", NULL, caller);
    comm_size = (function2)find_symbol("PMPI_Comm_size", NULL, caller);
    comm_test_inter = (function2)find_symbol("PMPI_Comm_test_inter", NULL, caller);
    type_size = (function2)find_symbol("PMPI_Type_size", NULL, caller);
    group_free = (function1)find_symbol("PMPI_Group_free", NULL, caller);
    translate_ranks = (function5)find_symbol("PMPI_Group_translate_ranks", NULL, caller);
    /* A program that is not position-independent may contain a copy of the object, which is then the one that is used. */
    world = shim_library == MPICH ? MPICH_COMM_WORLD : (word)dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    if (world == 0) {
        world = (word)find_symbol("ompi_mpi_comm_world", NULL, caller);
    }
    no_request = shim_library == MPICH ? MPICH_REQUEST_NULL : (word)dlsym(RTLD_DEFAULT, "ompi_request_null");
    if (no_request == 0) {
        no_request = (word)find_symbol("ompi_request_null", NULL, caller);
    }
    if (comm_rank == NULL || comm_group == NULL || comm_size == NULL || comm_test_inter == NULL || type_size == NULL ||
        group_free == NULL || translate_ranks == NULL || world == 0 || comm_rank(world, (word)&rank) != 0 ||
        comm_size(world, (word)&size) != 0 || rank != job_rank(&variable)) {
        return;
    }
    world_size = size;
}

int peers_are_all_here(void) {
    struct array *array = atomic_load_explicit(&world_array, memory_order_acquire), *none = NULL;
    long now;
    if (array != NULL) {
        return 1;
    }
    if (world_size == 0 || room_own_cell() == NULL || (now = now_ns()) < atomic_load(&look_after_ns)) {
        return 0;
    }
    array = malloc(sizeof *array + (size_t)world_size * sizeof array->cells[0]);
    for (int rank = 0; array != NULL && rank < world_size; rank++) {
        array->cells[rank] = room_find((uint32_t)rank);
        if (array->cells[rank] == NULL) {
            free(array);
            array = NULL;
        }
    }
    if (array == NULL) {
        atomic_store(&look_after_ns, now + LOOK_PAUSE_NS);
        return 0;
    }
    array->comm = world;
    array->size = world_size;
    if (!atomic_compare_exchange_strong(&world_array, &none, array)) {
        free(array);
    }
    return 1;
}

static struct cell *cell_in(const struct array *array, int rank) {
    struct cell *cell = rank >= 0 && rank < array->size ? array->cells[rank] : NULL;
    return cell == room_own_cell() ? NULL : cell;
}

static struct array **entry_of(word comm) {
    return &table[(comm >> 4 ^ comm ^ comm >> 12) % TABLE_ENTRIES];
}

/* The array of a communicator with at most `size` ranks; one without cells if it cannot be made. */
static struct array *make_array(word comm, const struct array *all) {
    unsigned char own[HANDLE_BYTES] = {0}, worlds[HANDLE_BYTES] = {0};
    int inter = 1, size = 0, *ranks, failed;
    struct array *array;
    if (comm_test_inter(comm, (word)&inter) != 0 || inter || comm_size(comm, (word)&size) != 0 || size < 0) {
        size = 0;
    }
    array = malloc(sizeof *array + (size_t)size * sizeof array->cells[0]);
    ranks = malloc(2 * (size_t)size * sizeof *ranks + 1);
    if (array != NULL) {
        array->comm = comm;
        array->size = 0;
    }
    if (array != NULL && ranks != NULL && size > 0 && comm_group(comm, (word)own) == 0) {
        if (comm_group(world, (word)worlds) == 0) {
            for (int i = 0; i < size; i++) {
                ranks[i] = i;
            }
            failed = translate_ranks(handle_in(own), (word)size, (word)ranks, handle_in(worlds), (word)(ranks + size));
            for (int i = 0; i < size && !failed; i++) {
                int rank = ranks[size + i];
                array->cells[i] = rank >= 0 && rank < all->size ? all->cells[rank] : NULL;
            }
            array->size = failed ? 0 : size;
            group_free((word)worlds);
        }
        group_free((word)own);
    }
    free(ranks);
    return array;
}

/* The cell of a rank if it is known without a call of the library, which has not yet checked that the handle is valid. */
struct cell *peer_known(word comm, int rank) {
    struct array *all = atomic_load_explicit(&world_array, memory_order_acquire), *array;
    struct cell *cell = NULL;
    comm = as_handle(comm);
    if (all == NULL || rank < 0) {
        return NULL;
    }
    if (comm == world) {
        return cell_in(all, rank);
    }
    pthread_mutex_lock(&table_lock);
    array = *entry_of(comm);
    if (array != NULL && array->comm == comm) {
        cell = cell_in(array, rank);
    }
    pthread_mutex_unlock(&table_lock);
    return cell;
}

/* The cell of a rank of a communicator that the library has just used; NULL for this process and for those without one. */
struct cell *peer_look_up(word comm, int rank) {
    struct array *all, **entry;
    struct cell *cell;
    if (rank < 0 || !peers_are_all_here()) {
        return NULL;
    }
    comm = as_handle(comm);
    all = atomic_load_explicit(&world_array, memory_order_acquire);
    if (comm == world) {
        return cell_in(all, rank);
    }
    pthread_mutex_lock(&table_lock);
    entry = entry_of(comm);
    if (*entry == NULL || (*entry)->comm != comm) {
        free(*entry);
        *entry = make_array(comm, all);
    }
    cell = *entry == NULL ? NULL : cell_in(*entry, rank);
    pthread_mutex_unlock(&table_lock);
    return cell;
}

/* For messages whose destination is not known. */
void peers_ring_all(void) {
    struct array *all = peers_are_all_here() ? atomic_load(&world_array) : NULL;
    for (int i = 0; all != NULL && i < all->size; i++) {
        if (all->cells[i] != room_own_cell()) {
            bell_ring(all->cells[i]);
        }
    }
}

/* Drops the array of the communicator whose handle is at this place. */
void peers_forget(word comm_place) {
    word comm;
    struct array **entry;
    if (comm_place == 0) {
        return;
    }
    comm = handle_in((const unsigned char *)comm_place);
    pthread_mutex_lock(&table_lock);
    entry = entry_of(comm);
    if (*entry != NULL && (*entry)->comm == comm) {
        free(*entry);
        *entry = NULL;
    }
    pthread_mutex_unlock(&table_lock);
}

int peers_are_no_requests(int count, word handles) {
    size_t bytes = shim_library == MPICH ? 4 : 8;
    for (int i = 0; i < count; i++) {
        if (no_request == 0 || handle_in((const unsigned char *)handles + (size_t)i * bytes) != no_request) {
            return 0;
        }
    }
    return 1;
}

/* Whether a message that was just sent may need answers from its receiver's library before it is delivered. */
int is_large(word count, word datatype) {
    int size = 0;
    return world_size != 0 && type_size(datatype, (word)&size) == 0 && (int64_t)(int)count * size > LARGE_BYTES;
}
