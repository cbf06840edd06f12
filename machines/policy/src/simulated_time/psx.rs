//! PSX: the VCPU with the least simulation time runs first (PSX paper, sections 2 and 3).
//!
//! State: a `sim_time` per VCPU, by which the run queues are ordered; the least over all run queues runs
//! next, first come first served among equals. VCPUs of DOM0 always have 0. In normal mode those of guests
//! have 1, which is round robin with a slice of one tick. Simulation mode begins when the scheduler services
//! a guest whose page has the switch set, and ends when all have unset it. In this mode `sim_time` is the
//! value on the guest's page when the scheduler last read it.
//!
//! Reading (section 3.2): the page of the VCPU that runs is read at the tick of its PCPU. If the value is
//! that of the previous read, there was no progress: `sim_time` is `max_time` until the next read, so that
//! others run first, which may have to answer in a GVT computation. `prior_sim_time` is not changed, so the
//! next read always restores the value. VCPUs at `max_time` wait in the order of arrival: N federates that
//! only poll are served in turn. The paper does not say clearly whether pages are also read between ticks,
//! when a VCPU that has run is put back into a queue: with `reads = "enqueue"` they are, with `"tick"` (the
//! default) they are not. Nor does it say for how long `max_time` is temporary while others make progress:
//! with `rereads` = N the page of a VCPU that does not run is read again N ticks after it came to `max_time`;
//! with 0 (the default) not before it runs. If N ticks are not enough for all others to run meanwhile, those
//! that only poll can keep the others from a GVT computation for ever. `Pick::examined` counts the pages that
//! were read, for the switch or the time, since the last decision on any PCPU.
//!
//! Ticks are at whole multiples of `tick`, on all PCPUs that are not idle, as Xen resumes its tickers. A VCPU
//! that wakes takes an idle PCPU, or else that of the VCPU with the greatest `sim_time` if its own is less.
//! Work-conserving. A guest whose page lies, or DOM0, can starve others.

use std::collections::BTreeSet;

use crate::per_id::PerVcpu;
use crate::queues::{HostQueues, Place};
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings,
    Standing, VcpuId,
};

/// `sim_time` of a VCPU that has made no progress: later than the end of every simulation.
const MAX_TIME: u64 = u64::MAX;
const DOM0_TIME: u64 = 0;
const NORMAL_TIME: u64 = 1;

