//! The same costs in our own engine: as many LPs as `phold` has processes, each with one event in a window.

use std::hint::black_box;

use paceline_engine::Simulation;
use paceline_kernel::{Context, LpId, Model, Time};
use rustix::time::{ClockId, clock_gettime};

use super::{COST_US, HEAVY_PERCENT, WINDOWS};

/// Work that takes CPU time and nothing else.
#[derive(Clone, Copy, Debug)]
struct Work {
    processes: u32,
    heavy: bool,
    rounds_per_us: u64,
}

/// Burns CPU time.
fn burn(rounds: u64) {
    let mut value = 1u64;
    for _ in 0..rounds {
        value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

impl Work {
    /// The cost of an event: the first process has its part of all the work, or costs are drawn around the
    /// mean.
    fn cost_us(&self, lp: LpId, draw: u64) -> u64 {
        let (all, others) = (COST_US * u64::from(self.processes), u64::from(self.processes - 1));
        match (self.heavy, lp.0) {
            (true, 0) => all * HEAVY_PERCENT / 100,
            (true, _) => all * (100 - HEAVY_PERCENT) / 100 / others,
            (false, _) => draw % (2 * COST_US + 1),
        }
    }
}

impl Model for Work {
    type State = u64; // microseconds of work done
    type Event = ();
    type Output = u64;

    fn lps(&self) -> u32 {
        self.processes
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
        cx.schedule(Time::secs(1), ());
        0
    }
    fn handle(&self, done_us: &mut u64, (): &(), cx: &mut Context<Self>) {
        let draw = cx.rng().below(1 << 32);
        let cost_us = self.cost_us(cx.lp(), draw);
        burn(cost_us * self.rounds_per_us);
        *done_us += cost_us;
        cx.schedule(Time::secs(1), ());
    }
    fn finish(&self, _: LpId, done_us: &u64, total: &mut u64) {
        *total += done_us;
    }
}

/// How many rounds of [`burn`] take a microsecond of CPU time: the best of some tries, for others may
/// disturb.
pub fn rounds_per_us() -> u64 {
    let cpu_ns = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
    };
    let measure = |_| {
        let start_ns = cpu_ns();
        burn(5_000_000);
        5_000_000 * 1_000 / (cpu_ns() - start_ns)
    };
    (0..8).map(measure).max().expect("there are some tries")
}

/// How many times longer than the ideal it takes.
pub fn slowdown(processes: u32, heavy: bool, cores: u32, rounds_per_us: u64) -> f64 {
    let work = Work { processes, heavy, rounds_per_us };
    let until = Time::secs(u64::from(WINDOWS) + 1);
    let run = Simulation::new(work).federates(processes).threads(cores).until(until).run();
    let report = run.expect("the model makes no mistakes");
    let work_s = report.outputs.iter().sum::<u64>() as f64 / 1e6;
    report.wall.as_secs_f64() * f64::from(cores) / work_s
}
