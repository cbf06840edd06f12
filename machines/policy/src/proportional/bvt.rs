//! Borrowed virtual time (Duda and Cheriton, 1999), the scheduler of the first versions of Xen (co-scheduling thesis,
//! section 3.1.5.2): shares by weight, with a loan on future time for VCPUs that must answer quickly.
//!
//! Every VCPU has an *actual virtual time* (AVT). It advances while the VCPU runs, by `mcu_advance` for each unit of CPU time, so
//! that half the advance is twice the share. Its *effective virtual time* (EVT) is the AVT less `warp` while the VCPU is
//! warped. The least EVT runs first. The running VCPU may exceed the EVT of the next waiting one by the *context-switch
//! allowance*, in its own CPU time, before it gives way; a VCPU that wakes with a lesser EVT preempts at once. A VCPU that wakes with
//! an AVT less than that of all runnable ones (*scheduler virtual time*, SVT) starts at SVT: time that it did not use is lost. A VCPU
//! stays warped for at most `warp_limit` of CPU time in one go and then not for `unwarp`; sleeping ends a go.
//!
//! State: for each VCPU its AVT and warp; one queue for the host ordered by EVT, and the order of AVTs beside it.
//! Work-conserving. No VCPU starves while warps have limits; a VCPU that is warped without a limit can keep the others
//! waiting until it has used up its loan.
//!
//! Virtual time is counted in nanoseconds times the advance, so that all is exact.

mod vcpu;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use self::vcpu::{Terms, Vcpu};
use crate::queues::{Place, Seats, Waiting};
use crate::settings::Settings;
use crate::{
    DomId, Host, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing, VcpuId,
};

/// Borrowed virtual time.
#[derive(Debug)]
pub struct Bvt {
    allowance_ns: u64,
    vcpus: Vec<Option<Vcpu>>,
    /// Least EVT first.
    waiting: Waiting<i64>,
    /// The AVTs of the VCPUs that wait.
    actual: BTreeSet<(i64, VcpuId)>,
    /// When each VCPU that rests may be warped again.
    unwarped: BTreeSet<(u64, VcpuId)>,
    seats: Seats,
    /// The greatest SVT so far.
    svt: i64,
}

impl Bvt {
    /// For `host`, with the setting `ctx_allow` (5 ms), the context-switch allowance.
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let allowance_ns = settings.nanos("ctx_allow", 5 * MILLISECOND, 1_000, 1_000 * MILLISECOND)?;
        Ok(Self {
            allowance_ns,
            vcpus: Vec::new(),
            waiting: Waiting::new(host.pcpus),
            actual: BTreeSet::new(),
            unwarped: BTreeSet::new(),
            seats: Seats::new(host.pcpus),
            svt: 0,
        })
    }

    fn vcpu(&mut self, id: VcpuId) -> &mut Vcpu {
        self.vcpus[id.index()].as_mut().expect("the host names only VCPUs that it added")
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = self.vcpu(id);
        let (avt, evt, place) = (vcpu.avt, vcpu.evt(), Place::of(vcpu.pin));
        self.actual.insert((avt, id));
        self.waiting.wait(id, evt, place);
    }

    fn dequeue(&mut self, id: VcpuId) -> bool {
        let waited = self.waiting.leave(id).is_some();
        if waited {
            let avt = self.vcpu(id).avt;
            self.actual.remove(&(avt, id));
        }
        waited
    }

    /// Charges a VCPU that runs.
    fn charge(&mut self, id: VcpuId, now_ns: u64, orders: &mut Orders) {
        if let Some(until_ns) = self.vcpu(id).charge(now_ns) {
            self.unwarped.insert((until_ns, id));
            self.set_timer(orders);
        }
    }

    /// The PCPUs that a VCPU with this pin may use, and the VCPU that runs on each.
    fn running(&self, pin: Option<PcpuId>) -> impl Iterator<Item = (PcpuId, &Vcpu)> {
        let there = |(pcpu, id): (PcpuId, VcpuId)| Some((pcpu, self.vcpus[id.index()].as_ref()?));
        self.seats.running(pin).filter_map(there)
    }

    /// Raises scheduler virtual time to the least AVT of all VCPUs that run or wait. It never falls.
    fn advance_svt(&mut self, now_ns: u64) {
        let running = self.running(None).filter(|(_, vcpu)| vcpu.awake).map(|(_, vcpu)| vcpu.avt_at(now_ns));
        let waiting = self.actual.first().map(|(avt, _)| *avt);
        self.svt = self.svt.max(running.chain(waiting).min().unwrap_or(self.svt));
    }

    /// Asks an idle PCPU to run `id`, or else the PCPU that runs the greatest EVT to decide again: `id` preempts there, or
    /// shortens the slice.
    fn tickle(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = self.vcpu(id);
        let (pin, home) = (vcpu.pin, vcpu.home);
        if !self.seats.ask_idle(pin, home, orders) {
            let evt = |vcpu: &Vcpu| vcpu.avt_at(now_ns) - vcpu.loan();
            let last = self.running(pin).max_by_key(|(pcpu, vcpu)| (evt(vcpu), Reverse(*pcpu)));
            let pcpu = last.map(|(pcpu, _)| pcpu);
            pcpu.into_iter().for_each(|pcpu| orders.reschedule(pcpu));
        }
    }

    /// Warps the VCPUs again whose time without warp is over.
    fn rewarp(&mut self, now_ns: u64, orders: &mut Orders) {
        while let Some((until_ns, id)) = self.unwarped.first().copied().filter(|(at, _)| *at <= now_ns) {
            self.unwarped.remove(&(until_ns, id));
            let runs_on = self.vcpu(id).runs_on;
            if let Some(pcpu) = runs_on {
                // What it has run so far was without warp.
                self.charge(id, now_ns, orders);
                orders.reschedule(pcpu);
            }
            let waited = self.dequeue(id);
            self.vcpu(id).rewarp();
            if waited {
                self.enqueue(id);
                self.tickle(now_ns, id, orders);
            }
            self.set_timer(orders);
        }
    }

    fn set_timer(&self, orders: &mut Orders) {
        if let Some((at_ns, _)) = self.unwarped.first() {
            orders.set_timer(0, *at_ns);
        }
    }

    /// The time until `vcpu` is the allowance beyond `next`, or its warp ends. If no VCPU waits here, the PCPU decides again after
    /// the allowance, as in Xen: one may wait for another PCPU by then.
    fn slice_ns(&self, vcpu: &Vcpu, next: Option<i64>) -> u64 {
        let ahead = next.map_or(0, |next| (next - vcpu.evt()).max(0)) as u64;
        let fair_ns = self.allowance_ns + ahead / vcpu.terms.advance;
        vcpu.warp_left_ns().map_or(fair_ns, |left_ns| fair_ns.min(left_ns))
    }

    fn ids(&self, dom: DomId) -> Vec<VcpuId> {
        let all = (0..).map(VcpuId).zip(&self.vcpus);
        let own = all.filter(|(_, vcpu)| vcpu.as_ref().is_some_and(|vcpu| vcpu.dom == dom));
        own.map(|(id, _)| id).collect()
    }
}

