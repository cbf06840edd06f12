/*
 * The work of the timer, once per slice: it ends slices, finds the tasks of new slots, and moves tasks that have waited too long
 * to the first queue. Included by least_lvt.bpf.c, whose head describes the policy.
 *
 * Invariant: it runs in an interrupt, and holds no queue for longer than it takes to go through its tasks.
 */
#ifndef PACELINE_TICK_BPF_H
#define PACELINE_TICK_BPF_H

#include "state.bpf.h"

/* The result of a look at all CPUs. */
struct look {
	u64 now;
	u64 stuck;        /* whether a CPU has a task, taken for its LVT, that makes no progress */
	u64 getting_on;   /* whether a CPU has another task of ours */
	u64 stranded_ns;  /* longest time of a task in a CPU's own queue */
	u64 least_ns;     /* of the LVTs for which running tasks were taken; NOT_LEAST: none */
};

/* Ends the slice of a CPU whose task has used it up; wakes a CPU that has gone to sleep while a task waits. */
static long end_slice(u32 index, struct look *look)
{
	struct cpu *cpu = cpu_of(index);
	u64 since_ns = READ_ONCE(cpu->since_ns);

	if (!since_ns) {
		if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | index) <= 0)
			cpu->stranded_ns = 0;
		else if (!cpu->stranded_ns)
			cpu->stranded_ns = look->now;
		else if (look->now - cpu->stranded_ns > look->stranded_ns)
			look->stranded_ns = look->now - cpu->stranded_ns;
		scx_bpf_kick_cpu(index, SCX_KICK_IDLE);
		return 0;
	}
	cpu->stranded_ns = 0;
	/* Flags and not counts: the verifier would follow every value of a count. */
	look->stuck |= cpu->stuck;
	look->getting_on |= !cpu->stuck;
	if (cpu->publishes && cpu->lvt_ns < look->least_ns)
		look->least_ns = cpu->lvt_ns;
	if (report.queued && look->now > since_ns + settings.slice_ns / 2) {
		count(&report.kicks);
		scx_bpf_kick_cpu(index, SCX_KICK_PREEMPT);
	}
	return 0;
}

/* Checks whether the next slot has a new owner, and notes the slot in the owner's context. */
static long look_at_slot(u32 turn, void *nothing)
{
	u32 index = scanned++ % settings.slots + 1;
	const struct slot *slot = bpf_map_lookup_elem(&lvt_page, &index);
	struct task_struct *p;
	struct pace *pace;
	u64 owner;

	if (!slot || !slot->tid || !slot->start_time)
		return 0;
	owner = slot->start_time << 32 | slot->tid;
	if (resolved[index % SLOTS_MAX] == owner)
		return 0;
	p = bpf_task_from_pid(slot->tid);
	if (!p)
		return 0;
	pace = pace_of(p);
	if (pace && pace->start_time == slot->start_time) {
		pace->slot = index;
		resolved[index % SLOTS_MAX] = owner;
		count(&report.resolved);
	}
	bpf_task_release(p);
	return 0;
}

/*
 * Moves tasks that have waited for longer than `wait_ns` to the queue that is served first. Not static, so that the kernel verifies
 * it on its own and not once for each path that leads to it.
 */
__noinline int rescue(u64 queue, u64 now, u64 wait_ns)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct pace *pace;

	bpf_rcu_read_lock();
	if (!bpf_iter_scx_dsq_new(&it, queue, 0)) {
		while ((p = bpf_iter_scx_dsq_next(&it))) {
			pace = pace_of(p);
			if (pace && now > pace->queued_ns + wait_ns)
				scx_bpf_dsq_move(&it, p, OVERDUE, 0);
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

/* The least LVT of the tasks that publish and wait for a CPU, or `least_ns` if that is less. Not static: see above. */
__noinline u64 least_queued(u64 least_ns)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct pace *pace;

	bpf_rcu_read_lock();
	if (!bpf_iter_scx_dsq_new(&it, LEAST, 0)) {
		while ((p = bpf_iter_scx_dsq_next(&it))) {
			pace = pace_of(p);
			if (!pace || !pace->publishes)
				continue;
			if (pace->key < least_ns)
				least_ns = pace->key;
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	bpf_rcu_read_unlock();
	return least_ns;
}

/*
 * How long a task may wait. All waiting tasks together are guaranteed a tenth of the machine. If a task that was taken for its LVT
 * makes no progress, it may work on a long event, or may poll for what another task has to do first; the policy cannot know
 * which, so the others together get half of the machine.
 */
__noinline u64 patience(u32 stuck)
{
	u64 wait_ns = report.queued * settings.slice_ns * (stuck ? 2 : 10) / nr_cpus;

	if (!stuck && wait_ns < settings.wait_max_ns)
		wait_ns = settings.wait_max_ns;
	return wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS;
}

static int tick(void *map, u32 *key, struct ticker *ticker)
{
	struct look look = {.now = bpf_ktime_get_ns(), .least_ns = NOT_LEAST};
	u64 wait_ns, least_ns;
	bool stuck;

	if (!active)
		return 0;
	report.queued = scx_bpf_dsq_nr_queued(LEAST) + scx_bpf_dsq_nr_queued(WAITING) + scx_bpf_dsq_nr_queued(ORDINARY) +
		      scx_bpf_dsq_nr_queued(OVERDUE);
	bpf_loop(nr_cpus, end_slice, &look, 0);
	report.stranded_ns = look.stranded_ns;
	bpf_loop(SLOTS_PER_TICK, look_at_slot, NULL, 0);
	stuck = look.stuck && !look.getting_on;
	if (report.queued && (stuck || ++ticks % RESCUE_TICKS == 0)) {
		wait_ns = patience(stuck);
		rescue(LEAST, look.now, wait_ns);
		rescue(WAITING, look.now, wait_ns);
		rescue(ORDINARY, look.now, wait_ns);
		least_ns = least_queued(look.least_ns);
		if (least_ns <= LVT_MAX)
			least_lvt_ns = least_ns;
	}
	bpf_timer_start(&ticker->timer, settings.slice_ns, 0);
	return 0;
}

#endif
