//! The plug-in `psx` decides as its policy does: who runs, for how long, and who is asked, over random operations.

mod replay;

use paceline_policy::{Setting, Settings};
use proptest::prelude::*;
use replay::{Plugin, decides_alike};

fn psx() -> impl Strategy<Value = Plugin> {
    let tick_us = prop_oneof![Just(10u64), Just(300), Just(1000), 10u64..5000];
    (tick_us, 1u32..=4).prop_map(|(tick_us, pcpus)| Plugin {
        names: ("psx", "psx"),
        params: vec![format!("psx-tick-us={tick_us}")],
        settings: Settings::default().with("tick", Setting::Nanos(tick_us * 1000)),
        pcpus,
        done_waits: false,
    })
}

#[test]
fn psx_decides_as_its_policy() {
    decides_alike(4000, psx());
}
