//! From a spec to a machine, and domains that come and go.
//!
//! Invariant: a spec that is accepted refers to nothing that is not in it.

use std::collections::{BTreeSet, VecDeque};

use paceline_policy::{Host as PolicyHost, NewDomain, PcpuId as PolicyPcpu};

use super::network::{Link, Network};
use super::{Decisions, Machine};
use crate::calendar::{Calendar, Event};
use crate::ids::{Arena, DomId, GuestId, HostId, PcpuId, Span, VcpuId};
use crate::process::{Process, Stage};
use crate::progress::Progress;
use crate::spec::DomainSpec;
use crate::state::{Comer, Errand, Guest, Host, Kernel, Pcpu, Place, ReceiveRing, TransmitRing, Vcpu};
use crate::{DomainReport, HostReport, HostSpec, MachineError, MachineSpec, Observer};

fn refused(what: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> MachineError {
    MachineError::BadSpec { what: what.into(), value: value.to_string(), allowed: allowed.into() }
}

fn check_host(host: &HostSpec) -> Result<(), MachineError> {
    let name = &host.name;
    if host.pcpus == 0 {
        return Err(refused(format!("PCPUs of {name}"), 0, "at least 1"));
    }
    if host.smt && host.pcpus % 2 == 1 {
        return Err(refused(format!("PCPUs of {name}, which are siblings,"), host.pcpus, "an even number"));
    }
    if host.dom0_vcpus == 0 {
        return Err(refused(format!("VCPUs of the privileged domain of {name}"), 0, "at least 1"));
    }
    check_pins(&format!("the privileged domain of {name}"), &host.dom0_pins, host.dom0_vcpus, host)
}

fn check_pins(who: &str, pins: &[u32], vcpus: u32, host: &HostSpec) -> Result<(), MachineError> {
    if pins.len() > vcpus as usize {
        return Err(refused(
            format!("pins of {who}"),
            pins.len(),
            format!("at most one for each of {vcpus} VCPUs"),
        ));
    }
    match pins.iter().find(|pin| **pin >= host.pcpus) {
        None => Ok(()),
        Some(pin) => {
            let allowed = format!("PCPUs 0 to {} of {}", host.pcpus - 1, host.name);
            Err(refused(format!("a pin of {who}"), pin, allowed))
        }
    }
}

fn check_domain(domain: &DomainSpec, hosts: &[HostSpec]) -> Result<(), MachineError> {
    let name = &domain.name;
    let Some(host) = hosts.get(domain.host as usize) else {
        return Err(refused(format!("the host of {name}"), domain.host, format!("0 to {}", hosts.len() - 1)));
    };
    if domain.vcpus == 0 {
        return Err(refused(format!("VCPUs of {name}"), 0, "at least 1"));
    }
    if domain.threads && domain.vcpus as usize != domain.processes.len() {
        let allowed = format!("one for each of its {} processes", domain.processes.len());
        return Err(refused(format!("VCPUs of {name}, whose processes are threads"), domain.vcpus, allowed));
    }
    if domain.processes.is_empty() {
        return Err(refused(format!("processes of {name}"), 0, "at least 1"));
    }
    if let Some(leaves_ns) = domain.leaves_ns.filter(|leaves_ns| *leaves_ns <= domain.arrives_ns) {
        return Err(refused(format!("the time at which {name} leaves"), leaves_ns, "after it arrives"));
    }
    check_pins(name, &domain.pins, domain.vcpus, host)
}

fn check(spec: &MachineSpec) -> Result<(), MachineError> {
    if spec.hosts.is_empty() {
        return Err(refused("the number of hosts", 0, "at least 1"));
    }
    spec.hosts.iter().try_for_each(check_host)?;
    let mut joined = BTreeSet::new();
    for link in &spec.links {
        let most = spec.hosts.len() as u32 - 1;
        if let Some(end) = [link.from, link.to].into_iter().find(|end| *end > most) {
            return Err(refused("an end of a link", format!("host {end}"), format!("hosts 0 to {most}")));
        }
        if link.from == link.to || link.bits_per_second == 0 {
            let value = format!("{} to {} at {} bit/s", link.from, link.to, link.bits_per_second);
            return Err(refused("a link", value, "between two hosts, at 1 bit/s at least"));
        }
        if !joined.insert((link.from.min(link.to), link.from.max(link.to))) {
            let [from, to] = [link.from, link.to].map(|host| &spec.hosts[host as usize].name);
            return Err(refused(format!("a second link between {from} and {to}"), "there", "one at most"));
        }
    }
    let costs = &spec.costs;
    if costs.smt_permille == 0 || costs.smt_permille > 1_000 {
        return Err(refused("smt_permille", costs.smt_permille, "1 to 1000"));
    }
    for (what, value) in
        [("ring_slots", u64::from(costs.ring_slots)), ("guest_quantum_ns", costs.guest_quantum_ns)]
    {
        if value == 0 {
            return Err(refused(what, 0, "at least 1"));
        }
    }
    spec.domains.iter().try_for_each(|domain| check_domain(domain, &spec.hosts))
}

fn pins(pins: &[u32], vcpus: u32) -> Vec<Option<PolicyPcpu>> {
    (0..vcpus as usize).map(|vcpu| pins.get(vcpu).map(|pin| PolicyPcpu(*pin))).collect()
}

impl<'a> Machine<'a> {
    /// The machine of a spec, before its first instant.
    pub fn build(spec: MachineSpec, observer: &'a mut dyn Observer) -> Result<Self, MachineError> {
        check(&spec)?;
        let mut machine = Self {
            costs: spec.costs,
            now_ns: 0,
            calendar: Calendar::default(),
            hosts: Arena::default(),
            pcpus: Arena::default(),
            vcpus: Arena::default(),
            guests: Arena::default(),
            processes: Arena::default(),
            network: Network::default(),
            decisions: Decisions::default(),
            progress: Progress::default(),
            fault: None,
            until_ns: spec.until_ns,
            observer,
        };
        for host in spec.hosts {
            machine.add_host(host)?;
        }
        for link in spec.links {
            for (from, to) in [(link.from, link.to), (link.to, link.from)] {
                let way = Link::new(link.latency_ns, link.bits_per_second);
                machine.network.links.insert((HostId(from), HostId(to)), way);
            }
        }
        for domain in spec.domains {
            machine.add_domain(domain);
        }
        Ok(machine)
    }

    fn add_host(&mut self, spec: HostSpec) -> Result<(), MachineError> {
        let number = HostId(self.hosts.len());
        let dom = DomId(number.0);
        let place = |source| MachineError::Policy { place: spec.name.clone(), source };
        let mut settings = spec.policy.settings;
        let host = PolicyHost { pcpus: spec.pcpus };
        let mut policy = paceline_policy::build(&spec.policy.kind, &mut settings, host).map_err(place)?;
        let dom0 = self.add_vcpus(spec.dom0_vcpus, dom, number, Place::Asleep);
        let vcpus = dom0.iter().collect();
        let pins = pins(&spec.dom0_pins, spec.dom0_vcpus);
        let domain = NewDomain { dom, privileged: true, vcpus, pins };
        policy.start(0, &mut self.decisions.orders);
        let mut settings = spec.dom0_settings;
        policy.add(0, &domain, &mut settings, &mut self.decisions.orders).map_err(place)?;
        let first = self.pcpus.len();
        let calendar = &mut self.calendar;
        let pcpus = (first..first + spec.pcpus).map(PcpuId).map(|pcpu| Pcpu {
            host: number,
            running: None,
            until_ns: 0,
            switched: calendar.slot(Event::Switched { pcpu }),
            since_ns: 0,
            slice: calendar.slot(Event::Slice { pcpu }),
        });
        let pcpus = self.pcpus.extend(pcpus);
        self.hosts.push(Host {
            report: HostReport { name: spec.name, ..HostReport::default() },
            policy,
            pcpus,
            siblings: spec.smt.then_some(spec.siblings),
            timers: Vec::new(),
            pending: 0,
            dom0,
        });
        self.fulfil_orders(number);
        Ok(())
    }

    /// So many VCPUs of a domain, all at `place`.
    fn add_vcpus(&mut self, count: u32, dom: DomId, host: HostId, place: Place) -> Span<VcpuId> {
        let first = self.vcpus.len();
        let calendar = &mut self.calendar;
        self.vcpus.extend((first..first + count).map(VcpuId).map(|vcpu| Vcpu {
            dom,
            host,
            place,
            segment: None,
            done: calendar.slot(Event::Segment { vcpu }),
            last: None,
            current: None,
            quantum_ns: 0,
            previous: None,
            kernel: Kernel::default(),
        }))
    }

    fn add_domain(&mut self, spec: DomainSpec) {
        let (guest, host) = (GuestId(self.guests.len()), HostId(spec.host));
        let dom = self.dom_of(guest);
        let vcpus = self.add_vcpus(spec.vcpus, dom, host, Place::Gone);
        let pins = pins(&spec.pins, spec.vcpus);
        let domain = NewDomain { dom, privileged: false, vcpus: vcpus.iter().collect(), pins };
        let processes = self.processes.extend(spec.processes.into_iter().map(|program| Process {
            program,
            guest,
            stage: Stage::Fresh,
            inbox: VecDeque::new(),
            idle: false,
            off: true,
            ended: false,
            last_vcpu: 0,
            asked_ns: 0,
            asked: 0,
        }));
        if !spec.background {
            self.progress.await_processes(processes.count());
        }
        self.progress.plan_move();
        self.calendar.plan(spec.arrives_ns, Event::Comes { guest });
        if let Some(leaves_ns) = spec.leaves_ns {
            if !spec.background {
                self.progress.plan_move();
            }
            self.calendar.plan(leaves_ns, Event::Goes { guest });
        }
        self.guests.push(Guest {
            report: DomainReport { name: spec.name.clone(), ..DomainReport::default() },
            name: spec.name,
            host,
            here: false,
            background: spec.background,
            threads: spec.threads,
            comer: Some(Comer { domain, settings: spec.settings }),
            vcpus,
            processes,
            alive: processes.count(),
            ready: VecDeque::new(),
            transmit: TransmitRing::default(),
            receive: ReceiveRing::default(),
        });
    }

    /// A domain comes: its host's policy admits it, and its processes are ready.
    pub fn admit_domain(&mut self, guest: GuestId) {
        self.progress.move_domain();
        let guest_state = &mut self.guests[guest];
        let Comer { domain, mut settings } = guest_state.comer.take().expect("a domain comes once");
        let (host, vcpus, processes) = (guest_state.host, guest_state.vcpus, guest_state.processes);
        let policy = &mut self.hosts[host].policy;
        if let Err(source) = policy.add(self.now_ns, &domain, &mut settings, &mut self.decisions.orders) {
            self.fault = Some(MachineError::Policy { place: guest_state.name.clone(), source });
            return;
        }
        guest_state.here = true;
        guest_state.ready.extend(processes.iter());
        if !guest_state.background {
            self.progress.begin_processes(processes.count());
        }
        for process in processes.iter() {
            self.processes[process].off = false;
        }
        self.fulfil_orders(host);
        for vcpu in vcpus.iter() {
            self.vcpus[vcpu].place = Place::Asleep;
        }
        // Each process needs one VCPU at most: more would find nothing to do.
        for vcpu in vcpus.iter().take(processes.count() as usize) {
            self.notify(vcpu);
            // One after the other: the next VCPU that wakes must not be given a PCPU that is taken.
            self.decide();
        }
    }

    /// A domain goes, done or not: its processes are no more, and messages to it are dropped.
    pub fn dismiss_domain(&mut self, guest: GuestId) {
        let guest_state = &mut self.guests[guest];
        // First: a domain that leaves is not done, and packets for it are dropped from now on.
        guest_state.here = false;
        if !guest_state.background {
            self.progress.move_domain();
        }
        let (host, vcpus, processes) = (guest_state.host, guest_state.vcpus, guest_state.processes);
        for process in processes.iter() {
            self.end_process(process);
        }
        for vcpu in vcpus.iter() {
            self.withdraw(guest, vcpu);
        }
        self.empty_rings(guest);
        // Last: until here the policy is called for the VCPUs of the domain.
        let dom = self.dom_of(guest);
        self.hosts[host].policy.remove(self.now_ns, dom, &mut self.decisions.orders);
        self.fulfil_orders(host);
    }

    /// A VCPU of a guest that goes stops whatever it does.
    fn withdraw(&mut self, guest: GuestId, vcpu: VcpuId) {
        self.stop(vcpu);
        let vcpu_state = &mut self.vcpus[vcpu];
        vcpu_state.current = None;
        if let Some(Errand::Receive(packet)) = vcpu_state.kernel.errand.take() {
            self.drop_packet(packet);
        }
        match self.vcpus[vcpu].place {
            Place::On(_) => self.block(vcpu),
            Place::Waits(since_ns) => {
                let guest_state = &mut self.guests[guest];
                guest_state.report.waited_ns += self.now_ns - since_ns;
                let host = guest_state.host;
                self.hosts[host].policy.sleep(self.now_ns, vcpu, &mut self.decisions.orders);
                self.fulfil_orders(host);
            }
            Place::Asleep | Place::Gone => {}
        }
        self.vcpus[vcpu].place = Place::Gone;
    }
}
