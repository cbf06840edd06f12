/*
 * The policy's state of the page, of each task and of each CPU, and how a task is judged by it. Included by least_lvt.bpf.c, whose
 * head describes the policy.
 *
 * Invariant: a slot counts only while its thread id and start time are those of the task, so the page may contain any bytes.
 */
#ifndef PACELINE_STATE_BPF_H
#define PACELINE_STATE_BPF_H

#include "scx.bpf.h"
#include "least_lvt.h"

enum queue { LEAST = 1, WAITING, ORDINARY, OVERDUE };

/* In `flags` of a slot: simulation mode, and waiting. In `library`: it yields whenever it waits, and it waits now. */
#define SIMULATION 1U
#define SAYS_WAITING 2U
#define LIBRARY_YIELDS 1U
#define LIBRARY_WAITING 2U
#define LVT_MAX ((1ULL << 63) - 1)
#define NOT_LEAST (~0ULL)

#define SLOTS_MAX 4096
#define CPUS_MAX 512
#define CLOCK_TICK_NS 10000000ULL /* /proc gives start times in hundredths of a second */
#define SLOTS_PER_TICK 128
#define RESCUE_TICKS 4
#define WAIT_MAX_NS 800000000ULL
#define PROBE_TURNS 16
#define POLL_TURNS 2
#define GRANT_TURNS 4
#define STUCK_AT_FIRST 20   /* patience in settings.stuck_ns, while nothing is known of the task */
#define STUCK_MAX 50

struct slot {
	u64 lvt_ns;
	u32 flags;
	u32 tid;
	u64 start_time;
	u32 pid;
	u32 library;
	u64 name[3];
	u64 messages;
};

/* What is known of a task. */
struct pace {
	u32 slot;         /* its slot; 0: none */
	u32 queue;        /* where it belongs, as judged last; 0: not judged yet */
	u64 key;          /* its key in that queue */
	u64 start_time;   /* as in the page */
	u64 lvt_ns;       /* when it was judged last */
	u64 messages;     /* the messages it had passed then */
	u64 stuck_ns;     /* CPU time since its LVT changed, or a message was passed */
	u64 event_ns;     /* usual CPU time from one change to the next */
	u64 patience_ns;  /* CPU time without a change after which it is stuck */
	u64 since_ns;     /* when it was judged last while it ran; 0: it does not run */
	u64 queued_ns;    /* when it was put into a queue */
	u64 vtime_ns;     /* weighted CPU time while it was ordinary */
	u32 advanced;     /* whether its LVT has changed in this slice, or a message was passed */
	u32 yielded;      /* whether it has yielded in this slice */
	u32 publishes;    /* whether the key is its own LVT */
	u32 polls;        /* whether it yields when it waits: its turn is short */
};

/* Which task of ours a CPU runs. */
struct cpu {
	u64 since_ns;     /* of this slice; 0: none of ours */
	u64 lvt_ns;       /* of its task; NOT_LEAST: it was taken for another reason than its LVT */
	u64 turns;        /* how often it has looked for a task */
	u64 ordinary_in;  /* turns until an ordinary task has its own */
	u64 stuck;        /* whether its task, taken for its LVT, has not changed that for long */
	u64 stranded_ns;  /* since when tasks lie in its own queue while it runs none of ours; 0: none */
	u64 publishes;    /* whether `lvt_ns` is its task's own */
	u64 pad;
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
struct report report SEC(".bss.report");

static struct cpu cpus[CPUS_MAX];
static u64 resolved[SLOTS_MAX]; /* thread id and start time of the task that was last found for a slot */
static u32 nr_cpus;
static u32 scanned;             /* number of slots scanned; wraps around */
static u32 ticks;
u32 active;                     /* not static: the compiler would make it a bool, which contradicts its size in the BTF */
static u64 ordinary_vtime_ns;   /* approximately the least of all ordinary tasks */
static u64 least_lvt_ns;        /* of the tasks that publish and do not wait, some slices ago at most; 0 before the first */

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
	return p->start_boottime / CLOCK_TICK_NS;
}

