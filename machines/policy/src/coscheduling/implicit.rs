//! Implicit co-scheduling: time sharing that reacts to messages, the receiving side of a known matrix (Nagar
//! et al., 1999; Anglano, 2000).
//!
//! Source: co-scheduling thesis, section 2.1.2.1 and table 2. The guest decides what a process does while it
//! waits for a message; the setting `reaction` says what the scheduler does when one comes. Together they
//! name the strategy:
//!
//! | `reaction` | spin | block | spin-block | spin-yield |
//! |---|---|---|---|---|
//! | `none` | Local | IB | SB | SY |
//! | `immediate-boost` | DCS | DCS-IB | DCS-SB | DCS-SY |
//! | `periodic-boost` | PB | PB-IB | PB-SB | PB-SY |
//!
//! Time sharing: each PCPU has a queue, and its VCPUs get a slice each in turn (`slice`, 10 ms). A boost
//! moves a VCPU to the front and preempts; a preempted VCPU continues with the rest of its slice after the
//! boosted ones.
//! - immediate: when the pending count of a domain rises, all its waiting VCPUs are boosted; so is a VCPU
//!   that wakes while its domain has messages;
//! - periodic: every `boost-period` (10 ms), each PCPU boosts the first VCPU whose domain has messages, in
//!   the order in which they began to wait: none is boosted twice while another one with messages waits
//!   there;
//! - a VCPU that yields (spin-yield in the guest) goes to the end of the queue, and the first one with
//!   messages is boosted.
//!
//! State: a VCPU waits in the queue of its PCPU: its pin, else the one with fewest VCPUs, until an idle PCPU
//! takes it away. VCPUs without a pin are also in one queue of the host, by how long they have waited.
//! Work-conserving. Without boosts no VCPU starves; a stream of boosts can keep others waiting, as the paper
//! says of DCS.

mod moves;
mod queue;

use std::collections::BTreeSet;

use crate::per_id::{PerDomain, PerVcpu};
use crate::queues::RunQueue;
use crate::{
    DomId, Host, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings, Standing,
    VcpuId,
};
use queue::{Place, Queue};

/// The timer of the periodic boost.
const BOOST: u32 = 0;

/// What the scheduler does when a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    None,
    Immediate,
    Periodic,
}

/// Time sharing with boosts.
#[derive(Debug)]
pub struct Implicit {
    slice_ns: u64,
    reaction: Reaction,
    boost_period_ns: u64,
    queues: Vec<Queue>,
    /// PCPUs that idle and have not been asked to take a VCPU.
    idle: BTreeSet<PcpuId>,
    /// Waiting VCPUs without a pin, in the order in which they began to wait.
    free: RunQueue<i64>,
    vcpus: PerVcpu<Vcpu>,
    doms: PerDomain<Domain>,
    numbers: i64,
}

#[derive(Debug)]
struct Domain {
    vcpus: Vec<VcpuId>,
    messages: u32,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    home: PcpuId,
    pinned: bool,
    awake: bool,
    /// Its place while it waits.
    waits: Option<Place>,
    /// When it began to wait, as a number in one order for all VCPUs.
    since: i64,
    /// How much of its slice it has used, and the time up to which it is charged.
    used_ns: u64,
    charged_ns: u64,
}

impl Implicit {
    /// For `host`, with the settings `slice`, `reaction` and, for the periodic boost, `boost-period`.
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let slice_ns = settings.nanos("slice", 10 * MILLISECOND, 1_000, 1_000 * MILLISECOND)?;
        let reactions = [
            ("none", Reaction::None),
            ("immediate-boost", Reaction::Immediate),
            ("periodic-boost", Reaction::Periodic),
        ];
        let reaction = settings.choice("reaction", &reactions)?;
        let boost_period_ns = match reaction {
            Reaction::Periodic => {
                settings.nanos("boost-period", 10 * MILLISECOND, 10_000, 1_000 * MILLISECOND)?
            }
            Reaction::None | Reaction::Immediate => 0,
        };
        Ok(Self {
            slice_ns,
            reaction,
            boost_period_ns,
            queues: (0..host.pcpus).map(|_| Queue::default()).collect(),
            idle: (0..host.pcpus).map(PcpuId).collect(),
            free: RunQueue::default(),
            vcpus: PerVcpu::default(),
            doms: PerDomain::default(),
            numbers: 0,
        })
    }
}

