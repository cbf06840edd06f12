//! Plays Xen's core scheduler for a policy, and records the calls that a plug-in gets, and its expected
//! answers.
//!
//! Invariants: those that the policies ask of their host. Who is asked to decide does so before time passes.

mod domains;
mod messages;

use std::collections::{BTreeMap, BTreeSet};

use paceline_policy::{Host as Machine, Orders, PcpuId, Policy, Settings, VcpuId, build};

use super::steps::Step;

/// How a plug-in is called, and its policy.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// As an option of Xen, and as a policy.
    pub names: (&'static str, &'static str),
    /// Its parameters, as on Xen's command line, and as settings of the policy.
    pub params: Vec<String>,
    pub settings: Settings,
    pub pcpus: u32,
    /// Whether it takes reports.
    pub reports: bool,
    /// Whether domains have shares that can be set, which may be too much for a PCPU, and timers are for
    /// PCPUs that idle: in C they are what such a decision ends with.
    pub has_shares: bool,
}

/// Operations, and what is expected to be answered.
#[derive(Debug, Default)]
pub struct Script {
    pub lines: Vec<String>,
    pub expected: Vec<String>,
}

#[derive(Debug, Default)]
struct Vcpu {
    awake: bool,
    runs_on: Option<u32>,
    /// As the guest has reported.
    simulates: bool,
    waits: bool,
    lvt: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pcpu {
    running: Option<u32>,
    slice_end_ns: Option<u64>,
}

/// A host as the replay plays it: the policy, and what is to be recorded.
#[derive(Debug)]
pub struct Host {
    policy: Box<dyn Policy>,
    plugin: Plugin,
    now_ns: u64,
    pcpus: Vec<Pcpu>,
    vcpus: BTreeMap<u32, Vcpu>,
    doms: BTreeMap<u32, Vec<u32>>,
    /// Numbers of the next VCPU and domain.
    next: (u32, u32),
    timers: BTreeMap<u32, u64>,
    asked: BTreeSet<u32>,
    messages: BTreeMap<u32, messages::Messages>,
    script: Script,
}

impl Host {
    /// A script for `plugin`.
    pub fn script(plugin: &Plugin, steps: &[Step]) -> Script {
        let mut settings = plugin.settings.clone();
        let machine = Machine { pcpus: plugin.pcpus };
        let policy = build(plugin.names.1, &mut settings, machine).expect("the settings are right");
        let mut host = Self {
            policy,
            plugin: plugin.clone(),
            now_ns: 0,
            pcpus: vec![Pcpu::default(); plugin.pcpus as usize],
            vcpus: BTreeMap::new(),
            doms: BTreeMap::new(),
            next: (0, 0),
            timers: BTreeMap::new(),
            asked: BTreeSet::new(),
            messages: BTreeMap::new(),
            script: Script::default(),
        };
        let mut orders = Orders::default();
        host.policy.start(0, &mut orders);
        let line = format!("begin {} {} {}", plugin.names.0, plugin.pcpus, plugin.params.join(" "));
        host.note(line, None, orders);
        (0..plugin.pcpus).for_each(|pcpu| host.pick(pcpu));
        for step in steps {
            host.step(step);
        }
        host.settle(false);
        host.note("end".into(), None, Orders::default());
        host.script
    }

    /// Notes an operation with what is to be answered, and remembers what was asked for.
    fn note(&mut self, line: String, answer: Option<String>, orders: Orders) {
        let mut expected = answer.map(|answer| answer + " ").unwrap_or_default() + "ask";
        for PcpuId(pcpu) in &orders.reschedule {
            expected += &format!(" {pcpu}");
            self.asked.insert(*pcpu);
        }
        expected += " set";
        for (timer, at_ns) in &orders.timers {
            expected += &format!(" {timer}@{at_ns}");
            self.timers.insert(*timer, *at_ns);
        }
        self.script.lines.push(line);
        self.script.expected.push(expected);
    }

    /// Does something with the policy, and notes it.
    fn act(&mut self, line: String, act: impl FnOnce(&mut dyn Policy, u64, &mut Orders)) {
        let mut orders = Orders::default();
        act(self.policy.as_mut(), self.now_ns, &mut orders);
        self.note(format!("{} {line}", self.now_ns), None, orders);
    }

