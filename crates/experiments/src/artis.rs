//! The experiments of the ARTIS paper: what its runtime, its marshalling and its Enhanced Heap bring to the wireless model.
//!
//! Figures 1 to 3 and 4 to 5 are runs of simulated machines, whose hosts are the paper's PCs: two CPUs with hyper-threading,
//! which this machine has not. Figures 8 to 10 are measured in real time, one run at a time.

mod lp;
mod runs;
mod runtimes;

use crate::Experiment;

/// The experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "artis-fig1",
        title: "Multi-threaded LPs with timed wait: run time over LPs, HT on and off",
        plan: runtimes::fig1,
    },
    Experiment {
        name: "artis-fig2",
        title: "Multi-threaded LPs with signals: run time over LPs, HT on and off",
        plan: runtimes::fig2,
    },
    Experiment {
        name: "artis-fig3",
        title: "Single-threaded LPs: run time over LPs, HT on and off",
        plan: runtimes::fig3,
    },
];

/// What is said of figures 1 to 3.
fn about() -> String {
    "The load of the wireless model, 6000 hosts on a torus of 10,000 x 10,000, each heard within 250 in every step: an LP computes, \
     sends pings to others, handles theirs and waits for the end of the step. A host with two CPUs whose threads are scheduled by \
     Linux as of 2005 or by least LVT first (PSX+)."
        .into()
}
