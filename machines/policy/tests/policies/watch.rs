//! Watches every decision of a policy, and fills laboratories at random but reproducibly.

use std::collections::BTreeMap;
use std::fmt;

use crate::lab::{Act, Lab};
use paceline_policy::{
    DomId, Host, MICROSECOND as US, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings, Standing,
    VcpuId, build,
};

/// A decision just made, and the state of all VCPUs after it.
pub struct Decision {
    pub pcpu: PcpuId,
    pub pick: Pick,
    pub standings: Vec<Standing>,
    pins: BTreeMap<VcpuId, PcpuId>,
}

impl Decision {
    /// The VCPUs that are awake, do not run and may run on the PCPU.
    pub fn waiting(&self) -> impl Iterator<Item = &Standing> {
        let waits = |standing: &&Standing| standing.awake && standing.runs_on.is_none();
        let may = |standing: &&Standing| self.pins.get(&standing.vcpu).is_none_or(|pin| *pin == self.pcpu);
        self.standings.iter().filter(waits).filter(may)
    }

    pub fn chosen(&self) -> Option<&Standing> {
        self.standings.iter().find(|standing| Some(standing.vcpu) == self.pick.vcpu)
    }

    /// Asserts that no waiting VCPU has a lesser value of `name` than the one that was picked.
    pub fn assert_least(&self, name: &str) {
        for other in self.waiting() {
            let chosen = self.chosen().unwrap_or_else(|| panic!("{} idles, {other:?} waits", self.pcpu));
            assert!(key(other, name) >= key(chosen, name), "{chosen:?} was picked, {other:?} waits");
        }
    }
}

/// A value of a standing, by name.
pub fn key(standing: &Standing, name: &str) -> i64 {
    let found = standing.keys.iter().find(|(key, _)| *key == name);
    found.unwrap_or_else(|| panic!("{standing:?} has no {name}")).1
}

pub struct Watched<F> {
    inner: Box<dyn Policy>,
    pins: BTreeMap<VcpuId, PcpuId>,
    check: F,
}

/// A laboratory in which `check` sees every decision.
pub fn watched<F>(kind: &str, mut settings: Settings, pcpus: u32, check: F) -> Lab
where
    F: FnMut(&Decision) + Send + 'static,
{
    let inner = build(kind, &mut settings, Host { pcpus }).expect("the settings are sound");
    Lab::of(Box::new(Watched { inner, pins: BTreeMap::new(), check }), pcpus)
}

impl<F> fmt::Debug for Watched<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<F: FnMut(&Decision) + Send> Policy for Watched<F> {
    fn start(&mut self, now_ns: u64, orders: &mut Orders) {
        self.inner.start(now_ns, orders);
    }
    fn add(
        &mut self,
        at: u64,
        dom: &NewDomain,
        set: &mut Settings,
        o: &mut Orders,
    ) -> Result<(), PolicyError> {
        let pins = dom.vcpus.iter().zip(&dom.pins);
        self.pins.extend(pins.filter_map(|(vcpu, pin)| Some((*vcpu, (*pin)?))));
        self.inner.add(at, dom, set, o)
    }
    fn remove(&mut self, at: u64, dom: DomId, o: &mut Orders) {
        self.inner.remove(at, dom, o);
    }
    fn adjust(&mut self, at: u64, dom: DomId, set: &mut Settings, o: &mut Orders) -> Result<(), PolicyError> {
        self.inner.adjust(at, dom, set, o)
    }
    fn wake(&mut self, at: u64, vcpu: VcpuId, o: &mut Orders) {
        self.inner.wake(at, vcpu, o);
    }
    fn sleep(&mut self, at: u64, vcpu: VcpuId, o: &mut Orders) {
        self.inner.sleep(at, vcpu, o);
    }
    fn yields(&mut self, at: u64, vcpu: VcpuId, o: &mut Orders) {
        self.inner.yields(at, vcpu, o);
    }
    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, o: &mut Orders) -> Pick {
        let pick = self.inner.pick(now_ns, pcpu, o);
        let standings = self.inner.dump(now_ns);
        (self.check)(&Decision { pcpu, pick, standings, pins: self.pins.clone() });
        pick
    }
    fn timer(&mut self, at: u64, timer: u32, o: &mut Orders) {
        self.inner.timer(at, timer, o);
    }
    fn migrate(&mut self, at: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, o: &mut Orders) {
        if pin {
            self.pins.insert(vcpu, pcpu);
        } else {
            self.pins.remove(&vcpu);
        }
        self.inner.migrate(at, vcpu, pcpu, pin, o);
    }
    fn pending(&mut self, at: u64, dom: DomId, messages: u32, o: &mut Orders) {
        self.inner.pending(at, dom, messages, o);
    }
    fn lvt(&mut self, at: u64, vcpu: VcpuId, lvt_ns: u64, o: &mut Orders) {
        self.inner.lvt(at, vcpu, lvt_ns, o);
    }
    fn mode(&mut self, at: u64, vcpu: VcpuId, simulates: bool, o: &mut Orders) {
        self.inner.mode(at, vcpu, simulates, o);
    }
    fn waiting(&mut self, at: u64, vcpu: VcpuId, waits: bool, o: &mut Orders) {
        self.inner.waiting(at, vcpu, waits, o);
    }
    fn dump(&self, now_ns: u64) -> Vec<Standing> {
        self.inner.dump(now_ns)
    }
}

