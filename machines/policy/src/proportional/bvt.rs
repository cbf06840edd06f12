//! Borrowed virtual time (Duda and Cheriton, 1999), the scheduler of the first versions of Xen (co-scheduling
//! thesis, section 3.1.5.2): shares by weight, with a loan on future time for VCPUs that must answer quickly.
//!
//! Every VCPU has an *actual virtual time* (AVT). It advances while the VCPU runs, by `mcu_advance` for each
//! unit of CPU time, so that half the advance is twice the share. Its *effective virtual time* (EVT) is the
//! AVT less `warp` while the VCPU is warped. The least EVT runs first. The running VCPU may exceed the EVT of
//! the next waiting one by the *context-switch allowance*, in its own CPU time, before it gives way; a VCPU
//! that wakes with a lesser EVT preempts at once. A VCPU that wakes with an AVT less than that of all
//! runnable ones (*scheduler virtual time*, SVT) starts at SVT: time that it did not use is lost. A VCPU
//! stays warped for at most `warp_limit` of CPU time in one go and then not for `unwarp`; sleeping ends a go.
//!
//! State: for each VCPU its AVT and warp; one queue for the host ordered by EVT, and the order of AVTs beside
//! it. Work-conserving. No VCPU starves while warps have limits; a VCPU that is warped without a limit can
//! keep the others waiting until it has used up its loan.
//!
//! Virtual time is counted in nanoseconds times the advance, so that all is exact.

mod vcpu;

use std::collections::BTreeSet;

use self::vcpu::{Terms, Vcpu};
use crate::per_id::PerVcpu;
use crate::queues::{Alarms, Place, Seats, Waiting};
use crate::settings::Settings;
use crate::{
    DomId, Host, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing, VcpuId,
};

/// Borrowed virtual time.
#[derive(Debug)]
pub struct Bvt {
    allowance_ns: u64,
    vcpus: PerVcpu<Vcpu>,
    /// Least EVT first.
    waiting: Waiting<i64>,
    /// The AVTs of the VCPUs that wait.
    actual: BTreeSet<(i64, VcpuId)>,
    /// When each VCPU that rests may be warped again.
    unwarped: Alarms<()>,
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
            vcpus: PerVcpu::default(),
            waiting: Waiting::new(host.pcpus),
            actual: BTreeSet::new(),
            unwarped: Alarms::new(0),
            seats: Seats::new(host.pcpus),
            svt: 0,
        })
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &mut self.vcpus[id];
        let (avt, evt, place) = (vcpu.avt, vcpu.evt(), Place::of(vcpu.pin));
        self.actual.insert((avt, id));
        self.waiting.wait(id, evt, place);
    }

    fn dequeue(&mut self, id: VcpuId) -> bool {
        let waited = self.waiting.leave(id).is_some();
        if waited {
            let avt = self.vcpus[id].avt;
            self.actual.remove(&(avt, id));
        }
        waited
    }

    fn charge(&mut self, id: VcpuId, now_ns: u64, orders: &mut Orders) {
        if let Some(until_ns) = self.vcpus[id].charge(now_ns) {
            self.unwarped.insert(until_ns, id, ());
            self.unwarped.set_timer(now_ns, orders);
        }
    }

    /// The PCPUs that a VCPU with this pin may use, and the VCPU that runs on each.
    fn running(&self, pin: Option<PcpuId>) -> impl Iterator<Item = (PcpuId, &Vcpu)> {
        let there = |(pcpu, id): (PcpuId, VcpuId)| Some((pcpu, self.vcpus.get(id)?));
        self.seats.running(pin).filter_map(there)
    }

    /// Raises scheduler virtual time to the least AVT of all VCPUs that run or wait. It never falls.
    fn advance_svt(&mut self, now_ns: u64) {
        let running = self.running(None).filter(|(_, vcpu)| vcpu.awake).map(|(_, vcpu)| vcpu.avt_at(now_ns));
        let waiting = self.actual.first().map(|(avt, _)| *avt);
        self.svt = self.svt.max(running.chain(waiting).min().unwrap_or(self.svt));
    }

    /// Asks an idle PCPU to run `id`, or else the PCPU that runs the greatest EVT to decide again: `id`
    /// preempts there, or shortens the slice.
    fn tickle(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        let (pin, home) = (vcpu.pin, vcpu.home);
        if self.seats.ask_idle(pin, home, orders) {
            return;
        }
        let evt = |_, other| self.vcpus.get(other).map(|vcpu| vcpu.avt_at(now_ns) - vcpu.loan());
        if let Some((_, pcpu)) = self.seats.greatest(pin, evt) {
            orders.reschedule(pcpu);
        }
    }

    /// Warps the VCPUs again whose time without warp is over.
    fn rewarp(&mut self, now_ns: u64, orders: &mut Orders) {
        while let Some((_, id, ())) = self.unwarped.pop(now_ns) {
            let runs_on = self.vcpus[id].runs_on;
            if let Some(pcpu) = runs_on {
                // What it has run so far was without warp.
                self.charge(id, now_ns, orders);
                orders.reschedule(pcpu);
            }
            let waited = self.dequeue(id);
            self.vcpus[id].rewarp();
            if waited {
                self.enqueue(id);
                self.tickle(now_ns, id, orders);
            }
            self.unwarped.set_timer(now_ns, orders);
        }
    }

    /// The time until `vcpu` is the allowance beyond `next`, or its warp ends. If no VCPU waits here, the
    /// PCPU decides again after the allowance, as in Xen: one may wait for another PCPU by then.
    fn slice_ns(&self, vcpu: &Vcpu, next: Option<i64>) -> u64 {
        let ahead = next.map_or(0, |next| (next - vcpu.evt()).max(0)) as u64;
        let fair_ns = self.allowance_ns + ahead / vcpu.terms.advance;
        vcpu.warp_left_ns().map_or(fair_ns, |left_ns| fair_ns.min(left_ns))
    }
}

