/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hypercall: reports LVTs as kernels do, by the sub-operation of sched_op, and prints Xen's answer to each kind of report: one that
 * is accepted, and those that are refused. For dom0, whose user space may make hypercalls through
 * /dev/xen/privcmd; other domains' kernels do not let it. Afterwards the VCPU is as it was: it does not simulate.
 *
 * Prints one line of key=value: an answer each, which is a result of paceline_xen.h or minus an error number.
 */
#define _GNU_SOURCE
#include "../include/paceline_xen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What the kernel's privcmd takes: the number of a hypercall, and its arguments. */
struct privcmd_hypercall {
    uint64_t op, arguments[5];
};
#define PRIVCMD_HYPERCALL _IOC(_IOC_NONE, 'P', 0, sizeof(struct privcmd_hypercall))
#define SCHED_OP 29

static int privcmd;

static int sched_op(uint64_t operation, const void *argument) {
    struct privcmd_hypercall call = {SCHED_OP, {operation, (uintptr_t)argument, 0, 0, 0}};
    int answer = ioctl(privcmd, PRIVCMD_HYPERCALL, &call);
    return answer < 0 ? -errno : answer;
}

static int report(uint64_t lvt_ns, uint32_t flags, uint32_t reserved) {
    struct paceline_xen_report report = {lvt_ns, flags, reserved};
    return sched_op(PACELINE_XEN_SCHEDOP, &report);
}

int main(void) {
    const struct paceline_xen_register_page nowhere = {UINT64_MAX};
    privcmd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
    if (privcmd < 0) {
        fprintf(stderr, "hypercall: /dev/xen/privcmd: %s\n", strerror(errno));
        return 1;
    }
    printf("first=%d", report(1000, PACELINE_XEN_SIMULATION, 0));
    printf(" backwards=%d", report(999, PACELINE_XEN_SIMULATION, 0));
    printf(" flag=%d", report(2000, 1u << 31, 0));
    printf(" reserved=%d", report(2000, PACELINE_XEN_SIMULATION, 1));
    printf(" nowhere=%d", sched_op(PACELINE_XEN_SCHEDOP, (void *)8));
    printf(" outside=%d", report(5, 0, 0));
    printf(" over=%d", report(0, 0, 0));
    printf(" page=%d\n", sched_op(PACELINE_XEN_SCHEDOP_PAGE, &nowhere));
    close(privcmd);
    return 0;
}
