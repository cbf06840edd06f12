//! The experiments of the SimGrid report: the code of processes in parallel on a sequential core.
//!
//! These are not simulated machines but runs of Chord on real threads of this machine, in real time. So each
//! cell has the machine to itself, the ways that are compared take turns within it, and results are medians
//! with the least and the greatest value. All runs of a cell must have the same digest. There are at most as
//! many threads as cores, but at least two.
//!
//! Chord is that of SimGrid's example: a warm ring, periods of 20 s (stabilize), 120 s (fix fingers, check
//! predecessor) and 10 s (lookup), messages of 10 bytes, and all peers starting at once unless stated
//! otherwise. "Constant": each message takes 50 ms. "Precise": LV08 with max-min sharing on a cluster with a
//! backbone, a host for each peer, at most 10,000.

mod binding;
mod coordination;
mod rounds;
mod runs;
mod speedup;
mod threshold;

use std::num::NonZero;

use crate::parameters::kinds::{Kind, count, nanos, secs};
use crate::prelude::*;

catalogue! {
    "sg-fig1": "Chord on many threads: speed-up over the number of peers", RealThreads => speedup::plan;
    "sg-fig2": "How many processes the rounds of Chord hold", RealThreads => rounds::sizes;
    "sg-fig3": "How long rounds of Chord take over their size", RealThreads => rounds::times;
    "sg-bind": "Threads bound to cores and not", RealThreads => binding::plan;
    "sg-parmap": "What the coordinating thread does, and how threads wait", RealThreads => coordination::plan;
    "sg-threshold": "When a round runs on many threads", RealThreads => threshold::plan;
}

fn peers() -> Kind<u32> {
    count(2..=2_000_000)
}

fn horizon() -> Kind<u64> {
    secs(1..=100_000)
}

/// Turns of what is compared.
fn turns() -> Kind<u32> {
    count(1..=1_000)
}

/// Work for each message.
fn work() -> Kind<u64> {
    nanos(0..=1_000_000_000)
}

/// How large and how long a run is, and how many turns what is compared takes.
#[derive(Clone, Copy, Debug)]
struct Size {
    peers: u32,
    until_s: u64,
    turns: usize,
}

impl Size {
    /// That of an experiment that has one.
    fn read(parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        Ok(Self {
            peers: parameters.one("peers", &peers())?,
            until_s: parameters.one("until", &horizon())?,
            turns: parameters.one("turns", &turns())? as usize,
        })
    }
}

/// The number of cores, but at least two: the number of threads that is compared with one.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, NonZero::get).max(2) as u32
}

/// The numbers of threads that are tried: 2, 4, 8 and so on, and the number of cores.
fn thread_counts() -> Vec<u32> {
    let cores = cores();
    let mut counts: Vec<u32> = (1..).map(|power| 1 << power).take_while(|count| *count < cores).collect();
    counts.push(cores);
    counts
}

fn about() -> String {
    format!(
        "Chord as in SimGrid's example, on a warm ring, all peers starting at once where nothing else is said, run in real time on {} threads of this machine. \
         What is compared takes turns; medians, with the least and the most in brackets; ratios are medians of ratios within a turn.",
        cores()
    )
}