    fn pick(&mut self, pcpu: u32) {
        self.asked.remove(&pcpu);
        self.read_page(pcpu);
        let mut orders = Orders::default();
        let pick = self.policy.pick(self.now_ns, PcpuId(pcpu), &mut orders);
        let cpu = &mut self.pcpus[pcpu as usize];
        let before = std::mem::replace(&mut cpu.running, pick.vcpu.map(|vcpu| vcpu.0));
        cpu.slice_end_ns = pick.slice_ns.map(|slice_ns| self.now_ns + slice_ns);
        if let Some(before) = before.and_then(|before| self.vcpus.get_mut(&before)) {
            before.runs_on = None;
        }
        let answer = match pick.vcpu {
            None if self.plugin.has_shares && !orders.timers.is_empty() => {
                let (timer, at_ns) = orders.timers.remove(0);
                self.timers.insert(timer, at_ns);
                format!("run - for {}", at_ns - self.now_ns)
            }
            None => "run - for -".into(),
            Some(VcpuId(vcpu)) => {
                self.vcpus.get_mut(&vcpu).expect("who is picked is there").runs_on = Some(pcpu);
                format!("run {vcpu} for {}", pick.slice_ns.expect("who runs has a slice"))
            }
        };
        self.note(format!("{} pick {pcpu}", self.now_ns), Some(answer), orders);
    }

    /// All who were asked decide, and whom that asks.
    fn settle(&mut self, reverse: bool) {
        for _ in 0..10_000 {
            let next = if reverse { self.asked.last() } else { self.asked.first() };
            let Some(pcpu) = next.copied() else { return };
            self.pick(pcpu);
        }
        panic!("decisions without end");
    }

    /// When the next slice ends or timer goes off.
    fn next_ns(&self) -> Option<u64> {
        let ends = self.pcpus.iter().filter_map(|pcpu| pcpu.slice_end_ns);
        ends.chain(self.timers.values().copied()).min()
    }

    fn pass_to(&mut self, until_ns: u64) {
        for _ in 0..3_000 {
            self.settle(false);
            let Some(at_ns) = self.next_ns().filter(|at_ns| *at_ns <= until_ns) else {
                self.now_ns = self.now_ns.max(until_ns);
                return;
            };
            self.now_ns = self.now_ns.max(at_ns);
            if let Some((timer, _)) = self.timers.iter().find(|(_, due_ns)| **due_ns == at_ns) {
                let timer = *timer;
                self.timers.remove(&timer);
                if self.plugin.has_shares {
                    let mut orders = Orders::default();
                    self.policy.timer(self.now_ns, timer, &mut orders);
                    self.asked.extend(orders.reschedule.iter().map(|pcpu| pcpu.0));
                    continue;
                }
                self.act(format!("timer {timer}"), |policy, now_ns, orders| {
                    policy.timer(now_ns, timer, orders);
                });
                continue;
            }
            let due = |pcpu: &u32| self.pcpus[*pcpu as usize].slice_end_ns == Some(at_ns);
            let pcpu = (0..self.plugin.pcpus).find(due).expect("a slice ends now");
            self.pick(pcpu);
        }
        self.settle(false);
    }

    /// The so-manieth of the VCPUs that are as `which` says.
    fn vcpu(&self, number: usize, which: impl Fn(&Vcpu) -> bool) -> Option<u32> {
        let found: Vec<_> = self.vcpus.iter().filter(|(_, vcpu)| which(vcpu)).map(|(id, _)| *id).collect();
        (!found.is_empty()).then(|| found[number % found.len()])
    }

    fn running(&self, number: usize) -> Option<u32> {
        self.vcpu(number, |vcpu| vcpu.awake && vcpu.runs_on.is_some())
    }

    fn wake(&mut self, id: u32) {
        self.vcpus.get_mut(&id).expect("it is there").awake = true;
        self.act(format!("wake {id}"), |policy, now_ns, orders| policy.wake(now_ns, VcpuId(id), orders));
    }

    /// Sleeps. The PCPU of who runs is to decide; `is_sleep` says whether the plug-in gets the call and sees
    /// to that.
    fn sleep(&mut self, id: u32, is_sleep: bool) {
        let vcpu = self.vcpus.get_mut(&id).expect("it is there");
        vcpu.awake = false;
        let runs_on = vcpu.runs_on;
        let line = format!("{} {id}", if is_sleep { "sleep" } else { "block" });
        self.act(line, |policy, now_ns, orders| {
            policy.sleep(now_ns, VcpuId(id), orders);
            if let Some(pcpu) = runs_on.filter(|_| is_sleep) {
                orders.reschedule(PcpuId(pcpu));
            }
        });
        self.asked.extend(runs_on);
    }

