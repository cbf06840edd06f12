//! The experiments of the ARTIS paper: the effect of its runtime, its marshalling and its Enhanced Heap on
//! the wireless model.
//!
//! Figures 1 to 3 and 4 to 5 are runs of simulated machines, whose hosts are the paper's PCs with two
//! hyper-threaded CPUs. Figures 8 to 10 are measured in real time, one run at a time, and so are the runtimes
//! of figures 1 to 3 once more, on real threads.

mod curves;
mod drive;
mod enhanced_heap;
mod frames;
mod heaps;
mod lp;
mod marshalling;
mod queues;
mod runs;
mod runtimes;
mod threaded;
mod threading;
mod threads;

use crate::parameters::kinds::{Kind, count};
use crate::prelude::*;

catalogue! {
    "artis-fig1": "Multi-threaded LPs with timed wait: run time over LPs, HT on and off", SimulatedMachine
        => |setup, parameters| runtimes::plan(setup, parameters, 1);
    "artis-fig2": "Multi-threaded LPs with signals: run time over LPs, HT on and off", SimulatedMachine
        => |setup, parameters| runtimes::plan(setup, parameters, 2);
    "artis-fig3": "Single-threaded LPs: run time over LPs, HT on and off", SimulatedMachine
        => |setup, parameters| runtimes::plan(setup, parameters, 3);
    "artis-fig4": "Two hosts: run time with and without marshalling over the model's hosts", SimulatedMachine
        => marshalling::fig4;
    "artis-fig5": "Two hosts: run time with and without marshalling over the MTU", SimulatedMachine => marshalling::fig5;
    "artis-threads": "Figures 1 to 3 on real threads: run time over LPs in three runtimes", RealThreads => threaded::plan;
    "artis-fig8": "A group of 1000 events in the Enhanced Heap and in a binary heap, over their sizes", RealThreads
        => heaps::plan;
    "artis-fig9": "The standard wireless model with the Enhanced Heap and a binary heap", RealThreads => queues::fig9;
    "artis-fig10": "The light wireless model with the Enhanced Heap and a binary heap", RealThreads => queues::fig10;
}

fn hosts() -> Kind<u32> {
    count(100..=100_000)
}

fn steps() -> Kind<u32> {
    count(1..=100_000)
}

/// Turns of what is compared in real time.
fn turns() -> Kind<u32> {
    count(1..=1_000)
}

/// The text about figures 1 to 3.
fn about() -> String {
    "The load of the wireless model, 6000 hosts on a torus of 10,000 x 10,000, each heard within 250 in every step: an LP computes, \
     sends pings to others, handles theirs and waits for the end of the step. A host with two CPUs whose threads are scheduled by \
     Linux as of 2005 or by least LVT first (PSX+)."
        .into()
}
