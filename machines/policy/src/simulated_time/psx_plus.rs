//! PSX+: the least LVT runs first, a VCPU is demoted only on evidence that it waits, and no VCPU starves.
//! Paceline's own policy, derived from PSX (PSX paper).
//!
//! PSX takes every tick without a new LVT for waiting: a federate within a long event is put last, and a
//! polling one is first every other time; and a VCPU that always reports the least LVT gets all the time.
//! Here VCPUs run by classes:
//!
//! 0. *due*: VCPUs that would otherwise not get their minimum share of the period (`shares` has the rule and
//!    the proof);
//! 1. the VCPUs of DOM0, which carries all messages, in turn;
//! 2. *federates* - VCPUs of guests that simulate and are not known to wait - by LVT, the least first.
//!    Between two reports the LVT is estimated from the CPU time since the last report and from how fast the
//!    LVT rose before: a federate that reports only at the end of a window would seem to stand still, and by
//!    the reports alone the same few would always give way. A new VCPU counts as a federate with LVT 0 until
//!    it says whether it simulates, or has used a period of CPU time;
//! 3. all others in turn, the least recently run first: federates that wait, and guests that do not simulate.
//!
//! A federate is known to wait when it yields with no message pending, sets its waiting flag, reports that it
//! has nothing to do, or has run for `patience` without a new highest LVT (counted anew after it had nothing
//! to do, and in a new simulation); DOM0 is known to wait when it does one of the first two. A VCPU that has
//! unset the flag in this simulation is trusted to set it when it waits, and has at least a whole period of
//! patience, because LVTs are reported seldom. A waiting VCPU returns to its class and its LVT as soon as it
//! makes progress, wakes, unsets the flag, or gets a message (its domain's pending count rises). It then
//! preempts like a VCPU that wakes: it takes an idle PCPU, or else the one that runs the last in the order
//! above, if it comes before that. So each hop of a reduction costs a decision, not a slice. The host passes
//! on LVTs when guests report them; no pages are read.
//!
//! Promises, whatever guests report and DOM0 does: a VCPU that is awake all through a period gets at least
//! `share_percent` of its fair share of it. The fair share is the number of PCPUs divided by the number of
//! VCPUs that are awake when the period begins, or one PCPU divided by the number pinned to the PCPU where
//! most are pinned, whichever is less. So no VCPU that is awake waits for longer than two periods. A guest
//! that reports false LVTs, or none, can take no more than what these shares leave. At every decision the
//! first of the order above is picked. Work-conserving.
//!
//! State: an account per VCPU, LVT and evidence; one ordered run queue. A decision takes logarithmic time in
//! the number of VCPUs; twice per period all of them are visited.

mod shares;
mod vcpu;

use self::shares::Shares;
use self::vcpu::{DUE, FEDERATE, Key, Vcpu};
use crate::per_id::{PerDomain, PerVcpu};
use crate::queues::HostQueues;
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings,
    Standing, VcpuId,
};

const PERIOD_BEGINS: u32 = 0;
const SHARES_FALL_DUE: u32 = 1;

/// The policy PSX+ on one host.
#[derive(Debug)]
pub struct PsxPlus {
    tick_ns: u64,
    patience_ns: u64,
    shares: Shares,
    queues: HostQueues<Key>,
    vcpus: PerVcpu<Vcpu>,
    doms: PerDomain<Dom>,
    pcpus: Vec<Pcpu>,
}

#[derive(Clone, Debug)]
struct Dom {
    vcpus: Vec<VcpuId>,
    pending: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pcpu {
    charged_ns: u64,
    slice_end_ns: u64,
}

impl PsxPlus {
    /// For `host`, with the settings `tick` (300 us), `patience` (300 us), `period` (30 ms) and
    /// `share_percent` (5).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let tick_ns = settings.nanos("tick", 300 * MICROSECOND, 10 * MICROSECOND, 100 * MILLISECOND)?;
        let patience_ns = settings.nanos("patience", 300 * MICROSECOND, MICROSECOND, 1_000 * MILLISECOND)?;
        let period_ns = settings.nanos("period", 30 * MILLISECOND, MILLISECOND, 10_000 * MILLISECOND)?;
        let percent = settings.count("share_percent", 5, 1, 50)?;
        Ok(Self {
            tick_ns,
            patience_ns,
            shares: Shares::new(period_ns, percent),
            queues: HostQueues::new(host.pcpus),
            vcpus: PerVcpu::default(),
            doms: PerDomain::default(),
            pcpus: vec![Pcpu::default(); host.pcpus as usize],
        })
    }

    /// Charges the VCPU that runs on `pcpu` for the time it has run until now.
    fn charge(&mut self, now_ns: u64, pcpu: PcpuId) {
        let charged_ns = std::mem::replace(&mut self.pcpus[pcpu.index()].charged_ns, now_ns);
        if let Some((id, _)) = self.queues.running(pcpu) {
            let vcpu = &mut self.vcpus[id];
            vcpu.charge(now_ns - charged_ns, now_ns);
            vcpu.account.charge(now_ns - charged_ns, self.shares.share_ns);
        }
    }

