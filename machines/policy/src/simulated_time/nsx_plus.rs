//! NSX+: exact virtual clocks, and no context switch that the order of simulated time does not require.
//! Paceline's own policy, derived from NSX (NSX paper).
//!
//! NSX charges a whole tick to the VCPU that runs when the tick ends, switches at nearly every tick, lets a
//! VCPU that was idle for long run alone until it has caught up, and corrects that only a minute later. A
//! small tick then costs accuracy and run time. Here a tick is not the time that every VCPU runs, but the
//! amount by which clocks may differ. Half a tick is a *lead*:
//!
//! - A VCPU's LVT is the time it has run, to the nanosecond, plus the time it has leapt over. Simulated time
//!   (`sys_lvt`) is the least LVT of all guests' VCPUs that are awake, at every moment.
//! - A running VCPU continues until it is a lead ahead of the least that waits; its slice ends exactly then,
//!   and never if none waits. Two VCPUs on a PCPU take turns of a tick.
//! - A VCPU that wakes leaps to simulated time if it is behind: idle time needs no timers and no adjustment.
//!   It preempts the running VCPU only if it is a lead behind that one.
//! - A VCPU with a message is *early*: it is ordered a lead before its LVT. It stays early while it runs,
//!   even after it has taken the message: it has something to do, unlike those that poll beside it, and a
//!   VCPU that has just sent one message is not interrupted by the receiver's reply before it can send the
//!   next.
//! - A VCPU that has just sent goes on, if its turn ends, for up to 50 us or a lead after that, whichever is
//!   shorter: it may be between two messages, and if it gave way there, what it sends second would come after
//!   the replies to what it sent first. How far ahead this lets it run is bounded by as much.
//! - A VCPU that yields leaps to the least that waits, and goes behind it: it has nothing to do before that
//!   time.
//! - A VCPU that gives way to DOM0 within its turn is early as well: it may be the sender, between two
//!   messages.
//! - DOM0 is always early, and its clock runs `dom0_ticks` times slower, so that it can carry all pending
//!   messages before it gives way. Its LVT is kept between simulated time and a tick after that: it neither
//!   saves up time nor falls behind.
//! - For DOM0 and a VCPU that gets a message, the VCPU that has run longest is the one to preempt, if it is a
//!   lead ahead, and not the one furthest ahead: within a tick any order is allowed, and the VCPU that began
//!   to run last may be the sender.
//!
//! Guarantees. A running VCPU is never more than a tick ahead of a guest that waits and may run there, or a
//! tick and a half if it was early when it was picked: the lead that it is granted, and the lead that is
//! required to interrupt it for a VCPU that comes later. One that has just sent may be half a tick more
//! ahead, or 50 us. If no VCPU is pinned, none starves: a VCPU waits for at most two ticks of each other that
//! is awake, half a tick more if that one has messages or gives way to DOM0 all the time, as much
//! or 50 us more if it sends all the time, and `dom0_ticks` times two ticks of each VCPU of DOM0.
//! Work-conserving. A new VCPU starts at simulated time.
//!
//! State: the clocks of all VCPUs; one run queue ordered by LVT; for each PCPU the LVT that its VCPU may
//! reach before it decides again.

mod clocks;
mod sending;
mod state;

use std::collections::BTreeSet;

use self::clocks::Clocks;
use self::sending::Sending;
use self::state::{Dom, Pcpu, Vcpu};
use crate::per_id::{PerDomain, PerVcpu};
use crate::queues::{HostQueues, Place};
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings,
    Standing, VcpuId,
};

/// DOM0's standing while it runs: it is not preempted, because its slices are always bounded.
const NEVER_PREEMPTED: i64 = i64::MIN;

/// The policy NSX+ on one host.
#[derive(Debug)]
pub struct NsxPlus {
    /// Half a tick.
    lead_ns: i64,
    dom0_ticks: i64,
    /// Waiting VCPUs by key; running ones by how far their LVT is ahead of the host's clock.
    queues: HostQueues<i64>,
    clocks: Clocks,
    sending: Sending,
    vcpus: PerVcpu<Vcpu>,
    pcpus: Vec<Pcpu>,
    doms: PerDomain<Dom>,
    /// The PCPUs that run guests and have not been asked to decide, by the LVT that their VCPU may reach
    /// before they decide.
    limits: BTreeSet<(i64, PcpuId)>,
    /// The same PCPUs, by when their VCPU began to run.
    since: BTreeSet<(u64, PcpuId)>,
}

