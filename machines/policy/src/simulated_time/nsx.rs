//! NSX: a virtual clock on every VCPU, and the VCPU whose clock is furthest behind runs first (NSX paper,
//! section III).
//!
//! State: a VCPU's LVT is `ref_time + nticks * tick`. At every tick, a PCPU charges its running VCPU a whole
//! tick, however long it has run, and decides again; the slice is one tick. `dom_lvt` is the greatest LVT of
//! a domain's VCPUs, `sys_lvt` the least `dom_lvt` of all guests and `sys_lvt_next` the greatest, all as of
//! the `master_ticker`, which goes off every 10 ticks. The clocks of idle VCPUs stand still; three timers
//! correct that:
//!
//! - `master_ticker`, every 10 ticks: also sets DOM0 to `sys_lvt`, down or up, so that it runs before all but
//!   VCPUs that lag behind the system. Between two of them DOM0 is charged like the others, so the time it
//!   can take is bounded.
//! - `master_lvt_ticker`, every `adjust` (a minute): raises all VCPUs of a domain to its `dom_lvt`.
//! - `master_all_lvt_ticker`, every `adjust_all`: if a guest's `dom_lvt` lags by more than `max_diff_ticks`
//!   (10), raises all guests' VCPUs to `sys_lvt_next`. The paper writes of the lag from `sys_lvt`; as that is
//!   the least, no guest lags behind it, so the lag behind `sys_lvt_next` is used here. Its period is "some
//!   long time"; by default it is a minute, the only long time for which the paper gives a number.
//!
//! DOM0's slice is `dom0_ticks` ticks (the paper tries 1, 2 and 4). VCPUs of a new domain start at `sys_lvt`.
//!
//! There is a run queue per PCPU, ordered by LVT; a PCPU takes the least of all queues, its own first among
//! equals. LVTs are whole ticks, so equal ones are common, and the paper does not say which of them comes
//! first. Here a VCPU that has used up its slice comes behind its equals; one that was interrupted within its
//! slice, for example by DOM0, comes before them and finishes its tick first. A VCPU that wakes goes back to
//! the queue of the PCPU where it ran last, and takes that PCPU if it idles or runs a greater LVT; if that
//! PCPU is busy, an idle one is asked to steal, as in the credit scheduler, from whose code NSX derives.
//! Ticks are at whole multiples of `tick` on all PCPUs that are not idle, as Xen resumes its tickers; with
//! `stagger` they are spread evenly over a tick, like tickers that were started one after the other.
//! Work-conserving.

use std::collections::BTreeMap;

use crate::per_id::PerVcpu;
use crate::queues::{HostQueues, Place};
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings,
    Standing, VcpuId,
};

const MASTER_TICKER: u32 = 0;
const MASTER_LVT_TICKER: u32 = 1;
const MASTER_ALL_LVT_TICKER: u32 = 2;

/// The `master_ticker` goes off every so many ticks (section III.C).
const MASTER_TICKS: u64 = 10;

const MINUTE_NS: u64 = 60_000 * MILLISECOND;

/// The NetWarp scheduler for Xen.
#[derive(Debug)]
pub struct Nsx {
    tick_ns: u64,
    adjust_ns: u64,
    adjust_all_ns: u64,
    max_diff_ns: u64,
    dom0_ticks: u64,
    staggered: bool,
    queues: HostQueues<u64>,
    vcpus: PerVcpu<Vcpu>,
    doms: BTreeMap<DomId, Dom>,
    pcpus: Vec<Pcpu>,
    sys_lvt_ns: u64,
    sys_lvt_next_ns: u64,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    pin: Option<PcpuId>,
    /// The PCPU in whose run queue it waits.
    home: PcpuId,
    awake: bool,
    yielded: bool,
    ref_time_ns: u64,
    nticks: u64,
}

#[derive(Clone, Debug)]
struct Dom {
    privileged: bool,
    vcpus: Vec<VcpuId>,
    lvt_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pcpu {
    decided_ns: u64,
    slice_end_ns: u64,
}

impl Vcpu {
    fn lvt_ns(&self, tick_ns: u64) -> u64 {
        self.ref_time_ns + self.nticks * tick_ns
    }

    fn set_lvt_ns(&mut self, lvt_ns: u64) {
        self.ref_time_ns = lvt_ns;
        self.nticks = 0;
    }

