/*
 * The part of paceline_lvt.h for guests of a Xen with one of our schedulers: the LVT goes to the hypervisor itself, which
 * runs first the virtual CPU that is furthest behind. The numbers are those of xen/include/paceline_xen.h.
 *
 * A report is a CPUID with a leaf of our own: in a PV guest by forced emulation, an invalid instruction that Xen and nobody
 * else understands; in others CPUID itself, which the hypervisor intercepts. No driver and no privilege is needed.
 *
 * Invariants:
 * - Nothing is executed that could end the program: forced emulation only where the kernel says that it is a PV guest of Xen.
 * - A report speaks for the virtual CPU that executes it: one simulating thread for each, which stays on it.
 */
#ifndef PACELINE_LVT_XEN_H
#define PACELINE_LVT_XEN_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How the hypervisor is reached, if it is. */
#define PACELINE_LVT_XEN_NONE 0u
#define PACELINE_LVT_XEN_FORCED 1u
#define PACELINE_LVT_XEN_CPUID 2u

/* The leaf, its subleaves, what a probe returns, and results. */
#define PACELINE_LVT_XEN_LEAF 0x50414345u
#define PACELINE_LVT_XEN_REPORT 0u
#define PACELINE_LVT_XEN_PROBE 1u
#define PACELINE_LVT_XEN_MAGIC 0x314c564cu
#define PACELINE_LVT_XEN_OK 0u
#define PACELINE_LVT_XEN_BACKWARDS 1u
#define PACELINE_LVT_XEN_OUTSIDE 2u
#define PACELINE_LVT_XEN_NO_REPORTS 3u
#define PACELINE_LVT_XEN_MALFORMED 4u

/* Xen has its leaves here, or a multiple of 256 further on where it imitates another hypervisor as well. */
#define PACELINE_LVT_XEN_SIGNATURES 0x40000000u
#define PACELINE_LVT_XEN_SIGNATURES_END 0x40010000u

typedef struct paceline_lvt_registers {
    uint64_t a, b, c, d;
} paceline_lvt_registers;

/* CPUID as the hypervisor answers it. */
static inline void paceline_lvt_xen_cpuid(uint32_t via, paceline_lvt_registers *r) {
#if defined(__x86_64__)
    if (via == PACELINE_LVT_XEN_FORCED) {
        /* ud2 and "xen" */
        __asm__ __volatile__(".byte 0x0f, 0x0b, 0x78, 0x65, 0x6e\n\tcpuid" : "+a"(r->a), "+b"(r->b), "+c"(r->c), "+d"(r->d));
    } else {
        __asm__ __volatile__("cpuid" : "+a"(r->a), "+b"(r->b), "+c"(r->c), "+d"(r->d));
    }
#else
    (void)via;
    r->a = PACELINE_LVT_XEN_NO_REPORTS;
#endif
}

/* One of the results; anything else is no answer of ours. */
static inline uint32_t paceline_lvt_xen_report(uint32_t via, uint64_t lvt_ns, uint32_t flags) {
    paceline_lvt_registers r;
    r.a = PACELINE_LVT_XEN_LEAF;
    r.b = lvt_ns;
    r.c = PACELINE_LVT_XEN_REPORT;
    r.d = flags;
    paceline_lvt_xen_cpuid(via, &r);
    return (uint32_t)r.a;
}

/* Whether a file holds this word and nothing else. */
static inline int paceline_lvt_xen_says(const char *folder, const char *file, const char *word) {
    char path[256], text[16];
    size_t length = strlen(word);
    ssize_t came = -1;
    int fd = snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        came = read(fd, text, sizeof text);
        close(fd);
    }
    return came == (ssize_t)length + 1 && memcmp(text, word, length) == 0 && text[length] == '\n';
}

/*
 * How reports reach a hypervisor that takes them. What the kernel says of it stands in `folder`, usually /sys/hypervisor. It
 * takes them if its leaves have Xen's signature, the probe is answered, and the first report, of a new simulation, is taken.
 */
static inline uint32_t paceline_lvt_xen_find(const char *folder, uint32_t flags) {
    paceline_lvt_registers r;
    uint32_t via, leaf;
    if (!paceline_lvt_xen_says(folder, "type", "xen")) {
        return PACELINE_LVT_XEN_NONE;
    }
    via = paceline_lvt_xen_says(folder, "guest_type", "PV") ? PACELINE_LVT_XEN_FORCED : PACELINE_LVT_XEN_CPUID;
    for (leaf = PACELINE_LVT_XEN_SIGNATURES; leaf < PACELINE_LVT_XEN_SIGNATURES_END; leaf += 0x100u) {
        r.a = leaf;
        r.b = r.c = r.d = 0;
        paceline_lvt_xen_cpuid(via, &r);
        if ((uint32_t)r.b == 0x566e6558u && (uint32_t)r.c == 0x65584d4du && (uint32_t)r.d == 0x4d4d566eu) {
            r.a = PACELINE_LVT_XEN_LEAF;
            r.b = r.d = 0;
            r.c = PACELINE_LVT_XEN_PROBE;
            paceline_lvt_xen_cpuid(via, &r);
            /* Without flags, a simulation that was there before is over. */
            return (uint32_t)r.b == PACELINE_LVT_XEN_MAGIC && paceline_lvt_xen_report(via, 0, 0) == PACELINE_LVT_XEN_OK &&
                           paceline_lvt_xen_report(via, 0, flags) == PACELINE_LVT_XEN_OK
                       ? via
                       : PACELINE_LVT_XEN_NONE;
        }
    }
    return PACELINE_LVT_XEN_NONE;
}

#endif