/* The slot of a task that is paced: it publishes its LVT and is in simulation mode, or its library says when it waits. */
static __always_inline struct slot *slot_of(const struct task_struct *p, const struct pace *pace)
{
	u32 index = pace->slot;
	struct slot *slot;

	if (!index)
		return NULL;
	slot = bpf_map_lookup_elem(&lvt_page, &index);
	if (!slot || slot->tid != (u32)p->pid || slot->start_time != pace->start_time)
		return NULL;
	return (READ_ONCE(slot->flags) & SIMULATION) || (READ_ONCE(slot->library) & LIBRARY_YIELDS) ? slot : NULL;
}

/* Notes that an event has taken `took_ns`: the estimate of the usual time rises at once and falls slowly. */
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

/* Counts the time since the task was judged last, and returns it. */
static __always_inline u64 count_time(struct pace *pace)
{
	u64 now, ran_ns;

	if (!pace->since_ns)
		return 0;
	now = bpf_ktime_get_ns();
	ran_ns = now - pace->since_ns;
	pace->since_ns = now;
	__sync_fetch_and_add(&report.ran_ns, ran_ns);
	return ran_ns;
}

/* Charges an ordinary task for its CPU time, and for a turn that it gives away, so that others get it. */
static __always_inline void judge_ordinary(struct task_struct *p, struct pace *pace, u64 ran_ns)
{
	if (pace->yielded && ran_ns < settings.slice_ns)
		ran_ns = settings.slice_ns;
	pace->yielded = 0;
	pace->vtime_ns += ran_ns * 100 / (p->scx.weight ? p->scx.weight : 100);
	pace->key = pace->vtime_ns;
	pace->queue = ORDINARY;
}

/* Counts the time since the task was judged last, and decides in which queue it belongs now. */
static void judge(struct task_struct *p, struct pace *pace)
{
	const struct slot *slot = slot_of(p, pace);
	u64 ran_ns = count_time(pace), stuck_ns, lvt, messages;
	u32 queue = LEAST, flags, library;
	bool says_waiting;

	if (!slot) {
		judge_ordinary(p, pace, ran_ns);
		return;
	}
	flags = READ_ONCE(slot->flags);
	library = READ_ONCE(slot->library);
	messages = READ_ONCE(slot->messages);
	pace->publishes = flags & SIMULATION;
	lvt = pace->publishes ? READ_ONCE(slot->lvt_ns) : least_lvt_ns;
	stuck_ns = pace->stuck_ns + ran_ns;
	if (messages != pace->messages || (pace->publishes && lvt != pace->lvt_ns)) {
		learn(pace, stuck_ns);
		pace->advanced = 1;
		stuck_ns = 0;
	} else if (stuck_ns >= pace->patience_ns && pace->stuck_ns < pace->patience_ns) {
		count(&report.stuck);
	}
	pace->lvt_ns = lvt;
	pace->messages = messages;
	pace->stuck_ns = stuck_ns;
	says_waiting = (flags & SAYS_WAITING) || (library & LIBRARY_WAITING);
	if (lvt > LVT_MAX) {
		queue = WAITING;
	} else if ((pace->yielded && says_waiting) || (!pace->advanced && (pace->yielded || says_waiting))) {
		/* A task that yields and says that it waits does wait now, whatever it did before in this slice. */
		queue = WAITING;
		if (pace->queue != WAITING)
			count(&report.waiting);
	}
	pace->polls = pace->yielded || (library & LIBRARY_YIELDS);
	pace->key = lvt;
	pace->queue = queue;
}

/* Begins a slice. */
static void begin_slice(struct pace *pace, struct cpu *cpu)
{
	u64 now = bpf_ktime_get_ns();

	pace->since_ns = now;
	pace->advanced = 0;
	pace->yielded = 0;
	cpu->lvt_ns = pace->queue == LEAST ? pace->key : NOT_LEAST;
	cpu->publishes = pace->publishes;
	cpu->stuck = pace->queue == LEAST && pace->stuck_ns >= pace->patience_ns;
	WRITE_ONCE(cpu->since_ns, now);
}

#endif
