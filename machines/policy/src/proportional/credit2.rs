//! Xen's second credit scheduler, as of Xen 4.2 to 4.4 (co-scheduling thesis, section 3.1.5.2): shares by
//! weight from one run queue that is ordered by credits.
//!
//! VCPUs burn credits while they run, faster if their domain is lighter: one of the heaviest domain burns one
//! credit a nanosecond. The VCPU with most credits runs first. When the next one to run has none left, all
//! get 10 ms worth of credits (or the multiple of that which it needs to have some again), and at most half a
//! millisecond is carried over. A VCPU that wakes goes to an idle PCPU; otherwise it preempts the VCPU on the
//! PCPU it ran on if it has more credits than that one, or else the running VCPU with the least credits if it
//! has more by at least the *resistance to migration*.
//!
//! Later versions of Xen let a VCPU run for at least a millisecond by default, and for at most 10: both are
//! settings here.
//!
//! Since Xen 4.10 a domain can have a *cap*: a budget of CPU time in every period of 10 ms
//! (`credit2/budget.rs`); since Xen 4.12 a VCPU can prefer some PCPUs, its soft affinity
//! (`credit2/choice.rs`).
//!
//! State: for each VCPU its credits; one queue for the host, whatever its size, as with Xen's
//! `credit2_runqueue=all`, and therefore no balance between queues. Work-conserving without caps; no VCPU
//! starves, because all others run out of credits. Shares are exact on one PCPU; on several, a reset takes
//! away credits beyond half a millisecond from VCPUs that run elsewhere (0 to 2.5 % of a share).
//!
//! Cost: a reset goes over all VCPUs. There is at most one for every 10 ms that the heaviest domain runs.

mod budget;
mod choice;

use std::collections::BTreeMap;

use self::budget::Cap;
use crate::affinity::Affinity;
use crate::per_id::PerVcpu;
use crate::queues::{Place, Seats, Turn, Waiting};
use crate::settings::{Setting, Settings, bad};
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing,
    VcpuId,
};

/// What a reset adds.
const INITIAL: i64 = 10 * MILLISECOND as i64;
/// What a reset leaves of older credits.
const CARRIED: i64 = MILLISECOND as i64 / 2;
const LEAST_SLICE_NS: u64 = MILLISECOND / 2;
/// How long before the end of its rate limit a running VCPU may be preempted
/// (`CSCHED2_RATELIMIT_TICKLE_TOLERANCE`).
const TOLERANCE_NS: u64 = 50 * MICROSECOND;

/// Most credits first.
type Key = std::cmp::Reverse<i64>;

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    weight: u64,
    affinity: Affinity,
    awake: bool,
    credit: i64,
    /// What it may still run before it has to ask its domain for more, and how far it has run beyond that;
    /// none without a cap.
    budget_ns: Option<i64>,
    /// It waits for its domain's budget.
    parked: bool,
    /// The fraction of a credit burnt and not yet charged, in units of 1/`weight`.
    residue: u64,
    home: PcpuId,
    runs_on: Option<PcpuId>,
    /// When it began to run, or began its last run.
    since_ns: u64,
    /// The time up to which it is charged.
    charged_ns: u64,
}

/// The credit2 scheduler.
#[derive(Debug)]
pub struct Credit2 {
    resistance: i64,
    ratelimit_ns: u64,
    most_slice_ns: u64,
    cap_period_ns: u64,
    vcpus: PerVcpu<Vcpu>,
    caps: BTreeMap<DomId, Cap>,
    /// How many VCPUs have each weight.
    weights: BTreeMap<u64, u32>,
    waiting: Waiting<Key>,
    seats: Seats,
    /// The running VCPU that has yielded.
    yielded: Option<VcpuId>,
}

