//! A laboratory for policies: PCPUs and VCPUs without guests, in whole nanoseconds, that records which VCPU
//! ran where and when.
//!
//! A VCPU follows a script: it computes for so long, sleeps for so long, and so on; [`Lab::stretches`] is the
//! resulting schedule. At every decision the lab checks the invariants of all policies: no VCPU runs on two
//! PCPUs at once, asleep, or on another PCPU than its pin.

use std::collections::{BTreeMap, BinaryHeap};

use paceline_policy::{DomId, Host, NewDomain, Orders, PcpuId, Policy, PolicyError, Settings, VcpuId, build};

/// What a VCPU does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Needs the CPU for so long.
    Compute(u64),
    /// Is asleep for so long.
    Sleep(u64),
    /// Lets others go first.
    Yield,
    /// Puts an LVT on its page.
    Lvt(u64),
}

/// A stretch of time that a VCPU ran without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub pcpu: u32,
    pub vcpu: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// `Stretch` in one line.
pub fn ran(pcpu: u32, vcpu: u32, from_ns: u64, to_ns: u64) -> Stretch {
    Stretch { pcpu, vcpu, from_ns, to_ns }
}

/// How long `vcpu` ran between two times.
pub fn within(stretches: &[Stretch], vcpu: u32, from_ns: u64, to_ns: u64) -> u64 {
    let stretch = stretches.iter().filter(|stretch| stretch.vcpu == vcpu);
    stretch.map(|stretch| stretch.to_ns.min(to_ns).saturating_sub(stretch.from_ns.max(from_ns))).sum()
}

struct Vcpu {
    script: Vec<Act>,
    repeats: bool,
    at: usize,
    left_ns: u64,
    awake: bool,
    pin: Option<PcpuId>,
    dom: DomId,
    ran_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Timer(u32, u64),
    Wake(VcpuId),
    Slice(PcpuId, u64),
    Done(VcpuId, u64),
}

pub struct Lab {
    pub policy: Box<dyn Policy>,
    pub now_ns: u64,
    vcpus: Vec<Vcpu>,
    running: Vec<Option<(VcpuId, u64)>>,
    turns: Vec<u64>,
    due: BinaryHeap<std::cmp::Reverse<(u64, u64, Due)>>,
    numbers: u64,
    timers: BTreeMap<u32, u64>,
    orders: Orders,
    stretches: Vec<Stretch>,
    doms: u32,
}

impl Lab {
    pub fn new(kind: &str, mut settings: Settings, pcpus: u32) -> Self {
        let policy = build(kind, &mut settings, Host { pcpus }).expect("the settings are sound");
        Self::of(policy, pcpus)
    }

    pub fn of(policy: Box<dyn Policy>, pcpus: u32) -> Self {
        let mut lab = Self {
            policy,
            now_ns: 0,
            vcpus: Vec::new(),
            running: vec![None; pcpus as usize],
            turns: vec![0; pcpus as usize],
            due: BinaryHeap::new(),
            numbers: 0,
            timers: BTreeMap::new(),
            orders: Orders::default(),
            stretches: Vec::new(),
            doms: 0,
        };
        lab.policy.start(0, &mut lab.orders);
        lab.obey();
        lab
    }

    /// A domain with one VCPU per script; scripts that `repeat` start again at their end, others then sleep
    /// for ever.
    pub fn domain(
        &mut self,
        privileged: bool,
        scripts: &[(Vec<Act>, Option<u32>)],
        repeats: bool,
        mut settings: Settings,
    ) -> Result<DomId, PolicyError> {
        let dom = DomId(self.doms);
        let first = self.vcpus.len() as u32;
        let vcpus: Vec<_> = (0..scripts.len() as u32).map(|number| VcpuId(first + number)).collect();
        let pins: Vec<_> = scripts.iter().map(|(_, pin)| pin.map(PcpuId)).collect();
        let domain = NewDomain { dom, privileged, vcpus: vcpus.clone(), pins: pins.clone() };
        self.policy.add(self.now_ns, &domain, &mut settings, &mut self.orders)?;
        self.doms += 1;
        for ((script, _), pin) in scripts.iter().zip(pins) {
            let script = script.clone();
            self.vcpus.push(Vcpu { script, repeats, at: 0, left_ns: 0, awake: false, pin, dom, ran_ns: 0 });
        }
        for vcpu in vcpus {
            self.step(vcpu);
        }
        self.obey();
        Ok(dom)
    }

    /// A domain with one VCPU that always computes.
    pub fn hog(&mut self, settings: Settings) -> DomId {
        self.domain(false, &[(vec![Act::Compute(1_000_000_000_000)], None)], true, settings)
            .expect("it is admitted")
    }

    /// So many domains with one VCPU each that always computes.
    pub fn hogs(&mut self, count: u32) {
        for _ in 0..count {
            self.hog(Settings::default());
        }
    }