    fn charge_all(&mut self, now_ns: u64) {
        for pcpu in 0..self.pcpus.len() as u32 {
            self.charge(now_ns, PcpuId(pcpu));
        }
    }

    fn charge_vcpu(&mut self, now_ns: u64, id: VcpuId) {
        if let Some(pcpu) = self.queues.runs_on(id) {
            self.charge(now_ns, pcpu);
        }
    }

    /// Updates the place of `id` after its key has changed; if it waits, it may preempt.
    fn reorder(&mut self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        let (key, standing, place) = (vcpu.key(), vcpu.standing(), vcpu.place());
        if let Some(pcpu) = self.queues.runs_on(id) {
            self.queues.rekey_running(pcpu, standing);
        } else if self.queues.waits(id) {
            self.queues.rekey(id, key);
            self.queues.offer(key, place, orders);
        }
    }

    /// Notes that `id` is known to wait.
    fn demote(&mut self, id: VcpuId, orders: &mut Orders) {
        self.vcpus[id].waits = true;
        self.reorder(id, orders);
        self.give_way(id, orders);
    }

    /// If `id` runs and a VCPU waits that comes before it, asks its PCPU to decide.
    fn give_way(&mut self, id: VcpuId, orders: &mut Orders) {
        if let Some(pcpu) = self.queues.runs_on(id)
            && self.queues.least(pcpu).is_some_and(|(key, _)| key < self.vcpus[id].standing())
        {
            self.queues.ask(pcpu, orders);
        }
    }

    fn restore(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.charge_vcpu(now_ns, id);
        self.vcpus[id].restore();
        self.reorder(id, orders);
        // Its slice may be longer than its patience.
        if let Some(pcpu) = self.queues.runs_on(id)
            && self.pcpus[pcpu.index()].slice_end_ns > now_ns + self.patience_ns(&self.vcpus[id])
        {
            self.queues.ask(pcpu, orders);
        }
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &self.vcpus[id];
        self.queues.wait(id, vcpu.key(), vcpu.place());
    }

    fn offer(&mut self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        self.queues.offer(vcpu.key(), vcpu.place(), orders);
    }

    fn begin_period(&mut self, now_ns: u64, orders: &mut Orders) {
        self.charge_all(now_ns);
        let mut pinned = vec![0; self.pcpus.len()];
        let mut awake = 0;
        let mut late = Vec::new();
        for (id, vcpu) in self.vcpus.iter_mut() {
            late.extend(vcpu.account.due.then_some(id));
            vcpu.account.begin(vcpu.awake);
            awake += u64::from(vcpu.awake);
            if let Some(pin) = vcpu.pin.filter(|_| vcpu.awake) {
                pinned[pin.index()] += 1;
            }
        }
        // Only a VCPU that was pinned elsewhere during the period can still be due when it ends.
        for id in late {
            self.reorder(id, orders);
        }
        let most_pinned = pinned.into_iter().max().unwrap_or(0);
        let due_after_ns = self.shares.begin(self.pcpus.len() as u64, awake, most_pinned);
        orders.set_timer(SHARES_FALL_DUE, now_ns + due_after_ns);
        orders.set_timer(PERIOD_BEGINS, now_ns + self.shares.period_ns);
    }

    fn claim_shares(&mut self, now_ns: u64, orders: &mut Orders) {
        self.charge_all(now_ns);
        let mut due = Vec::new();
        for (id, vcpu) in self.vcpus.iter_mut() {
            vcpu.account.claim(self.shares.share_ns);
            due.extend(vcpu.account.due.then_some(id));
        }
        for id in &due {
            self.reorder(*id, orders);
        }
        // Those that run already get a slice that ends when they have their share.
        for id in due {
            if let Some(pcpu) = self.queues.runs_on(id) {
                self.queues.ask(pcpu, orders);
            }
        }
    }

    /// How long a VCPU may run without progress before it is known to wait.
    fn patience_ns(&self, vcpu: &Vcpu) -> u64 {
        match vcpu.flag {
            Some(false) => self.patience_ns.max(self.shares.period_ns),
            Some(true) | None => self.patience_ns,
        }
    }

    /// How long `id` may run before its standing changes, at most a tick.
    fn slice_ns(&self, id: VcpuId) -> u64 {
        let vcpu = &self.vcpus[id];
        match vcpu.key() {
            (DUE, _) => self.shares.share_ns - vcpu.account.got_ns,
            (FEDERATE, _) if !vcpu.simulates => self.tick_ns.min(vcpu.grace_ns),
            (FEDERATE, _) => self.tick_ns.min(self.patience_ns(vcpu) - vcpu.stalled_ns),
            _ => self.tick_ns,
        }
    }
}

