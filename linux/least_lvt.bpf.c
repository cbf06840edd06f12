/*
 * Least local virtual time first: the tasks of a simulation that are furthest behind in simulated time run first.
 *
 * The tasks of the paced command have the policy SCHED_EXT; everything else stays in the fair class, which outranks this
 * one. What a task publishes it finds in the LVT page (crates/lvt), which is a map of this program. All CPUs share five
 * queues, and a free CPU takes the first task that it finds in
 *
 *   OVERDUE    tasks that have waited too long, first come, first served: nobody starves, whatever the page says
 *   ORDINARY   tasks that publish nothing, by the CPU time that they have had; a share according to their number
 *   LEAST      tasks by their LVT: the heart of the policy
 *   WAITING    tasks that yielded or say that they wait, with an unchanged LVT. Every sixteenth turn, and else last.
 *
 * A task is asked again after every slice. Slices are shorter than the kernel's tick, so a timer ends them. The same timer
 * looks for new slots, and for tasks that have waited too long.
 *
 * Invariants: a slot counts only while its thread id and start time are those of the task, so any bytes may stand in the
 * page; a task without a context or a slot is ordinary. No lock is held by this program.
 *
 * After Jha et al. and the scheduler of parallel simulations in Xen by Yoginath and Perumalla, and sched_ext's scx_simple.
 */
#include "scx.bpf.h"
#include "least_lvt.h"

enum queue { LEAST = 1, WAITING, ORDINARY, OVERDUE };

/* Simulation mode, and waiting: flags in a slot of the page. */
#define SIMULATION 1U
#define SAYS_WAITING 2U
#define LVT_MAX ((1ULL << 63) - 1)
#define NOT_LEAST (~0ULL)

#define SLOTS_MAX 4096
#define CPUS_MAX 512
#define TICK_NS_PER_CLOCK_TICK 10000000ULL /* start times are told in hundredths of a second */
#define SLOTS_PER_TICK 128
#define RESCUE_TICKS 4
#define WAIT_MAX_NS 800000000ULL
#define PROBE_TURNS 16
#define STUCK_MAX 10

struct slot {
	u64 lvt_ns;
	u32 flags;
	u32 tid;
	u64 start_time;
	u64 rest[5];
};

/* What is known of a task. */
struct pace {
	u32 slot;         /* its slot, 0: none */
	u32 queue;        /* where it belongs, as judged last; 0: not judged yet */
	u64 key;          /* by what it is ordered there */
	u64 start_time;   /* as in the page */
	u64 lvt_ns;       /* when it was judged last */
	u64 stuck_ns;     /* CPU time since its LVT changed */
	u64 event_ns;     /* usual CPU time from one change to the next */
	u64 patience_ns;  /* CPU time without a change after which it is stuck */
	u64 since_ns;     /* when it was judged last while it ran; 0: it does not run */
	u64 queued_ns;    /* when it was put into a queue */
	u64 vtime_ns;     /* weighted CPU time while it was ordinary */
	u32 advanced;     /* whether its LVT has changed in this slice */
	u32 yielded;      /* whether it has yielded in this slice */
};

/* Which task of ours a CPU runs. */
struct cpu {
	u64 since_ns;     /* of this slice; 0: none of ours */
	u64 lvt_ns;       /* of its task; NOT_LEAST: it is here for another reason than its LVT */
	u64 turns;        /* how often it has looked for a task */
	u64 ordinary_in;  /* turns until an ordinary task has its own */
	u64 stuck;        /* whether its task, taken for its LVT, has not changed that for long */
	u64 stranded_ns;  /* since when tasks lie in its own queue while it runs none of ours; 0: none */
	u64 pad[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1025);
	__type(key, u32);
	__type(value, struct slot);
	__uint(map_flags, BPF_F_MMAPABLE);
} lvt_page SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, s32);
	__type(value, struct pace);
} paces SEC(".maps");

struct ticker {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ticker);
} ticker SEC(".maps");

const volatile struct settings settings = {
	.slice_ns = 500000, .stuck_ns = 10000000, .wait_max_ns = 25000000, .slots = 1024,
};
struct told told SEC(".bss.told");

static struct cpu cpus[CPUS_MAX];
static u64 resolved[SLOTS_MAX]; /* thread id and start time of the task that was last found for a slot */
static u32 nr_cpus;
static u32 scanned;             /* slots, cyclically */
static u32 ticks;
u32 active;                     /* not static: the compiler would make a bool of it, which its size in the BTF contradicts */
static u64 ordinary_vtime_ns;   /* about the least of all ordinary tasks */