    fn step(&mut self, step: &Step) {
        let pcpus = self.plugin.pcpus;
        match *step {
            Step::Pass { ns } => self.pass_to(self.now_ns + ns),
            Step::PassToNext { off_ns } => {
                self.settle(false);
                if let Some(next_ns) = self.next_ns() {
                    self.pass_to(next_ns.saturating_add_signed(off_ns).max(self.now_ns));
                }
            }
            Step::Settle { reverse } => self.settle(reverse),
            Step::Wake { vcpu } => {
                if let Some(id) = self.vcpu(vcpu, |vcpu| !vcpu.awake) {
                    self.wake(id);
                }
            }
            Step::Sleep { vcpu } => {
                if let Some(id) = self.vcpu(vcpu, |vcpu| vcpu.awake) {
                    self.sleep(id, true);
                }
            }
            Step::Block { pcpu, wakes } => {
                if let Some(id) = self.running(pcpu) {
                    self.block(id, wakes);
                }
            }
            Step::Again { vcpu } => {
                if let Some(id) = self.vcpu(vcpu, |vcpu| vcpu.awake) {
                    self.act(format!("again {id}"), |_, _, _| ());
                }
            }
            Step::Yield { pcpu } => {
                if let Some(id) = self.running(pcpu) {
                    let yields = |policy: &mut dyn Policy, now_ns, orders: &mut Orders| {
                        policy.yields(now_ns, VcpuId(id), orders);
                    };
                    self.act(format!("yield {id}"), yields);
                    self.asked.extend(self.vcpus[&id].runs_on);
                }
            }
            Step::Pick { pcpu } => self.pick(pcpu as u32 % pcpus),
            Step::Report { pcpu, lvt, absolute, flags } => {
                if let Some(id) = self.running(pcpu) {
                    self.report(id, lvt, absolute, flags);
                }
            }
            Step::Move { vcpu, pcpu, pin } => {
                if let Some(id) = self.vcpu(vcpu, |_| true) {
                    self.migrate(id, pcpu as u32 % pcpus, pin);
                }
            }
            Step::Port { dom, port } => {
                if let Some(dom) = self.dom(dom) {
                    self.port(dom, port);
                }
            }
            Step::Clear { dom, port } => {
                if let Some(dom) = self.dom(dom) {
                    self.clear(dom, port);
                }
            }
            Step::Close { dom } => {
                if let Some(dom) = self.dom(dom) {
                    self.close_ports(dom);
                }
            }
            Step::Left { pcpu, messages } => {
                if let Some(id) = self.running(pcpu) {
                    self.write_page(id, messages);
                }
            }
            Step::Adjust { dom, share } => {
                if let Some(dom) = self.dom(dom).filter(|_| self.plugin.has_shares) {
                    self.adjust(dom, share);
                }
            }
            Step::Add { privileged, ref pins } => {
                let pins = pins.iter().map(|pin| pin.map(|pin| pin as u32 % pcpus)).collect();
                self.add(privileged, pins);
            }
            Step::Remove { dom } => {
                if let Some(dom) = self.dom(dom) {
                    self.remove(dom);
                }
            }
        }
    }

    /// Blocks without a word. Who wakes before that was noticed has not slept.
    fn block(&mut self, id: u32, wakes: bool) {
        self.asked.extend(self.vcpus[&id].runs_on);
        if wakes {
            self.note(format!("{} block {id}", self.now_ns), None, Orders::default());
            self.note(format!("{} wake {id}", self.now_ns), None, Orders::default());
        } else {
            self.sleep(id, false);
            self.settle(false);
        }
    }

    fn report(&mut self, id: u32, lvt: u64, absolute: bool, flags: u32) {
        let state = self.vcpus.get_mut(&id).expect("it is there");
        let lvt = if absolute { lvt } else { state.lvt.unwrap_or(0).saturating_add(lvt) };
        let (simulates, waits) = (flags & 1 != 0, flags & 2 != 0);
        let done = lvt == u64::MAX;
        let result = match state.lvt {
            _ if !self.plugin.reports => 3,
            _ if flags > 3 || lvt > i64::MAX as u64 && !done => 4,
            _ if !simulates && lvt > 0 => 2,
            Some(before) if simulates && lvt < before => 1,
            _ => 0,
        };
        let mut orders = Orders::default();
        if result == 0 {
            state.lvt = Some(lvt).filter(|_| simulates && !done);
            let (vcpu, now_ns, policy) = (VcpuId(id), self.now_ns, self.policy.as_mut());
            if std::mem::replace(&mut state.simulates, simulates) != simulates {
                policy.mode(now_ns, vcpu, simulates, &mut orders);
            }
            if simulates {
                policy.lvt(now_ns, vcpu, lvt, &mut orders);
            }
            if std::mem::replace(&mut state.waits, waits) != waits {
                policy.waiting(now_ns, vcpu, waits, &mut orders);
            }
        }
        let line = format!("{} report {id} {lvt} {flags}", self.now_ns);
        self.note(line, Some(format!("result {result}")), orders);
    }

    /// As Xen does it: who is moved is put to sleep for that.
    fn migrate(&mut self, id: u32, pcpu: u32, pin: bool) {
        let awake = self.vcpus[&id].awake;
        if awake {
            self.sleep(id, true);
        }
        self.settle(false);
        self.act(format!("move {id} {pcpu} {}", u32::from(pin)), |policy, now_ns, orders| {
            policy.migrate(now_ns, VcpuId(id), PcpuId(pcpu), pin, orders);
        });
        if awake {
            self.wake(id);
        }
    }
}
