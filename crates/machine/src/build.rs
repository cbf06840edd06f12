//! From a spec to a machine, and domains that come and go.
//!
//! Invariant: a spec that is accepted refers to nothing that is not in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use paceline_policy::{DomId, Host as PolicyHost, NewDomain, Orders, PcpuId, Settings, VcpuId};

use crate::calendar::{Calendar, Event};
use crate::machine::Machine;
use crate::network::Link;
use crate::process::{Process, Stage};
use crate::spec::DomainSpec;
use crate::state::{Guest, Host, Pcpu, Place, Vcpu};
use crate::{DomainReport, HostReport, HostSpec, MachineError, MachineSpec, Observer, ProcessId};

/// A domain as its host's policy will see it when it comes.
#[derive(Debug)]
pub struct Comer {
    pub domain: NewDomain,
    pub settings: Settings,
}

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

fn pins(pins: &[u32], vcpus: u32) -> Vec<Option<PcpuId>> {
    (0..vcpus as usize).map(|vcpu| pins.get(vcpu).map(|pin| PcpuId(*pin))).collect()
}

fn vcpu(dom: u32, host: u32) -> Vcpu {
    Vcpu {
        dom,
        host,
        place: Place::Gone,
        number: 0,
        segment: None,
        last: None,
        current: None,
        quantum_ns: 0,
        previous: None,
        errand: None,
        kernel_ns: 0,
        attends: false,
        resumed: VecDeque::new(),
        errands: VecDeque::new(),
    }
}

impl<'a> Machine<'a> {
    /// The machine of a spec, before its first instant.
    pub fn build(spec: MachineSpec, observer: &'a mut dyn Observer) -> Result<Self, MachineError> {
        check(&spec)?;
        let mut machine = Self {
            costs: spec.costs,
            now_ns: 0,
            calendar: Calendar::default(),
            hosts: Vec::new(),
            pcpus: Vec::new(),
            vcpus: Vec::new(),
            guests: Vec::new(),
            processes: Vec::new(),
            comers: Vec::new(),
            links: BTreeMap::new(),
            packets: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            lively: 0,
            awaited: 0,
            moving: 0,
            orders: Orders::default(),
            undecided: VecDeque::new(),
            digest: 0,
            fault: None,
            until_ns: spec.until_ns,
            observer,
        };
        for host in spec.hosts {
            machine.add_host(host)?;
        }
        for link in spec.links {
            for (from, to) in [(link.from, link.to), (link.to, link.from)] {
                let bits_per_second = link.bits_per_second;
                machine
                    .links
                    .insert((from, to), Link { latency_ns: link.latency_ns, bits_per_second, free_ns: 0 });
            }
        }
        for domain in spec.domains {
            machine.add_domain(domain);
        }
        Ok(machine)
    }

    fn add_host(&mut self, spec: HostSpec) -> Result<(), MachineError> {
        let number = self.hosts.len() as u32;
        let place = |source| MachineError::Policy { place: spec.name.clone(), source };
        let mut settings = spec.policy.settings;
        let host = PolicyHost { pcpus: spec.pcpus };
        let mut policy = paceline_policy::build(&spec.policy.kind, &mut settings, host).map_err(place)?;
        let first = self.vcpus.len() as u32;
        let dom0: Vec<_> = (first..first + spec.dom0_vcpus).collect();
        let vcpus = dom0.iter().map(|vcpu| VcpuId(*vcpu)).collect();
        let pins = pins(&spec.dom0_pins, spec.dom0_vcpus);
        let domain = NewDomain { dom: DomId(number), privileged: true, vcpus, pins };
        policy.start(0, &mut self.orders);
        let mut settings = spec.dom0_settings;
        policy.add(0, &domain, &mut settings, &mut self.orders).map_err(place)?;
        for _ in &dom0 {
            let mut own = vcpu(number, number);
            own.place = Place::Asleep;
            self.vcpus.push(own);
        }
        let first_pcpu = self.pcpus.len() as u32;
        self.pcpus.extend((0..spec.pcpus).map(|_| Pcpu { host: number, ..Pcpu::default() }));
        self.hosts.push(Host {
            report: HostReport { name: spec.name, ..HostReport::default() },
            policy,
            first_pcpu,
            smt: spec.smt,
            timers: Vec::new(),
            pending: 0,
            dom0,
        });
        self.obey(number);
        Ok(())
    }