impl Policy for Bvt {
    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let terms = Terms::from_settings(domain.dom, settings, Terms::default())?;
        for (id, pin, home) in domain.homes(self.seats.len()) {
            self.vcpus.insert(id, Vcpu::new(domain.dom, terms, pin, home, self.svt, now_ns));
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in self.vcpus.ids(|vcpu| vcpu.dom == dom) {
            self.dequeue(id);
            self.vcpus.remove(id);
        }
        self.unwarped.retain(|id| self.vcpus.contains(id));
    }

    fn adjust(
        &mut self,
        now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let ids = self.vcpus.ids(|vcpu| vcpu.dom == dom);
        let old = ids.first().map_or(Terms::default(), |id| self.vcpus[*id].terms);
        let terms = Terms::from_settings(dom, settings, old)?;
        self.rewarp(now_ns, orders);
        for id in ids {
            let runs_on = self.vcpus[id].runs_on;
            if let Some(pcpu) = runs_on {
                // What it has run so far counts at the old advance.
                self.charge(id, now_ns, orders);
                orders.reschedule(pcpu);
            }
            let waited = self.dequeue(id);
            self.unwarped.retain(|other| other != id);
            self.vcpus[id].adjust(terms);
            if waited {
                self.enqueue(id);
                self.tickle(now_ns, id, orders);
            }
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        self.advance_svt(now_ns);
        let svt = self.svt;
        let vcpu = &mut self.vcpus[id];
        vcpu.wake(svt);
        if vcpu.runs_on.is_none() {
            self.enqueue(id);
            self.tickle(now_ns, id, orders);
        }
    }

    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        self.advance_svt(now_ns);
        self.vcpus[vcpu].awake = false;
        self.dequeue(vcpu);
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.rewarp(now_ns, orders);
        let last = self.seats.on(pcpu).filter(|id| self.vcpus.contains(*id));
        if let Some(last) = last {
            self.charge(last, now_ns, orders);
            self.vcpus[last].runs_on = None;
            if self.vcpus[last].awake {
                self.enqueue(last);
            }
        }
        let next = self.waiting.first(pcpu).map(|(_, id)| id);
        self.seats.seat(pcpu, next);
        let Some(next) = next else {
            return Pick::default();
        };
        self.dequeue(next);
        self.vcpus[next].starts(pcpu, now_ns);
        if self.waiting.first_anywhere().is_some() {
            self.seats.ask_idle(None, pcpu, orders);
        }
        let after = self.waiting.first(pcpu).map(|(evt, _)| evt);
        let slice_ns = self.slice_ns(&self.vcpus[next], after);
        Pick { vcpu: Some(next), slice_ns: Some(slice_ns), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        // The VCPU for which the timer was set may have been removed.
        self.unwarped.set_timer(now_ns, orders);
    }

    fn migrate(&mut self, now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.rewarp(now_ns, orders);
        let waited = self.dequeue(id);
        let vcpu = &mut self.vcpus[id];
        (vcpu.pin, vcpu.home) = (pin.then_some(pcpu), pcpu);
        if waited {
            self.enqueue(id);
            self.tickle(now_ns, id, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let keys = vec![("avt", vcpu.avt), ("evt", vcpu.evt()), ("warped", i64::from(vcpu.warped()))];
            Standing { vcpu: id, runs_on: vcpu.runs_on, awake: vcpu.awake, keys }
        })
    }
}
