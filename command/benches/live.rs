//! `cargo bench -p paceline-cli --bench live`: what the live page costs a run.
//!
//! PHOLD and road traffic, conservative and optimistic, on as many threads as there are cores: without a
//! page, with a page that nobody watches, and with a client that reads all frames, ten a second.
//!
//! All sides run once in each round, in an order that turns from round to round, and must have the same
//! digest. The table shows the medians of the events a second and of their ratios to those without a page,
//! round by round, each with half the distance between the quartiles. `PACELINE_ROUNDS` is the number of
//! rounds.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

/// Scenarios, each with options that let it run for some seconds.
const RUNS: [(&str, &[&str]); 4] = [
    ("phold.toml", &["run.protocol=window", "run.until=60s"]),
    ("phold.toml", &["run.protocol=optimistic", "run.until=60s"]),
    ("traffic.toml", &["run.protocol=window"]),
    ("traffic.toml", &["run.protocol=optimistic"]),
];
const SIDES: [&str; 3] = ["no page", "a page, nobody watches", "a page that is watched"];

fn main() {
    // `cargo test` runs benchmarks too, to see that they start.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(7);
    let mut table = Table::new();
    let columns = ["run", "side", "k events/s", "times no page"];
    table.load_preset(presets::ASCII_MARKDOWN).set_header(columns);
    for (scenario, options) in RUNS {
        let mut rates: [Vec<f64>; SIDES.len()] = Default::default();
        let mut digest = None;
        for round in 0..rounds {
            for nth in 0..SIDES.len() {
                let side = (round + nth) % SIDES.len();
                let (rate, found) = run(scenario, options, side);
                assert_eq!(&found, digest.get_or_insert_with(|| found.clone()), "{}", SIDES[side]);
                rates[side].push(rate / 1e3);
            }
        }
        for (name, side) in SIDES.iter().zip(&rates) {
            let ratios: Vec<f64> = side.iter().zip(&rates[0]).map(|(side, first)| side / first).collect();
            let run = format!("{scenario}, {}", options[0]);
            table.add_row([run, (*name).to_owned(), spread(side, 0), spread(&ratios, 3)]);
        }
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("medians of {rounds} rounds\n{}", table.trim_fmt());
}

/// Runs a scenario on one of the sides; gives back its events a second, and its digest.
fn run(scenario: &str, options: &[&str], side: usize) -> (f64, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.arg("run").arg(format!("{}/../scenarios/{scenario}", env!("CARGO_MANIFEST_DIR"))).arg("--json");
    for option in options {
        command.args(["--set", option]);
    }
    if side > 0 {
        command.arg("--live");
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let watcher = (side == 2).then(|| {
        let mut line = String::new();
        while !line.starts_with("Live page: ") {
            line.clear();
            assert!(said.read_line(&mut line).expect("UTF-8") > 0, "the page is announced");
        }
        let address = line.trim().trim_start_matches("Live page: http://");
        let (host, query) = address.split_once("/?").expect("it has a token");
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(stream, "GET /events?{query} HTTP/1.0\r\nHost: {host}\r\n\r\n").expect("it takes a request");
        std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()))
    });
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("UTF-8");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{rest}");
    if let Some(watcher) = watcher {
        watcher.join().expect("it only reads").expect("the server ends the stream");
    }
    let found: Value = serde_json::from_slice(&output.stdout).expect("one object");
    (found["events_per_second"].as_f64().expect("a number"), found["digest"].clone())
}

/// The median, and half the distance between the quartiles.
fn spread(values: &[f64], decimals: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = |part: usize| sorted[(sorted.len() - 1) * part / 4];
    format!("{:.decimals$} ± {:.decimals$}", quartile(2), (quartile(3) - quartile(1)) / 2.0)
}
