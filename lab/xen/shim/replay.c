/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays operations on a plug-in, as Xen's core scheduler would call it. Each line of standard input is an operation; the plug-in's
 * answer is a line on standard output:
 *
 *   > [run V for NS] [result N] ask C ... set N@NS ...
 *
 * V is a VCPU or `-`; `ask` has the PCPUs that are asked to decide, in order; `set` the timers, by number.
 *
 *   begin NAME PCPUS [PARAMETER=VALUE ...]      the hypervisor starts, at time 0
 *   end                                         everything that is left is removed
 *   NS add DOM PRIVILEGED VCPU:PCPU ...         a domain comes, asleep; PCPU is its pin, or - for none
 *   NS remove DOM                               its VCPUs sleep, and have been descheduled
 *   NS wake V | sleep V | yield V | block V     `block`: a VCPU that runs sleeps, and the plug-in is not told
 *   NS again V                                  Xen says again that V is awake
 *   NS move V PCPU PINNED                       a VCPU that sleeps is moved
 *   NS pick PCPU                                a decision, and the context is saved at once
 *   NS switch PCPU | tasklet PCPU | saved PCPU  the two halves of it; `tasklet`: Xen has work of its own to do there
 *   NS report V LVT FLAGS | timer N | param NAME=VALUE | dump | fuzz SEED STEPS
 *   NS port DOM N | clear DOM N                 Xen makes a port pending; the guest clears it, without a call
 *   NS left DOM COUNT | closed DOM              what the guest has on its statistics page; its ports are closed
 *
 * Invariants: Xen's own, of when the lock is held; a wrong operation, or one that the machine cannot do now, aborts.
 */
#include "machine.h"

extern const struct scheduler *const __start_shim_schedulers[], *const __stop_shim_schedulers[];
extern const struct shim_param *const __start_shim_params[], *const __stop_shim_params[];

static struct vcpu *vcpu_named(const char *word)
{
	unsigned long number = strtoul(word, NULL, 10);

	ASSERT(number < VCPUS_MAX && machine.vcpus[number]);
	return machine.vcpus[number];
}

static struct domain *domain_named(const char *word)
{
	unsigned long number = strtoul(word, NULL, 10);

	ASSERT(number < DOMAINS_MAX && machine.domains[number]);
	return machine.domains[number];
}

static unsigned int cpu_named(const char *word)
{
	unsigned long number = strtoul(word, NULL, 10);

	ASSERT(number < machine.pcpus);
	return (unsigned int)number;
}

/* NAME=VALUE, as on Xen's command line; 0 if it is accepted. */
static int set_param(const char *word)
{
	const char *equals = strchr(word, '=');
	const struct shim_param *const *at, *param;

	ASSERT(equals);
	for (at = __start_shim_params; at < __stop_shim_params; at++) {
		param = *at;
		if (strlen(param->name) != (size_t)(equals - word) || strncmp(param->name, word, (size_t)(equals - word)))
			continue;
		if (param->parse)
			return param->parse(equals + 1);
		*param->value = (unsigned int)strtoul(equals + 1, NULL, 10);
		return 0;
	}
	fprintf(stderr, "no such parameter: %s\n", word);
	abort();
}

static void set_affinity(struct sched_unit *unit, const char *pin)
{
	cpumask_clear(unit->cpu_hard_affinity);
	if (*pin == '-')
		unit->cpu_hard_affinity->bits = (1u << NR_CPUS) - 1;
	else
		cpumask_set_cpu(cpu_named(pin), unit->cpu_hard_affinity);
}