    fn place(&self) -> Place {
        Place::near(self.home, self.pin)
    }
}

impl Nsx {
    /// For `host`, with the settings `tick` (30 us to 30 ms, 100 us by default), `dom0_ticks` (1), `adjust`
    /// and `adjust_all` (a minute), `max_diff_ticks` (10), and `stagger` (off).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let tick_ns = settings.nanos("tick", 100 * MICROSECOND, 30 * MICROSECOND, 30 * MILLISECOND)?;
        let dom0_ticks = settings.count("dom0_ticks", 1, 1, 100)?;
        let staggered = settings.flag("stagger", false)?;
        let adjust_ns = settings.nanos("adjust", MINUTE_NS, MILLISECOND, 60 * MINUTE_NS)?;
        let adjust_all_ns = settings.nanos("adjust_all", MINUTE_NS, MILLISECOND, 60 * MINUTE_NS)?;
        let max_diff_ns = tick_ns * settings.count("max_diff_ticks", 10, 1, 1_000_000)?;
        Ok(Self {
            tick_ns,
            adjust_ns,
            adjust_all_ns,
            max_diff_ns,
            dom0_ticks,
            staggered,
            queues: HostQueues::new(host.pcpus),
            vcpus: PerVcpu::default(),
            doms: BTreeMap::new(),
            pcpus: vec![Pcpu::default(); host.pcpus as usize],
            sys_lvt_ns: 0,
            sys_lvt_next_ns: 0,
        })
    }

    /// How far the ticks of `pcpu` come before whole multiples of `tick`.
    fn lead_ns(&self, pcpu: PcpuId) -> u64 {
        if self.staggered { self.tick_ns * u64::from(pcpu.0) / self.pcpus.len() as u64 } else { 0 }
    }

    /// How many ticks `pcpu` has had until `at_ns`.
    fn ticks(&self, pcpu: PcpuId, at_ns: u64) -> u64 {
        (at_ns + self.lead_ns(pcpu)) / self.tick_ns
    }

    /// Sets the LVT of `id`, in its queue too. A running VCPU keeps its standing for the rest of its slice.
    fn put_at(&mut self, id: VcpuId, lvt_ns: u64) {
        self.vcpus[id].set_lvt_ns(lvt_ns);
        self.queues.rekey(id, lvt_ns);
    }

    fn raise(&mut self, id: VcpuId, lvt_ns: u64) {
        if self.vcpus[id].lvt_ns(self.tick_ns) < lvt_ns {
            self.put_at(id, lvt_ns);
        }
    }

    fn compute_lvts(&mut self) {
        for dom in self.doms.values_mut() {
            let lvts = dom.vcpus.iter().map(|id| self.vcpus[*id].lvt_ns(self.tick_ns));
            dom.lvt_ns = lvts.max().unwrap_or(dom.lvt_ns);
        }
        let guests = || self.doms.values().filter(|dom| !dom.privileged).map(|dom| dom.lvt_ns);
        self.sys_lvt_ns = guests().min().unwrap_or(self.sys_lvt_ns);
        self.sys_lvt_next_ns = guests().max().unwrap_or(self.sys_lvt_next_ns);
    }

    /// All VCPUs of DOM0, or of all guests, with their domain's LVT.
    fn vcpus_of(&self, privileged: bool) -> Vec<(VcpuId, u64)> {
        let doms = self.doms.values().filter(|dom| dom.privileged == privileged);
        doms.flat_map(|dom| dom.vcpus.iter().map(|id| (*id, dom.lvt_ns))).collect()
    }

    fn master_tick(&mut self) {
        self.compute_lvts();
        for (id, _) in self.vcpus_of(true) {
            self.put_at(id, self.sys_lvt_ns);
        }
    }

    fn adjust_lvt(&mut self) {
        self.compute_lvts();
        for (id, dom_lvt_ns) in self.vcpus_of(false) {
            self.raise(id, dom_lvt_ns);
        }
    }

    fn adjust_all_lvt(&mut self) {
        self.compute_lvts();
        if self.sys_lvt_next_ns - self.sys_lvt_ns > self.max_diff_ns {
            for (id, _) in self.vcpus_of(false) {
                self.raise(id, self.sys_lvt_next_ns);
            }
        }
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &self.vcpus[id];
        self.queues.wait(id, vcpu.lvt_ns(self.tick_ns), vcpu.place());
    }

    fn wake_an_idler(&mut self, id: VcpuId, orders: &mut Orders) {
        if let Some(pcpu) = self.queues.idle_for(self.vcpus[id].place()) {
            self.queues.ask(pcpu, orders);
        }
    }

    /// `id` waits: asks its own PCPU if that idles or runs a greater LVT, and an idle one if that is busy.
    fn tickle(&mut self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        let lvt_ns = vcpu.lvt_ns(self.tick_ns);
        let home = vcpu.pin.unwrap_or(vcpu.home);
        if let Some((standing_ns, pcpu)) = self.queues.greatest_for(Place::Only(home))
            && standing_ns > lvt_ns
        {
            self.queues.ask(pcpu, orders);
        }
        self.wake_an_idler(id, orders);
    }
}