/// The PDES scheduler for Xen.
#[derive(Debug)]
pub struct Psx {
    tick_ns: u64,
    reads: Reads,
    /// Ticks after which a VCPU at `max_time` is read without having run; 0 is never.
    rereads: u64,
    queues: HostQueues<u64>,
    vcpus: PerVcpu<Vcpu>,
    /// When each PCPU decided last.
    decided_ns: Vec<u64>,
    /// The number of VCPUs whose switch was set when it was last read.
    simulating: usize,
    /// Pages read since the last decision.
    looked: u32,
    /// With `rereads`: the VCPUs at `max_time`, by the tick at which they are read again.
    due: BTreeSet<(u64, VcpuId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Tick,
    Enqueue,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    privileged: bool,
    pin: Option<PcpuId>,
    awake: bool,
    yielded: bool,
    /// What the guest has put on its page.
    page: Page,
    /// The switch when it was last read.
    switch: bool,
    sim_time: u64,
    prior_sim_time: u64,
    flipped: bool,
    /// With `rereads`, while it is flipped: the tick at which it is read again.
    due: u64,
    /// Whether it has run since its page was last read.
    ran: bool,
    vcpu_ticks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Page {
    lvt: u64,
    switch: bool,
}

impl Vcpu {
    fn new(domain: &NewDomain, pin: Option<PcpuId>) -> Self {
        Self {
            dom: domain.dom,
            privileged: domain.privileged,
            pin,
            awake: false,
            yielded: false,
            page: Page::default(),
            switch: false,
            sim_time: if domain.privileged { DOM0_TIME } else { NORMAL_TIME },
            prior_sim_time: 0,
            flipped: false,
            due: 0,
            ran: false,
            vcpu_ticks: 0,
        }
    }

    fn read(&mut self) {
        // However low a guest's LVT, DOM0 stays below it.
        let lvt = self.page.lvt.max(NORMAL_TIME);
        // An LVT that is the same as before means a guest that waits: it goes behind all others until it is
        // read again.
        self.flipped = !self.flipped && lvt == self.prior_sim_time;
        if self.flipped {
            self.sim_time = MAX_TIME;
        } else {
            self.sim_time = lvt;
            self.prior_sim_time = lvt;
        }
        self.ran = false;
    }

    fn back_to_normal(&mut self) {
        self.sim_time = NORMAL_TIME;
        self.prior_sim_time = 0;
        self.flipped = false;
    }
}

impl Psx {
    /// For `host`, with the settings `tick` (300 us), `reads` (`"tick"` or `"enqueue"`) and `rereads` (0, a
    /// number of ticks).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let tick_ns = settings.nanos("tick", 300 * MICROSECOND, 10 * MICROSECOND, 100 * MILLISECOND)?;
        let reads = settings.choice("reads", &[("tick", Reads::Tick), ("enqueue", Reads::Enqueue)])?;
        let rereads = settings.count("rereads", 0, 0, 1_000_000)?;
        Ok(Self {
            tick_ns,
            reads,
            rereads,
            queues: HostQueues::new(host.pcpus),
            vcpus: PerVcpu::default(),
            decided_ns: vec![0; host.pcpus as usize],
            simulating: 0,
            looked: 0,
            due: BTreeSet::new(),
        })
    }

    /// Reads the pages of the VCPUs that wait at `max_time` since `rereads` ticks.
    fn reread(&mut self, now_ns: u64, orders: &mut Orders) {
        let tick = now_ns / self.tick_ns;
        while let Some((_, id)) = self.due.first().copied().filter(|(due, _)| *due <= tick) {
            if self.queues.waits(id) {
                self.service(now_ns, id, true);
                self.queues.rekey(id, self.vcpus[id].sim_time);
                self.offer(id, orders);
            } else {
                // One that runs is read at its tick; one that sleeps may wake before the next.
                self.set_due(id, Some(tick + 1));
            }
        }
    }

    /// `id` is to be read again at this tick, or not at any.
    fn set_due(&mut self, id: VcpuId, due: Option<u64>) {
        self.due.remove(&(self.vcpus[id].due, id));
        if let Some(due) = due.filter(|_| self.rereads > 0) {
            self.vcpus[id].due = due;
            self.due.insert((due, id));
        }
    }

    /// Services a VCPU: reads its switch, and its LVT if `reads`.
    fn service(&mut self, now_ns: u64, id: VcpuId, reads: bool) {
        let vcpu = &mut self.vcpus[id];
        // DOM0 has no page; its time stays below all others.
        if vcpu.privileged {
            return;
        }
        self.looked += 1;
        let switch = vcpu.page.switch;
        self.note_switch(id, switch);
        if reads && self.simulating > 0 {
            self.vcpus[id].read();
            let due = now_ns / self.tick_ns + self.rereads;
            self.set_due(id, self.vcpus[id].flipped.then_some(due));
        }
    }

    fn note_switch(&mut self, id: VcpuId, switch: bool) {
        match (std::mem::replace(&mut self.vcpus[id].switch, switch), switch) {
            (false, true) => self.simulating += 1,
            (true, false) => {
                self.simulating -= 1;
                if self.simulating == 0 {
                    self.end_simulation();
                }
            }
            _ => {}
        }
    }

    fn end_simulation(&mut self) {
        self.due.clear();
        for (id, vcpu) in self.vcpus.iter_mut().filter(|(_, vcpu)| !vcpu.privileged) {
            vcpu.back_to_normal();
            self.queues.rekey(id, NORMAL_TIME);
            if let Some(pcpu) = self.queues.runs_on(id) {
                self.queues.rekey_running(pcpu, NORMAL_TIME);
            }
        }
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &self.vcpus[id];
        self.queues.wait(id, vcpu.sim_time, Place::of(vcpu.pin));
    }

    fn offer(&mut self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        self.queues.offer(vcpu.sim_time, Place::of(vcpu.pin), orders);
    }
}

impl Policy for Psx {
    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        settings.finish(domain.dom.to_string())?;
        for (id, pin) in domain.members() {
            self.vcpus.insert(id, Vcpu::new(domain, pin));
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, orders: &mut Orders) {
        for id in self.vcpus.ids(|vcpu| vcpu.dom == dom) {
            self.note_switch(id, false);
            self.set_due(id, None);
            self.queues.forget(id, orders);
            self.vcpus.remove(id);
        }
    }

