/*
 * Finds the functions that the shim's wrappers wrap.
 *
 * Usually they are in a library that was loaded after the shim. If a program has loaded its MPI library with dlopen, as
 * Python's mpi4py does, that library is not in the global scope; it is then found among the libraries of the caller.
 *
 * Invariant: what is returned is never the shim's own function.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "shim.h"

/* Searches the object that contains the address `caller`, and the libraries with which it was linked. */
static void *find_from(const char *name, const void *caller) {
    struct link_map *map = NULL;
    void *object, *found;
    Dl_info info;
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_name[0] == 0) {
        return NULL;
    }
    object = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (object == NULL) {
        return NULL;
    }
    found = dlsym(object, name);
    /* The caller's code keeps it loaded. */
    dlclose(object);
    return found;
}

void *find_symbol(const char *name, const void *own, const void *caller) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL || found == own) {
        found = find_from(name, caller);
    }
    return found == own ? NULL : found;
}

void *find_real(const char *name, const void *own, const void *caller) {
    void *found = find_symbol(name, own, caller);
    if (found == NULL) {
        fprintf(stderr, "paceline: symbol lookup error: undefined symbol: %s\n", name);
        _exit(127);
    }
    return found;
}