    /// A domain with one VCPU that repeats its script.
    pub fn guest(&mut self, script: Vec<Act>) -> DomId {
        self.domain(false, &[(script, None)], true, Settings::default()).expect("it is admitted")
    }

    /// DOM0 with one VCPU that repeats its script.
    pub fn dom0(&mut self, script: Vec<Act>) -> DomId {
        self.domain(true, &[(script, None)], true, Settings::default()).expect("it is admitted")
    }

    /// Calls the policy about `vcpu` or a domain.
    pub fn call(&mut self, act: impl FnOnce(&mut dyn Policy, u64, &mut Orders)) {
        act(self.policy.as_mut(), self.now_ns, &mut self.orders);
        self.obey();
    }

    pub fn remove(&mut self, dom: DomId) {
        for id in 0..self.vcpus.len() as u32 {
            if self.vcpus[id as usize].dom == dom {
                self.vcpus[id as usize].script.clear();
                self.stop(VcpuId(id));
                if self.vcpus[id as usize].awake {
                    self.fall_asleep(VcpuId(id));
                }
            }
        }
        self.obey();
        self.policy.remove(self.now_ns, dom, &mut self.orders);
        self.obey();
    }

    pub fn run(&mut self, until_ns: u64) {
        while let Some(std::cmp::Reverse((at, _, due))) = self.due.peek().copied() {
            if at > until_ns {
                break;
            }
            self.due.pop();
            self.now_ns = at;
            match due {
                Due::Timer(timer, number) if self.timers.get(&timer) == Some(&number) => {
                    self.policy.timer(at, timer, &mut self.orders);
                }
                Due::Wake(vcpu) => self.step(vcpu),
                Due::Slice(pcpu, turn) if self.turns[pcpu.index()] == turn => self.orders.reschedule(pcpu),
                Due::Done(vcpu, turn) => {
                    if let Some(pcpu) = self.place(vcpu)
                        && self.turns[pcpu.index()] == turn
                    {
                        self.stop(vcpu);
                        self.step(vcpu);
                    }
                }
                Due::Timer(..) | Due::Slice(..) => {}
            }
            self.obey();
        }
        self.now_ns = until_ns;
        for pcpu in 0..self.running.len() {
            if let Some((vcpu, _)) = self.running[pcpu] {
                self.stop(vcpu);
            }
        }
    }

    /// Which VCPU ran where and when, ordered by when it stopped; adjacent stretches are joined.
    pub fn stretches(&self) -> Vec<Stretch> {
        let mut joined: Vec<Stretch> = Vec::new();
        for stretch in self.stretches.iter().filter(|stretch| stretch.from_ns < stretch.to_ns) {
            let touches = |last: &&mut Stretch| {
                (last.pcpu, last.vcpu, last.to_ns) == (stretch.pcpu, stretch.vcpu, stretch.from_ns)
            };
            match joined.iter_mut().rev().find(|last| last.pcpu == stretch.pcpu).filter(touches) {
                Some(last) => last.to_ns = stretch.to_ns,
                None => joined.push(*stretch),
            }
        }
        joined
    }

    /// Asserts which VCPU ran when: `0: 0-4, 1: 4-10` in `unit_ns` where all ran on PCPU 0, `0@1: 0-4` where
    /// VCPU 0 ran on PCPU 1.
    #[track_caller]
    pub fn assert_ran(&self, unit_ns: u64, schedule: &str) {
        let ns = |number: &str| (number.parse::<f64>().expect("a number") * unit_ns as f64).round() as u64;
        let stretch = |part: &str| {
            let (who, times) = part.split_once(": ").expect("VCPU: FROM-TO");
            let (vcpu, pcpu) = who.split_once('@').unwrap_or((who, "0"));
            let (from, to) = times.split_once('-').expect("FROM-TO");
            ran(pcpu.parse().expect("a PCPU"), vcpu.parse().expect("a VCPU"), ns(from), ns(to))
        };
        assert_eq!(self.stretches(), schedule.split(", ").map(stretch).collect::<Vec<_>>());
    }

    pub fn ran_ns(&self, vcpu: u32) -> u64 {
        self.vcpus[vcpu as usize].ran_ns
    }

    /// PCPUs that idle although a VCPU waits that may run there.
    pub fn wasted(&self) -> Vec<PcpuId> {
        let waits = |id: u32, pcpu: u32| {
            let vcpu = &self.vcpus[id as usize];
            vcpu.awake && self.place(VcpuId(id)).is_none() && vcpu.pin.is_none_or(|pin| pin == PcpuId(pcpu))
        };
        let idle = (0..self.running.len() as u32).filter(|pcpu| self.running[*pcpu as usize].is_none());
        idle.filter(|pcpu| (0..self.vcpus.len() as u32).any(|id| waits(id, *pcpu))).map(PcpuId).collect()
    }

    pub fn running(&self, pcpu: u32) -> Option<VcpuId> {
        self.running[pcpu as usize].map(|(vcpu, _)| vcpu)
    }