static __always_inline void count(u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

static __always_inline struct pace *pace_of(struct task_struct *p)
{
	return bpf_task_storage_get(&paces, p, NULL, 0);
}

static __always_inline struct cpu *cpu_of(s32 cpu)
{
	return &cpus[(u32)cpu % CPUS_MAX];
}

static __always_inline u64 start_time_of(const struct task_struct *p)
{
	return p->start_boottime / TICK_NS_PER_CLOCK_TICK;
}

/* The slot of a task that publishes its LVT, and is in simulation mode. */
static __always_inline struct slot *slot_of(const struct task_struct *p, const struct pace *pace)
{
	u32 index = pace->slot;
	struct slot *slot;

	if (!index)
		return NULL;
	slot = bpf_map_lookup_elem(&lvt_page, &index);
	if (!slot || slot->tid != (u32)p->pid || slot->start_time != pace->start_time)
		return NULL;
	return READ_ONCE(slot->flags) & SIMULATION ? slot : NULL;
}

/* An event has taken `took_ns`: what is thought usual goes up at once and down slowly. */
static __always_inline void learn(struct pace *pace, u64 took_ns)
{
	u64 patience_ns;

	if (took_ns > pace->event_ns)
		pace->event_ns = took_ns;
	else
		pace->event_ns -= (pace->event_ns - took_ns) / 8;
	patience_ns = 2 * pace->event_ns;
	if (patience_ns < settings.stuck_ns)
		patience_ns = settings.stuck_ns;
	pace->patience_ns = patience_ns < STUCK_MAX * settings.stuck_ns ? patience_ns : STUCK_MAX * settings.stuck_ns;
}

/* Counts the time since the task was judged last, and says where it belongs now. */
static void judge(struct task_struct *p, struct pace *pace)
{
	const struct slot *slot = slot_of(p, pace);
	u64 now = bpf_ktime_get_ns(), ran_ns = 0, stuck_ns, lvt;
	u32 queue = LEAST;

	if (pace->since_ns) {
		ran_ns = now - pace->since_ns;
		pace->since_ns = now;
		__sync_fetch_and_add(&told.ran_ns, ran_ns);
	}
	if (!slot) {
		pace->vtime_ns += ran_ns * 100 / (p->scx.weight ? p->scx.weight : 100);
		pace->key = pace->vtime_ns;
		pace->queue = ORDINARY;
		return;
	}
	lvt = READ_ONCE(slot->lvt_ns);
	stuck_ns = pace->stuck_ns + ran_ns;
	if (lvt != pace->lvt_ns) {
		learn(pace, stuck_ns);
		pace->lvt_ns = lvt;
		pace->advanced = 1;
		stuck_ns = 0;
	} else if (stuck_ns >= pace->patience_ns && pace->stuck_ns < pace->patience_ns) {
		count(&told.doubtful);
	}
	pace->stuck_ns = stuck_ns;
	if (lvt > LVT_MAX) {
		queue = WAITING;
	} else if (pace->advanced) {
		queue = LEAST;
	} else if (pace->yielded || (READ_ONCE(slot->flags) & SAYS_WAITING)) {
		queue = WAITING;
		if (pace->queue != WAITING)
			count(&told.waiting);
	}
	pace->key = lvt;
	pace->queue = queue;
}

/* A slice begins. */
static void begin_slice(struct pace *pace, struct cpu *cpu)
{
	u64 now = bpf_ktime_get_ns();

	pace->since_ns = now;
	pace->advanced = 0;
	pace->yielded = 0;
	cpu->lvt_ns = pace->queue == LEAST ? pace->key : NOT_LEAST;
	cpu->stuck = pace->queue == LEAST && pace->stuck_ns >= pace->patience_ns;
	WRITE_ONCE(cpu->since_ns, now);
}

/*
 * An idle CPU is chosen, but the task goes through the queues even so: put into that CPU's own queue it would be stranded if a
 * task of the fair class came first.
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
		/* Who has slept has neither polled nor been stuck, and was woken for a reason. */
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
			count(&told.kicks);
			scx_bpf_kick_cpu(furthest.cpu, SCX_KICK_PREEMPT);
		}
	}
}

/* Whether nobody in the queue of the least has an LVT of at most `lvt`. */
static bool leads(u64 lvt)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *head = NULL;
	bool leads;

	if (!bpf_iter_scx_dsq_new(&it, LEAST, 0))
		head = bpf_iter_scx_dsq_next(&it);
	leads = !head || head->scx.dsq_vtime > lvt;
	bpf_iter_scx_dsq_destroy(&it);
	return leads;
}

