/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up QEMU's version and functions (qemu.h) in the running program. */
#define _GNU_SOURCE
#include "qemu.h"
#include "wire.h"

#include <dlfcn.h>
#include <stdio.h>

struct qemu_symbols qemu;
uint64_t qemu_version;

static void find_version(void) {
    VersionInfo *(*query)(void **error) = (VersionInfo * (*)(void **)) dlsym(RTLD_DEFAULT, "qmp_query_version");
    if (!query) refuse("this QEMU does not export its functions (qmp_query_version); it must be built with modules, as Debian's is");
    const VersionTriple *version = query(NULL)->qemu;
    qemu_version = (uint64_t)version->major << 32 | (uint64_t)version->minor << 16 | (uint64_t)version->micro;
    if (version->major != 10 && version->major != 11) {
        char text[100];
        snprintf(text, sizeof text, "QEMU %d.%d.%d is not known to work; allowed: 10.0 to 11.x", (int)version->major,
                 (int)version->minor, (int)version->micro);
        refuse(text);
    }
}

static void *find(const char *name) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol) {
        char text[200];
        snprintf(text, sizeof text, "QEMU %d.%d.%d does not export %s, which the plugin needs", (int)(qemu_version >> 32),
                 (int)(qemu_version >> 16 & 0xffff), (int)(qemu_version & 0xffff), name);
        refuse(text);
    }
    return symbol;
}

void find_qemu(void) {
    find_version();
#define FIND(type, name) qemu.name = (__typeof__(type))find(#name);
    QEMU_SYMBOLS(FIND)
}
