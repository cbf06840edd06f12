//! `cargo bench -p paceline-cli --bench replications`: how much more of a wireless network a machine gets
//! through when replications run at once instead of one after the other.
//!
//! Eight replications of `scenarios/wireless.toml` under protocol "window", with two threads each: the fewer
//! hosts there are, the less there is to do in a window, and the more the threads wait for each other. They
//! run one after the other, 2, 4 and 8 at once; beside them what `paceline replicate` does where neither
//! `run.threads` nor the protocol is set: a thread each, as many at once as there are cores, and the protocol
//! that suits that.
//!
//! All sides run once in each round, in an order that turns from round to round, and must have the same
//! digests. The table shows the medians of the events a second of all replications together and of their
//! ratios to one after the other, round by round, each with half the distance between the quartiles.
//! `PACELINE_ROUNDS` is the number of rounds.

use std::process::Command;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

const REPLICATIONS: &str = "8";
/// How many hosts there are, and how many steps.
const SIZES: [(u32, u32); 3] = [(300, 1000), (1000, 500), (3000, 200)];
/// What is measured: a name, and the options beside those of all.
const SIDES: [(&str, &[&str]); 5] = [
    ("1 at once", &["--at-once", "1", "--set", "run.threads=2"]),
    ("2 at once", &["--at-once", "2", "--set", "run.threads=2"]),
    ("4 at once", &["--at-once", "4", "--set", "run.threads=2"]),
    ("8 at once", &["--at-once", "8", "--set", "run.threads=2"]),
    ("auto, threads not set", &["--set", "run.protocol=auto"]),
];

fn main() {
    // `cargo test` runs benchmarks too, to see that they start.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(7);
    let mut table = Table::new();
    let columns = ["hosts", "side", "k events/s of all", "times 1 at once"];
    table.load_preset(presets::ASCII_MARKDOWN).set_header(columns);
    for (hosts, steps) in SIZES {
        let mut rates: [Vec<f64>; SIDES.len()] = Default::default();
        let mut digests = None;
        for round in 0..rounds {
            for nth in 0..SIDES.len() {
                let side = (round + nth) % SIDES.len();
                let (rate, found) = run(hosts, steps, SIDES[side].1);
                assert_eq!(&found, digests.get_or_insert_with(|| found.clone()), "{}", SIDES[side].0);
                rates[side].push(rate / 1e3);
            }
        }
        for ((name, _), side_rates) in SIDES.iter().zip(&rates) {
            let ratios: Vec<f64> =
                side_rates.iter().zip(&rates[0]).map(|(side_rates, first)| side_rates / first).collect();
            table.add_row([hosts.to_string(), (*name).to_owned(), spread(side_rates, 0), spread(&ratios, 2)]);
        }
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("{REPLICATIONS} replications, medians of {rounds} rounds\n{}", table.trim_fmt());
}

/// Runs replications; gives back the events a second of all together, and their digests.
fn run(hosts: u32, steps: u32, options: &[&str]) -> (f64, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.arg("replicate").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/wireless.toml"));
    command.args(["--replications", REPLICATIONS, "--json", "--set", "run.protocol=window"]);
    command.args(["--set", &format!("model.hosts={hosts}"), "--set", &format!("model.steps={steps}")]);
    let output = command.args(options).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let runs = found["runs"].as_array().expect("a list of runs");
    let rate = found["events_per_second"].as_f64().expect("a number");
    (rate, runs.iter().map(|run| run["digest"].clone()).collect())
}

/// The median, and half the distance between the quartiles.
fn spread(values: &[f64], decimals: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = |part: usize| sorted[(sorted.len() - 1) * part / 4];
    format!("{:.decimals$} ± {:.decimals$}", quartile(2), (quartile(3) - quartile(1)) / 2.0)
}