    fn wake(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.vcpus[vcpu].awake = true;
        if self.queues.runs_on(vcpu).is_some() {
            return;
        }
        if self.reads == Reads::Enqueue && self.vcpus[vcpu].ran {
            self.service(now_ns, vcpu, true);
        }
        self.enqueue(vcpu);
        self.offer(vcpu, orders);
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].awake = false;
        self.queues.leave(vcpu);
    }

    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].yielded = true;
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.reread(now_ns, orders);
        let decided_ns = std::mem::replace(&mut self.decided_ns[pcpu.index()], now_ns);
        let last = self.queues.stop(pcpu).map(|(last, _)| last);
        let mut stays = None;
        if let Some(last) = last {
            let ticks = now_ns / self.tick_ns - decided_ns / self.tick_ns;
            let stopped = &mut self.vcpus[last];
            stopped.vcpu_ticks += ticks;
            stopped.ran |= now_ns > decided_ns;
            let yielded = std::mem::take(&mut stopped.yielded);
            let (awake, ran, sim_time) = (stopped.awake, stopped.ran, stopped.sim_time);
            // Between ticks, the running VCPU is first among its equals: its tick is not over.
            let least = self.queues.least(pcpu);
            let goes_on = ticks == 0 && !yielded && least.is_none_or(|(key, _)| key >= sim_time);
            let enqueued = awake && !goes_on;
            self.service(now_ns, last, ticks > 0 || self.reads == Reads::Enqueue && enqueued && ran);
            if enqueued {
                self.enqueue(last);
            } else if awake {
                stays = Some(last);
            }
        }
        let vcpu = stays.or_else(|| self.queues.least(pcpu).map(|(_, least)| least));
        self.queues.run(pcpu, vcpu.map(|id| (id, self.vcpus[id].sim_time)));
        if let Some(last) = last.filter(|last| self.queues.waits(*last)) {
            self.offer(last, orders);
        }
        let slice_ns = vcpu.map(|_| self.tick_ns - now_ns % self.tick_ns);
        Pick { vcpu, slice_ns, examined: std::mem::take(&mut self.looked) }
    }

    fn migrate(&mut self, _now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.vcpus[vcpu].pin = pin.then_some(pcpu);
        if self.queues.leave(vcpu).is_some() {
            self.enqueue(vcpu);
            self.offer(vcpu, orders);
        }
    }

    fn lvt(&mut self, _now_ns: u64, vcpu: VcpuId, lvt_ns: u64, _orders: &mut Orders) {
        self.vcpus[vcpu].page.lvt = lvt_ns;
    }

    fn mode(&mut self, _now_ns: u64, vcpu: VcpuId, simulates: bool, _orders: &mut Orders) {
        self.vcpus[vcpu].page.switch = simulates;
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            let keys = vec![
                ("sim_time", signed(vcpu.sim_time)),
                ("prior_sim_time", signed(vcpu.prior_sim_time)),
                ("ticks", signed(vcpu.vcpu_ticks)),
            ];
            Standing { vcpu: id, runs_on: self.queues.runs_on(id), awake: vcpu.awake, keys }
        })
    }
}