impl Credit2 {
    /// For `host`, with the settings `migrate_resist` (500 us): how many more credits, in time of the
    /// heaviest domain, a VCPU must have to run elsewhere than it did; `ratelimit` (none): how long a
    /// VCPU runs before it can be preempted, unless it yields; and `most_slice` (2 ms): the longest
    /// slice. Since Xen 4.8 the last two are 1 ms and 10 ms. `cap_period` (10 ms): how often the
    /// budgets of capped domains are filled up (`credit2_cap_period_ms`).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let resistance = settings.nanos("migrate_resist", 500 * MICROSECOND, 0, 1_000 * MILLISECOND)?;
        let ratelimit_ns = settings.nanos("ratelimit", 0, 0, 1_000 * MILLISECOND)?;
        let most_slice_ns =
            settings.nanos("most_slice", 2 * MILLISECOND, LEAST_SLICE_NS, 1_000 * MILLISECOND)?;
        if ratelimit_ns > most_slice_ns {
            return Err(bad("ratelimit", &Setting::Nanos(ratelimit_ns), "at most the longest slice".into()));
        }
        let cap_period_ns =
            settings.nanos("cap_period", 10 * MILLISECOND, MILLISECOND, 1_000 * MILLISECOND)?;
        Ok(Self {
            resistance: resistance as i64,
            ratelimit_ns,
            most_slice_ns,
            cap_period_ns,
            vcpus: PerVcpu::default(),
            caps: BTreeMap::new(),
            weights: BTreeMap::new(),
            waiting: Waiting::new(host.pcpus),
            seats: Seats::new(host.pcpus),
            yielded: None,
        })
    }

    fn heaviest(&self) -> u64 {
        *self.weights.last_key_value().expect("who runs has a weight").0
    }

    /// What a running VCPU has burnt since it was last charged: credits, and the fraction of one.
    fn burnt(&self, vcpu: &Vcpu, now_ns: u64) -> (i64, u64) {
        let ran_ns = u128::from(now_ns - vcpu.charged_ns);
        let parts = ran_ns * u128::from(self.heaviest()) + u128::from(vcpu.residue);
        ((parts / u128::from(vcpu.weight)) as i64, (parts % u128::from(vcpu.weight)) as u64)
    }

    /// Charges a VCPU that runs.
    fn burn(&mut self, id: VcpuId, now_ns: u64) {
        let (credits, residue) = self.burnt(&self.vcpus[id], now_ns);
        let vcpu = &mut self.vcpus[id];
        if let Some(budget_ns) = &mut vcpu.budget_ns {
            *budget_ns -= (now_ns - vcpu.charged_ns) as i64;
        }
        vcpu.charged_ns = now_ns;
        vcpu.credit -= credits;
        vcpu.residue = residue;
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &self.vcpus[id];
        let (key, place) = (std::cmp::Reverse(vcpu.credit), Place::near(vcpu.home, vcpu.affinity.pin()));
        self.waiting.wait(id, key, place);
    }

    fn dequeue(&mut self, id: VcpuId) -> bool {
        self.waiting.leave(id).is_some()
    }

    /// Gives credits to all, so that `next` has some.
    fn reset(&mut self, now_ns: u64, next: VcpuId) {
        let lacks = -self.vcpus[next].credit;
        let gets = (1 + lacks.max(0) / INITIAL) * INITIAL;
        let running: Vec<_> = self.seats.running(None).map(|(_, id)| id).collect();
        for id in running {
            if self.vcpus.get(id).is_some_and(|vcpu| vcpu.runs_on.is_some()) {
                self.burn(id, now_ns);
            }
        }
        let mut waited: Vec<(Turn<Key>, VcpuId)> = Vec::new();
        for (id, vcpu) in self.vcpus.iter_mut() {
            vcpu.credit = (vcpu.credit + gets).min(INITIAL + CARRIED);
            waited.extend(self.waiting.turn(id).map(|turn| (turn, id)));
        }
        waited.sort();
        for (_, id) in waited {
            self.dequeue(id);
            self.enqueue(id);
        }
    }

    fn count_weight(&mut self, weight: u64, vcpus: usize) {
        *self.weights.entry(weight).or_default() += vcpus as u32;
    }

    fn uncount_weight(&mut self, weight: u64) {
        let count = self.weights.get_mut(&weight).expect("the weight of a VCPU is counted");
        *count -= 1;
        if *count == 0 {
            self.weights.remove(&weight);
        }
    }

    /// Charges all that run.
    fn burn_all(&mut self, now_ns: u64) {
        let running: Vec<_> = self.seats.running(None).map(|(_, id)| id).collect();
        for id in running {
            if self.vcpus.contains(id) {
                self.burn(id, now_ns);
            }
        }
    }

    /// The most that the cap of a domain with so many VCPUs can be, in percent of a PCPU
    /// (`csched2_dom_cntl`).
    fn most_cap(vcpus: usize) -> u64 {
        100 * vcpus as u64
    }
}