static void begin(const char *name, unsigned int pcpus)
{
	const struct scheduler *const *found = __start_shim_schedulers;
	unsigned int cpu;

	ASSERT(machine.pcpus == 0 && pcpus > 0 && pcpus <= NR_CPUS);
	while (found < __stop_shim_schedulers && strcmp((*found)->opt_name, name))
		found++;
	ASSERT(found < __stop_shim_schedulers);
	machine.ops = **found;
	machine.pool.sched = &machine.ops;
	machine.pcpus = pcpus;
	ASSERT(machine.ops.init(&machine.ops) == 0);
	for (cpu = 0; cpu < pcpus; cpu++) {
		struct sched_resource *res = &machine.resources[cpu];
		struct sched_unit *idle = &machine.idle[cpu];
		void *pdata = NULL;

		machine.cpu = cpu;
		idle->unit_id = cpu;
		idle->runnable = idle->is_running = true;
		idle->res = res;
		idle->vcpu_list = &machine.idle_vcpus[cpu];
		res->master_cpu = cpu;
		res->curr = res->sched_unit_idle = idle;
		if (machine.ops.alloc_pdata)
			pdata = machine.ops.alloc_pdata(&machine.ops, (int)cpu);
		cpumask_set_cpu(cpu, &machine.online);
		res->schedule_lock = machine.ops.switch_sched(&machine.ops, cpu, pdata,
							      machine.ops.alloc_udata(&machine.ops, idle, NULL));
		res->sched_priv = pdata;
	}
}

static void add_vcpu(struct domain *d, const char *word, unsigned int vcpu_id)
{
	unsigned long number = strtoul(word, NULL, 10);
	struct vcpu *v = xzalloc(struct vcpu);
	struct sched_unit *unit = xzalloc(struct sched_unit), **at = &d->sched_unit_list;

	ASSERT(number < VCPUS_MAX && !machine.vcpus[number] && strchr(word, ':'));
	machine.vcpus[number] = v;
	*v = (struct vcpu){d, unit, vcpu_id};
	unit->domain = d;
	unit->unit_id = vcpu_id;
	unit->vcpu_list = v;
	unit->res = &machine.resources[number % machine.pcpus];
	set_affinity(unit, strchr(word, ':') + 1);
	while (*at)
		at = &(*at)->next_in_list;
	*at = unit;
	unit->priv = machine.ops.alloc_udata(&machine.ops, unit, d->sched_priv);
	machine.ops.insert_unit(&machine.ops, unit);
}

static void remove_domain(struct domain *d)
{
	struct sched_unit *unit, *next;
	unsigned int i;

	for (unit = d->sched_unit_list; unit; unit = next) {
		next = unit->next_in_list;
		ASSERT(!unit->runnable && !unit->is_running);
		machine.ops.remove_unit(&machine.ops, unit);
		machine.ops.free_udata(&machine.ops, unit->priv);
		for (i = 0; i < VCPUS_MAX; i++)
			if (machine.vcpus[i] == unit->vcpu_list)
				machine.vcpus[i] = NULL;
		free(unit->vcpu_list);
		free(unit);
	}
	if (machine.ops.free_domdata)
		machine.ops.free_domdata(&machine.ops, d->sched_priv);
	machine.domains[d->domain_id] = NULL;
	free(d);
}

void context_saved(unsigned int cpu)
{
	struct sched_resource *res = &machine.resources[cpu];
	struct sched_unit *prev = res->prev;

	machine.cpu = cpu;
	if (!prev)
		return;
	res->prev = NULL;
	prev->is_running = false;
	if (machine.ops.context_saved)
		machine.ops.context_saved(&machine.ops, prev);
}

struct sched_unit *decide(unsigned int cpu, bool tasklet)
{
	struct sched_resource *res = &machine.resources[cpu];
	struct sched_unit *prev = res->curr, *next;

	ASSERT(!res->prev);
	machine.cpu = cpu;
	prev->next_task = NULL;
	spin_lock(res->schedule_lock);
	machine.ops.do_schedule(&machine.ops, prev, machine.now, tasklet);
	spin_unlock(res->schedule_lock);
	next = prev->next_task;
	ASSERT(next && next->runnable && next->res == res);
	ASSERT(!tasklet || is_idle_unit(next));
	ASSERT(is_idle_unit(next) || cpumask_test_cpu(cpu, next->cpu_hard_affinity));
	if (next != prev) {
		ASSERT(!next->is_running);
		next->is_running = true;
		res->curr = next;
		res->prev = prev;
	}
	return prev;
}

