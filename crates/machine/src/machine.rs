//! The machine while it runs: the loop over the calendar, and what every part of it needs.
//!
//! Invariant: after every event, all orders of the policies are fulfilled before the next event is taken.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use paceline_policy::{DomId, Orders};

use crate::build::Comer;
use crate::calendar::{Calendar, Event};
use crate::network::Link;
use crate::process::{Process, Stage};
use crate::state::{Guest, Host, Packet, Pcpu, Place, Vcpu};
use crate::{Costs, Ended, MachineError, MachineSpec, Observer, Program, Report, Waiting};

/// What is left of a machine that has run.
#[derive(Debug)]
pub struct Ran {
    /// What came of it.
    pub report: Report,
    /// The programs, by [`crate::ProcessId`], to be asked for their results.
    pub programs: Vec<Box<dyn Program>>,
}

/// Runs a machine until everybody but the competing load is done, or its time is over.
pub fn run(spec: MachineSpec) -> Result<Ran, MachineError> {
    struct Nobody;
    impl Observer for Nobody {}
    run_observed(spec, &mut Nobody)
}

/// The same, while somebody looks on.
pub fn run_observed(spec: MachineSpec, observer: &mut dyn Observer) -> Result<Ran, MachineError> {
    Machine::build(spec, observer)?.run()
}

/// A machine.
pub(crate) struct Machine<'a> {
    pub costs: Costs,
    pub now_ns: u64,
    pub calendar: Calendar,
    pub hosts: Vec<Host>,
    pub pcpus: Vec<Pcpu>,
    pub vcpus: Vec<Vcpu>,
    pub guests: Vec<Guest>,
    pub processes: Vec<Process>,
    pub comers: Vec<Option<Comer>>,
    /// By hosts at both ends.
    pub links: BTreeMap<(u32, u32), Link>,
    pub packets: Vec<Option<Packet>>,
    pub free: Vec<u32>,
    /// Packets that were sent to processes of the foreground and have not come to them.
    pub in_flight: u64,
    /// Processes that may do something without a new message, whatever they wait for otherwise.
    pub lively: u64,
    /// Processes of the foreground that are not done.
    pub awaited: u64,
    /// Domains that are still to come, and those of the foreground that are still to go.
    pub moving: u64,
    pub orders: Orders,
    pub undecided: VecDeque<u32>,
    pub digest: u64,
    pub fault: Option<MachineError>,
    pub until_ns: Option<u64>,
    pub observer: &'a mut dyn Observer,
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("now_ns", &self.now_ns).finish_non_exhaustive()
    }
}

