//! Pacing does not make an MPI program slower: with 16 ranks it takes at most 1.1 times as long as the better
//! of polling and yielding without paceline.
//!
//! The three are compared in one run, and the paced and the yielding runs alternate. A noisy machine gets
//! several attempts.

use std::process::Output;

use super::{INSTALLED, Mpi, RANKS, result, text};
use crate::lab::any_turn;

const WORST_RATIO: f64 = 1.1;
const ATTEMPTS: usize = 5;
const REPEATS: usize = 3;
/// Polling with many more ranks than cores may take a minute: a run is ended after so many seconds, and
/// counts as that long.
const PATIENCE: &str = "3";
const PATIENCE_S: f64 = 3.0;
/// What `timeout` says of a program that it has ended.
const ENDED: i32 = 124;

/// The seconds that `phold` has taken; none if the time limit has ended it.
fn seconds(what: &str, output: &Output) -> Option<f64> {
    if output.status.code() == Some(ENDED) {
        return None;
    }
    assert!(output.status.success(), "{what}: {}: {}", output.status, text(&output.stderr));
    let printed = text(&output.stdout);
    let seconds = result(&printed, "seconds").and_then(|seconds| seconds.parse().ok());
    Some(seconds.expect("phold prints its run time"))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// One attempt: by how much pacing is slower than the better way without it.
fn ratio(mpi: &Mpi, options: &[&str]) -> f64 {
    let unpaced = |yields: &str| {
        let output = mpi.unpaced(PATIENCE, RANKS, &["--mca", "mpi_yield_when_idle", yields], options);
        seconds(mpi.name, &output).unwrap_or(PATIENCE_S)
    };
    // Where yielding is possible polling is far behind it, which is looked at once.
    let polling = if mpi.name == "openmpi" && options[1] != "windows" { PATIENCE_S } else { unpaced("0") };
    let (mut yielding, mut paced) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        if mpi.name == "openmpi" {
            yielding.push(unpaced("1"));
        }
        let output = mpi.paced(PATIENCE, &[], options).output().expect("it starts");
        // A paced run at the limit is not known to be any better than another at the limit.
        paced.push(seconds(mpi.name, &output).unwrap_or(f64::INFINITY));
    }
    let paced = median(paced);
    let yielding = (!yielding.is_empty()).then(|| median(yielding));
    let ratio = paced / yielding.unwrap_or(polling).min(polling);
    let yielding = yielding.map_or("none".to_owned(), |yielding| format!("{yielding:.3} s"));
    println!(
        "{} {}: paced {paced:.3} s, yielding {yielding}, polling {polling:.3} s: {ratio:.2}",
        mpi.name, options[1]
    );
    ratio
}

fn check(sync: &str, load: &[&str]) {
    let _turn = any_turn();
    for mpi in &*INSTALLED {
        let until = if mpi.name == "openmpi" { "500" } else { "80" };
        let options = [&["--sync", sync, "--until", until], load].concat();
        let mut ratios = (0..ATTEMPTS).map(|_| ratio(mpi, &options));
        assert!(ratios.any(|ratio| ratio <= WORST_RATIO), "{} {sync}: pacing is slower", mpi.name);
    }
}

#[test]
fn pacing_is_not_slower_with_windows() {
    check("windows", &[]);
}

#[test]
fn pacing_is_not_slower_with_an_optimistic_like_loop() {
    // Events as long as those of a small model. The rate is given, so that no run measures its own.
    check("optimistic-like", &["--until", "100", "--work", "5000", "--rate", "300000"]);
}
