/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a guest's local virtual time reaches the scheduler: one function, and its front ends.
 *
 * State: none; the scheduler keeps what was reported. A guest cannot name a VCPU: it speaks for the one that executes this.
 *
 * Locks: the schedule lock of the VCPU's unit is taken here and held while the scheduler takes the report, as Xen does for wake
 * and sleep; not for a scheduler with `reports_unlocked`, whose `report` writes only what this VCPU alone writes. The unit stays
 * meanwhile: Xen pauses a domain before it moves or removes its units, and this VCPU runs. Guest memory is read before that.
 */
#include <xen/guest_access.h>
#include <xen/paceline_report.h>
#include <xen/sched.h>

#include "private.h"

uint32_t paceline_report(struct vcpu *v, uint64_t lvt_ns, uint32_t flags)
{
	struct sched_unit *unit = v->sched_unit;
	uint32_t result = PACELINE_XEN_NO_REPORTS;
	const struct scheduler *ops;
	unsigned long irq_flags;
	spinlock_t *lock;

	ASSERT(v == current);
	rcu_read_lock(&sched_res_rculock);
	ops = v->domain->cpupool->sched;
	if (ops->report && ops->reports_unlocked) {
		result = ops->report(ops, unit, lvt_ns, flags);
	} else if (ops->report) {
		lock = unit_schedule_lock_irqsave(unit, &irq_flags);
		result = ops->report(ops, unit, lvt_ns, flags);
		unit_schedule_unlock_irqrestore(lock, irq_flags, unit);
	}
	rcu_read_unlock(&sched_res_rculock);
	return result;
}

long paceline_sched_op(XEN_GUEST_HANDLE_PARAM(void) arg)
{
	struct paceline_xen_report report;

	if (copy_from_guest(&report, arg, 1))
		return -EFAULT;
	if (report.reserved)
		return PACELINE_XEN_MALFORMED;
	return paceline_report(current, report.lvt_ns, report.flags);
}

#ifdef CONFIG_X86
bool paceline_cpuid(struct cpu_user_regs *regs)
{
	uint32_t result = PACELINE_XEN_MALFORMED;
	uint64_t magic = 0;

	if (regs->eax != PACELINE_XEN_LEAF)
		return false;
	if (regs->ecx == PACELINE_XEN_SUBLEAF_REPORT) {
		result = regs->rdx >> 32 ? PACELINE_XEN_MALFORMED : paceline_report(current, regs->rbx, regs->edx);
	} else if (regs->ecx == PACELINE_XEN_SUBLEAF_PROBE) {
		result = PACELINE_XEN_OK;
		magic = PACELINE_XEN_MAGIC;
	}
	regs->rax = result;
	regs->rbx = magic;
	regs->rcx = 0;
	regs->rdx = 0;
	return true;
}
#endif
