//! Queueing networks: one digest in every mode, the answers of product forms, Erlang and Cobham, and what is
//! refused.

use paceline_kernel::{Channels, LpId, Model, Time};
use paceline_models::queueing::Queueing;

use crate::known::{Known, agrees, agrees_with_theory, number, numbers};
use crate::modes::all_agree;
use crate::{built, refused};

/// Terminals, two processors with one line, and two disks.
const COMPUTER: &str = r#"
walk = "20ms"
warm_up = "200s"
stations = [
  { name = "terminals", servers = 0, service = "4s" },
  { name = "processors", servers = 2, service = "150ms" },
  { name = "disks", count = 2, service = "300ms" },
]
classes = [{ name = "users", start = "terminals", population = 12 }]
routes = [
  { from = "terminals", to = "processors" },
  { from = "processors", to = "terminals", probability = 0.25 },
  { from = "processors", to = "disks", probability = 0.75 },
  { from = "disks", to = "processors" },
]
"#;

/// A desk that two classes come to and leave, with three clerks.
const DESK: &str = r#"
warm_up = "1000s"
stations = [{ name = "desk", servers = 3, service = "20s" }]
classes = [
  { name = "urgent", start = "desk", between_arrivals = "30s" },
  { name = "patient", start = "desk", between_arrivals = "15s", priority = 1 },
]
"#;

/// Two classes that share a workshop: one goes round in it, the other passes through.
pub const MIXED: &str = r#"
walk = "1s"
warm_up = "20s"
stations = [
  { name = "saw", servers = 2, service = "3s", law = "constant" },
  { name = "bench", count = 24, service = "20s" },
  { name = "store", servers = 0, service = "9s" },
]
classes = [
  { name = "pallets", start = "store", population = 9, priority = 5 },
  { name = "orders", start = "saw", between_arrivals = "2s", priority = 2 },
]
routes = [
  { from = "store", to = "saw" },
  { from = "saw", to = "bench", class = "pallets" },
  { from = "saw", to = "bench", class = "orders", probability = 0.7 },
  { from = "bench", to = "store", class = "pallets" },
  { from = "bench", to = "saw", class = "orders", probability = 0.2 },
]
"#;

fn model(keys: &str) -> Queueing {
    built(keys, Queueing::from_section)
}

#[test]
fn a_network_has_one_digest_in_every_mode() {
    all_agree(|| model(MIXED), Time::secs(150));
    // In as many LPs as the modes have federates.
    let disks = COMPUTER.replace("count = 2", "count = 30");
    all_agree(|| model(&disks), Time::secs(40));
}

#[test]
fn stations_of_constant_service_look_further_ahead() {
    let network = model(MIXED);
    assert_eq!(network.lookahead(), Time::secs(1));
    let Channels::Only(of_saw) = network.channels(LpId(0)) else { panic!("they are few") };
    // To the benches, after a service and a walk.
    assert_eq!(of_saw, (1..25).map(|lp| (LpId(lp), Time::secs(4))).collect::<Vec<_>>());
}

#[test]
fn a_closed_network_has_its_product_form() {
    agrees_with_theory(
        |_| model(COMPUTER),
        Time::secs(2200),
        &[
            ("services_per_second", "services_per_second_by_theory", 0.03),
            ("mean_wait_s", "mean_wait_by_theory_s", 0.06),
        ],
    );
}

#[test]
fn classes_wait_as_cobham_says() {
    agrees_with_theory(
        |_| model(DESK),
        Time::secs(60_000),
        &[
            ("urgent_mean_wait_s", "urgent_mean_wait_by_theory_s", 0.15),
            ("patient_mean_wait_s", "patient_mean_wait_by_theory_s", 0.2),
            ("patient_mean_stay_s", "patient_mean_stay_by_theory_s", 0.1),
        ],
    );
}

/// Of one class at three clerks who are busy two thirds of their time, by Erlang's formula, computed here by
/// sums.
#[test]
fn one_class_waits_as_erlang_says() {
    let (load, clerks, service_s) = (20.0 * (1.0 / 30.0 + 1.0 / 15.0), 3.0, 20.0);
    let all_busy = load * load * load / 6.0 / (1.0 - load / clerks);
    let waits = all_busy / (1.0 + load + load * load / 2.0 + all_busy);
    let wait_s = waits * service_s / (clerks - load);
    let keys = DESK.replace(", priority = 1", "");
    let known = |name, value, width| Known { name, value, width };
    agrees(
        |_| model(&keys),
        Time::secs(60_000),
        &[known("mean_wait_s", wait_s, 0.2), known("busiest_station_busy", load / clerks, 0.03)],
    );
    let lines = numbers(model(&keys), 1, Time::secs(2000));
    assert!((number(&lines, "mean_wait_by_theory_s") / wait_s - 1.0).abs() < 1e-9, "{lines:?}");
}

/// A single server with constant service, by Pollaczek and Khinchine: half of what exponential ones make.
#[test]
fn constant_service_halves_the_wait() {
    let keys = "stations = [{ name = \"desk\", service = \"8s\", law = \"constant\" }]\n\
                classes = [{ name = \"all\", start = \"desk\", between_arrivals = \"16s\" }]\nwarm_up = \"1000s\"";
    let known = [Known { name: "mean_wait_s", value: 0.5 * 8.0 / 2.0 / (1.0 - 0.5), width: 0.1 }];
    agrees(|_| model(keys), Time::secs(60_000), &known);
}

#[test]
fn mistakes_are_reported_with_what_is_allowed() {
    let change = |old: &str, new: &str| {
        let changed = COMPUTER.replace(old, new);
        assert_ne!(changed, COMPUTER, "{old}");
        changed
    };
    for (keys, problem) in [
        ("stations = []".to_owned(), "lines `[[model.stations]]`"),
        (change("count = 2", "count = 0"), "`count` is 0"),
        (change("name = \"disks\"", "name = \"Disks\""), "the name \"Disks\""),
        (change("name = \"disks\"", "name = \"processors\""), "there twice"),
        (change("service = \"4s\"", "service = \"0s\""), "`service` is 0s"),
        (change("start = \"terminals\"", "start = \"terminal\""), "no station \"terminal\""),
        (change("population = 12", "population = 0"), "`population` is 0"),
        (change("population = 12", "priority = 1"), "one of `population` and `between_arrivals`"),
        (change("population = 12", "between_arrivals = \"0s\""), "`between_arrivals` is 0s"),
        (change("population = 12", "between_arrivals = \"1s\""), "never leave from"),
        (change("0.75", "0.76"), "sum up to 1.01"),
        (change("0.75", "0.7"), "would leave from \"processors\""),
        (change("probability = 0.25", "probability = 1.25"), "`probability` is 1.25"),
        (
            change("{ from = \"disks\", to = \"processors\" }", "{ from = \"disks\", to = \"disks\" }"),
            "never come back",
        ),
        (change("probability = 0.25", "probability = 0.25, class = \"user\""), "no class \"user\""),
        (change("walk = \"20ms\"", "walk = \"25h\""), "`walk` is"),
        (change("walk = ", "wolk = "), "unknown key `wolk`"),
    ] {
        refused(&keys, problem, Queueing::from_section);
    }
}