impl Policy for Nsx {
    fn start(&mut self, now_ns: u64, orders: &mut Orders) {
        orders.set_timer(MASTER_TICKER, now_ns + MASTER_TICKS * self.tick_ns);
        orders.set_timer(MASTER_LVT_TICKER, now_ns + self.adjust_ns);
        orders.set_timer(MASTER_ALL_LVT_TICKER, now_ns + self.adjust_all_ns);
    }

    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        settings.finish(domain.dom.to_string())?;
        let lvt_ns = self.sys_lvt_ns;
        for (id, pin, home) in domain.homes(self.pcpus.len() as u32) {
            let vcpu = Vcpu {
                dom: domain.dom,
                pin,
                home,
                awake: false,
                yielded: false,
                ref_time_ns: lvt_ns,
                nticks: 0,
            };
            self.vcpus.insert(id, vcpu);
        }
        let dom = Dom { privileged: domain.privileged, vcpus: domain.vcpus.clone(), lvt_ns };
        self.doms.insert(domain.dom, dom);
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, orders: &mut Orders) {
        for id in self.doms.remove(&dom).into_iter().flat_map(|dom| dom.vcpus) {
            self.queues.forget(id, orders);
            self.vcpus.remove(id);
        }
    }

    fn wake(&mut self, _now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.vcpus[vcpu].awake = true;
        if self.queues.runs_on(vcpu).is_none() {
            self.enqueue(vcpu);
            self.tickle(vcpu, orders);
        }
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].awake = false;
        self.queues.leave(vcpu);
    }

    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].yielded = true;
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        let Pcpu { decided_ns, slice_end_ns } = self.pcpus[pcpu.index()];
        let mut stays = None;
        let last = self.queues.stop(pcpu);
        let ticks = self.ticks(pcpu, now_ns);
        if let Some((last, standing_ns)) = last {
            let had = ticks - self.ticks(pcpu, decided_ns);
            let stopped = &mut self.vcpus[last];
            stopped.nticks += had;
            let yielded = std::mem::take(&mut stopped.yielded);
            if stopped.awake {
                // Within its slice it is compared by the LVT with which it was picked.
                let least = self.queues.least_near(pcpu);
                let first = least.is_none_or(|(lvt_ns, _)| lvt_ns >= standing_ns);
                if now_ns >= slice_end_ns || yielded {
                    self.enqueue(last);
                } else if first {
                    stays = Some((last, standing_ns));
                } else {
                    let stopped = &self.vcpus[last];
                    self.queues.put_back(last, stopped.lvt_ns(self.tick_ns), stopped.place());
                }
            }
        }
        let decision = stays.or_else(|| self.queues.least_near(pcpu).map(|(lvt_ns, id)| (id, lvt_ns)));
        self.queues.run(pcpu, decision);
        let lead_ns = self.lead_ns(pcpu);
        let clock = &mut self.pcpus[pcpu.index()];
        clock.decided_ns = now_ns;
        let slice_ns = decision.map(|(id, _)| {
            let vcpu = &mut self.vcpus[id];
            vcpu.home = pcpu;
            if stays.is_none() {
                let slice = if self.doms[&vcpu.dom].privileged { self.dom0_ticks } else { 1 };
                clock.slice_end_ns = (ticks + slice) * self.tick_ns - lead_ns;
            }
            clock.slice_end_ns - now_ns
        });
        if let Some((last, _)) = last.filter(|(last, _)| self.queues.waits(*last)) {
            self.wake_an_idler(last, orders);
        }
        Pick { vcpu: decision.map(|(id, _)| id), slice_ns, examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, timer: u32, orders: &mut Orders) {
        let period_ns = match timer {
            MASTER_TICKER => {
                self.master_tick();
                MASTER_TICKS * self.tick_ns
            }
            MASTER_LVT_TICKER => {
                self.adjust_lvt();
                self.adjust_ns
            }
            _ => {
                self.adjust_all_lvt();
                self.adjust_all_ns
            }
        };
        orders.set_timer(timer, now_ns + period_ns);
    }

    fn migrate(&mut self, _now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.home = pcpu;
        vcpu.pin = pin.then_some(pcpu);
        if self.queues.leave(id).is_some() {
            self.enqueue(id);
            self.tickle(id, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let lvt_ns = vcpu.lvt_ns(self.tick_ns);
            let runs_on = self.queues.runs_on(id);
            let slice_lvt_ns = runs_on.and_then(|pcpu| Some(self.queues.running(pcpu)?.1)).unwrap_or(lvt_ns);
            let keys = vec![
                ("lvt", lvt_ns as i64),
                ("lvt_of_slice", slice_lvt_ns as i64),
                ("dom_lvt", self.doms[&vcpu.dom].lvt_ns as i64),
                ("sys_lvt", self.sys_lvt_ns as i64),
            ];
            Standing { vcpu: id, runs_on, awake: vcpu.awake, keys }
        })
    }
}
