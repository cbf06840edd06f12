//! The plug-in `nsx` decides as its policy does: who runs, for how long, who is asked, and when its timers go
//! off, over random operations. Its settings are random, but for `stagger`, which is off: tickers in Xen are
//! resumed at whole multiples of the tick.

use crate::replay::{Plugin, decides_alike, survives};
use paceline_policy::{Setting, Settings};
use proptest::prelude::*;

fn nsx() -> impl Strategy<Value = Plugin> {
    let tick_us = prop_oneof![Just(30u64), Just(100), Just(1000), Just(30_000), 30u64..30_000];
    let long_ms = || prop_oneof![Just(1u64), 1u64..200, Just(60_000)];
    (tick_us, 1u64..=5, 1u64..20, long_ms(), long_ms(), 1u32..=4).prop_map(
        |(tick_us, dom0_ticks, max_diff, adjust_ms, adjust_all_ms, pcpus)| Plugin {
            names: ("nsx", "nsx"),
            params: vec![
                format!("nsx-tick-us={tick_us}"),
                format!("nsx-dom0-ticks={dom0_ticks}"),
                format!("nsx-max-diff-ticks={max_diff}"),
                format!("nsx-adjust-ms={adjust_ms}"),
                format!("nsx-adjust-all-ms={adjust_all_ms}"),
            ],
            settings: Settings::default()
                .with("tick", Setting::Nanos(tick_us * 1000))
                .with("dom0_ticks", Setting::Count(dom0_ticks))
                .with("max_diff_ticks", Setting::Count(max_diff))
                .with("adjust", Setting::Nanos(adjust_ms * 1_000_000))
                .with("adjust_all", Setting::Nanos(adjust_all_ms * 1_000_000)),
            pcpus,
            reports: false,
            has_shares: false,
        },
    )
}

#[test]
fn nsx_decides_as_its_policy() {
    decides_alike(nsx());
}

#[test]
fn nsx_loses_nobody_when_contexts_are_saved_late() {
    survives("nsx", 300);
}
