/*
 * Least local virtual time first: the tasks of a simulation that are furthest behind in simulated time run first.
 *
 * The tasks of the paced command have the policy SCHED_EXT; everything else stays in the fair class, which comes before
 * this one. The policy reads what a task publishes in the LVT page (pacing/lvt), which is a map of this program. All CPUs share
 * four queues, and a free CPU takes the first task that it finds in
 *
 *   OVERDUE    tasks that have waited too long, first come, first served: no task starves, whatever the page contains
 *   ORDINARY   tasks that publish nothing, by the CPU time that they have had; their share is according to their number. A turn that is
 *              given away by a yield counts as used up.
 *   LEAST      tasks by their LVT: the main part of the policy. Equals in the order of their arrival.
 *   WAITING    tasks that yielded or say that they wait, first come, first served. It is first every sixteenth turn, otherwise last.
 *
 * A task waits if it yields, or says that it waits, while its LVT has not changed in this slice and no message was passed. If it does
 * both, it waits whatever has changed. The task itself says so, or a preloaded library (pacing/pace/shim) that yields whenever it
 * waits. With such a library a task is paced even if it publishes no LVT: then it has that of the least.
 * A task that yields when it waits needs its turn for one poll only, and its wait may be over since the last one: if it is not
 * ahead of the first of LEAST, it has every other turn.
 *
 * A task is judged again after every slice. Slices are shorter than the kernel's tick, so a timer ends them. The same timer
 * looks for new slots, and for tasks that have waited too long (tick.bpf.h). The limit is shorter if the tasks that were taken for
 * their LVT are stuck, that is, have not advanced for longer than twice their usual event (state.bpf.h).
 *
 * Invariants: a slot counts only while its thread id and start time are those of the task, so the page may contain any
 * bytes; a task without a context or a slot is ordinary. A task that has yielded runs again only after its equals. No lock is held
 * by this program.
 *
 * After PSX, a scheduler for parallel simulations in Xen, and sched_ext's scx_simple.
 */
#include "state.bpf.h"
#include "tick.bpf.h"

/*
 * Chooses an idle CPU, but the task still goes through the shared queues: in that CPU's own queue it would be stranded if a task of
 * the fair class came first.
 */
SEC("struct_ops/paceline_select_cpu")
s32 paceline_select_cpu(u64 *ctx)
{
	bool idle = false;

	return scx_bpf_select_cpu_dfl((void *)ctx[0], (s32)ctx[1], ctx[2], &idle);
}

/* The CPU whose task of ours is furthest ahead of a given LVT. */
struct furthest {
	u64 lvt_ns;
	s64 cpu;
};

static long look_at_cpu(u32 index, struct furthest *furthest)
{
	const struct cpu *cpu = cpu_of(index);

	if (READ_ONCE(cpu->since_ns) && cpu->lvt_ns > furthest->lvt_ns) {
		furthest->lvt_ns = cpu->lvt_ns;
		furthest->cpu = index;
	}
	return 0;
}

SEC("struct_ops/paceline_enqueue")
void paceline_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 enq_flags = ctx[1], key;
	struct pace *pace = pace_of(p);
	struct furthest furthest = {.cpu = -1};
	u32 queue;

	if (!pace) {
		scx_bpf_dsq_insert(p, OVERDUE, settings.slice_ns, enq_flags);
		return;
	}
	if (!pace->queue || (enq_flags & SCX_ENQ_WAKEUP)) {
		/* A task that has slept neither polls nor is stuck, and it was woken for a reason. */
		pace->stuck_ns = 0;
		pace->yielded = 0;
		pace->advanced = 1;
		judge(p, pace);
	}
	queue = pace->queue;
	key = pace->key;
	pace->queued_ns = bpf_ktime_get_ns();
	if (queue == ORDINARY && ordinary_vtime_ns > settings.slice_ns && key < ordinary_vtime_ns - settings.slice_ns)
		key = pace->vtime_ns = ordinary_vtime_ns - settings.slice_ns;
	if (queue == LEAST || queue == ORDINARY)
		scx_bpf_dsq_insert_vtime(p, queue, settings.slice_ns, key, enq_flags);
	else
		scx_bpf_dsq_insert(p, queue, settings.slice_ns, enq_flags);

	if (queue == LEAST && (enq_flags & SCX_ENQ_WAKEUP)) {
		furthest.lvt_ns = key;
		bpf_loop(nr_cpus, look_at_cpu, &furthest, 0);
		if (furthest.cpu >= 0) {
			count(&report.kicks);
			scx_bpf_kick_cpu(furthest.cpu, SCX_KICK_PREEMPT);
		}
	}
}

/* The LVT of the first task in the queue of the least; NOT_LEAST: the queue is empty. */
static u64 least_key(void)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *head = NULL;
	u64 key = NOT_LEAST;

	if (!bpf_iter_scx_dsq_new(&it, LEAST, 0))
		head = bpf_iter_scx_dsq_next(&it);
	if (head)
		key = head->scx.dsq_vtime;
	bpf_iter_scx_dsq_destroy(&it);
	return key;
}

/* Whether the task that has waited longest yields when it waits, and has an LVT of at most `lvt`. */
static bool polls_behind(u64 lvt)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *head = NULL;
	struct pace *pace = NULL;
	bool polls;

	if (!bpf_iter_scx_dsq_new(&it, WAITING, 0))
		head = bpf_iter_scx_dsq_next(&it);
	if (head)
		pace = pace_of(head);
	polls = pace && pace->polls && pace->key <= lvt;
	bpf_iter_scx_dsq_destroy(&it);
	return polls;
}

