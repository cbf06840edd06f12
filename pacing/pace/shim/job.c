/*
 * Which job this process belongs to, and its rank there, before MPI is initialized.
 *
 * The rank is in the environment that the launcher sets. A job is identified by the namespace that PMIx gives it; without one, as
 * under MPICH's hydra, by the process that started the ranks: the nearest ancestor whose environment has no rank. So a rank that
 * a shell script starts belongs to the same job as one that the launcher starts itself.
 *
 * Invariant: if the job cannot be found out, the key differs or there is none; ranks with different keys do not find each other
 * and use no bells.
 */
#define _GNU_SOURCE
#include "../../lvt/include/paceline_lvt.h"

#include "shim.h"

#define ANCESTORS_MAX 16
#define ENVIRONMENT_BYTES_MAX (256u * 1024u)

static uint64_t hash(uint64_t state, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    while (length-- > 0) {
        state = (state ^ *byte++) * 0x100000001b3u;
    }
    return state;
}

int32_t job_rank(const char **variable) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        char *end;
        long rank = text == NULL ? -1 : strtol(text, &end, 10);
        if (rank >= 0 && rank < INT32_MAX && end != text && *end == 0) {
            *variable = names[i];
            return (int32_t)rank;
        }
    }
    return -1;
}

/* Reads a file of /proc up to the size of the buffer, and ends it with a NUL; returns its length, or -1. */
static ssize_t read_of(uint32_t pid, const char *file, char *text, size_t room) {
    char path[64];
    ssize_t length = 0, part = 1;
    int fd;
    snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    while (part > 0 && (size_t)length < room - 1) {
        part = read(fd, text + length, room - 1 - (size_t)length);
        length += part > 0 ? part : 0;
    }
    close(fd);
    text[length] = 0;
    return length;
}

/* The parent of a process, or 0. */
static uint32_t parent_of(uint32_t pid) {
    char text[1024];
    const char *field = read_of(pid, "stat", text, sizeof text) < 0 ? NULL : strrchr(text, ')');
    unsigned parent = 0;
    /* After the name come the state and the parent. */
    return field != NULL && sscanf(field + 1, " %*c %u", &parent) == 1 ? parent : 0;
}

/* Whether a process was started with this variable in its environment. */
static int has_variable(uint32_t pid, const char *name) {
    char *text = malloc(ENVIRONMENT_BYTES_MAX);
    ssize_t length = text == NULL ? -1 : read_of(pid, "environ", text, ENVIRONMENT_BYTES_MAX);
    size_t size = strlen(name);
    int found = 0;
    for (ssize_t at = 0; at < length && !found; at += (ssize_t)strlen(text + at) + 1) {
        found = strncmp(text + at, name, size) == 0 && text[at + (ssize_t)size] == '=';
    }
    free(text);
    return found;
}

/* Never 0. `variable` is the one that has the rank. */
uint64_t job_key(const char *variable) {
    const char *space = getenv("PMIX_NAMESPACE");
    uint64_t key = 0xcbf29ce484222325u, start;
    uint32_t pid = (uint32_t)getppid();
    if (space != NULL && space[0] != 0) {
        key = hash(key, space, strlen(space));
        return key != 0 ? key : 1;
    }
    for (int i = 0; i < ANCESTORS_MAX && pid > 1 && has_variable(pid, variable); i++) {
        pid = parent_of(pid);
    }
    start = paceline_lvt_start_time(pid, pid);
    key = hash(hash(key, &pid, sizeof pid), &start, sizeof start);
    return key != 0 ? key : 1;
}