impl Policy for PsxPlus {
    fn start(&mut self, now_ns: u64, orders: &mut Orders) {
        self.begin_period(now_ns, orders);
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
            self.vcpus.insert(id, Vcpu::new(domain, pin, self.shares.period_ns));
        }
        self.doms.insert(domain.dom, Dom { vcpus: domain.vcpus.clone(), pending: 0 });
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, orders: &mut Orders) {
        for id in self.doms.remove(dom).into_iter().flat_map(|dom| dom.vcpus) {
            self.queues.forget(id, orders);
            self.vcpus.remove(id);
        }
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.charge_vcpu(now_ns, id);
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        vcpu.restore();
        if self.queues.runs_on(id).is_none() {
            self.enqueue(id);
            self.offer(id, orders);
        }
    }

    fn sleep(&mut self, _now_ns: u64, id: VcpuId, _orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = false;
        vcpu.account.sleep();
        self.queues.leave(id);
    }

    fn yields(&mut self, _now_ns: u64, id: VcpuId, _orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.yielded = true;
        vcpu.waits |= self.doms[vcpu.dom].pending == 0;
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.charge(now_ns, pcpu);
        let last = self.queues.stop(pcpu).map(|(last, _)| last).filter(|last| self.vcpus[*last].awake);
        let mut stays = None;
        if let Some(last) = last {
            let patience_ns = self.patience_ns(&self.vcpus[last]);
            let stopped = &mut self.vcpus[last];
            stopped.waits |= stopped.federate() && stopped.stalled_ns >= patience_ns;
            let yielded = std::mem::take(&mut stopped.yielded);
            let least = self.queues.least(pcpu);
            let first = least.is_none_or(|(key, _)| key >= stopped.standing());
            if now_ns < self.pcpus[pcpu.index()].slice_end_ns && !yielded && first {
                stays = Some(last);
            } else {
                self.enqueue(last);
            }
        }
        let vcpu = stays.or_else(|| self.queues.least(pcpu).map(|(_, least)| least));
        self.queues.run(pcpu, vcpu.map(|id| (id, self.vcpus[id].standing())));
        if let Some(last) = last.filter(|last| self.queues.waits(*last)) {
            self.offer(last, orders);
        }
        let slice_ns = vcpu.map(|id| {
            let fresh_ns = now_ns + self.slice_ns(id);
            let end_ns = &mut self.pcpus[pcpu.index()].slice_end_ns;
            *end_ns = if stays.is_some() { fresh_ns.min(*end_ns) } else { fresh_ns };
            *end_ns - now_ns
        });
        Pick { vcpu, slice_ns, examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, timer: u32, orders: &mut Orders) {
        match timer {
            PERIOD_BEGINS => self.begin_period(now_ns, orders),
            _ => self.claim_shares(now_ns, orders),
        }
    }

    fn migrate(&mut self, _now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.vcpus[vcpu].pin = pin.then_some(pcpu);
        if self.queues.leave(vcpu).is_some() {
            self.enqueue(vcpu);
            self.offer(vcpu, orders);
        }
    }

    fn pending(&mut self, now_ns: u64, dom: DomId, messages: u32, orders: &mut Orders) {
        let domain = &mut self.doms[dom];
        let before = std::mem::replace(&mut domain.pending, messages);
        if messages > before {
            for id in domain.vcpus.clone() {
                if self.vcpus[id].waits {
                    self.restore(now_ns, id, orders);
                }
            }
        }
    }

    fn lvt(&mut self, now_ns: u64, vcpu: VcpuId, lvt_ns: u64, orders: &mut Orders) {
        self.charge_vcpu(now_ns, vcpu);
        if lvt_ns == u64::MAX {
            self.vcpus[vcpu].idle();
            self.reorder(vcpu, orders);
            self.give_way(vcpu, orders);
        } else {
            self.vcpus[vcpu].report(lvt_ns);
            self.reorder(vcpu, orders);
        }
    }

    fn mode(&mut self, now_ns: u64, vcpu: VcpuId, simulates: bool, orders: &mut Orders) {
        self.charge_vcpu(now_ns, vcpu);
        self.vcpus[vcpu].mode(simulates);
        self.restore(now_ns, vcpu, orders);
        self.give_way(vcpu, orders);
    }

    fn waiting(&mut self, now_ns: u64, vcpu: VcpuId, waits: bool, orders: &mut Orders) {
        self.vcpus[vcpu].flag = Some(waits);
        if waits {
            self.demote(vcpu, orders);
        } else {
            self.restore(now_ns, vcpu, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let runs_on = self.queues.runs_on(id);
            let (class, order) = if runs_on.is_some() { vcpu.standing() } else { vcpu.key() };
            let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            let keys = vec![
                ("class", i64::from(class)),
                ("order", signed(order)),
                ("lvt", signed(vcpu.lvt)),
                ("got", signed(vcpu.account.got_ns)),
                ("share", signed(self.shares.share_ns)),
            ];
            Standing { vcpu: id, runs_on, awake: vcpu.awake, keys }
        })
    }
}
