//! Random machines that can be built again and again.

use paceline_machine::{Costs, DomainSpec, HostSpec, LinkSpec, MachineSpec, Siblings, Wait};
use paceline_policy::{Setting, Settings};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::lab::{MS, US};
use crate::script::{Act, repeated, script};

#[derive(Clone, Debug)]
pub struct HostPlan {
    pub pcpus: u32,
    pub smt: bool,
    pub siblings: Siblings,
    pub dom0_vcpus: u32,
}

/// A guest; its processes follow each other in [`Plan::scripts`].
#[derive(Clone, Debug)]
pub struct DomainPlan {
    pub host: u32,
    pub vcpus: u32,
    pub processes: u32,
    pub pin: Option<u32>,
    pub threads: bool,
    pub arrives_ns: u64,
    pub leaves_ns: Option<u64>,
    pub background: bool,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub costs: Costs,
    pub hosts: Vec<HostPlan>,
    pub domains: Vec<DomainPlan>,
    pub scripts: Vec<Vec<Act>>,
    pub until_ns: u64,
}

impl Plan {
    pub fn domain_of(&self, process: u32) -> usize {
        let mut first = 0;
        let found = self.domains.iter().position(|domain| {
            first += domain.processes;
            process < first
        });
        found.expect("there is such a process")
    }

    /// The machine, under the policy `kind`.
    pub fn spec(&self, kind: &str) -> MachineSpec {
        let host = |(number, plan): (usize, &HostPlan)| HostSpec {
            smt: plan.smt,
            siblings: plan.siblings,
            dom0_vcpus: plan.dom0_vcpus,
            ..HostSpec::new(format!("host {number}"), plan.pcpus, kind)
        };
        let mut spec = MachineSpec {
            hosts: self.hosts.iter().enumerate().map(host).collect(),
            costs: self.costs.clone(),
            until_ns: Some(self.until_ns),
            ..MachineSpec::default()
        };
        if self.hosts.len() > 1 {
            let link = LinkSpec { from: 1, to: 0, latency_ns: 3 * US, bits_per_second: 1_000_000_000 };
            spec.links.push(link);
        }
        if kind == "arinc653" {
            // Who has no window never runs.
            spec.hosts.iter_mut().for_each(|host| host.dom0_settings = window(0));
        }
        let mut scripts = self.scripts.iter();
        for (number, plan) in self.domains.iter().enumerate() {
            let scripts_of = scripts.by_ref().take(plan.processes as usize);
            // What only competes goes on for ever, and takes its time.
            let processes = scripts_of.map(|acts| match plan.background {
                true => repeated(&[acts, &[Act::Compute(10 * US)][..]].concat()),
                false => script(acts),
            });
            spec.domains.push(DomainSpec {
                vcpus: plan.vcpus,
                pins: plan.pin.into_iter().collect(),
                threads: plan.threads,
                arrives_ns: plan.arrives_ns,
                leaves_ns: plan.leaves_ns,
                background: plan.background,
                settings: if kind == "arinc653" { window(number + 1) } else { Settings::default() },
                ..DomainSpec::new(format!("domain {number}"), plan.host, processes.collect())
            });
        }
        spec
    }
}

/// The window with this number in a frame of 10 ms.
fn window(number: usize) -> Settings {
    let settings = Settings::default().with("offset", Setting::Nanos(number as u64 * MS));
    settings.with("runtime", Setting::Nanos(MS))
}

fn costs() -> impl Strategy<Value = Costs> {
    // Nothing, or a little.
    let cost = || prop_oneof![Just(0), 1..5_000u64];
    let hypervisor = (cost(), cost(), cost(), 300..=1_000u64);
    let packets = (cost(), cost(), cost(), cost(), cost(), 1..=4u32);
    let events = prop_oneof![Just(0), 1..20_000u64];
    let guests = (cost(), cost(), prop_oneof![Just(0), Just(0), 1..5_000u64], 10_000..200_000u64);
    (hypervisor, packets, events, guests).prop_map(|(hypervisor, packets, event_ns, guests)| {
        let (decision_ns, switch_ns, migration_ns, smt_permille) = hypervisor;
        let (send_ns, receive_ns, backend_ns, nic_ns, byte_ps, ring_slots) = packets;
        let (loopback_ns, page_write_ns, guest_switch_ns, guest_quantum_ns) = guests;
        Costs {
            decision_ns,
            examined_ps: 1_000,
            switch_ns,
            migration_ns,
            smt_permille,
            page_write_ns,
            send_ns,
            response_ns: 0,
            receive_ns,
            backend_ns,
            event_ns,
            nic_ns,
            byte_ps,
            loopback_ns,
            guest_quantum_ns,
            guest_switch_ns,
            ring_slots,
        }
    })
}

