//! The hypervisor: decisions of the policy, switches, and what a VCPU does while it has a PCPU, and how fast.
//!
//! Invariants: a VCPU on a PCPU that is not switching has a segment; no other VCPU has one. The end of a
//! segment is planned as long as there is one; a slice and the end of a switch, as long as a VCPU is on the
//! PCPU.

use paceline_policy::PcpuId as PolicyPcpu;

use super::Machine;
use crate::ids::{PcpuId, VcpuId};
use crate::state::{Doing, Place, Segment};

/// Mixes the facts of a decision into a digest.
fn mix(digest: u64, fact: u64) -> u64 {
    (digest ^ fact).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

impl Machine<'_> {
    /// Asks the policy which VCPU runs on `pcpu` from now on.
    pub fn reschedule(&mut self, pcpu: PcpuId) {
        let before = self.pcpus[pcpu].running;
        // Whatever is decided, the hypervisor takes the PCPU for a moment: `switched` begins the next
        // segment.
        if let Some(vcpu) = before {
            self.stop(vcpu);
        }
        let host = self.pcpus[pcpu].host;
        let host_state = &mut self.hosts[host];
        let local = PolicyPcpu(host_state.pcpus.offset_of(pcpu));
        let pick = host_state.policy.pick(self.now_ns, local, &mut self.decisions.orders);
        host_state.report.decisions += 1;
        let after = pick.vcpu;
        let mut cost_ns = self.costs.decision_ns + u64::from(pick.examined) * self.costs.examined_ps / 1_000;
        self.fulfil_orders(host);
        if before != after {
            if let Some(vcpu) = before {
                self.book_stretch(pcpu);
                self.take_off(vcpu);
            }
            self.pcpus[pcpu].running = after;
            if let Some(vcpu) = after {
                cost_ns += self.put_on(vcpu, pcpu);
            }
            // Only changes count, so that asking a policy more often does not change the digest.
            self.decisions.digest = mix(self.decisions.digest, self.now_ns);
            self.decisions.digest = mix(
                self.decisions.digest,
                u64::from(pcpu.0) << 32 | u64::from(after.map_or(u32::MAX, |vcpu| vcpu.0)),
            );
        }
        // The hypervisor first finishes the work that it has begun, unless it is not needed any more.
        let left_ns = self.overhead_left(pcpu);
        let pcpu_state = &mut self.pcpus[pcpu];
        let report = &mut self.hosts[host].report;
        if after.is_none() {
            report.overhead_ns -= left_ns;
            pcpu_state.until_ns = self.now_ns;
            self.calendar.cancel(pcpu_state.switched);
        } else {
            report.overhead_ns += cost_ns;
            pcpu_state.until_ns = self.now_ns + left_ns + cost_ns;
            self.calendar.set(pcpu_state.switched, pcpu_state.until_ns);
        }
        match pick.slice_ns.filter(|_| after.is_some()) {
            Some(slice_ns) => {
                // A slice of no length would end at this instant, again and again.
                self.calendar.set(pcpu_state.slice, self.now_ns.saturating_add(slice_ns.max(1)))
            }
            None => self.calendar.cancel(pcpu_state.slice),
        }
        // The speed of a sibling depends only on whether this PCPU is used.
        if before.is_some() != after.is_some() {
            self.sibling_changes(pcpu);
        }
    }

    /// Puts a VCPU on a PCPU. Returns the cost.
    fn put_on(&mut self, vcpu: VcpuId, pcpu: PcpuId) -> u64 {
        let vcpu_state = &mut self.vcpus[vcpu];
        let Place::Waits(since_ns) = vcpu_state.place else {
            panic!("the policy picks {vcpu}, which does not wait for a PCPU: {:?}", vcpu_state.place);
        };
        vcpu_state.place = Place::On(pcpu);
        let moves = vcpu_state.last.replace(pcpu).is_some_and(|last| last != pcpu);
        let report = &mut self.hosts[vcpu_state.host].report;
        report.switches += 1;
        report.migrations += u64::from(moves);
        self.pcpus[pcpu].since_ns = self.now_ns;
        if let Some(guest) = self.guest_of(vcpu) {
            self.guests[guest].report.waited_ns += self.now_ns - since_ns;
        }
        self.costs.switch_ns + if moves { self.costs.migration_ns } else { 0 }
    }

    /// A VCPU has left its PCPU to another.
    fn take_off(&mut self, vcpu: VcpuId) {
        let vcpu_state = &mut self.vcpus[vcpu];
        // A VCPU that has blocked is asleep already.
        if let Place::On(_) = vcpu_state.place {
            vcpu_state.place = Place::Waits(self.now_ns);
            if let Some(guest) = self.guest_of(vcpu) {
                self.guests[guest].report.preemptions += 1;
            }
        }
    }

    /// Books the stretch of time that the VCPU on `pcpu` has been there.
    pub fn book_stretch(&mut self, pcpu: PcpuId) {
        let pcpu_state = &mut self.pcpus[pcpu];
        let from_ns = std::mem::replace(&mut pcpu_state.since_ns, self.now_ns);
        let vcpu = pcpu_state.running.expect("somebody was there");
        let span_ns = self.now_ns - from_ns;
        let host = pcpu_state.host;
        let (dom, guest) = (self.vcpus[vcpu].dom, self.guest_of(vcpu));
        let report = &mut self.hosts[host].report;
        report.busy_ns += span_ns;
        match guest {
            Some(guest) => self.guests[guest].report.ran_ns += span_ns,
            None => report.dom0_ns += span_ns,
        }
        if span_ns > 0 {
            self.observer.ran(pcpu, dom, vcpu, from_ns, self.now_ns);
        }
    }

    /// The rest of the work that the hypervisor has begun on `pcpu`.
    pub fn overhead_left(&self, pcpu: PcpuId) -> u64 {
        self.pcpus[pcpu].until_ns.saturating_sub(self.now_ns)
    }

    /// The hypervisor's work is done: the VCPU on `pcpu` continues.
    pub fn switched(&mut self, pcpu: PcpuId) {
        if let Some(vcpu) = self.pcpus[pcpu].running {
            self.proceed(vcpu);
        }
    }

    /// Speed of what runs on `pcpu`, in thousandths of a core.
    fn permille(&self, pcpu: PcpuId) -> u64 {
        let shared = self.sibling(pcpu).is_some_and(|other| self.pcpus[other].running.is_some());
        if shared { self.costs.smt_permille } else { 1_000 }
    }

    fn sibling(&self, pcpu: PcpuId) -> Option<PcpuId> {
        let host_state = &self.hosts[self.pcpus[pcpu].host];
        let siblings = host_state.siblings?;
        Some(host_state.pcpus.at(siblings.of(host_state.pcpus.offset_of(pcpu), host_state.pcpus.count())))
    }

    /// The sibling of `pcpu` has the core for itself from now on, or does not any more.
    fn sibling_changes(&mut self, pcpu: PcpuId) {
        let Some(sibling) = self.sibling(pcpu) else { return };
        // Without a segment the sibling is still switching, and takes the new speed when it begins one.
        if let Some(vcpu) = self.pcpus[sibling].running
            && self.vcpus[vcpu].segment.is_some()
        {
            // Its end was planned for the speed that it had until now.
            self.stop(vcpu);
            self.proceed(vcpu);
        }
    }

    /// Begins a segment of `work_ns`, or one without end.
    pub fn begin(&mut self, vcpu: VcpuId, doing: Doing, work_ns: Option<u64>) {
        let Place::On(pcpu) = self.vcpus[vcpu].place else {
            panic!("{vcpu} continues without a PCPU");
        };
        let permille = self.permille(pcpu);
        let vcpu_state = &mut self.vcpus[vcpu];
        vcpu_state.segment = Some(Segment { doing, since_ns: self.now_ns, permille });
        if let Some(work_ns) = work_ns {
            // Spans that no run outlasts may be cut.
            let span_ns = work_ns.saturating_mul(1_000).div_ceil(permille);
            self.calendar.set(vcpu_state.done, self.now_ns.saturating_add(span_ns));
        }
    }

    /// Ends the segment of `vcpu`, if it has one, and books what was done in it.
    pub fn stop(&mut self, vcpu: VcpuId) {
        let vcpu_state = &mut self.vcpus[vcpu];
        let Some(Segment { doing, since_ns, permille }) = vcpu_state.segment.take() else { return };
        self.calendar.cancel(vcpu_state.done);
        let span_ns = self.now_ns - since_ns;
        let work_ns = span_ns * permille / 1_000;
        match doing {
            Doing::Kernel => vcpu_state.kernel.left_ns = vcpu_state.kernel.left_ns.saturating_sub(work_ns),
            Doing::Process | Doing::Polling => {
                vcpu_state.quantum_ns = vcpu_state.quantum_ns.saturating_sub(work_ns);
                let process = vcpu_state.current.expect("a process was running");
                let guest = self.processes[process].guest;
                self.book_work(process, work_ns);
                if doing == Doing::Polling {
                    self.guests[guest].report.polled_ns += span_ns;
                }
            }
        }
    }

    /// The segment of `vcpu` has ended.
    pub fn segment_ends(&mut self, vcpu: VcpuId) {
        self.stop(vcpu);
        // Rounding may leave a rest of a nanosecond; it is run like any other.
        self.proceed(vcpu);
    }

    /// Starts the next work of `vcpu`, which has a PCPU and no segment.
    pub fn proceed(&mut self, vcpu: VcpuId) {
        match self.guest_of(vcpu) {
            None => self.proceed_dom0(vcpu),
            Some(guest) => self.proceed_guest(vcpu, guest),
        }
    }

    /// `vcpu` has something new to do: an event on one of its channels.
    pub fn notify(&mut self, vcpu: VcpuId) {
        let vcpu_state = &self.vcpus[vcpu];
        match vcpu_state.place {
            // A VCPU that waits looks for work when it gets a PCPU.
            Place::Gone | Place::Waits(_) => {}
            Place::Asleep => {
                let host = vcpu_state.host;
                self.vcpus[vcpu].place = Place::Waits(self.now_ns);
                self.hosts[host].policy.wake(self.now_ns, vcpu, &mut self.decisions.orders);
                self.fulfil_orders(host);
            }
            // A packet that was begun is finished first.
            Place::On(_) => {
                // Without a segment the PCPU is still switching, and the VCPU looks for work after that.
                if vcpu_state.segment.is_some_and(|segment| segment.doing != Doing::Kernel) {
                    self.stop(vcpu);
                    self.proceed(vcpu);
                }
            }
        }
    }

    /// `vcpu`, which has a PCPU, has nothing to do any more. The decision follows at once, so that no process
    /// can be woken while the policy still takes it for running.
    pub fn block(&mut self, vcpu: VcpuId) {
        let vcpu_state = &mut self.vcpus[vcpu];
        let Place::On(pcpu) = vcpu_state.place else {
            panic!("{vcpu} blocks without a PCPU");
        };
        vcpu_state.place = Place::Asleep;
        let host = vcpu_state.host;
        self.hosts[host].policy.sleep(self.now_ns, vcpu, &mut self.decisions.orders);
        self.fulfil_orders(host);
        self.reschedule(pcpu);
    }

    /// `vcpu`, which has a PCPU, yields.
    pub fn yield_vcpu(&mut self, vcpu: VcpuId) {
        let vcpu_state = &self.vcpus[vcpu];
        let Place::On(pcpu) = vcpu_state.place else {
            panic!("{vcpu} yields without a PCPU");
        };
        let host = vcpu_state.host;
        self.hosts[host].policy.yields(self.now_ns, vcpu, &mut self.decisions.orders);
        self.fulfil_orders(host);
        self.reschedule(pcpu);
    }
}
