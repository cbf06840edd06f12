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
pub mod sizes;
mod smoke;

use paceline_report::Check;

use crate::Experiment;

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            name: "xen-smoke",
            title: "PSX with two guests: a simulation, a parameter, counters, hypercalls",
            plan: smoke::plan,
        },
        Experiment {
            name: "xen-faults",
            title: "Whatever guests do: dom0 answers, guests come and go, minimum shares are kept",
            plan: faults::plan,
        },
        Experiment {
            name: "xen-nsx",
            title: "A virtual clock for each VCPU against credit: message rounds",
            plan: nsx::plan,
        },
        Experiment {
            name: "xen-psx",
            title: "Least simulation time first against credit and credit2: PHOLD on 2, 4 and 8 guests",
            plan: psx::plan,
        },
        Experiment {
            name: "xen-cs",
            title: "Most pending messages first against SEDF: LU beside EP",
            plan: cs::plan,
        },
    ]
}

/// A claim of ours, without a published number.
fn claim(what: impl Into<String>, ours: impl Into<String>, must: impl Into<String>, holds: bool) -> Check {
    Check { what: what.into(), published: String::new(), ours: ours.into(), must: must.into(), holds }
}
