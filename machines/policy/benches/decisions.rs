//! `cargo bench -p paceline-policy --bench decisions`: the cost of decisions of every policy, with 1,000
//! VCPUs on 24 PCPUs.
//!
//! *Pick*: all VCPUs are awake, and one PCPU after the other is asked. *Wake and sleep*: half of the VCPUs
//! are asleep; one wakes and goes to sleep again, with all the picks that follow from it. *Timer*: the mean
//! time of a timer that was due meanwhile; it includes accounting that goes over all VCPUs. Policies that
//! update their accounts in the first call after a tick pay for it in that call. The results are medians over
//! batches of decisions in several rounds (for timers: over rounds), with half the distance between the
//! quartiles. All of them include the time to read the clock. `PACELINE_ROUNDS` sets the number of rounds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use paceline_policy::{
    DomId, Host, MICROSECOND, NewDomain, Orders, PcpuId, Policy, Setting, Settings, VcpuId, build, names,
};

const PCPUS: u32 = 24;
const VCPUS: u32 = 1_000;
/// The number of decisions in a batch, and of batches in a round: a batch that is interrupted does not move
/// the median.
const BATCH: u32 = 50;
const BATCHES: u32 = 400;
/// From one decision of the host to the next.
const STEP_NS: u64 = 40 * MICROSECOND;

/// A host that only does what the policy orders.
struct Bench {
    policy: Box<dyn Policy>,
    now_ns: u64,
    running: Vec<Option<VcpuId>>,
    awake: Vec<bool>,
    timers: BTreeMap<u32, u64>,
    orders: Orders,
    fired: u32,
    in_timers: Duration,
}

/// Settings with which a policy admits many domains.
fn domain_settings(kind: &str, number: u32) -> Settings {
    match kind {
        "arinc653" => Settings::default()
            .with("offset", Setting::Nanos(u64::from(number) * 10 * MICROSECOND))
            .with("runtime", Setting::Nanos(10 * MICROSECOND)),
        _ => Settings::default(),
    }
}

impl Bench {
    /// As many VCPUs as the policy admits, each in a domain of its own and awake.
    fn new(kind: &str) -> Self {
        let host = Host { pcpus: PCPUS };
        let policy = build(kind, &mut Settings::default(), host).expect("policies need no settings");
        let mut bench = Self {
            policy,
            now_ns: 0,
            running: vec![None; PCPUS as usize],
            awake: Vec::new(),
            timers: BTreeMap::new(),
            orders: Orders::default(),
            fired: 0,
            in_timers: Duration::ZERO,
        };
        bench.policy.start(0, &mut bench.orders);
        for number in 0..VCPUS {
            let vcpus = vec![VcpuId(number)];
            let domain = NewDomain { dom: DomId(number), privileged: number == 0, vcpus, pins: vec![None] };
            let mut settings = domain_settings(kind, number);
            if bench.policy.add(0, &domain, &mut settings, &mut bench.orders).is_err() {
                break;
            }
            bench.awake.push(false);
            bench.wake(number);
        }
        bench
    }

    fn wake(&mut self, vcpu: u32) {
        self.awake[vcpu as usize] = true;
        self.policy.wake(self.now_ns, VcpuId(vcpu), &mut self.orders);
        self.obey();
    }

    fn sleep(&mut self, vcpu: u32) {
        self.awake[vcpu as usize] = false;
        let place = self.running.iter().position(|running| *running == Some(VcpuId(vcpu)));
        self.policy.sleep(self.now_ns, VcpuId(vcpu), &mut self.orders);
        place.into_iter().for_each(|pcpu| self.orders.reschedule(PcpuId(pcpu as u32)));
        self.obey();
    }

    fn pick(&mut self, pcpu: PcpuId) {
        let pick = self.policy.pick(self.now_ns, pcpu, &mut self.orders);
        self.running[pcpu.index()] = pick.vcpu;
    }

    fn obey(&mut self) {
        while let Some(pcpu) = self.orders.reschedule.pop() {
            self.pick(pcpu);
        }
        let timers = self.orders.timers.drain(..);
        timers.for_each(|(timer, at_ns)| {
            self.timers.insert(timer, at_ns);
        });
    }

    /// Advances time by a step; timers that are due go off.
    fn step(&mut self) {
        let until_ns = self.now_ns + STEP_NS;
        while let Some((timer, at_ns)) =
            self.timers.iter().map(|(timer, at)| (*timer, *at)).min_by_key(|due| due.1)
            && at_ns <= until_ns
        {
            self.timers.remove(&timer);
            self.now_ns = at_ns;
            let start = Instant::now();
            self.policy.timer(at_ns, timer, &mut self.orders);
            self.in_timers += start.elapsed();
            self.fired += 1;
            self.obey();
        }
        self.now_ns = until_ns;
    }

    /// Nanoseconds for a `decide`, without the timers, batch by batch; and for each timer.
    fn measure(&mut self, mut decide: impl FnMut(&mut Self, u32)) -> (Vec<f64>, f64) {
        let (mut batches, fired, in_timers) = (Vec::new(), self.fired, self.in_timers);
        for batch in 0..BATCHES {
            let mut in_batch = Duration::ZERO;
            for number in 0..BATCH {
                self.step();
                let start = Instant::now();
                decide(self, batch * BATCH + number);
                in_batch += start.elapsed();
            }
            batches.push(in_batch.as_nanos() as f64 / f64::from(BATCH));
        }
        let timers = f64::from((self.fired - fired).max(1));
        (batches, (self.in_timers - in_timers).as_nanos() as f64 / timers)
    }
}

/// The median, with half the distance of the quartiles in per cent of it.
fn median(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let quartile = |part: usize| values[(values.len() - 1) * part / 4];
    let spread = (quartile(3) - quartile(1)) / 2.0 / quartile(2).max(1.0) * 100.0;
    format!("{:.0} (±{spread:.0} %)", quartile(2))
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(7);
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["policy", "VCPUs", "pick, ns", "wake and sleep, ns", "timer, ns"]);
    let mut benches: Vec<_> = names().map(|kind| (kind, Bench::new(kind))).collect();
    let mut results = vec![(Vec::new(), Vec::new(), Vec::new()); benches.len()];
    // Every round measures each policy, so that a disturbance of the machine affects all of them.
    for _ in 0..rounds {
        for ((_, bench), (picks, wakes, timers)) in benches.iter_mut().zip(&mut results) {
            let count = bench.awake.len() as u32;
            let (pick, timer) = bench.measure(|bench, number| {
                bench.orders.reschedule(PcpuId(number % PCPUS));
                bench.obey();
            });
            picks.extend(pick);
            timers.push(timer);
            // Every other VCPU sleeps.
            (1..count).step_by(2).for_each(|vcpu| bench.sleep(vcpu));
            let sleepers = (count / 2).max(1);
            let (wake, _) = bench.measure(|bench, number| {
                let vcpu = number * 7_919 % sleepers * 2 + 1;
                bench.wake(vcpu);
                bench.sleep(vcpu);
            });
            wakes.extend(wake);
            (1..count).step_by(2).for_each(|vcpu| bench.wake(vcpu));
        }
    }
    for ((kind, bench), (picks, wakes, timers)) in benches.iter().zip(results) {
        let count = bench.awake.len().to_string();
        table.add_row([kind.to_string(), count, median(picks), median(wakes), median(timers)]);
    }
    println!("{table}");
}
