//! The ARINC 653 scheduler (VanderLeest, 2010; co-scheduling thesis, section 3.1.5.2): time is cut into
//! *major frames*, and in each of them every domain has its window, at the same offset and of the same
//! length.
//!
//! In its window a domain has the host to itself: each of its VCPUs has a PCPU of its own, its pin or else
//! the next one that is free. (Xen's scheduler supports one PCPU; here the same frame holds on all.) A VCPU
//! that sleeps leaves its PCPU idle, and so does time outside of all windows: deliberately not
//! work-conserving. No domain with a window starves; a domain without one never runs.
//!
//! State: the windows in the order of their offsets, and the running VCPUs. A timer goes off when a window
//! begins; the slices in a window end with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::per_id::PerVcpu;
use crate::settings::{Setting, Settings, bad};
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing,
    VcpuId,
};

/// When a domain runs, from the beginning of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    offset_ns: u64,
    runtime_ns: u64,
}

impl Window {
    const fn end_ns(self) -> u64 {
        self.offset_ns + self.runtime_ns
    }
}

#[derive(Clone, Debug)]
struct Domain {
    window: Window,
    vcpus: Vec<VcpuId>,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    pinned: bool,
    awake: bool,
    pcpu: PcpuId,
    runs: bool,
}

/// The ARINC 653 scheduler.
#[derive(Debug)]
pub struct Arinc653 {
    frame_ns: u64,
    domains: BTreeMap<DomId, Domain>,
    /// By offset; windows of length zero are left out.
    windows: BTreeMap<u64, DomId>,
    vcpus: PerVcpu<Vcpu>,
    running: Vec<Option<VcpuId>>,
}

impl Arinc653 {
    /// For `host`, with the setting `major_frame` (10 ms).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let most = 3_600_000 * MILLISECOND;
        let frame_ns = settings.nanos("major_frame", 10 * MILLISECOND, 10 * MICROSECOND, most)?;
        Ok(Self {
            frame_ns,
            domains: BTreeMap::new(),
            windows: BTreeMap::new(),
            vcpus: PerVcpu::default(),
            running: vec![None; host.pcpus as usize],
        })
    }

    /// The window that is open now, and for how much longer.
    fn open(&self, now_ns: u64) -> Option<(DomId, u64)> {
        let at_ns = now_ns % self.frame_ns;
        let (_, dom) = self.windows.range(..=at_ns).next_back()?;
        let end_ns = self.domains[dom].window.end_ns();
        (at_ns < end_ns).then(|| (*dom, end_ns - at_ns))
    }

    fn set_timer(&self, now_ns: u64, orders: &mut Orders) {
        let (frame, at_ns) = (now_ns / self.frame_ns, now_ns % self.frame_ns);
        let later = self.windows.range(at_ns + 1..).next().map(|(offset_ns, _)| (frame, *offset_ns));
        let first = self.windows.first_key_value().map(|(offset_ns, _)| (frame + 1, *offset_ns));
        if let Some((frame, offset_ns)) = later.or(first) {
            orders.set_timer(0, frame * self.frame_ns + offset_ns);
        }
    }

    /// Asks for a decision on every PCPU that should run another VCPU than it does.
    fn look_again(&self, now_ns: u64, orders: &mut Orders) {
        let open = self.open(now_ns).map(|(dom, _)| dom);
        let vcpus = open.into_iter().flat_map(|dom| &self.domains[&dom].vcpus);
        for vcpu in vcpus.map(|id| &self.vcpus[*id]) {
            if vcpu.awake && !vcpu.runs {
                orders.reschedule(vcpu.pcpu);
            }
        }
    }

    /// The window that settings ask for, if it overlaps with no other domain's.
    fn window(&self, dom: DomId, settings: &mut Settings, old: Window) -> Result<Window, PolicyError> {
        let offset_ns = settings.nanos("offset", old.offset_ns, 0, self.frame_ns)?;
        let runtime_ns = settings.nanos("runtime", old.runtime_ns, 0, self.frame_ns)?;
        settings.finish(dom.to_string())?;
        let window = Window { offset_ns, runtime_ns };
        if window.end_ns() > self.frame_ns {
            let allowed = format!("a window that ends within the major frame of {} ns", self.frame_ns);
            return Err(bad("runtime", &Setting::Nanos(runtime_ns), allowed));
        }
        let others = self.windows.values().filter(|other| **other != dom);
        let mut others = others.map(|other| (other, self.domains[other].window));
        let meets = |other: Window| offset_ns < other.end_ns() && other.offset_ns < window.end_ns();
        match others.find(|(_, other)| runtime_ns > 0 && meets(*other)) {
            None => Ok(window),
            Some((other, its)) => {
                let (from_ns, to_ns) = (its.offset_ns, its.end_ns());
                let allowed =
                    format!("a window apart from those of others; {other} has {from_ns} ns to {to_ns} ns");
                Err(bad("offset", &Setting::Nanos(offset_ns), allowed))
            }
        }
    }

    fn put(&mut self, dom: DomId, window: Window) {
        self.windows.retain(|_, other| *other != dom);
        if window.runtime_ns > 0 {
            self.windows.insert(window.offset_ns, dom);
        }
    }

    /// A PCPU for each of a domain's VCPUs: its pin, or else the first that is free.
    fn places(&self, domain: &NewDomain) -> Result<Vec<PcpuId>, PolicyError> {
        let pcpus = self.running.len() as u32;
        if domain.vcpus.len() > self.running.len() {
            let vcpus = domain.vcpus.len() as u32;
            return Err(PolicyError::TooManyVcpus { dom: domain.dom, vcpus, policy: "arinc653", pcpus });
        }
        let mut taken = BTreeSet::new();
        if let Some(twice) = domain.pins.iter().flatten().find(|pin| !taken.insert(**pin)) {
            let allowed = "a PCPU that no other VCPU of the domain is pinned to".into();
            return Err(PolicyError::BadValue { key: "pin".into(), value: twice.to_string(), allowed });
        }
        let mut free = (0..pcpus).map(PcpuId).filter(|pcpu| !taken.contains(pcpu));
        let mut place = |pin: &Option<PcpuId>| pin.or_else(|| free.next()).expect("there are enough PCPUs");
        Ok(domain.pins.iter().map(&mut place).collect())
    }
}

