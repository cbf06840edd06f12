//! The machine while it runs: the loop over the calendar, and what every part of it needs.
//!
//! To end a run for another reason, leave the loop in [`Machine::run`] with a new [`Ended`]: what is under
//! way is counted up to then, and there is a report. An observer cannot end a run.
//!
//! Invariant: after every event, all orders of the policies are fulfilled before the next event is taken.

mod build;
mod dispatch;
mod guest;
mod network;

use std::collections::VecDeque;
use std::fmt;

use paceline_policy::Orders;

use self::network::Network;
use crate::calendar::{Calendar, Event};
use crate::ids::{Arena, DomId, GuestId, HostId, PcpuId, VcpuId};
use crate::process::{Process, Stage};
use crate::progress::Progress;
use crate::state::{Guest, Host, Pcpu, Place, Vcpu};
use crate::{Costs, Ended, MachineError, MachineSpec, Observer, ProcessId, Program, Report, Waiting};

/// What is left of a machine that has run.
#[derive(Debug)]
pub struct Ran {
    /// What came of it.
    pub report: Report,
    /// The programs, by [`crate::ProcessId`], to be asked for their results.
    pub programs: Vec<Box<dyn Program>>,
}

/// Runs a machine until all processes but the competing load are done, or its time is over.
pub fn run(spec: MachineSpec) -> Result<Ran, MachineError> {
    struct Nobody;
    impl Observer for Nobody {}
    run_observed(spec, &mut Nobody)
}

/// Runs a machine as [`run`] does, with an observer.
pub fn run_observed(spec: MachineSpec, observer: &mut dyn Observer) -> Result<Ran, MachineError> {
    Machine::build(spec, observer)?.run()
}

pub(crate) struct Machine<'a> {
    costs: Costs,
    until_ns: Option<u64>,
    now_ns: u64,
    calendar: Calendar,
    hosts: Arena<HostId, Host>,
    pcpus: Arena<PcpuId, Pcpu>,
    vcpus: Arena<VcpuId, Vcpu>,
    guests: Arena<GuestId, Guest>,
    processes: Arena<ProcessId, Process>,
    network: Network,
    decisions: Decisions,
    progress: Progress,
    fault: Option<MachineError>,
    observer: &'a mut dyn Observer,
}

/// What the policies have to decide, and have decided.
#[derive(Debug, Default)]
struct Decisions {
    orders: Orders,
    /// PCPUs on which a policy wants to be asked.
    undecided: VecDeque<PcpuId>,
    digest: u64,
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("now_ns", &self.now_ns).finish_non_exhaustive()
    }
}

