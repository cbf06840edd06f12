//! Xen's second credit scheduler, as of Xen 4.2 to 4.4 (co-scheduling thesis, section 3.1.5.2): shares by weight from one
//! run queue that is ordered by credits.
//!
//! VCPUs burn credits while they run, faster if their domain is lighter: one of the heaviest domain burns one credit a nanosecond.
//! The VCPU with most credits runs first. When the next one to run has none left, all get 10 ms worth of credits (or the multiple
//! of that which it needs to have some again), and at most half a millisecond is carried over. A VCPU that wakes goes to an idle
//! PCPU; otherwise it preempts the VCPU on the PCPU it ran on if it has more credits than that one, or else the running VCPU with
//! the least credits if it has more by at least the *resistance to migration*.
//!
//! Later versions of Xen let a VCPU run for at least a millisecond by default, and for at most 10: both are settings here.
//!
//! State: for each VCPU its credits; one queue for the host, whatever its size, as with Xen's `credit2_runqueue=all`, and
//! therefore no balance between queues. Work-conserving; no VCPU starves, because all others run out of credits. Shares are exact
//! on one PCPU; on several, a reset takes away credits beyond half a millisecond from VCPUs that run elsewhere (0 to 2.5 % of a share).
//!
//! Cost: a reset goes over all VCPUs. There is at most one for every 10 ms that the heaviest domain runs.

use std::collections::BTreeMap;

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
/// The shortest slice.
const LEAST_SLICE_NS: u64 = MILLISECOND / 2;
/// How long before the end of its rate limit a running VCPU may be preempted (`CSCHED2_RATELIMIT_TICKLE_TOLERANCE`).
const TOLERANCE_NS: u64 = 50 * MICROSECOND;

/// Most credits first.
type Key = std::cmp::Reverse<i64>;

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    weight: u64,
    pin: Option<PcpuId>,
    awake: bool,
    credit: i64,
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
    vcpus: Vec<Option<Vcpu>>,
    /// How many VCPUs have each weight.
    weights: BTreeMap<u64, u32>,
    waiting: Waiting<Key>,
    seats: Seats,
    /// The running VCPU that has yielded.
    yielded: Option<VcpuId>,
}