impl Machine<'_> {
    fn run(mut self) -> Result<Ran, MachineError> {
        let mut ended = Ended::Done;
        while self.awaited > 0 {
            let Some((at_ns, event)) = self.calendar.next() else {
                return Err(self.deadlock());
            };
            if let Some(until_ns) = self.until_ns.filter(|until_ns| at_ns > *until_ns) {
                self.now_ns = until_ns;
                ended = Ended::Horizon;
                break;
            }
            self.now_ns = at_ns;
            self.happen(event);
            self.decide();
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            if self.lively == 0 && self.in_flight == 0 && self.awaited > 0 && self.moving == 0 {
                return Err(self.deadlock());
            }
        }
        self.close();
        let report = Report {
            ended,
            at_ns: self.now_ns,
            digest: self.digest,
            hosts: self.hosts.into_iter().map(|host| host.report).collect(),
            domains: self.guests.into_iter().map(|guest| guest.report).collect(),
        };
        Ok(Ran { report, programs: self.processes.into_iter().map(|process| process.program).collect() })
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Segment { vcpu, number } if self.vcpus[vcpu as usize].number == number => {
                self.segment_ends(vcpu)
            }
            Event::Switched { pcpu, number } if self.pcpus[pcpu as usize].number == number => {
                self.switched(pcpu)
            }
            Event::Slice { pcpu, place } => {
                if self.slice_ends(pcpu, place) {
                    self.undecided.push_back(pcpu);
                }
            }
            Event::Timer { host, timer, number } => {
                let own = &mut self.hosts[host as usize];
                if own.timers[timer as usize] == number {
                    own.policy.timer(self.now_ns, timer, &mut self.orders);
                    self.obey(host);
                }
            }
            Event::Arrival { packet } => self.arrives(packet),
            Event::Awake { process } => self.slept(process),
            Event::Comes { domain } => self.comes(domain),
            Event::Goes { domain } => self.goes(domain),
            Event::Segment { .. } | Event::Switched { .. } => {}
        }
    }

    /// Fulfils what the policy of `host` has ordered; the decisions come when the event in hand is over.
    pub fn obey(&mut self, host: u32) {
        let own = &mut self.hosts[host as usize];
        for (timer, at_ns) in self.orders.timers.drain(..) {
            let slot = timer as usize;
            if own.timers.len() <= slot {
                own.timers.resize(slot + 1, 0);
            }
            own.timers[slot] += 1;
            let number = own.timers[slot];
            self.calendar.plan(at_ns.max(self.now_ns), Event::Timer { host, timer, number });
        }
        for pcpu in self.orders.reschedule.drain(..) {
            let pcpu = own.first_pcpu + pcpu.0;
            if !self.undecided.contains(&pcpu) {
                self.undecided.push_back(pcpu);
            }
        }
    }

    /// Lets the policies decide where something is to be decided.
    pub fn decide(&mut self) {
        /// More decisions at one instant than any policy needs.
        const MOST: u32 = 1_000_000;
        let mut decisions = 0;
        while let Some(pcpu) = self.undecided.pop_front() {
            decisions += 1;
            assert!(decisions < MOST, "a policy comes to rest at every instant");
            self.reschedule(pcpu);
        }
    }

    /// The messages that wait for a domain have changed in number.
    pub fn tell_pending(&mut self, host: u32, dom: u32, messages: u32) {
        self.hosts[host as usize].policy.pending(self.now_ns, DomId(dom), messages, &mut self.orders);
        self.obey(host);
    }

    /// The number of a guest among all domains: the privileged ones come first.
    pub fn dom_of(&self, guest: u32) -> u32 {
        self.hosts.len() as u32 + guest
    }

    /// Whose VCPU it is, if a guest's.
    pub fn guest_of(&self, vcpu: u32) -> Option<u32> {
        self.vcpus[vcpu as usize].dom.checked_sub(self.hosts.len() as u32)
    }

    /// Books what goes on when the run ends.
    fn close(&mut self) {
        for pcpu in 0..self.pcpus.len() as u32 {
            if let Some(vcpu) = self.pcpus[pcpu as usize].running {
                self.stop(vcpu);
                self.book_stretch(pcpu);
                let host = self.pcpus[pcpu as usize].host as usize;
                self.hosts[host].report.overhead_ns -= self.overhead_left(pcpu);
            }
        }
        for vcpu in &self.vcpus {
            if let (Place::Waits(since_ns), Some(guest)) =
                (vcpu.place, vcpu.dom.checked_sub(self.hosts.len() as u32))
            {
                self.guests[guest as usize].report.waited_ns += self.now_ns - since_ns;
            }
        }
    }

    fn deadlock(&self) -> MachineError {
        let stuck = self.processes.iter().enumerate().filter(|(_, process)| {
            let guest = &self.guests[process.guest as usize];
            guest.here && !guest.background && !matches!(process.stage, Stage::Done)
        });
        let waiting = stuck.map(|(id, process)| {
            let guest = &self.guests[process.guest as usize];
            let waits_for = process.program.waits_for();
            Waiting { domain: guest.name.clone(), process: id as u32 - guest.first_process, waits_for }
        });
        MachineError::Deadlock { at_ns: self.now_ns, waiting: waiting.collect() }
    }
}