impl Policy for Arinc653 {
    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let places = self.places(domain)?;
        let window = self.window(domain.dom, settings, Window { offset_ns: 0, runtime_ns: 0 })?;
        for ((id, pin), pcpu) in domain.members().zip(places) {
            let pinned = pin.is_some();
            self.vcpus.insert(id, Vcpu { dom: domain.dom, pinned, awake: false, pcpu, runs: false });
        }
        self.domains.insert(domain.dom, Domain { window, vcpus: domain.vcpus.clone() });
        self.put(domain.dom, window);
        self.set_timer(now_ns, orders);
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        let domain = self.domains.remove(&dom).expect("a domain that goes is there");
        self.windows.retain(|_, other| *other != dom);
        for id in domain.vcpus {
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
        let window = self.window(dom, settings, self.domains[&dom].window)?;
        self.domains.get_mut(&dom).expect("a domain that is adjusted is there").window = window;
        self.put(dom, window);
        self.set_timer(now_ns, orders);
        // The slices of running VCPUs are no longer right.
        (0..self.running.len()).for_each(|pcpu| orders.reschedule(PcpuId(pcpu as u32)));
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        let (dom, pcpu) = (vcpu.dom, vcpu.pcpu);
        if self.open(now_ns).is_some_and(|(open, _)| open == dom) {
            orders.reschedule(pcpu);
        }
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].awake = false;
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, _orders: &mut Orders) -> Pick {
        if let Some(last) = self.running[pcpu.index()].take()
            && let Some(vcpu) = self.vcpus.get_mut(last)
        {
            vcpu.runs = false;
        }
        let Some((dom, left_ns)) = self.open(now_ns) else {
            return Pick::default();
        };
        let is_here = |id: &&VcpuId| {
            let vcpu = &self.vcpus[**id];
            vcpu.awake && vcpu.pcpu == pcpu && !vcpu.runs
        };
        let Some(next) = self.domains[&dom].vcpus.iter().find(is_here).copied() else {
            return Pick::default();
        };
        self.vcpus[next].runs = true;
        self.running[pcpu.index()] = Some(next);
        Pick { vcpu: Some(next), slice_ns: Some(left_ns), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        self.look_again(now_ns, orders);
        self.set_timer(now_ns, orders);
    }

    /// The VCPU of the domain that had that PCPU changes places with this one, unless it is pinned: then
    /// nothing changes.
    fn migrate(&mut self, _now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        let (dom, left) = (vcpu.dom, vcpu.pcpu);
        let siblings = self.domains[&dom].vcpus.clone();
        let there = |other: &VcpuId| self.vcpus[*other].pcpu == pcpu;
        if let Some(other) = siblings.into_iter().find(there).filter(|other| *other != id) {
            if self.vcpus[other].pinned {
                return;
            }
            self.vcpus[other].pcpu = left;
        }
        let vcpu = &mut self.vcpus[id];
        (vcpu.pcpu, vcpu.pinned) = (pcpu, pin);
        // A VCPU that runs there stops before it runs on the other PCPU.
        [pcpu, left].into_iter().for_each(|pcpu| orders.reschedule(pcpu));
    }

    fn dump(&self, now_ns: u64) -> Vec<Standing> {
        let open = self.open(now_ns).map(|(dom, _)| dom);
        self.vcpus.standings(|id, vcpu| {
            let window = self.domains[&vcpu.dom].window;
            let keys = vec![
                ("offset", window.offset_ns as i64),
                ("runtime", window.runtime_ns as i64),
                ("open", i64::from(open == Some(vcpu.dom))),
            ];
            Standing { vcpu: id, runs_on: vcpu.runs.then_some(vcpu.pcpu), awake: vcpu.awake, keys }
        })
    }
}
