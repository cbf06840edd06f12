/*
 * The only program of a virtual machine whose VCPUs are paced: finds the shared memory of the machine (ivshmem-plain, PCI device
 * 1af4:1110), and publishes rising LVTs there from one process for each VCPU, all of which always want to run. No LVT rises to
 * FIRST_NS before all processes have begun: from then on the least LVT never falls.
 *
 * It is the first process of its guest, and never ends. It reports an error on the console, and powers off.
 */
#define _GNU_SOURCE
#include "paceline_lvt.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>

#define DEVICES "/sys/bus/pci/devices"
#define FIRST_NS 1000u

static void fail(const char *what)
{
	printf("guest: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	reboot(RB_POWER_OFF);
}

/* Whether the number in this file of a device is `number`. */
static int has(const char *device, const char *name, unsigned number)
{
	char path[512];
	unsigned found = 0;
	FILE *file;

	snprintf(path, sizeof path, DEVICES "/%s/%s", device, name);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%x", &found) != 1)
		found = 0;
	fclose(file);
	return found == number;
}

/* Enables the device, and names its memory in the environment of the processes that publish. */
static int name_page(void)
{
	char path[512];
	struct dirent *entry;
	DIR *devices = opendir(DEVICES);
	FILE *enable;

	while (devices != NULL && (entry = readdir(devices)) != NULL) {
		if (!has(entry->d_name, "vendor", 0x1af4) || !has(entry->d_name, "device", 0x1110))
			continue;
		snprintf(path, sizeof path, DEVICES "/%s/enable", entry->d_name);
		enable = fopen(path, "w");
		if (enable == NULL || fputs("1", enable) < 0 || fclose(enable) != 0)
			return -1;
		snprintf(path, sizeof path, DEVICES "/%s/resource2", entry->d_name);
		return setenv("PACELINE_LVT", path, 1);
	}
	errno = ENODEV;
	return -1;
}

/* `there`: how many processes have begun, of `processes`. */
static void simulate(long *there, long processes)
{
	paceline_lvt lvt = PACELINE_LVT_ABSENT;
	volatile uint64_t sink = 0;

	if (paceline_lvt_open(&lvt, "guest") != 0) {
		printf("guest: %s\n", lvt.error);
		fflush(stdout);
	}
	__atomic_add_fetch(there, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(there, __ATOMIC_ACQUIRE) < processes)
		sched_yield();
	for (uint64_t now_ns = FIRST_NS;; now_ns += 1000) {
		for (int i = 0; i < 10000; i++)
			sink += (uint64_t)i;
		paceline_lvt_publish(&lvt, now_ns);
	}
}

int main(void)
{
	long cpus, *there;

	if (mount("proc", "/proc", "proc", 0, NULL) != 0 || mount("sysfs", "/sys", "sysfs", 0, NULL) != 0)
		fail("mounting /proc and /sys");
	if (name_page() != 0)
		fail("looking for the shared memory");
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	printf("guest: %ld processes publish on %s\n", cpus, getenv("PACELINE_LVT"));
	fflush(stdout);
	there = mmap(NULL, sizeof *there, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (there == MAP_FAILED)
		fail("asking for memory");
	for (long i = 0; i < cpus; i++)
		if (fork() == 0)
			simulate(there, cpus);
	while (wait(NULL) > 0) {
	}
	fail("waiting");
	return 1;
}