impl NsxPlus {
    /// For `host`, with the settings `tick` (30 us to 30 ms, 100 us by default) and `dom0_ticks` (4).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let tick_ns = settings.nanos("tick", 100 * MICROSECOND, 30 * MICROSECOND, 30 * MILLISECOND)?;
        let dom0_ticks = settings.count("dom0_ticks", 4, 1, 100)?;
        Ok(Self {
            lead_ns: tick_ns as i64 / 2,
            dom0_ticks: dom0_ticks as i64,
            queues: HostQueues::new(host.pcpus),
            clocks: Clocks::default(),
            sending: Sending::new(tick_ns / 2),
            vcpus: PerVcpu::default(),
            pcpus: vec![Pcpu::default(); host.pcpus as usize],
            doms: PerDomain::default(),
            limits: BTreeSet::new(),
            since: BTreeSet::new(),
        })
    }

    /// The key that orders waiting VCPUs.
    fn key(&self, id: VcpuId) -> i64 {
        let vcpu = &self.vcpus[id];
        vcpu.lvt_ns - if vcpu.early { self.lead_ns } else { 0 }
    }

    fn place(&self, id: VcpuId) -> Place {
        Place::of(self.vcpus[id].pin)
    }

    /// Charges the VCPU that runs on `pcpu` for the time it has run until now.
    fn charge(&mut self, now_ns: u64, pcpu: PcpuId) {
        let charged_ns = std::mem::replace(&mut self.pcpus[pcpu.index()].charged_ns, now_ns);
        if let Some((id, _)) = self.queues.running(pcpu) {
            let ran_ns = (now_ns - charged_ns) as i64;
            let vcpu = &mut self.vcpus[id];
            let pace = if vcpu.privileged { self.dom0_ticks } else { 1 };
            vcpu.lvt_ns += (vcpu.rest_ns + ran_ns) / pace;
            vcpu.rest_ns = (vcpu.rest_ns + ran_ns) % pace;
        }
    }

    /// Moves an LVT into its range: not before simulated time, and for DOM0 at most a tick after it.
    fn leap(&mut self, now_ns: u64, id: VcpuId) {
        let sys_lvt_ns = self.clocks.least_ns(now_ns);
        let vcpu = &mut self.vcpus[id];
        let most_ns = if vcpu.privileged { sys_lvt_ns + 2 * self.lead_ns } else { i64::MAX };
        vcpu.lvt_ns = vcpu.lvt_ns.clamp(sys_lvt_ns, most_ns);
    }

    fn enqueue(&mut self, id: VcpuId) {
        self.queues.wait(id, self.key(id), self.place(id));
        // DOM0 does not simulate: its clock does not count for simulated time.
        if !self.vcpus[id].privileged {
            self.clocks.stop(id, self.vcpus[id].lvt_ns);
        }
    }

    /// The standing of `id` if it runs from now on.
    fn standing(&self, now_ns: u64, id: VcpuId) -> i64 {
        let vcpu = &self.vcpus[id];
        if vcpu.privileged { NEVER_PREEMPTED } else { vcpu.lvt_ns - now_ns as i64 }
    }

    fn run_clock(&mut self, now_ns: u64, id: VcpuId) -> i64 {
        let standing_ns = self.standing(now_ns, id);
        if !self.vcpus[id].privileged {
            self.clocks.run(id, self.vcpus[id].lvt_ns, standing_ns);
        }
        standing_ns
    }

    /// `pcpu` has been asked, or decides: removes it from the PCPUs that may be asked.
    fn unlist(&mut self, pcpu: PcpuId) {
        let Pcpu { since_ns, limit_ns, .. } = self.pcpus[pcpu.index()];
        self.limits.remove(&(limit_ns, pcpu));
        self.since.remove(&(since_ns, pcpu));
    }

    fn ask(&mut self, pcpu: PcpuId, orders: &mut Orders) {
        self.unlist(pcpu);
        self.queues.ask(pcpu, orders);
    }

    /// `id` waits: asks an idle PCPU, or one that runs a VCPU a lead ahead of it; also asks every PCPU whose
    /// VCPU could otherwise get more than two leads ahead.
    fn offer(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let (key_ns, place) = (self.key(id), self.place(id));
        if let Some(pcpu) = self.queues.idle_for(place) {
            return self.ask(pcpu, orders);
        }
        let longest = match place {
            Place::Anywhere if self.vcpus[id].early => self.since.first().map(|(_, pcpu)| *pcpu),
            _ => None,
        };
        let greatest = || self.queues.greatest_for(place).map(|(_, pcpu)| pcpu);
        if let Some(pcpu) = longest.or_else(greatest)
            && let Some((_, standing_ns)) = self.queues.running(pcpu)
            && standing_ns + now_ns as i64 >= key_ns + self.lead_ns
        {
            self.ask(pcpu, orders);
        }
        let far_ns = key_ns + 2 * self.lead_ns;
        match place {
            Place::Only(pcpu) => {
                let limit_ns = self.pcpus[pcpu.index()].limit_ns;
                if limit_ns > far_ns && self.limits.contains(&(limit_ns, pcpu)) {
                    self.ask(pcpu, orders);
                }
            }
            _ => {
                while let Some((_, pcpu)) =
                    self.limits.last().copied().filter(|(limit_ns, _)| *limit_ns > far_ns)
                {
                    self.ask(pcpu, orders);
                }
            }
        }
    }

    /// For how long `id`, which runs on `pcpu` or will, may go on before `least`: until it is a lead ahead,
    /// and if it has just sent and is that already, until it has had the time to send again. Negative or
    /// zero if it has to give way.
    fn ahead_ns(&self, now_ns: u64, id: VcpuId, pcpu: PcpuId, (least_ns, _): (i64, VcpuId)) -> i64 {
        let ahead_ns = least_ns + self.lead_ns - self.key(id);
        if ahead_ns > 0 || self.vcpus[id].privileged {
            return ahead_ns;
        }
        self.sending.extends_ns(now_ns, self.pcpus[pcpu.index()].since_ns, ahead_ns)
    }

    /// For how long `id`, just picked for `pcpu`, may run.
    fn grant(&mut self, now_ns: u64, id: VcpuId, pcpu: PcpuId) -> Option<u64> {
        let least = self.queues.least(pcpu);
        let ahead_ns = least.map(|least| self.ahead_ns(now_ns, id, pcpu, least));
        assert!(ahead_ns.is_none_or(|ahead_ns| ahead_ns > 0), "who is a lead ahead is not picked");
        let vcpu = &self.vcpus[id];
        if vcpu.privileged {
            let bound_ns = ahead_ns.unwrap_or(self.lead_ns).min(2 * self.lead_ns);
            return Some((bound_ns * self.dom0_ticks - vcpu.rest_ns) as u64);
        }
        let limit_ns = ahead_ns.map_or(i64::MAX, |ahead_ns| vcpu.lvt_ns + ahead_ns);
        self.pcpus[pcpu.index()].limit_ns = limit_ns;
        self.limits.insert((limit_ns, pcpu));
        self.since.insert((self.pcpus[pcpu.index()].since_ns, pcpu));
        ahead_ns.map(|ahead_ns| ahead_ns as u64)
    }

    /// `id` does not run: it is early if it has a message now.
    fn settle_early(&mut self, id: VcpuId) {
        let vcpu = &mut self.vcpus[id];
        vcpu.early = vcpu.privileged || self.doms[vcpu.dom].pending > 0;
    }

    /// Removes the clock of `id`, so that it does not count for simulated time.
    fn stop_clock(&mut self, now_ns: u64, id: VcpuId) {
        self.clocks.least_ns(now_ns);
        let offset_ns = self.queues.runs_on(id).and_then(|pcpu| Some(self.queues.running(pcpu)?.1));
        self.clocks.leave(id, self.vcpus[id].lvt_ns, offset_ns.unwrap_or(NEVER_PREEMPTED));
    }
}