    fn place(&self, vcpu: VcpuId) -> Option<PcpuId> {
        let found = self.running.iter().position(|running| running.is_some_and(|(on, _)| on == vcpu));
        found.map(|pcpu| PcpuId(pcpu as u32))
    }

    /// Records what a VCPU has run so far.
    fn stop(&mut self, vcpu: VcpuId) {
        if let Some(pcpu) = self.place(vcpu) {
            let (_, from_ns) = self.running[pcpu.index()].expect("it runs there");
            let ran_ns = self.now_ns - from_ns;
            let player = &mut self.vcpus[vcpu.index()];
            player.left_ns = player.left_ns.saturating_sub(ran_ns);
            player.ran_ns += ran_ns;
            self.running[pcpu.index()] = Some((vcpu, self.now_ns));
            self.stretches.push(Stretch { pcpu: pcpu.0, vcpu: vcpu.0, from_ns, to_ns: self.now_ns });
        }
    }

    fn push(&mut self, at_ns: u64, due: Due) {
        self.numbers += 1;
        self.due.push(std::cmp::Reverse((at_ns, self.numbers, due)));
    }

    fn fall_asleep(&mut self, vcpu: VcpuId) {
        self.vcpus[vcpu.index()].awake = false;
        let place = self.place(vcpu);
        self.policy.sleep(self.now_ns, vcpu, &mut self.orders);
        if let Some(pcpu) = place {
            self.orders.reschedule(pcpu);
        }
    }

    /// Takes the next step of the script.
    fn step(&mut self, vcpu: VcpuId) {
        loop {
            let player = &mut self.vcpus[vcpu.index()];
            if player.at == player.script.len() && player.repeats {
                player.at = 0;
            }
            let act = player.script.get(player.at).copied();
            player.at += 1;
            match act {
                Some(Act::Compute(need_ns)) => {
                    player.left_ns = need_ns;
                    if !player.awake {
                        player.awake = true;
                        self.policy.wake(self.now_ns, vcpu, &mut self.orders);
                    } else if let Some(pcpu) = self.place(vcpu) {
                        let turn = self.turns[pcpu.index()];
                        self.push(self.now_ns + need_ns, Due::Done(vcpu, turn));
                    }
                    return;
                }
                Some(Act::Yield) => {
                    self.policy.yields(self.now_ns, vcpu, &mut self.orders);
                    let place = self.place(vcpu);
                    place.into_iter().for_each(|pcpu| self.orders.reschedule(pcpu));
                }
                Some(Act::Lvt(lvt_ns)) => self.policy.lvt(self.now_ns, vcpu, lvt_ns, &mut self.orders),
                Some(Act::Sleep(span_ns)) => {
                    if player.awake {
                        self.fall_asleep(vcpu);
                    }
                    self.push(self.now_ns + span_ns, Due::Wake(vcpu));
                    return;
                }
                None => {
                    if player.awake {
                        self.fall_asleep(vcpu);
                    }
                    return;
                }
            }
        }
    }

    /// Does what the policy has ordered.
    fn obey(&mut self) {
        let mut decisions = 0;
        while !self.orders.reschedule.is_empty() || !self.orders.timers.is_empty() {
            for (timer, at_ns) in std::mem::take(&mut self.orders.timers) {
                assert!(at_ns >= self.now_ns, "a timer in the past");
                let number = self.numbers + 1;
                self.timers.insert(timer, number);
                self.push(at_ns, Due::Timer(timer, number));
            }
            if self.orders.reschedule.is_empty() {
                continue;
            }
            decisions += 1;
            assert!(decisions < 10_000, "the policy comes to rest");
            let pcpu = self.orders.reschedule.remove(0);
            self.decide(pcpu);
        }
    }

    fn decide(&mut self, pcpu: PcpuId) {
        if let Some((vcpu, _)) = self.running[pcpu.index()] {
            self.stop(vcpu);
        }
        let pick = self.policy.pick(self.now_ns, pcpu, &mut self.orders);
        self.running[pcpu.index()] = None;
        self.turns[pcpu.index()] += 1;
        let Some(vcpu) = pick.vcpu else { return };
        assert_eq!(self.place(vcpu), None, "{vcpu} is picked on {pcpu} while it runs");
        let player = &self.vcpus[vcpu.index()];
        assert!(player.awake, "{vcpu} is picked while it sleeps");
        assert!(player.pin.is_none_or(|pin| pin == pcpu), "{vcpu} is picked on {pcpu} and pinned elsewhere");
        let left_ns = player.left_ns;
        self.running[pcpu.index()] = Some((vcpu, self.now_ns));
        let turn = self.turns[pcpu.index()];
        self.push(self.now_ns + left_ns, Due::Done(vcpu, turn));
        if let Some(slice_ns) = pick.slice_ns {
            assert!(slice_ns > 0, "a slice is never empty");
            self.push(self.now_ns + slice_ns, Due::Slice(pcpu, turn));
        }
    }
}
