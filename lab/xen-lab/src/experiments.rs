//! All experiments of the lab, by name.
//!
//! Each needs some boots, says what must hold of them, and is compared with the simulated machine, which has
//! the same scenario ([`crate::prediction`]): the same domains, programs and sizes, with the costs of this
//! emulated machine.
//!
//! Invariant: names are unique and start with `xen-`.

mod cs;
mod faults;
mod nsx;
mod psx;
mod smoke;

use paceline_report::{Check, Criterion, Ours, RanOn, Shape};

use crate::Experiment;

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            name: "xen-smoke",
            title: "PSX with two guests: a simulation, a parameter, counters, hypercalls",
            ran_on: RanOn::EmulatedHypervisor,
            plan: smoke::plan,
        },
        Experiment {
            name: "xen-faults",
            title: "Whatever guests do: dom0 answers, guests come and go, minimum shares are kept",
            ran_on: RanOn::EmulatedHypervisor,
            plan: faults::plan,
        },
        Experiment {
            name: "xen-nsx",
            title: "A virtual clock for each VCPU against credit: message rounds",
            ran_on: RanOn::EmulatedHypervisor,
            plan: nsx::plan,
        },
        Experiment {
            name: "xen-psx",
            title: "Least simulation time first against credit and credit2: PHOLD on 2, 4 and 8 guests",
            ran_on: RanOn::EmulatedHypervisor,
            plan: psx::plan,
        },
        Experiment {
            name: "xen-cs",
            title: "Most pending messages first against SEDF: LU beside EP",
            ran_on: RanOn::EmulatedHypervisor,
            plan: cs::plan,
        },
    ]
}

/// Something that must always be true.
fn invariant(what: impl Into<String>, ours: Ours, shape: Shape) -> Check {
    Check { what: what.into(), criterion: Criterion::invariant(shape), ours }
}

/// What we ask of our own schedulers.
fn goal(what: impl Into<String>, ours: Ours, shape: Shape) -> Check {
    Check { what: what.into(), criterion: Criterion::goal(shape), ours }
}
