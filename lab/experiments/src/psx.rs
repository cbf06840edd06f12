//! The experiments of the PSX paper: least simulation time first among the VCPUs of a host.
//!
//! What the paper leaves open is one vector for all figures (`calibration/psx.toml`, see `fit`): how long a
//! federate polls before it blocks (`psx-wait` compares other ways to wait), what an event takes, after how
//! many ticks PSX reads a page again, how many VCPUs of DOM0 carry packets, the tree of reductions, how far
//! optimistic federates run ahead. What is assumed besides: a federate takes part in the next reduction after
//! 256 events or when it has nothing to do; if all messages stay in their federate (LOC 100), the model
//! declares no channels between federates, and conservative ones do not wait for LBTS; optimistic ones wait
//! for GVT as everywhere. An event of a vehicle takes what our traffic model takes (`psx.vehicle`).
//!
//! Where a figure differs, one of these is swept: the VCPUs of DOM0 (`weights`), the tree of reductions, how
//! far optimistic federates run ahead (`unstated`), and what an event takes (`unstated`, `strong_scaling`).

mod claims;
mod gains;
mod grow;
mod most;
mod reports;
mod runs;
mod scaling;
mod strong_scaling;
#[cfg(test)]
mod test;
mod threads;
mod traffic;
mod unstated;
mod waits;
mod weights;

use crate::parameters::kinds::{Kind, count, number, secs};
use crate::prelude::*;
pub(crate) use runs::{Case, Gear, Load, Reports, Scheduler};

catalogue! {
    "psx-fig6": "BLB over the weight of DOM0 under CSX, 24 domains", SimulatedMachine => weights::plan;
    "psx-fig7": "ULB over the weight of DOM0 under CSX, 24 domains", SimulatedMachine => weights::plan;
    "psx-fig8": "BLB, 24 domains on 24 PCPUs: gain of PSX over CSX", SimulatedMachine
        => |setup, parameters| gains::plan(setup, parameters, gains::EQUALLY_MANY);
    "psx-fig9": "ULB, 24 domains on 24 PCPUs: gain of PSX over CSX", SimulatedMachine
        => |setup, parameters| gains::plan(setup, parameters, gains::EQUALLY_MANY);
    "psx-fig10": "BLB, 32 domains on 24 PCPUs: gain of PSX over CSX", SimulatedMachine
        => |setup, parameters| gains::plan(setup, parameters, gains::BALANCED);
    "psx-fig11": "ULB, 32 domains on 24 PCPUs: gain of PSX over CSX", SimulatedMachine
        => |setup, parameters| gains::plan(setup, parameters, gains::UNBALANCED);
    "psx-fig12": "HLB over the number of domains", SimulatedMachine => scaling::fig12;
    "psx-fig13": "VSB, 64 domains: events processed over run time", SimulatedMachine => traffic::fig13;
    "psx-fig14": "VSB, 32 and 64 domains: strong scaling", SimulatedMachine => strong_scaling::fig14;
    "psx-grow": "VSB while PCPUs come and go: what growing gains", SimulatedMachine => grow::plan;
    "psx-threads": "VSB on real threads that follow its load", RealThreads => threads::plan;
    "psx-wait": "What the gain of PSX owes to how federates wait", SimulatedMachine => waits::plan;
    "psx-plus": "What PSX+ gains by its rule, and by each further report", SimulatedMachine => reports::plan;
}

/// A number of domains: a simulation has several.
fn domains() -> Kind<u32> {
    count(2..=1_000)
}

fn horizon() -> Kind<u64> {
    secs(1..=1_000_000)
}

/// LPs of a federate.
fn lps() -> Kind<u32> {
    count(1..=10_000)
}

/// Messages of an LP.
fn messages() -> Kind<f64> {
    number(0.1..=10_000.0)
}

/// A percentage of messages that stay in their federate.
fn local() -> Kind<u32> {
    count(0..=100)
}

fn load(parameters: &mut Parameters) -> Result<Load, ScenarioError> {
    Ok(Load {
        lps: parameters.one("lps", &lps())?,
        messages: parameters.one("messages", &messages())?,
        local: parameters.one("local", &local())?,
        until_s: parameters.one("until", &horizon())?,
    })
}