impl Machine<'_> {
    fn run(mut self) -> Result<Ran, MachineError> {
        let mut ended = Ended::Done;
        while !self.progress.is_over() {
            let Some((at_ns, event)) = self.calendar.next() else {
                return Err(self.deadlock());
            };
            if let Some(until_ns) = self.until_ns.filter(|until_ns| at_ns > *until_ns) {
                self.now_ns = until_ns;
                ended = Ended::Horizon;
                break;
            }
            self.now_ns = at_ns;
            self.handle(event);
            self.decide();
            // Errors arise deep within an event, and are kept until it has been handled.
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            // Every process waits for a message, none is on its way and no domain is to come: nothing can go
            // on any more.
            if self.progress.is_stuck() && !self.network.packets.are_awaited() {
                return Err(self.deadlock());
            }
        }
        self.close();
        let report = Report {
            ended,
            at_ns: self.now_ns,
            digest: self.decisions.digest,
            hosts: self.hosts.into_values().map(|host| host.report).collect(),
            domains: self.guests.into_values().map(|guest| guest.report).collect(),
        };
        Ok(Ran { report, programs: self.processes.into_values().map(|process| process.program).collect() })
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Segment { vcpu } => self.segment_ends(vcpu),
            Event::Switched { pcpu } => self.switched(pcpu),
            Event::Slice { pcpu } => self.decisions.undecided.push_back(pcpu),
            Event::Timer { host, timer } => {
                self.hosts[host].policy.timer(self.now_ns, timer, &mut self.decisions.orders);
                self.fulfil_orders(host);
            }
            Event::Arrival { packet } => self.arrives(packet),
            Event::Awake { process } => self.end_sleep(process),
            Event::Comes { guest } => self.admit_domain(guest),
            Event::Goes { guest } => self.dismiss_domain(guest),
        }
    }

    /// Fulfils the orders of the policy of `host`; its decisions follow when the current event has been
    /// handled.
    pub fn fulfil_orders(&mut self, host: HostId) {
        let host_state = &mut self.hosts[host];
        for (timer, at_ns) in self.decisions.orders.timers.drain(..) {
            let number = timer as usize;
            if host_state.timers.len() <= number {
                host_state.timers.resize(number + 1, None);
            }
            let slot = *host_state.timers[number]
                .get_or_insert_with(|| self.calendar.slot(Event::Timer { host, timer }));
            // A time that has passed means at once.
            self.calendar.set(slot, at_ns.max(self.now_ns));
        }
        for pcpu in self.decisions.orders.reschedule.drain(..) {
            let pcpu = host_state.pcpus.at(pcpu.0);
            // One decision answers all requests of an instant.
            if !self.decisions.undecided.contains(&pcpu) {
                self.decisions.undecided.push_back(pcpu);
            }
        }
    }

    /// Asks the policies for all decisions that are due.
    pub fn decide(&mut self) {
        /// More decisions at one instant than any policy needs.
        const MOST: u32 = 1_000_000;
        let mut decisions = 0;
        while let Some(pcpu) = self.decisions.undecided.pop_front() {
            decisions += 1;
            assert!(decisions < MOST, "a policy comes to rest at every instant");
            self.reschedule(pcpu);
        }
    }

    /// The messages that wait for a domain have changed in number.
    pub fn report_pending(&mut self, host: HostId, dom: DomId, messages: u32) {
        self.hosts[host].policy.pending(self.now_ns, dom, messages, &mut self.decisions.orders);
        self.fulfil_orders(host);
    }

    /// The number of a guest among all domains: the privileged ones come first.
    pub fn dom_of(&self, guest: GuestId) -> DomId {
        DomId(self.hosts.len() + guest.0)
    }

    /// Whose VCPU it is, if a guest's.
    pub fn guest_of(&self, vcpu: VcpuId) -> Option<GuestId> {
        self.vcpus[vcpu].dom.0.checked_sub(self.hosts.len()).map(GuestId)
    }

    /// Accounts for the work that is under way when the run ends.
    fn close(&mut self) {
        for pcpu in self.pcpus.ids().iter() {
            if let Some(vcpu) = self.pcpus[pcpu].running {
                self.stop(vcpu);
                self.book_stretch(pcpu);
                let host = self.pcpus[pcpu].host;
                // The hypervisor's work was booked whole when it began.
                self.hosts[host].report.overhead_ns -= self.overhead_left(pcpu);
            }
        }
        for vcpu in self.vcpus.ids().iter() {
            if let (Place::Waits(since_ns), Some(guest)) = (self.vcpus[vcpu].place, self.guest_of(vcpu)) {
                self.guests[guest].report.waited_ns += self.now_ns - since_ns;
            }
        }
    }

    fn deadlock(&self) -> MachineError {
        let stuck = self.processes.iter().filter(|(_, process)| {
            let guest = &self.guests[process.guest];
            guest.here && !guest.background && !matches!(process.stage, Stage::Done)
        });
        let waiting = stuck.map(|(id, process)| {
            let guest = &self.guests[process.guest];
            let waits_for = process.program.waits_for();
            Waiting { domain: guest.name.clone(), process: guest.processes.offset_of(id), waits_for }
        });
        MachineError::Deadlock { at_ns: self.now_ns, waiting: waiting.collect() }
    }
}