/* Prints the decision that began when `prev` ran. */
static void tell_decision(const struct sched_unit *prev)
{
	unsigned int i = 0;

	if (is_idle_unit(prev->next_task)) {
		printf("> run - for ");
		printf(prev->next_time < 0 ? "-" : "%" PRId64, prev->next_time);
		return;
	}
	while (i < VCPUS_MAX && machine.vcpus[i] != prev->next_task->vcpu_list)
		i++;
	printf("> run %u for %" PRId64, i, prev->next_time);
}

static void finish(void)
{
	unsigned int i;

	for (i = 0; i < VCPUS_MAX; i++)
		if (machine.vcpus[i])
			machine.vcpus[i]->sched_unit->runnable = false;
	for (i = 0; i < machine.pcpus; i++) {
		context_saved(i);
		decide(i, false);
		context_saved(i);
	}
	for (i = 0; i < DOMAINS_MAX; i++)
		if (machine.domains[i])
			remove_domain(machine.domains[i]);
	for (i = 0; i < machine.pcpus; i++) {
		struct sched_resource *res = &machine.resources[i];

		cpumask_clear_cpu(i, &machine.online);
		if (machine.ops.deinit_pdata)
			machine.ops.deinit_pdata(&machine.ops, res->sched_priv, (int)i);
		if (machine.ops.free_pdata)
			machine.ops.free_pdata(&machine.ops, res->sched_priv, (int)i);
		machine.ops.free_udata(&machine.ops, machine.idle[i].priv);
	}
	machine.ops.deinit(&machine.ops);
	memset(&machine, 0, sizeof machine);
}

/* An operation on a VCPU, with the lock that Xen takes for it; a report of a plug-in that asks for none is made without. */
static void operate(const char *op, struct vcpu *v, char **rest)
{
	struct sched_unit *unit = v->sched_unit;
	spinlock_t *lock = unit->res->schedule_lock;
	const struct scheduler *ops = &machine.ops;
	bool locks = !(ops->reports_unlocked && !strcmp(op, "report"));

	if (locks)
		spin_lock(lock);
	if (!strcmp(op, "wake")) {
		ASSERT(!unit->runnable);
		unit->runnable = true;
		ops->wake(ops, unit);
	} else if (!strcmp(op, "again")) {
		ASSERT(unit->runnable);
		ops->wake(ops, unit);
	} else if (!strcmp(op, "sleep")) {
		ASSERT(unit->runnable);
		unit->runnable = false;
		ops->sleep(ops, unit);
	} else if (!strcmp(op, "block")) {
		ASSERT(unit->runnable && unit->is_running);
		unit->runnable = false;
	} else if (!strcmp(op, "yield")) {
		ASSERT(unit->runnable && unit->is_running);
		if (ops->yield)
			ops->yield(ops, unit);
	} else if (!strcmp(op, "move")) {
		unsigned int cpu = cpu_named(rest[0]);

		ASSERT(!unit->runnable && !unit->is_running);
		set_affinity(unit, rest[1][0] == '1' ? rest[0] : "-");
		ASSERT(cpumask_test_cpu(ops->pick_resource(ops, unit)->master_cpu, unit->cpu_hard_affinity));
		if (ops->migrate)
			ops->migrate(ops, unit, cpu);
		else
			sched_set_res(unit, get_sched_res(cpu));
	} else if (!strcmp(op, "report")) {
		machine.cpu = unit->res->master_cpu;
		printf("> result %u", !ops->report ? PACELINE_XEN_NO_REPORTS
						   : ops->report(ops, unit, strtoull(rest[0], NULL, 10),
								 (uint32_t)strtoul(rest[1], NULL, 10)));
	} else {
		fprintf(stderr, "no such operation: %s\n", op);
		abort();
	}
	if (locks)
		spin_unlock(lock);
}