impl Policy for Implicit {
    fn start(&mut self, now_ns: u64, orders: &mut Orders) {
        if self.reaction == Reaction::Periodic {
            orders.set_timer(BOOST, now_ns + self.boost_period_ns);
        }
    }

    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        settings.finish(domain.dom.to_string())?;
        for (id, pin) in domain.members() {
            let fewest = self.queues.iter().enumerate().min_by_key(|(_, queue)| queue.vcpus);
            let home = pin.unwrap_or(PcpuId(fewest.expect("a host has a PCPU").0 as u32));
            self.queues[home.index()].vcpus += 1;
            let vcpu = Vcpu {
                dom: domain.dom,
                home,
                pinned: pin.is_some(),
                awake: false,
                waits: None,
                since: 0,
                used_ns: 0,
                charged_ns: 0,
            };
            self.vcpus.insert(id, vcpu);
        }
        self.doms.insert(domain.dom, Domain { vcpus: domain.vcpus.clone(), messages: 0 });
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in std::mem::take(&mut self.doms[dom].vcpus) {
            self.stop_waiting(id);
            let vcpu = self.vcpus.remove(id).expect("a domain's VCPUs are there as long as it is");
            let queue = &mut self.queues[vcpu.home.index()];
            queue.vcpus -= 1;
            queue.running.take_if(|running| *running == id);
        }
        self.doms.remove(dom);
    }

    fn wake(&mut self, _now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        vcpu.used_ns = 0;
        let home = vcpu.home;
        let place = self.queues[home.index()].last();
        self.wait(id, place);
        if !self.offer(id, orders) && self.reaction == Reaction::Immediate && self.has_messages(id) {
            self.boost(id, orders);
        }
    }

    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.stop_waiting(vcpu);
        let home = self.vcpus[vcpu].home;
        if self.queues[home.index()].running == Some(vcpu) {
            self.take_off(now_ns, home);
        }
        self.vcpus[vcpu].awake = false;
    }

    fn yields(&mut self, _now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let slice_ns = self.slice_ns;
        let vcpu = &mut self.vcpus[id];
        vcpu.used_ns = slice_ns;
        let home = vcpu.home;
        self.boost_first(home, orders);
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.idle.remove(&pcpu);
        let last = self.take_off(now_ns, pcpu);
        let boosted = self.queues[pcpu.index()].first().is_some_and(|(place, _)| place.is_boosted());
        if let Some(last) = last {
            let left = self.vcpus[last].used_ns < self.slice_ns;
            let place = match (left, boosted) {
                // Only a boost ends a slice early.
                (true, false) => return self.run(now_ns, pcpu, last),
                (true, true) => self.queues[pcpu.index()].preempted(),
                (false, _) => {
                    self.vcpus[last].used_ns = 0;
                    self.queues[pcpu.index()].last()
                }
            };
            self.wait(last, place);
        }
        let Some(vcpu) = self.next(pcpu) else {
            self.idle.insert(pcpu);
            return Pick::default();
        };
        if let Some(last) = last.filter(|last| *last != vcpu) {
            self.offer(last, orders);
        }
        self.run(now_ns, pcpu, vcpu)
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        orders.set_timer(BOOST, now_ns + self.boost_period_ns);
        (0..self.queues.len() as u32).for_each(|pcpu| self.boost_first(PcpuId(pcpu), orders));
    }

    fn migrate(&mut self, _now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.stop_waiting(id);
        self.move_home(id, pcpu);
        let vcpu = &mut self.vcpus[id];
        vcpu.pinned = pin;
        if vcpu.awake {
            let place = self.queues[pcpu.index()].last();
            self.wait(id, place);
            self.offer(id, orders);
        }
    }

    fn pending(&mut self, _now_ns: u64, dom: DomId, messages: u32, orders: &mut Orders) {
        let domain = &mut self.doms[dom];
        let before = std::mem::replace(&mut domain.messages, messages);
        let vcpus = std::mem::take(&mut domain.vcpus);
        for id in &vcpus {
            let vcpu = &self.vcpus[*id];
            if vcpu.waits.is_none() {
                continue;
            }
            let (since, home) = (vcpu.since, vcpu.home);
            self.queues[home.index()].mark(since, *id, messages > 0);
            if messages > before && self.reaction == Reaction::Immediate {
                self.boost(*id, orders);
            }
        }
        self.doms[dom].vcpus = vcpus;
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let runs = self.queues[vcpu.home.index()].running == Some(id);
            let mut keys = vec![("used_ns", vcpu.used_ns as i64)];
            keys.extend(vcpu.waits.map(|place| ("boosted", i64::from(place.is_boosted()))));
            Standing { vcpu: id, runs_on: runs.then_some(vcpu.home), awake: vcpu.awake, keys }
        })
    }
}