/* Whether it is the turn of ordinary tasks: their part of the turns is their part of all tasks. */
static bool ordinary_turn(struct cpu *cpu)
{
	s32 ordinary = scx_bpf_dsq_nr_queued(ORDINARY), others;

	if (ordinary <= 0)
		return false;
	if (cpu->ordinary_in) {
		cpu->ordinary_in--;
		return false;
	}
	others = scx_bpf_dsq_nr_queued(LEAST) + scx_bpf_dsq_nr_queued(WAITING);
	cpu->ordinary_in = others > 0 ? (u32)others / (u32)ordinary : 0;
	return true;
}

static bool take(u64 queue, u64 *counter)
{
	if (!scx_bpf_dsq_move_to_local(queue))
		return false;
	count(counter);
	return true;
}

SEC("struct_ops/paceline_dispatch")
void paceline_dispatch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	struct cpu *cpu = cpu_of((s32)ctx[0]);
	struct pace *pace = NULL;
	u64 turn = cpu->turns++, least;
	bool keeps = false;

	if (prev && (prev->scx.flags & SCX_TASK_QUEUED)) {
		pace = pace_of(prev);
		if (pace) {
			judge(prev, pace);
			keeps = pace->queue == LEAST && pace->key < least_key();
		}
	}
	/* Preferably on a CPU whose own task does not delay all others. */
	if ((!keeps || cpu->stuck || turn % GRANT_TURNS == 0) && take(OVERDUE, &report.grants))
		return;
	if (ordinary_turn(cpu) && take(ORDINARY, &report.ordinary))
		return;
	if (turn % PROBE_TURNS == 0 && take(WAITING, &report.dispatches))
		return;
	if (turn % POLL_TURNS == 0 && scx_bpf_dsq_nr_queued(WAITING) > 0) {
		least = keeps ? pace->key : least_key();
		if (least != NOT_LEAST && polls_behind(least) && take(WAITING, &report.dispatches))
			return;
	}
	if (pace && keeps) {
		prev->scx.slice = settings.slice_ns;
		begin_slice(pace, cpu);
		count(&report.kept);
		return;
	}
	if (!take(LEAST, &report.dispatches) && !take(WAITING, &report.dispatches))
		take(ORDINARY, &report.ordinary);
}

SEC("struct_ops/paceline_running")
void paceline_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct pace *pace = pace_of(p);

	if (!pace)
		return;
	begin_slice(pace, cpu_of(bpf_get_smp_processor_id()));
	if (pace->queue == ORDINARY && pace->vtime_ns > ordinary_vtime_ns)
		ordinary_vtime_ns = pace->vtime_ns;
}

SEC("struct_ops/paceline_stopping")
void paceline_stopping(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct pace *pace = pace_of(p);

	cpu_of(bpf_get_smp_processor_id())->since_ns = 0;
	if (!pace)
		return;
	judge(p, pace);
	pace->since_ns = 0;
}

SEC("struct_ops/paceline_yield")
bool paceline_yield(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct pace *pace = pace_of(p);

	if (pace)
		pace->yielded = 1;
	p->scx.slice = 0;
	return false;
}

/* A task of another class takes the CPU: tasks in its own queue go back into the shared queues, for any CPU. */
SEC("struct_ops/paceline_cpu_release")
void paceline_cpu_release(u64 *ctx)
{
	scx_bpf_reenqueue_local();
}

SEC("struct_ops/paceline_enable")
void paceline_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct pace *pace = bpf_task_storage_get(&paces, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!pace)
		return;
	pace->start_time = start_time_of(p);
	pace->queue = 0;
	pace->since_ns = 0;
	pace->vtime_ns = ordinary_vtime_ns;
	pace->event_ns = 0;
	pace->patience_ns = STUCK_AT_FIRST * settings.stuck_ns;
}

SEC("struct_ops.s/paceline_init")
s32 paceline_init(u64 *ctx)
{
	struct ticker *the_ticker;
	u32 zero = 0;
	u64 queue;
	s32 error;

	nr_cpus = scx_bpf_nr_cpu_ids();
	if (!nr_cpus || nr_cpus > CPUS_MAX)
		return -22; /* EINVAL */
	for (queue = LEAST; queue <= OVERDUE; queue++) {
		error = scx_bpf_create_dsq(queue, -1);
		if (error)
			return error;
	}
	the_ticker = bpf_map_lookup_elem(&ticker, &zero);
	if (!the_ticker)
		return -22;
	/* Fails harmlessly when the policy is attached for a second time. */
	bpf_timer_init(&the_ticker->timer, &ticker, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&the_ticker->timer, tick);
	active = 1;
	report.exit_kind = 0;
	return bpf_timer_start(&the_ticker->timer, settings.slice_ns, 0);
}

SEC("struct_ops/paceline_exit")
void paceline_exit(u64 *ctx)
{
	const struct scx_exit_info *info = (void *)ctx[0];

	active = 0;
	bpf_probe_read_kernel_str(report.exit_reason, sizeof(report.exit_reason), info->reason);
	bpf_probe_read_kernel_str(report.exit_message, sizeof(report.exit_message), info->msg);
	WRITE_ONCE(report.exit_kind, info->kind);
}

SEC(".struct_ops.link")
struct sched_ext_ops paceline = {
	.select_cpu = (void *)paceline_select_cpu,
	.enqueue = (void *)paceline_enqueue,
	.dispatch = (void *)paceline_dispatch,
	.running = (void *)paceline_running,
	.stopping = (void *)paceline_stopping,
	.yield = (void *)paceline_yield,
	.cpu_release = (void *)paceline_cpu_release,
	.enable = (void *)paceline_enable,
	.init = (void *)paceline_init,
	.exit = (void *)paceline_exit,
	.flags = SCX_OPS_SWITCH_PARTIAL,
	.timeout_ms = 2000,
	.name = "paceline_least_lvt",
};

char _license[] SEC("license") = "Dual MIT/GPL";