impl Policy for Bvt {
    fn name(&self) -> &'static str {
        "bvt"
    }

    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let terms = Terms::from_settings(domain.dom, settings, Terms::default())?;
        for (id, pin) in domain.vcpus.iter().zip(&domain.pins) {
            if self.vcpus.len() <= id.index() {
                self.vcpus.resize(id.index() + 1, None);
            }
            let home = pin.unwrap_or(PcpuId(id.0 % self.seats.len()));
            self.vcpus[id.index()] = Some(Vcpu::new(domain.dom, terms, *pin, home, self.svt, now_ns));
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in self.ids(dom) {
            self.dequeue(id);
            self.vcpus[id.index()] = None;
        }
        self.unwarped.retain(|(_, id)| self.vcpus[id.index()].is_some());
    }

    fn adjust(
        &mut self,
        now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let ids = self.ids(dom);
        let old = ids.first().map_or(Terms::default(), |id| self.vcpu(*id).terms);
        let terms = Terms::from_settings(dom, settings, old)?;
        self.rewarp(now_ns, orders);
        for id in ids {
            let runs_on = self.vcpu(id).runs_on;
            if let Some(pcpu) = runs_on {
                self.charge(id, now_ns, orders);
                orders.reschedule(pcpu);
            }
            let waited = self.dequeue(id);
            self.unwarped.retain(|(_, other)| *other != id);
            self.vcpu(id).adjust(terms);
            if waited {
                self.enqueue(id);
                self.tickle(now_ns, id, orders);
            }
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        self.advance_svt(now_ns);
        let svt = self.svt;
        let own = self.vcpu(vcpu);
        own.wake(svt);
        if own.runs_on.is_none() {
            self.enqueue(vcpu);
            self.tickle(now_ns, vcpu, orders);
        }
    }

    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        self.advance_svt(now_ns);
        self.vcpu(vcpu).awake = false;
        self.dequeue(vcpu);
    }

    fn yields(&mut self, _now_ns: u64, _vcpu: VcpuId, _orders: &mut Orders) {}

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.rewarp(now_ns, orders);
        let last = self.seats.on(pcpu).filter(|id| self.vcpus[id.index()].is_some());
        if let Some(last) = last {
            self.charge(last, now_ns, orders);
            self.vcpu(last).runs_on = None;
            if self.vcpu(last).awake {
                self.enqueue(last);
            }
        }
        let next = self.waiting.first(pcpu).map(|(_, id)| id);
        self.seats.seat(pcpu, next);
        let Some(next) = next else {
            return Pick::default();
        };
        self.dequeue(next);
        self.vcpu(next).starts(pcpu, now_ns);
        if self.waiting.first_anywhere().is_some() {
            self.seats.ask_idle(None, pcpu, orders);
        }
        let after = self.waiting.first(pcpu).map(|(evt, _)| evt);
        let vcpu = self.vcpus[next.index()].as_ref().expect("who runs is there");
        Pick { vcpu: Some(next), slice_ns: Some(self.slice_ns(vcpu, after)), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        // The VCPU for which the timer was set may have been removed.
        self.set_timer(orders);
    }

    fn migrate(&mut self, now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
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
                let keys = vec![("avt", own.avt), ("evt", own.evt()), ("warped", i64::from(own.warped()))];
                Standing { vcpu, runs_on: own.runs_on, awake: own.awake, keys }
            })
            .collect()
    }
}