impl Policy for NsxPlus {
    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        settings.finish(domain.dom.to_string())?;
        for (id, pin) in domain.members() {
            let vcpu = Vcpu {
                dom: domain.dom,
                privileged: domain.privileged,
                pin,
                awake: false,
                yielded: false,
                early: domain.privileged,
                // It leaps to simulated time when it wakes.
                lvt_ns: 0,
                rest_ns: 0,
            };
            self.vcpus.insert(id, vcpu);
        }
        self.doms.insert(domain.dom, Dom { vcpus: domain.vcpus.clone(), pending: 0 });
        Ok(())
    }

    fn remove(&mut self, now_ns: u64, dom: DomId, orders: &mut Orders) {
        for id in self.doms.remove(dom).into_iter().flat_map(|dom| dom.vcpus) {
            self.stop_clock(now_ns, id);
            self.queues.forget(id, orders);
            self.vcpus.remove(id);
        }
    }

    fn wake(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.leap(now_ns, vcpu);
        self.vcpus[vcpu].awake = true;
        if let Some(pcpu) = self.queues.runs_on(vcpu) {
            let standing_ns = self.run_clock(now_ns, vcpu);
            self.queues.rekey_running(pcpu, standing_ns);
        } else {
            self.enqueue(vcpu);
            self.offer(now_ns, vcpu, orders);
        }
    }

    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        if let Some(pcpu) = self.queues.runs_on(vcpu) {
            self.charge(now_ns, pcpu);
        }
        self.stop_clock(now_ns, vcpu);
        self.settle_early(vcpu);
        self.vcpus[vcpu].awake = false;
        self.queues.leave(vcpu);
    }

    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].yielded = true;
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.charge(now_ns, pcpu);
        self.unlist(pcpu);
        let last = self.queues.running(pcpu).map(|(last, _)| last).filter(|last| self.vcpus[*last].awake);
        if let Some(last) = last {
            self.stop_clock(now_ns, last);
        }
        self.queues.stop(pcpu);
        let mut stays = None;
        if let Some(last) = last {
            if self.vcpus[last].privileged {
                self.leap(now_ns, last);
            }
            let yielded = std::mem::take(&mut self.vcpus[last].yielded);
            let least = self.queues.least(pcpu);
            if yielded {
                let behind_ns = least.map_or(0, |(key_ns, _)| key_ns - self.key(last));
                self.vcpus[last].lvt_ns += behind_ns.max(0);
            }
            let ahead = |least| self.ahead_ns(now_ns, last, pcpu, least) <= 0;
            if yielded || least.is_some_and(ahead) {
                self.settle_early(last);
                let dom0_comes = !yielded && least.is_some_and(|(_, id)| self.vcpus[id].privileged);
                let stopped = &mut self.vcpus[last];
                stopped.early |= dom0_comes && stopped.lvt_ns < self.pcpus[pcpu.index()].limit_ns;
                self.enqueue(last);
            } else {
                stays = Some(last);
            }
        }
        let vcpu = stays.or_else(|| self.queues.least(pcpu).map(|(_, least)| least));
        let decision = vcpu.map(|id| (id, self.run_clock(now_ns, id)));
        self.queues.run(pcpu, decision);
        if let Some(last) = last.filter(|last| self.queues.waits(*last)) {
            self.offer(now_ns, last, orders);
        }
        if stays.is_none() {
            self.pcpus[pcpu.index()].since_ns = now_ns;
        }
        Pick { vcpu, slice_ns: vcpu.and_then(|id| self.grant(now_ns, id, pcpu)), examined: 0 }
    }

    fn pending(&mut self, now_ns: u64, dom: DomId, messages: u32, orders: &mut Orders) {
        let domain = &mut self.doms[dom];
        let before = std::mem::replace(&mut domain.pending, messages);
        if messages > before && domain.vcpus.first().is_some_and(|id| self.vcpus[*id].privileged) {
            self.sending.note(now_ns);
        }
        if (messages > 0) == (before > 0) {
            return;
        }
        for id in domain.vcpus.clone() {
            if self.queues.waits(id) {
                self.settle_early(id);
                self.queues.rekey(id, self.key(id));
                if messages > 0 {
                    self.offer(now_ns, id, orders);
                }
            } else if messages > 0 || self.queues.runs_on(id).is_none() {
                self.settle_early(id);
            }
        }
    }

    fn migrate(&mut self, now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.vcpus[vcpu].pin = pin.then_some(pcpu);
        if let Some((key_ns, ..)) = self.queues.leave(vcpu) {
            self.queues.wait(vcpu, key_ns, self.place(vcpu));
            self.offer(now_ns, vcpu, orders);
        }
    }

    fn dump(&self, now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let runs_on = self.queues.runs_on(id);
            let since = |pcpu: PcpuId| (now_ns - self.pcpus[pcpu.index()].charged_ns) as i64;
            let pace = if vcpu.privileged { self.dom0_ticks } else { 1 };
            let lvt_ns = vcpu.lvt_ns + (vcpu.rest_ns + runs_on.map_or(0, since)) / pace;
            let early_ns = if vcpu.early { self.lead_ns } else { 0 };
            let keys = vec![("lvt", lvt_ns), ("key", lvt_ns - early_ns)];
            Standing { vcpu: id, runs_on, awake: vcpu.awake, keys }
        })
    }
}
