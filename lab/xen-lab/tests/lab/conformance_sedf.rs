//! The plug-ins `sedf`, `csde` and `csdd` decide as their policies do: who runs, for how long, who is asked,
//! and what shares are refused, over random operations. The policies learn of every message that comes or is
//! taken, the plug-ins only of those that come.

use crate::replay::{Plugin, decides_alike, survives};
use paceline_policy::{Setting, Settings};
use proptest::prelude::*;

fn plugin(name: &'static str) -> impl Strategy<Value = Plugin> {
    let quantum_us = prop_oneof![Just(500u64), Just(1), 1u64..20_000];
    (quantum_us, 1u32..=4).prop_map(move |(quantum_us, pcpus)| Plugin {
        names: (name, name),
        params: vec![format!("sedf-quantum-us={quantum_us}")],
        settings: Settings::default().with("quantum", Setting::Nanos(quantum_us * 1000)),
        pcpus,
        reports: false,
        has_shares: true,
    })
}

#[test]
fn sedf_decides_as_its_policy() {
    decides_alike(plugin("sedf"));
}

#[test]
fn csde_decides_as_its_policy() {
    decides_alike(plugin("csde"));
}

#[test]
fn csdd_decides_as_its_policy() {
    decides_alike(plugin("csdd"));
}

#[test]
fn sedf_csde_and_csdd_lose_nobody_when_contexts_are_saved_late() {
    for name in ["sedf", "csde", "csdd"] {
        survives(name, 200);
    }
}