impl Policy for Credit2 {
    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let weight = settings.count("weight", 256, 1, 65_535)?;
        let cap = settings.count("cap", 0, 0, Self::most_cap(domain.vcpus.len()))?;
        let soft = Affinity::soft(settings, self.seats.len())?;
        settings.finish(domain.dom.to_string())?;
        for (id, pin, home) in domain.homes(self.seats.len()) {
            let vcpu = Vcpu {
                dom: domain.dom,
                weight,
                affinity: soft.pinned(pin),
                awake: false,
                credit: INITIAL,
                budget_ns: None,
                parked: false,
                residue: 0,
                home,
                runs_on: None,
                since_ns: now_ns,
                charged_ns: now_ns,
            };
            self.vcpus.insert(id, vcpu);
        }
        self.count_weight(weight, domain.vcpus.len());
        self.set_cap(now_ns, domain.dom, cap, orders);
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        self.caps.remove(&dom);
        for id in self.vcpus.ids(|vcpu| vcpu.dom == dom) {
            self.dequeue(id);
            let weight = self.vcpus[id].weight;
            self.uncount_weight(weight);
            self.vcpus.remove(id);
        }
    }

    fn adjust(
        &mut self,
        now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let ids = self.vcpus.ids(|vcpu| vcpu.dom == dom);
        let first = ids.first().map(|id| &self.vcpus[*id]);
        let (old, old_soft) =
            (first.map_or(256, |vcpu| vcpu.weight), first.map(|vcpu| vcpu.affinity.clone()));
        let old_cap = self.caps.get(&dom).map_or(0, |cap| cap.percent);
        let weight = settings.count("weight", old, 1, 65_535)?;
        let cap = settings.count("cap", old_cap, 0, Self::most_cap(ids.len()))?;
        let soft = Affinity::changed_soft(settings, self.seats.len(), old_soft)?;
        settings.finish(dom.to_string())?;
        // What they have run until now is charged by the old weight, and to no budget that begins now.
        self.burn_all(now_ns);
        for id in ids {
            let vcpu = &mut self.vcpus[id];
            (vcpu.weight, vcpu.residue) = (weight, 0);
            vcpu.affinity = soft.pinned(vcpu.affinity.pin());
            self.count_weight(weight, 1);
            self.uncount_weight(old);
        }
        self.set_cap(now_ns, dom, cap, orders);
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        if vcpu.runs_on.is_none() && !vcpu.parked {
            self.enqueue(id);
            self.tickle(now_ns, id, orders);
        }
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].awake = false;
        self.dequeue(vcpu);
    }

    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.yielded = Some(vcpu);
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        let last = self.seats.on(pcpu).filter(|id| self.vcpus.contains(*id));
        if let Some(last) = last {
            self.burn(last, now_ns);
            self.vcpus[last].runs_on = None;
        }
        let current = last.filter(|last| self.vcpus[*last].awake && self.has_budget(*last));
        let yields = self.yielded.take_if(|yielded| Some(*yielded) == last).is_some();
        let goes_on =
            current.filter(|current| !yields && self.ratelimited_ns(&self.vcpus[*current], now_ns) > 0);
        let leaves = current.filter(|current| goes_on.is_none() && self.would_rather_move(*current, pcpu));
        let next = match current {
            Some(_) if goes_on.is_some() => goes_on,
            Some(_) if leaves.is_some() => self.candidate(pcpu, None),
            Some(_) if yields => self.candidate(pcpu, None).or(current),
            _ => self.candidate(pcpu, current),
        };
        self.seats.seat(pcpu, next);
        if let Some(current) = current.filter(|current| Some(*current) != next) {
            self.enqueue(current);
        }
        if let Some(last) = last.filter(|last| Some(*last) != next) {
            self.give_back(now_ns, last, orders);
        }
        if let Some(leaves) = leaves.filter(|_| goes_on.is_none()) {
            self.tickle(now_ns, leaves, orders);
        }
        let Some(next) = next else {
            return Pick::default();
        };
        self.dequeue(next);
        let vcpu = &mut self.vcpus[next];
        (vcpu.home, vcpu.charged_ns) = (pcpu, now_ns);
        if current != Some(next) {
            vcpu.since_ns = now_ns;
        }
        let exhausted = vcpu.credit <= 0;
        // A VCPU that continues although better ones wait causes no reset.
        let better = |(turn, _): (Turn<Key>, VcpuId)| turn.key.0 > 0;
        if exhausted && !(goes_on.is_some() && self.waiting.first_anywhere().is_some_and(better)) {
            self.reset(now_ns, next);
        }
        self.vcpus[next].runs_on = Some(pcpu);
        if self.waiting.first_anywhere().is_some() {
            self.seats.ask_idle(None, pcpu, orders);
        }
        Pick { vcpu: Some(next), slice_ns: Some(self.slice_ns(now_ns, pcpu, next)), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, timer: u32, orders: &mut Orders) {
        self.replenish(now_ns, DomId(timer), orders);
    }

    fn migrate(&mut self, now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        let waited = self.dequeue(id);
        let vcpu = &mut self.vcpus[id];
        (vcpu.affinity, vcpu.home) = (vcpu.affinity.pinned(pin.then_some(pcpu)), pcpu);
        if waited {
            self.enqueue(id);
            self.tickle(now_ns, id, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let keys = vec![
                ("credit", vcpu.credit),
                ("weight", vcpu.weight as i64),
                ("parked", i64::from(vcpu.parked)),
            ];
            Standing { vcpu: id, runs_on: vcpu.runs_on, awake: vcpu.awake, keys }
        })
    }
}