impl Credit2 {
    /// For `host`, with the settings `migrate_resist` (500 us): how many more credits, in time of the heaviest domain, a VCPU
    /// must have to run elsewhere than it did; `ratelimit` (none): how long a VCPU runs before it can be preempted, unless it
    /// yields; and `most_slice` (2 ms): the longest slice. Since Xen 4.8 the last two are 1 ms and 10 ms.
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let resistance = settings.nanos("migrate_resist", 500 * MICROSECOND, 0, 1_000 * MILLISECOND)?;
        let ratelimit_ns = settings.nanos("ratelimit", 0, 0, 1_000 * MILLISECOND)?;
        let most_slice_ns =
            settings.nanos("most_slice", 2 * MILLISECOND, LEAST_SLICE_NS, 1_000 * MILLISECOND)?;
        if ratelimit_ns > most_slice_ns {
            return Err(bad("ratelimit", &Setting::Nanos(ratelimit_ns), "at most the longest slice".into()));
        }
        Ok(Self {
            resistance: resistance as i64,
            ratelimit_ns,
            most_slice_ns,
            vcpus: Vec::new(),
            weights: BTreeMap::new(),
            waiting: Waiting::new(host.pcpus),
            seats: Seats::new(host.pcpus),
            yielded: None,
        })
    }

    fn vcpu(&mut self, id: VcpuId) -> &mut Vcpu {
        self.vcpus[id.index()].as_mut().expect("the host names only VCPUs that it added")
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
        let vcpu = self.vcpus[id.index()].as_ref().expect("who runs is there");
        let (credits, residue) = self.burnt(vcpu, now_ns);
        let vcpu = self.vcpu(id);
        vcpu.charged_ns = now_ns;
        vcpu.credit -= credits;
        vcpu.residue = residue;
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = self.vcpu(id);
        let (key, place) = (std::cmp::Reverse(vcpu.credit), Place::near(vcpu.home, vcpu.pin));
        self.waiting.wait(id, key, place);
    }

    fn dequeue(&mut self, id: VcpuId) -> bool {
        self.waiting.leave(id).is_some()
    }

    /// Finds a PCPU for a VCPU that has begun to wait (`runq_tickle`).
    fn tickle(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = self.vcpu(id);
        let (pin, home, credit) = (vcpu.pin, vcpu.home, vcpu.credit);
        if self.seats.ask_idle(pin, home, orders) {
            return;
        }
        let mut lowest: Option<(i64, PcpuId)> = None;
        for (pcpu, other) in self.seats.running(pin) {
            let Some(other) = self.vcpus[other.index()].as_ref() else { continue };
            if self.ratelimited_ns(other, now_ns) >= TOLERANCE_NS {
                continue;
            }
            let left = other.credit - self.burnt(other, now_ns).0;
            if pcpu == home && left < credit {
                orders.reschedule(pcpu);
                return;
            }
            lowest = Some(lowest.map_or((left, pcpu), |lowest| lowest.min((left, pcpu))));
        }
        if let Some((_, pcpu)) = lowest.filter(|(left, _)| left + self.resistance < credit) {
            orders.reschedule(pcpu);
        }
    }

    /// For how much longer the rate limit protects a running VCPU from preemption.
    fn ratelimited_ns(&self, vcpu: &Vcpu, now_ns: u64) -> u64 {
        self.ratelimit_ns.saturating_sub(now_ns - vcpu.since_ns)
    }

    /// The VCPU to run on `pcpu`; `current` is the one that could continue (`runq_candidate`).
    fn candidate(&self, pcpu: PcpuId, current: Option<VcpuId>) -> Option<VcpuId> {
        let credit = |id: VcpuId| self.vcpus[id.index()].as_ref().map_or(i64::MIN, |vcpu| vcpu.credit);
        let own = current.map(credit);
        let pulls =
            |other: &(Turn<Key>, VcpuId)| own.is_none_or(|own| own + self.resistance <= other.0.key.0);
        let anywhere = self.waiting.first_anywhere().filter(pulls);
        let best = anywhere.into_iter().chain(self.waiting.first_at(pcpu)).min();
        let better = best.filter(|best| own.is_none_or(|own| best.0.key.0 > own));
        better.map(|(_, id)| id).or(current)
    }

    /// Gives credits to all, so that `next` has some.
    fn reset(&mut self, now_ns: u64, next: VcpuId) {
        let lacks = -self.vcpu(next).credit;
        let gets = (1 + lacks.max(0) / INITIAL) * INITIAL;
        let running: Vec<_> = self.seats.running(None).map(|(_, id)| id).collect();
        for id in running {
            if self.vcpus[id.index()].as_ref().is_some_and(|vcpu| vcpu.runs_on.is_some()) {
                self.burn(id, now_ns);
            }
        }
        let mut waited: Vec<(Turn<Key>, VcpuId)> = Vec::new();
        for (index, vcpu) in self.vcpus.iter_mut().enumerate() {
            if let Some(vcpu) = vcpu {
                vcpu.credit = (vcpu.credit + gets).min(INITIAL + CARRIED);
                let id = VcpuId(index as u32);
                waited.extend(self.waiting.turn(id).map(|turn| (turn, id)));
            }
        }
        waited.sort();
        for (_, id) in waited {
            self.dequeue(id);
            self.enqueue(id);
        }
    }

    /// The time until `id` has as few credits as the next in the queue (`csched_runtime`).
    fn slice_ns(&self, now_ns: u64, pcpu: PcpuId, id: VcpuId) -> u64 {
        let vcpu = self.vcpus[id.index()].as_ref().expect("who runs is there");
        let next = self.waiting.first(pcpu).map_or(0, |(key, _)| key.0.max(0));
        let credits = (vcpu.credit - next).max(0) as u64;
        (credits * vcpu.weight / self.heaviest())
            .clamp(LEAST_SLICE_NS.max(self.ratelimited_ns(vcpu, now_ns)), self.most_slice_ns)
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

    fn ids(&self, dom: DomId) -> Vec<VcpuId> {
        let all = (0..).map(VcpuId).zip(&self.vcpus);
        let own = all.filter(|(_, vcpu)| vcpu.as_ref().is_some_and(|vcpu| vcpu.dom == dom));
        own.map(|(id, _)| id).collect()
    }
}

