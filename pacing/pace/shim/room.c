/*
 * Opens the room that PACELINE_MPI names, claims a cell there, and finds those of others.
 *
 * Invariants:
 * - Only a memory file of this user that cannot shrink is mapped, so that no access to it can kill the program.
 * - A cell has one owner: it changes hands by compare-and-swap of `owner`, from 0 or from a process that is gone. An owner
 *   is a process id with its start time, so no two owners are equal and a swap never succeeds with an outdated value.
 * - Without a room, or if all its cells are taken, there is no own cell, and the process neither rings nor sleeps on a bell.
 */
#define _GNU_SOURCE
#include "../../lvt/include/paceline_lvt.h"

#include "shim.h"

/* How many living owners a process that finds no free cell looks up in /proc. */
#define LOOKED_UP_MAX 64u

static struct cell *cells;
static uint32_t cell_count;
static struct cell *own_cell;
static uint64_t own_job;
static uint64_t own_identity;

static uint64_t identity(uint32_t pid, uint64_t start_time) {
    return (uint64_t)pid << 32 | (uint32_t)start_time;
}

static int is_gone(uint64_t owner, int looks_up) {
    uint32_t pid = (uint32_t)(owner >> 32);
    uint64_t start_time;
    if (pid == 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) {
        return 1;
    }
    start_time = looks_up ? paceline_lvt_start_time(pid, pid) : 0;
    return start_time != 0 && identity(pid, start_time) != owner;
}

/* Maps the room. Returns 0 if there is none that can be used. */
static int map_room(const char *path) {
    const struct room_header *header;
    struct stat file;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK), seals;
    void *map = MAP_FAILED;
    if (fd < 0) {
        return 0;
    }
    seals = fcntl(fd, F_GET_SEALS);
    if (seals != -1 && (seals & F_SEAL_SHRINK) && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        (file.st_uid == geteuid() || geteuid() == 0) && file.st_size >= 2 * (off_t)ROOM_CELL_BYTES &&
        file.st_size <= (off_t)((ROOM_CELLS_MAX + 1) * ROOM_CELL_BYTES)) {
        map = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (map == MAP_FAILED) {
        return 0;
    }
    header = map;
    if (memcmp(header->magic, ROOM_MAGIC, sizeof header->magic) != 0 || header->version != ROOM_VERSION ||
        header->cells == 0 || header->cells > (uint64_t)file.st_size / ROOM_CELL_BYTES - 1) {
        munmap(map, (size_t)file.st_size);
        return 0;
    }
    cells = (struct cell *)map + 1;
    cell_count = header->cells;
    return 1;
}

/* Where the search for a rank's cell begins. */
static uint32_t home_of(uint64_t job, uint32_t rank) {
    return (uint32_t)((job ^ job >> 32) + rank) % cell_count;
}

static int claim(struct cell *cell, uint64_t before, uint64_t job, uint32_t rank) {
    if (!atomic_compare_exchange_strong(&cell->owner, &before, own_identity)) {
        return 0;
    }
    atomic_store(&cell->job, 0);
    atomic_store(&cell->asleep, 0);
    atomic_store(&cell->sleeps, 0);
    atomic_store(&cell->limits, 0);
    atomic_store(&cell->rank, rank);
    atomic_store_explicit(&cell->job, job, memory_order_release);
    own_cell = cell;
    return 1;
}

/* Whether a cell is that of this rank's process before it was started again, or before it called exec. */
static int is_of_predecessor(const struct cell *cell, uint64_t owner, uint64_t job, uint32_t rank) {
    return owner != 0 && atomic_load(&cell->job) == job && atomic_load(&cell->rank) == rank &&
           (owner == own_identity || is_gone(owner, 1));
}

/* Which cells a search takes, pass by pass. */
enum pass {
    PREDECESSOR, /* first, so that other ranks do not find the old cell instead of the new one */
    UNOWNED,
    LEFT, /* by a process whose id no process has: one system call a cell */
    LEFT_UNDER_A_USED_PID, /* last: whether a process has the id of a dead one is read from /proc, which is slow */
    PASSES
};

void room_open(uint64_t job, uint32_t rank) {
    const char *path = getenv(ROOM_ENV);
    uint32_t pid = (uint32_t)getpid(), pass, i, looked_up = 0;
    uint64_t start_time = paceline_lvt_start_time(pid, pid);
    if (path == NULL || path[0] == 0 || start_time == 0 || !map_room(path)) {
        return;
    }
    own_job = job;
    own_identity = identity(pid, start_time);
    for (pass = 0; pass < PASSES && own_cell == NULL; pass++) {
        for (i = 0; i < cell_count && own_cell == NULL; i++) {
            struct cell *cell = &cells[(home_of(job, rank) + i) % cell_count];
            uint64_t owner = atomic_load(&cell->owner);
            int is_wanted = 0;
            switch (pass) {
            case PREDECESSOR: is_wanted = is_of_predecessor(cell, owner, job, rank); break;
            case UNOWNED: is_wanted = owner == 0; break;
            case LEFT: is_wanted = is_gone(owner, 0); break;
            case LEFT_UNDER_A_USED_PID: is_wanted = looked_up++ < LOOKED_UP_MAX && is_gone(owner, 1); break;
            }
            if (is_wanted) {
                claim(cell, owner, job, rank);
            }
        }
    }
}

void room_close(void) {
    struct cell *cell = own_cell;
    uint64_t owner = own_identity;
    own_cell = NULL;
    if (cell != NULL) {
        atomic_store(&cell->job, 0);
        atomic_compare_exchange_strong(&cell->owner, &owner, 0);
    }
}

struct cell *room_own_cell(void) {
    return own_cell;
}

/* The cell of another rank of the same job, or NULL. */
struct cell *room_find(uint32_t rank) {
    for (uint32_t i = 0; own_cell != NULL && i < cell_count; i++) {
        struct cell *cell = &cells[(home_of(own_job, rank) + i) % cell_count];
        if (atomic_load_explicit(&cell->job, memory_order_acquire) == own_job && atomic_load(&cell->rank) == rank) {
            return cell;
        }
    }
    return NULL;
}