    fn add_domain(&mut self, spec: DomainSpec) {
        let number = self.guests.len() as u32;
        let dom = self.dom_of(number);
        let first_vcpu = self.vcpus.len() as u32;
        self.vcpus.extend((0..spec.vcpus).map(|_| vcpu(dom, spec.host)));
        let vcpus = (first_vcpu..first_vcpu + spec.vcpus).map(VcpuId).collect();
        let pins = pins(&spec.pins, spec.vcpus);
        let domain = NewDomain { dom: DomId(dom), privileged: false, vcpus, pins };
        self.comers.push(Some(Comer { domain, settings: spec.settings }));
        let first_process = self.processes.len() as u32;
        let processes = spec.processes.len() as u32;
        self.processes.extend(spec.processes.into_iter().map(|program| Process {
            program,
            guest: number,
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
            self.awaited += u64::from(processes);
        }
        self.moving += 1;
        self.calendar.plan(spec.arrives_ns, Event::Comes { domain: number });
        if let Some(leaves_ns) = spec.leaves_ns {
            self.moving += u64::from(!spec.background);
            self.calendar.plan(leaves_ns, Event::Goes { domain: number });
        }
        self.guests.push(Guest {
            report: DomainReport { name: spec.name.clone(), ..DomainReport::default() },
            name: spec.name,
            host: spec.host,
            here: false,
            background: spec.background,
            first_vcpu,
            vcpus: spec.vcpus,
            first_process,
            processes,
            alive: processes,
            ready: VecDeque::new(),
            transmit: VecDeque::new(),
            announced: false,
            responded: false,
            stalled: VecDeque::new(),
            receive: VecDeque::new(),
            kept: 0,
            blocked: VecDeque::new(),
        });
    }

    /// A domain comes: its host's policy admits it, and its processes are ready.
    pub fn comes(&mut self, number: u32) {
        let Comer { domain, mut settings } =
            self.comers[number as usize].take().expect("a domain comes once");
        self.moving -= 1;
        let own = &mut self.guests[number as usize];
        let host = own.host;
        let policy = &mut self.hosts[host as usize].policy;
        if let Err(source) = policy.add(self.now_ns, &domain, &mut settings, &mut self.orders) {
            self.fault = Some(MachineError::Policy { place: own.name.clone(), source });
            return;
        }
        own.here = true;
        let (first_vcpu, vcpus) = (own.first_vcpu, own.vcpus);
        let (first, processes, background) = (own.first_process, own.processes, own.background);
        if !background {
            self.lively += u64::from(processes);
        }
        for process in first..first + processes {
            self.processes[process as usize].off = false;
            self.guests[number as usize].ready.push_back(ProcessId(process));
        }
        self.obey(host);
        for vcpu in first_vcpu..first_vcpu + vcpus {
            self.vcpus[vcpu as usize].place = Place::Asleep;
        }
        for vcpu in first_vcpu..first_vcpu + vcpus.min(processes) {
            self.notify(vcpu);
            // One after the other: who is woken next must not count on a PCPU that is taken.
            self.decide();
        }
    }

    /// A domain goes, done or not: its processes are no more, and messages to it are dropped.
    pub fn goes(&mut self, number: u32) {
        let own = &mut self.guests[number as usize];
        own.here = false;
        self.moving -= u64::from(!own.background);
        let (host, first_vcpu, vcpus) = (own.host, own.first_vcpu, own.vcpus);
        for process in own.first_process..own.first_process + own.processes {
            self.end_process(ProcessId(process));
        }
        for vcpu in first_vcpu..first_vcpu + vcpus {
            self.stop(vcpu);
            self.vcpus[vcpu as usize].current = None;
            if let Some(crate::state::Errand::Receive(packet)) = self.vcpus[vcpu as usize].errand.take() {
                self.drop_packet(packet);
            }
            match self.vcpus[vcpu as usize].place {
                Place::On(_) => self.block(vcpu),
                Place::Waits(since_ns) => {
                    self.guests[number as usize].report.waited_ns += self.now_ns - since_ns;
                    let policy = &mut self.hosts[host as usize].policy;
                    policy.sleep(self.now_ns, VcpuId(vcpu), &mut self.orders);
                    self.obey(host);
                }
                Place::Asleep | Place::Gone => {}
            }
            self.vcpus[vcpu as usize].place = Place::Gone;
        }
        self.empty_rings(number);
        let dom = DomId(self.dom_of(number));
        self.hosts[host as usize].policy.remove(self.now_ns, dom, &mut self.orders);
        self.obey(host);
    }
}
