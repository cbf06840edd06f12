//! `cargo bench -p paceline-engine --bench limits [GROUP ...]`: how fast the engine is where it is hard to be
//! fast. All groups of rows make one document: protocols over lookahead, sizes beside the hand-written loop,
//! ways to save states, hard models, a busy neighbour, and a long run. `scripts/performance` runs it and
//! draws the plots.
//!
//! - `PACELINE_ROUNDS` is the number of rounds (5). In a round, each row of a table runs once.
//! - `PACELINE_ROW_SECONDS` is the time that a row should take (0.5); rows that the table compares by fixed
//!   size and the long run do not fit themselves to it.
//! - `PACELINE_DRIFT_EVENTS` is the length of the long run (10,000,000 events).
//! - `PACELINE_RESULTS` names a file for the same rows as JSON lines. `limits --page LINES PAGE` draws such a
//!   file as a page.

#[path = "common/busy.rs"]
mod busy;
#[path = "common/mod.rs"]
mod common;
#[path = "limits/drift.rs"]
mod drift;
#[path = "limits/groups.rs"]
mod groups;
#[path = "limits/hard.rs"]
mod hard;
#[path = "limits/hard_group.rs"]
mod hard_group;
#[path = "limits/page.rs"]
mod page;
#[path = "limits/results.rs"]
mod results;
#[path = "limits/row.rs"]
mod row;
#[path = "phold/yardstick.rs"]
mod yardstick;

use std::path::Path;
use std::process::ExitCode;

use results::Results;
use row::{rounds, row_seconds};

fn measure(names: &[String]) -> Result<(), String> {
    let all = groups::all();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|group| group.name != name.as_str())) {
        let known: Vec<&str> = all.iter().map(|group| group.name).collect();
        return Err(format!("there is no group {unknown}; there are: {}", known.join(", ")));
    }
    let mut results = Results::open()?;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{} rounds; {} s a row; {cores} cores", rounds(), row_seconds());
    for group in all {
        if !names.is_empty() && !names.iter().any(|name| name == group.name) {
            continue;
        }
        println!("\n## {}\n\n{}", group.title, group.about.join("\n\n"));
        group.measure(&mut results)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    if busy::asked_for() {
        busy::work();
    }
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let done = match &arguments[..] {
        [option, lines, page] if option == "--page" => page::write(Path::new(lines), Path::new(page)),
        names => measure(names),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
