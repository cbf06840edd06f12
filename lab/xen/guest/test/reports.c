/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What paceline_lvt.h reports to a hypervisor, seen from its side: this program is guest and hypervisor in one. A forced emulation
 * is an invalid instruction here, so the signal for that arrives, and its handler answers as Xen with one of our schedulers
 * would, by the numbers of paceline_xen.h. Prints what was reported, a line each: LVT and flags.
 *
 * reports FOLDER MODE: FOLDER has the files in which a kernel describes the hypervisor. MODE is the kind of hypervisor: `ours`,
 * `plain` (Xen without our schedulers, whose leaves end early) or `mute` (a scheduler of ours that takes no reports).
 *
 * State: what was reported last. One thread; the handler runs within the instruction that it answers.
 */
#define _GNU_SOURCE
#include "../../../../pacing/lvt/include/paceline_lvt.h"
#include "../../include/paceline_xen.h"

#include <inttypes.h>
#include <sys/wait.h>
#include <ucontext.h>

/* The general header has its own copies of the numbers, because it must not include the hypervisor's header. */
#define SAME(ours, xens) _Static_assert((ours) == (xens), #ours " is " #xens)
SAME(PACELINE_LVT_XEN_LEAF, PACELINE_XEN_LEAF);
SAME(PACELINE_LVT_XEN_REPORT, PACELINE_XEN_SUBLEAF_REPORT);
SAME(PACELINE_LVT_XEN_PROBE, PACELINE_XEN_SUBLEAF_PROBE);
SAME(PACELINE_LVT_XEN_MAGIC, PACELINE_XEN_MAGIC);
SAME(PACELINE_LVT_SIMULATION, PACELINE_XEN_SIMULATION);
SAME(PACELINE_LVT_WAITING, PACELINE_XEN_WAITING);
SAME(PACELINE_LVT_MAX, PACELINE_XEN_LVT_MAX);
SAME(PACELINE_LVT_DONE, PACELINE_XEN_DONE);
SAME(PACELINE_LVT_XEN_OK, PACELINE_XEN_OK);
SAME(PACELINE_LVT_XEN_BACKWARDS, PACELINE_XEN_BACKWARDS);
SAME(PACELINE_LVT_XEN_OUTSIDE, PACELINE_XEN_OUTSIDE);
SAME(PACELINE_LVT_XEN_NO_REPORTS, PACELINE_XEN_NO_REPORTS);
SAME(PACELINE_LVT_XEN_MALFORMED, PACELINE_XEN_MALFORMED);

static const unsigned char forced_cpuid[] = {0x0f, 0x0b, 'x', 'e', 'n', 0x0f, 0xa2};
static const char *mode;
static uint64_t told_ns;
static uint32_t told_flags;

/* The hypervisor's result of a report. */
static uint32_t result(uint64_t lvt_ns, uint64_t flags) {
    if (strcmp(mode, "mute") == 0) {
        return PACELINE_XEN_NO_REPORTS;
    }
    if (flags > (PACELINE_XEN_SIMULATION | PACELINE_XEN_WAITING) ||
        (lvt_ns > PACELINE_XEN_LVT_MAX && lvt_ns != PACELINE_XEN_DONE)) {
        return PACELINE_XEN_MALFORMED;
    }
    if (!(flags & PACELINE_XEN_SIMULATION) && lvt_ns != 0) {
        return PACELINE_XEN_OUTSIDE;
    }
    if ((flags & told_flags & PACELINE_XEN_SIMULATION) && told_ns != PACELINE_XEN_DONE && lvt_ns < told_ns) {
        return PACELINE_XEN_BACKWARDS;
    }
    told_ns = lvt_ns;
    told_flags = (uint32_t)flags;
    return PACELINE_XEN_OK;
}

static void answer(int signal, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint32_t leaf = (uint32_t)r[REG_RAX], subleaf = (uint32_t)r[REG_RCX], found = 0, magic = 0;
    (void)signal;
    (void)info;
    if (memcmp((const void *)r[REG_RIP], forced_cpuid, sizeof forced_cpuid) != 0) {
        _exit(3);
    }
    r[REG_RIP] += sizeof forced_cpuid;
    /* The signature is one step further, as after the leaves for another guest system. */
    if (leaf == PACELINE_LVT_XEN_SIGNATURES + 0x100) {
        r[REG_RAX] = leaf + 5;
        r[REG_RBX] = 0x566e6558;
        r[REG_RCX] = 0x65584d4d;
        r[REG_RDX] = 0x4d4d566e;
        return;
    }
    if (leaf == PACELINE_XEN_LEAF && strcmp(mode, "plain") != 0) {
        if (subleaf == PACELINE_XEN_SUBLEAF_PROBE) {
            magic = PACELINE_XEN_MAGIC;
        } else {
            found = result((uint64_t)r[REG_RBX], (uint64_t)r[REG_RDX]);
            printf("%s %" PRIu64 " %" PRIu64 "\n", found == PACELINE_XEN_OK ? "taken" : "refused", (uint64_t)r[REG_RBX],
                   (uint64_t)r[REG_RDX]);
        }
    }
    r[REG_RAX] = found;
    r[REG_RBX] = magic;
    r[REG_RCX] = r[REG_RDX] = 0;
}

int main(int count, char **arguments) {
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    struct sigaction action;
    pid_t child;
    if (count != 3) {
        return 2;
    }
    mode = arguments[2];
    setvbuf(stdout, NULL, _IONBF, 0);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, NULL);
    if (paceline_lvt_open_xen(&lvt, arguments[1]) != 0) {
        return 1;
    }
    printf("%s\n", paceline_lvt_is_present(&lvt) ? "present" : "absent");
    paceline_lvt_publish(&lvt, 1000);
    paceline_lvt_publish(&lvt, 400);
    printf("backwards %" PRIu64 "\n", lvt.backwards);
    paceline_lvt_set_lookahead(&lvt, 100);
    paceline_lvt_publish(&lvt, 1100);
    paceline_lvt_publish(&lvt, 1101);
    paceline_lvt_set_waiting(&lvt, 1);
    child = fork();
    if (child == 0) {
        paceline_lvt_publish(&lvt, 9000);
        paceline_lvt_close(&lvt);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    paceline_lvt_publish_done(&lvt);
    paceline_lvt_set_waiting(&lvt, 0);
    paceline_lvt_publish(&lvt, UINT64_MAX - 5);
    paceline_lvt_set_simulation(&lvt, 0);
    paceline_lvt_set_simulation(&lvt, 1);
    paceline_lvt_close(&lvt);
    paceline_lvt_publish(&lvt, 1);
    return 0;
}
