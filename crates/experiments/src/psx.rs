//! The experiments of the PSX paper: least simulation time first among the VCPUs of a host.
//!
//! What the paper leaves open, and what is assumed here: federates that wait poll without end (other ways to wait are
//! compared in `psx-wait`); reductions for LBTS and GVT go up and down a binary tree, and a federate takes part in the next one
//! after 256 events or when it has nothing to do; DOM0 has Xen's default of a VCPU for each PCPU; if all messages
//! stay in their federate (LOC 100), the model declares no channels between federates, and they do not wait for LBTS.
//!
//! Where a figure differs, one of these is swept: the VCPUs of DOM0 that carry packets (`weights`), the tree of reductions, how far
//! optimistic federates run ahead (`unstated`), and what an event takes (`unstated`, `strong_scaling`). No single value of any
//! of them serves all figures.

mod claims;
mod gains;
mod runs;
mod scaling;
mod strong_scaling;
#[cfg(test)]
mod test;
mod traffic;
mod unstated;
mod waits;
mod weights;

use crate::Experiment;
pub(crate) use runs::{Case, Gear, Load, Scheduler};

/// The experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "psx-fig6",
        title: "BLB over the weight of DOM0 under CSX, 24 domains",
        plan: weights::balanced,
    },
    Experiment {
        name: "psx-fig7",
        title: "ULB over the weight of DOM0 under CSX, 24 domains",
        plan: weights::unbalanced,
    },
    Experiment {
        name: "psx-fig8",
        title: "BLB, 24 domains on 24 PCPUs: gain of PSX over CSX",
        plan: gains::fig8,
    },
    Experiment {
        name: "psx-fig9",
        title: "ULB, 24 domains on 24 PCPUs: gain of PSX over CSX",
        plan: gains::fig9,
    },
    Experiment {
        name: "psx-fig10",
        title: "BLB, 32 domains on 24 PCPUs: gain of PSX over CSX",
        plan: gains::fig10,
    },
    Experiment {
        name: "psx-fig11",
        title: "ULB, 32 domains on 24 PCPUs: gain of PSX over CSX",
        plan: gains::fig11,
    },
    Experiment { name: "psx-fig12", title: "HLB over the number of domains", plan: scaling::fig12 },
    Experiment {
        name: "psx-fig13",
        title: "VSB, 64 domains: events processed over run time",
        plan: traffic::fig13,
    },
    Experiment {
        name: "psx-fig14",
        title: "VSB, 32 and 64 domains: strong scaling",
        plan: strong_scaling::fig14,
    },
    Experiment {
        name: "psx-wait",
        title: "What the gain of PSX owes to how federates wait",
        plan: waits::plan,
    },
];