/// A pseudorandom number generator.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) % bound
    }
}

/// The parameters of a random laboratory.
#[derive(Clone, Copy)]
pub struct World {
    pub pcpus: u32,
    pub dom0: bool,
    /// Whether some VCPUs are pinned.
    pub pins: bool,
}

/// A guest or DOM0 of up to three VCPUs; DOM0 alternates short work and sleep, guests do anything. Returns
/// the domain and its number of VCPUs.
pub fn add_domain(lab: &mut Lab, dice: &mut Dice, privileged: bool, world: World) -> (DomId, u32) {
    let vcpus = 1 + dice.below(3);
    let mut scripts = Vec::new();
    for _ in 0..vcpus {
        let mut script = Vec::new();
        for _ in 0..1 + dice.below(6) {
            let most = if privileged { 80 } else { 1_500 };
            script.push(Act::Compute(US + dice.below(most * US)));
            let act = match dice.below(5) {
                0 => Act::Yield,
                1 | 2 if !privileged => Act::Lvt(dice.below(10_000)),
                _ => Act::Sleep(US + dice.below(700 * US)),
            };
            script.push(act);
        }
        let pin = (world.pins && dice.below(4) == 0).then(|| dice.below(u64::from(world.pcpus)) as u32);
        scripts.push((script, pin));
    }
    let dom = lab.domain(privileged, &scripts, true, Settings::default()).expect("it is admitted");
    (dom, vcpus as u32)
}

/// Runs guests that come, go, report, wait and get messages for 60 ms, and asserts that no VCPU waits beside
/// an idle PCPU. Returns all stretches.
pub fn live(mut lab: Lab, dice: &mut Dice, world: World) -> Vec<crate::lab::Stretch> {
    let mut vcpus = if world.dom0 { add_domain(&mut lab, dice, true, world).1 } else { 0 };
    let mut doms = Vec::new();
    for _ in 0..1 + dice.below(8) {
        let (dom, added) = add_domain(&mut lab, dice, false, world);
        doms.push((dom, vcpus..vcpus + added));
        vcpus += added;
    }
    while lab.now_ns < 60_000 * US {
        let until_ns = lab.now_ns + 1 + dice.below(900 * US);
        lab.run(until_ns);
        assert!(lab.wasted().is_empty(), "{:?} idle at {}", lab.wasted(), lab.now_ns);
        let what = dice.below(12);
        if what == 0 || doms.is_empty() {
            let (dom, added) = add_domain(&mut lab, dice, false, world);
            doms.push((dom, vcpus..vcpus + added));
            vcpus += added;
            continue;
        }
        let at = dice.below(doms.len() as u64) as usize;
        let (dom, ids) = doms[at].clone();
        let vcpu = VcpuId(ids.start + dice.below(u64::from(ids.end - ids.start)) as u32);
        let value = dice.below(10_000);
        lab.call(|policy, now_ns, orders| match what {
            1..=3 => policy.mode(now_ns, vcpu, value < 7_000, orders),
            4..=6 => policy.lvt(now_ns, vcpu, value, orders),
            7 | 8 => policy.waiting(now_ns, vcpu, value < 5_000, orders),
            9 | 10 => policy.pending(now_ns, dom, value as u32 % 4, orders),
            _ => {}
        });
        if what == 11 && value < 3_000 {
            lab.remove(dom);
            doms.remove(at);
        }
        assert!(lab.wasted().is_empty(), "{:?} idle at {}", lab.wasted(), lab.now_ns);
    }
    lab.stretches()
}

#[test]
fn same_calls_same_answers() {
    for kind in ["nsx", "nsx-plus", "psx", "psx-plus"] {
        let world = World { pcpus: 3, dom0: true, pins: true };
        let run = || live(Lab::new(kind, Settings::default(), 3), &mut Dice(7), world);
        assert_eq!(run(), run(), "{kind}");
    }
}
