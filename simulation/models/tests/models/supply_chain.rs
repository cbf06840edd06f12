//! Supply chains: one digest in every mode, the numbers on order that are known, and what is refused.

use paceline_kernel::{Channels, LpId, Model, Time};
use paceline_models::supply_chain::SupplyChain;

use crate::known::{Known, agrees, agrees_with_theory};
use crate::modes::all_agree;
use crate::{built, refused};

pub const CHAIN: &str = r#"
products = 20
between_demands = "6h"
warm_up = "20d"
stages = [
  { name = "shop", base_stock = 7, lead_time = "1d", order_delay = "6h" },
  { name = "warehouse", base_stock = 14, lead_time = "3d", order_delay = "2h" },
  { name = "factory", base_stock = 17, lead_time = "4d" },
]
"#;

fn model(keys: &str) -> SupplyChain {
    built(keys, SupplyChain::from_section)
}

#[test]
fn a_chain_has_one_digest_in_every_mode() {
    all_agree(|| model(CHAIN), Time::secs(30 * 86_400));
}

#[test]
fn channels_have_lead_times_and_order_delays() {
    let chain = model(CHAIN);
    assert_eq!(chain.lookahead(), Time::secs(2 * 3600));
    let Channels::Only(of_warehouse) = chain.channels(LpId(4)) else { panic!("there are two") };
    assert_eq!(of_warehouse, [(LpId(3), Time::secs(86_400)), (LpId(5), Time::secs(2 * 3600))]);
}

/// A single stage has a Poisson number of units on order: 5 on average, of which its stock of 6 covers most.
#[test]
fn a_single_stage_serves_as_poisson_says() {
    let keys = "products = 20\nbetween_demands = \"6h\"\nwarm_up = \"20d\"\n\
                stages = [{ name = \"shop\", base_stock = 6, lead_time = \"1d\", order_delay = \"6h\" }]";
    let shares: Vec<f64> = (0..60_u32)
        .scan((-5.0_f64).exp(), |share, units| {
            let now = *share;
            *share *= 5.0 / f64::from(units + 1);
            Some(now)
        })
        .collect();
    let owed: f64 = (0..).zip(&shares).map(|(units, share)| f64::from((units - 6).max(0)) * share).sum();
    let known = |name, value, width| Known { name, value, width };
    agrees(
        |_| model(keys),
        Time::secs(300 * 86_400),
        &[
            known("served_at_once", shares[..6].iter().sum(), 0.02),
            known("mean_backorders", owed, 0.1),
            // Little's law: customers who wait are those who are owed something.
            known("mean_wait_s", owed * 6.0 * 3600.0, 0.1),
        ],
    );
}

#[test]
fn a_chain_serves_as_theory_says() {
    agrees_with_theory(
        |_| model(CHAIN),
        Time::secs(300 * 86_400),
        &[
            ("served_at_once", "served_at_once_by_theory", 0.04),
            ("mean_backorders", "mean_backorders_by_theory", 0.25),
            ("mean_wait_s", "mean_wait_by_theory_s", 0.25),
            ("mean_stock", "mean_stock_by_theory", 0.05),
        ],
    );
}

#[test]
fn mistakes_are_reported_with_what_is_allowed() {
    for (old, new, problem) in [
        ("products = 20", "products = 0", "`products` is 0"),
        ("between_demands = \"6h\"", "between_demands = \"0s\"", "`between_demands` is 0s"),
        ("between_demands = \"6h\"\n", "", "missing key `between_demands`"),
        ("base_stock = 14, ", "", "missing key `base_stock`"),
        ("base_stock = 14", "base_stock = 2000000", "`base_stock` is 2000000"),
        ("base_stock = 14", "base_stock = -1", "`base_stock`"),
        ("lead_time = \"3d\"", "lead_time = \"400d\"", "`lead_time` is"),
        ("name = \"warehouse\"", "name = \"shop\"", "the name \"shop\""),
        ("order_delay = \"2h\"", "order_delay = \"2\"", "`order_delay`"),
        ("lead_time = \"4d\"", "lead_time = \"4d\", batch = 3", "unknown key `batch`"),
    ] {
        refused(&CHAIN.replacen(old, new, 1), problem, SupplyChain::from_section);
    }
    refused("between_demands = \"1h\"", "a chain of 0 stages", SupplyChain::from_section);
}