/* Whether it is the turn of ordinary tasks: they have as many turns as there are of them among all. */
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
	u64 turn = cpu->turns++;

	if (prev && (prev->scx.flags & SCX_TASK_QUEUED)) {
		pace = pace_of(prev);
		if (pace)
			judge(prev, pace);
	}
	if (take(OVERDUE, &told.grants))
		return;
	if (ordinary_turn(cpu) && take(ORDINARY, &told.ordinary))
		return;
	if (turn % PROBE_TURNS == 0 && take(WAITING, &told.dispatches))
		return;
	if (pace && pace->queue == LEAST && leads(pace->key)) {
		prev->scx.slice = settings.slice_ns;
		begin_slice(pace, cpu);
		count(&told.kept);
		return;
	}
	if (!take(LEAST, &told.dispatches) && !take(WAITING, &told.dispatches))
		take(ORDINARY, &told.ordinary);
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

/* A task of another class takes the CPU: what was to run there goes back into the queues, for any CPU. */
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
	pace->patience_ns = STUCK_MAX * settings.stuck_ns;
}

/* What a look at all CPUs finds. */
struct look {
	u64 now;
	u64 stuck;        /* whether a CPU has a task, taken for its LVT, that does not get on */
	u64 getting_on;   /* whether one has another task of ours */
	u64 stranded_ns;  /* for how long a task lies in a CPU's own queue at most */
};

/* Ends the slice of a CPU whose task has had it; wakes a CPU that has gone to sleep while somebody waits. */
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
	/* Not counted: the verifier would follow every number. */
	look->stuck |= cpu->stuck;
	look->getting_on |= !cpu->stuck;
	if (told.queued && look->now > since_ns + settings.slice_ns / 2) {
		count(&told.kicks);
		scx_bpf_kick_cpu(index, SCX_KICK_PREEMPT);
	}
	return 0;
}

/* Looks whether the next slot has got an owner, and tells the owner's context. */
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
		count(&told.resolved);
	}
	bpf_task_release(p);
	return 0;
}

/*
 * Moves tasks that have waited for longer than `wait_ns` to where they are taken first. Not static, so that the kernel verifies
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

/*
 * How long a task may wait. All waiting tasks together are promised a tenth of the machine. Where a task that was taken for
 * its LVT does not get on, it may be at work on a long event, or may poll for what another task has to do first; nobody knows
 * which, so the others together get half of the machine.
 */
__noinline u64 patience(u32 stuck)
{
	u64 wait_ns = told.queued * settings.slice_ns * (stuck ? 2 : 10) / nr_cpus;

	if (!stuck && wait_ns < settings.wait_max_ns)
		wait_ns = settings.wait_max_ns;
	return wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS;
}

static int tick(void *map, u32 *key, struct ticker *ticker)
{
	struct look look = {.now = bpf_ktime_get_ns()};
	u64 wait_ns;
	bool stuck;

	if (!active)
		return 0;
	told.queued = scx_bpf_dsq_nr_queued(LEAST) + scx_bpf_dsq_nr_queued(WAITING) + scx_bpf_dsq_nr_queued(ORDINARY) +
		      scx_bpf_dsq_nr_queued(OVERDUE);
	bpf_loop(nr_cpus, end_slice, &look, 0);
	told.stranded_ns = look.stranded_ns;
	bpf_loop(SLOTS_PER_TICK, look_at_slot, NULL, 0);
	stuck = look.stuck && !look.getting_on;
	if (settings.wait_max_ns && told.queued && (stuck || ++ticks % RESCUE_TICKS == 0)) {
		wait_ns = patience(stuck);
		rescue(LEAST, look.now, wait_ns);
		rescue(WAITING, look.now, wait_ns);
		rescue(ORDINARY, look.now, wait_ns);
	}
	bpf_timer_start(&ticker->timer, settings.slice_ns, 0);
	return 0;
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
	told.exit_kind = 0;
	return bpf_timer_start(&the_ticker->timer, settings.slice_ns, 0);
}

SEC("struct_ops/paceline_exit")
void paceline_exit(u64 *ctx)
{
	const struct scx_exit_info *info = (void *)ctx[0];

	active = 0;
	bpf_probe_read_kernel_str(told.exit_reason, sizeof(told.exit_reason), info->reason);
	bpf_probe_read_kernel_str(told.exit_message, sizeof(told.exit_message), info->msg);
	WRITE_ONCE(told.exit_kind, info->kind);
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