impl Policy for Credit2 {
    fn name(&self) -> &'static str {
        "credit2"
    }

    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let weight = settings.count("weight", 256, 1, 65_535)?;
        settings.finish(domain.dom.to_string())?;
        for (id, pin) in domain.vcpus.iter().zip(&domain.pins) {
            if self.vcpus.len() <= id.index() {
                self.vcpus.resize(id.index() + 1, None);
            }
            self.vcpus[id.index()] = Some(Vcpu {
                dom: domain.dom,
                weight,
                pin: *pin,
                awake: false,
                credit: INITIAL,
                residue: 0,
                home: pin.unwrap_or(PcpuId(id.0 % self.seats.len())),
                runs_on: None,
                since_ns: now_ns,
                charged_ns: now_ns,
            });
        }
        self.count_weight(weight, domain.vcpus.len());
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in self.ids(dom) {
            self.dequeue(id);
            let weight = self.vcpu(id).weight;
            self.uncount_weight(weight);
            self.vcpus[id.index()] = None;
        }
    }

    fn adjust(
        &mut self,
        now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let ids = self.ids(dom);
        let old = ids.first().map_or(256, |id| self.vcpu(*id).weight);
        let weight = settings.count("weight", old, 1, 65_535)?;
        settings.finish(dom.to_string())?;
        let running: Vec<_> = self.seats.running(None).map(|(_, id)| id).collect();
        for id in running {
            if self.vcpus[id.index()].is_some() {
                self.burn(id, now_ns);
            }
        }
        for id in ids {
            (self.vcpu(id).weight, self.vcpu(id).residue) = (weight, 0);
            self.count_weight(weight, 1);
            self.uncount_weight(old);
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.vcpu(vcpu).awake = true;
        if self.vcpu(vcpu).runs_on.is_none() {
            self.enqueue(vcpu);
            self.tickle(now_ns, vcpu, orders);
        }
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpu(vcpu).awake = false;
        self.dequeue(vcpu);
    }

    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.yielded = Some(vcpu);
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        let last = self.seats.on(pcpu).filter(|id| self.vcpus[id.index()].is_some());
        last.into_iter().for_each(|last| {
            self.burn(last, now_ns);
            self.vcpu(last).runs_on = None;
        });
        let current = last.filter(|last| self.vcpus[last.index()].as_ref().is_some_and(|vcpu| vcpu.awake));
        let yields = self.yielded.take_if(|yielded| Some(*yielded) == last).is_some();
        let goes_on = current.filter(|current| {
            let vcpu = self.vcpus[current.index()].as_ref().expect("who runs is there");
            !yields && self.ratelimited_ns(vcpu, now_ns) > 0
        });
        let next = match current {
            Some(_) if goes_on.is_some() => goes_on,
            Some(_) if yields => self.candidate(pcpu, None).or(current),
            _ => self.candidate(pcpu, current),
        };
        self.seats.seat(pcpu, next);
        if let Some(current) = current.filter(|current| Some(*current) != next) {
            self.enqueue(current);
        }
        let Some(next) = next else {
            return Pick::default();
        };
        self.dequeue(next);
        let vcpu = self.vcpu(next);
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
        self.vcpu(next).runs_on = Some(pcpu);
        if self.waiting.first_anywhere().is_some() {
            self.seats.ask_idle(None, pcpu, orders);
        }
        Pick { vcpu: Some(next), slice_ns: Some(self.slice_ns(now_ns, pcpu, next)), examined: 0 }
    }

    fn migrate(&mut self, now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        let waited = self.dequeue(vcpu);
        let own = self.vcpu(vcpu);
        (own.pin, own.home) = (pin.then_some(pcpu), pcpu);
        if waited {
            self.enqueue(vcpu);
            self.tickle(now_ns, vcpu, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        let vcpus = (0..).map(VcpuId).zip(&self.vcpus).filter_map(|(id, vcpu)| Some((id, vcpu.as_ref()?)));
        vcpus
            .map(|(vcpu, own)| {
                let keys = vec![("credit", own.credit), ("weight", own.weight as i64)];
                Standing { vcpu, runs_on: own.runs_on, awake: own.awake, keys }
            })
            .collect()
    }
}