static void message(const char *op, struct domain *d, unsigned int number)
{
	const struct scheduler *ops = &machine.ops;

	if (!strcmp(op, "clear")) {
		shim_clear_port(&d->messages, number);
	} else if (!strcmp(op, "port")) {
		if (shim_set_port(&d->messages, number) && ops->pending)
			ops->pending(ops, d, number);
	} else if (!strcmp(op, "closed")) {
		memset(d->messages.ports, 0, sizeof d->messages.ports);
		if (ops->ports_closed)
			ops->ports_closed(ops, d);
	} else {
		d->messages.page.messages_left = number;
	}
}

/* Executes an operation; returns true if it has printed its result itself. */
static bool replay(char **word, unsigned int count)
{
	const char *op = word[1];
	struct domain *d;
	unsigned int i;

	if (!strcmp(op, "add")) {
		i = (unsigned int)strtoul(word[2], NULL, 10);
		ASSERT(i < DOMAINS_MAX && !machine.domains[i]);
		d = machine.domains[i] = xzalloc(struct domain);
		d->domain_id = i;
		d->privileged = word[3][0] == '1';
		d->cpupool = &machine.pool;
		if (machine.ops.alloc_domdata)
			d->sched_priv = machine.ops.alloc_domdata(&machine.ops, d);
		for (i = 4; i < count; i++)
			add_vcpu(d, word[i], i - 4);
		if (machine.ops.page)
			ASSERT(machine.ops.page(&machine.ops, d, &d->messages.page) == NULL);
	} else if (!strcmp(op, "remove")) {
		remove_domain(domain_named(word[2]));
	} else if (!strcmp(op, "pick") || !strcmp(op, "switch") || !strcmp(op, "tasklet")) {
		tell_decision(decide(cpu_named(word[2]), *op == 't'));
		if (*op == 'p')
			context_saved(cpu_named(word[2]));
		return true;
	} else if (!strcmp(op, "saved")) {
		context_saved(cpu_named(word[2]));
	} else if (!strcmp(op, "timer")) {
		i = (unsigned int)strtoul(word[2], NULL, 10);
		ASSERT(i < machine.timer_count && machine.timers[i]->status == TIMER_STATUS_in_heap);
		machine.timers[i]->status = TIMER_STATUS_inactive;
		machine.timers[i]->function(machine.timers[i]->data);
	} else if (!strcmp(op, "param")) {
		printf("> result %d", set_param(word[2]));
		return true;
	} else if (!strcmp(op, "port") || !strcmp(op, "clear") || !strcmp(op, "left") || !strcmp(op, "closed")) {
		message(op, domain_named(word[2]), count > 3 ? (unsigned int)strtoul(word[3], NULL, 10) : 0);
	} else if (!strcmp(op, "fuzz")) {
		fuzz(strtoull(word[2], NULL, 10), (unsigned int)strtoul(word[3], NULL, 10));
		machine.asked_count = machine.set_count = 0;
	} else if (!strcmp(op, "dump")) {
		machine.ops.dump_settings(&machine.ops);
	} else {
		operate(op, vcpu_named(word[2]), word + 3);
		return !strcmp(op, "report");
	}
	return false;
}

int main(void)
{
	static char line[4096];
	char *word[72];
	unsigned int count, i;

	while (fgets(line, sizeof line, stdin)) {
		bool told = false;

		for (count = 0; count < 72 && (word[count] = strtok(count ? NULL : line, " \n"));)
			count++;
		ASSERT(count > 0 && count < 72);
		if (!strcmp(word[0], "begin")) {
			for (i = 3; i < count; i++)
				ASSERT(set_param(word[i]) == 0);
			begin(word[1], (unsigned int)strtoul(word[2], NULL, 10));
		} else if (!strcmp(word[0], "end")) {
			finish();
		} else {
			machine.now = strtoll(word[0], NULL, 10);
			told = replay(word, count);
		}
		printf("%s ask", told ? "" : ">");
		for (i = 0; i < machine.asked_count; i++)
			printf(" %u", machine.asked[i]);
		printf(" set");
		for (i = 0; i < machine.set_count; i++)
			printf(" %u@%" PRId64, machine.set[i].number, machine.set[i].expires);
		printf("\n");
		machine.asked_count = machine.set_count = 0;
		fflush(stdout);
	}
	return 0;
}