fn host() -> impl Strategy<Value = HostPlan> {
    (1..=2u32, any::<bool>(), any::<bool>(), 1..=2u32).prop_map(|(cores, smt, apart, dom0_vcpus)| {
        let pcpus = if smt { cores * 2 } else { cores + 1 };
        let siblings = if apart { Siblings::Apart } else { Siblings::Adjacent };
        HostPlan { pcpus, smt, siblings, dom0_vcpus }
    })
}

fn wait() -> impl Strategy<Value = Wait> {
    prop_oneof![
        Just(Wait::Block),
        Just(Wait::Poll),
        (1..50_000u64).prop_map(|span_ns| Wait::PollThenYield(span_ns + 1_000)),
        (0..50_000u64).prop_map(Wait::PollThenBlock),
    ]
}

fn alone() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..300_000u64).prop_map(Act::Compute),
        (0..100_000u64).prop_map(Act::Sleep),
        Just(Act::Yield),
        (0..1_000_000u64).prop_map(Act::Lvt),
        any::<bool>().prop_map(Act::Waits),
        any::<bool>().prop_map(Act::Simulates),
    ]
}

/// What is common to both kinds of plan: no scripts yet, and places for them.
fn empty(domains: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Plan> {
    let domain = (any::<prop::sample::Index>(), 1..=3u32, 1..=3u32, prop::option::weighted(0.2, 0..2u32));
    (costs(), vec(host(), 1..=2), vec(domain, domains)).prop_map(|(costs, hosts, domains)| {
        let domains = domains.into_iter().map(|(host, vcpus, processes, pin)| {
            let host = host.index(hosts.len());
            let vcpus = vcpus.min(hosts[host].pcpus);
            let (arrives_ns, leaves_ns, background) = (0, None, false);
            let threads = vcpus == processes;
            DomainPlan {
                host: host as u32,
                vcpus,
                processes,
                pin,
                threads,
                arrives_ns,
                leaves_ns,
                background,
            }
        });
        let domains: Vec<_> = domains.collect();
        let processes = domains.iter().map(|domain| domain.processes).sum::<u32>() as usize;
        Plan { costs, hosts, domains, scripts: vec![Vec::new(); processes], until_ns: 20_000 * MS }
    })
}

/// Machines that come to their ends: for every message there is a receiver that waits for it, in one order of
/// all that is done, so that nobody ever waits in a circle.
pub fn orderly() -> impl Strategy<Value = Plan> {
    let step = prop_oneof![
        2 => (any::<prop::sample::Index>(), alone()).prop_map(|(who, act)| (who, act, None)),
        3 => (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..2_000u32, wait())
            .prop_map(|(from, to, bytes, wait)| (from, Act::Send(0, bytes), Some((to, wait)))),
    ];
    (empty(1..=5), vec(step, 0..80)).prop_map(|(mut plan, steps)| {
        let processes = plan.scripts.len();
        for (who, act, receiver) in steps {
            let who = who.index(processes);
            match (act, receiver) {
                (Act::Send(_, bytes), Some((to, wait))) => {
                    let to = to.index(processes);
                    plan.scripts[who].push(Act::Send(to as u32, bytes));
                    plan.scripts[to].push(Act::Receive(wait));
                }
                (act, _) => plan.scripts[who].push(act),
            }
        }
        plan
    })
}

/// Machines of which nothing is known: domains come and go, compete, and wait for what may never come.
pub fn wild() -> impl Strategy<Value = Plan> {
    let step = prop_oneof![
        3 => alone().prop_map(|act| (act, None)),
        5 => (any::<prop::sample::Index>(), 0..2_000u32).prop_map(|(to, bytes)| (Act::Send(0, bytes), Some(to))),
        3 => wait().prop_map(|wait| (Act::Receive(wait), None)),
        1 => wait().prop_map(|wait| (Act::Peek(wait), None)),
    ];
    let stay = (0..300_000u64, 1..500_000u64, 0..8u32);
    (empty(2..=6), vec(vec(step, 0..20), 18), vec(stay, 6)).prop_map(|(mut plan, scripts, stays)| {
        let processes = plan.scripts.len();
        for (script, steps) in plan.scripts.iter_mut().zip(scripts) {
            script.extend(steps.into_iter().map(|(act, to)| match (act, to) {
                (Act::Send(_, bytes), Some(to)) => Act::Send(to.index(processes) as u32, bytes),
                (act, _) => act,
            }));
        }
        for (domain, (arrives_ns, stays_ns, what)) in plan.domains.iter_mut().zip(stays) {
            if what & 1 == 1 {
                domain.arrives_ns = arrives_ns;
            }
            if what & 2 == 2 {
                domain.leaves_ns = Some(domain.arrives_ns + stays_ns);
            }
            domain.background = what & 4 == 4;
        }
        plan.until_ns = 30 * MS;
        plan
    })
}
