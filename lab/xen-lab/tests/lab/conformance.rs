//! The plug-ins `psx` and `psxplus` decide as their policies do: who runs, for how long, who is asked, and
//! when their timers go off, over random operations.

use crate::replay::{Plugin, decides_alike, survives};
use paceline_policy::{Setting, Settings};
use proptest::prelude::*;

fn psx() -> impl Strategy<Value = Plugin> {
    let tick_us = prop_oneof![Just(10u64), Just(300), Just(1000), 10u64..5000];
    (tick_us, 1u32..=4).prop_map(|(tick_us, pcpus)| Plugin {
        names: ("psx", "psx"),
        params: vec![format!("psx-tick-us={tick_us}")],
        settings: Settings::default().with("tick", Setting::Nanos(tick_us * 1000)),
        pcpus,
        reports: true,
        has_shares: false,
    })
}

fn psxplus() -> impl Strategy<Value = Plugin> {
    let tick_us = prop_oneof![Just(10u64), Just(300), 10u64..5000];
    let patience_us = prop_oneof![Just(1u64), Just(300), 1u64..50_000];
    let period_us = prop_oneof![Just(1000u64), Just(30_000), 1000u64..100_000];
    (tick_us, patience_us, period_us, 1u64..=50, 1u32..=4).prop_map(
        |(tick_us, patience_us, period_us, percent, pcpus)| Plugin {
            names: ("psxplus", "psx-plus"),
            params: vec![
                format!("psxplus-tick-us={tick_us}"),
                format!("psxplus-patience-us={patience_us}"),
                format!("psxplus-period-us={period_us}"),
                format!("psxplus-share-percent={percent}"),
            ],
            settings: Settings::default()
                .with("tick", Setting::Nanos(tick_us * 1000))
                .with("patience", Setting::Nanos(patience_us * 1000))
                .with("period", Setting::Nanos(period_us * 1000))
                .with("share_percent", Setting::Count(percent)),
            pcpus,
            reports: true,
            has_shares: false,
        },
    )
}

#[test]
fn psxplus_decides_as_its_policy() {
    decides_alike(psxplus());
}

#[test]
fn psx_decides_as_its_policy() {
    decides_alike(psx());
}

#[test]
fn psx_and_psxplus_lose_nobody_when_contexts_are_saved_late() {
    for name in ["psx", "psxplus"] {
        survives(name, 300);
    }
}
