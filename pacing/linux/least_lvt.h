/*
 * What the policy and its loader share: the settings that are fixed when the policy is loaded, and the report that it keeps while
 * it runs. All members are u64, so that the loader reads them as an array; their order is that of `Settings` in policy.rs
 * and of `PolicyReport` in report.rs, both in pacing/pace/src/sched_ext/.
 */
#ifndef PACELINE_LEAST_LVT_H
#define PACELINE_LEAST_LVT_H

/* Fixed when the policy is loaded. */
struct settings {
	u64 slice_ns;        /* how long a task runs before the policy decides again */
	u64 stuck_ns;        /* CPU time without a change of LVT after which a task is stuck, at least */
	u64 wait_max_ns;     /* how long a task waits at most before it gets a slice, within WAIT_MAX_NS */
	u64 slots;           /* number of slots of the page */
};

/* What the policy reports; the counters count from the first load on. */
struct report {
	u64 exit_kind;       /* of enum scx_exit_kind; 0 while the policy runs */
	u64 ran_ns;          /* CPU time of tasks in the class */
	u64 dispatches;      /* tasks taken from a queue */
	u64 kept;            /* slices prolonged since no task with a lower LVT wanted to run */
	u64 kicks;           /* CPUs interrupted at the end of a slice, or by a task with a lower LVT */
	u64 waiting;         /* demotions of tasks that yielded or said that they wait */
	u64 stuck;           /* times that the LVT of a task did not change for too long */
	u64 grants;          /* slices given since a task had waited too long */
	u64 ordinary;        /* tasks taken of which neither an LVT nor a waiting flag is known */
	u64 resolved;        /* slots whose task was found */
	u64 queued;          /* tasks in queues, at the last tick */
	u64 stranded_ns;     /* longest time of a task in the queue of a CPU that runs none of ours */
	char exit_reason[128];
	char exit_message[128];
};

#endif
