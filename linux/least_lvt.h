/*
 * What the policy and its loader both know: the settings that are fixed when the policy is loaded, and what it tells while it
 * runs. All members are u64, so that the loader reads them as an array; their order is that of `Settings` and `Told` in
 * crates/pace/src/sched_ext/.
 */
#ifndef PACELINE_LEAST_LVT_H
#define PACELINE_LEAST_LVT_H

/* Fixed when the policy is loaded. */
struct settings {
	u64 slice_ns;        /* how long a task runs before it is looked at again */
	u64 stuck_ns;        /* CPU time without a change of LVT after which a task is stuck, at least */
	u64 wait_max_ns;     /* how long a task waits at most before it gets a slice, within WAIT_MAX_NS */
	u64 slots;           /* of the page */
};

/* What the policy reports; the counters count from the first load on. */
struct told {
	u64 exit_kind;       /* of enum scx_exit_kind; 0 while the policy runs */
	u64 ran_ns;          /* CPU time of tasks in the class */
	u64 dispatches;      /* tasks taken from a queue */
	u64 kept;            /* slices prolonged since nobody with a lower LVT was there */
	u64 kicks;           /* CPUs interrupted under the kernel's tick, or by a task with a lower LVT */
	u64 waiting;         /* tasks put to the back since they yielded or said that they wait */
	u64 stuck;           /* times that the LVT of a task did not change for too long */
	u64 grants;          /* slices given since a task had waited too long */
	u64 ordinary;        /* tasks taken that nothing is known of */
	u64 resolved;        /* slots whose task was found */
	u64 queued;          /* tasks in queues, at the last tick */
	u64 stranded_ns;     /* for how long a task lies on a CPU that runs none of ours, at most */
	char exit_reason[128];
	char exit_message[128];
};

#endif
