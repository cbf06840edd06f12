//! Parameters that `ctl set` changes while a run goes on, and that scenarios change.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{command, ctl, start};
use crate::live::STREETS;
use crate::{folder_of, stderr, stdout};

/// The streets, of which a checkpoint is written when it is asked for.
fn streets() -> String {
    format!("{STREETS}checkpoint = \"10h\"\n")
}

/// The summary of a command, which ends well.
fn summary(folder: &Path, arguments: &[&str]) -> Value {
    super::summary(&command(folder, &[arguments, &["--json", "--quiet"]].concat()).output().unwrap())
}

/// The same run with these changes in its scenario.
fn scheduled(folder: &Path, changes: &Value, protocol: &str) -> Value {
    let table = |change: &Value| {
        let (at, set, to) = (change["at_s"].as_f64().unwrap(), &change["set"], &change["to"]);
        format!("\n[[run.change]]\nat = \"{at:.9}s\"\nset = {set}\nto = {to}\n")
    };
    let tables: String = changes.as_array().unwrap().iter().map(table).collect();
    fs::write(folder.join("scheduled.toml"), streets() + &tables).unwrap();
    summary(folder, &["run", "scheduled.toml", "--set", &format!("run.protocol={protocol}")])
}

#[test]
fn a_parameter_that_is_set_while_a_run_goes_on_gives_what_its_scenario_would() {
    let folder = folder_of(&[("long.toml", &streets())]);
    let folder = folder.path();
    let plain = summary(folder, &["run", "long.toml"]);
    for protocol in ["window", "optimistic", "sequential"] {
        let set_protocol = format!("run.protocol={protocol}");
        // A run that is tied to real time waits for those who ask.
        let run = start(folder, &["--set", &set_protocol, "--live", "--paused"]);
        let says = |arguments: &[&str], words: &[&str]| {
            let output = ctl(folder, arguments);
            let said = stdout(&output) + &stderr(&output);
            words
                .iter()
                .for_each(|word| assert!(said.contains(word), "{arguments:?}: {said:?} says {word:?}"));
        };
        let list = "model.cycle is 8s (allowed: a duration from 0.1s to 86400s); model.demand is 1 (allowed: a number from 0 to 1)";
        says(&["set"], &[list]);
        (0..40).for_each(|_| says(&["window"], &["paused at"]));
        says(&["set", "model.cycle", "20s"], &["model.cycle is 20s from "]);
        says(&["set", "model.demand", "0.5", "--at", "1200s"], &["model.demand is 0.5 from 1200s on"]);
        says(
            &["set", "model.green", "4s"],
            &["model.green cannot be changed", "allowed: model.cycle, model.demand"],
        );
        says(
            &["set", "model.demand", "half"],
            &["model.demand cannot be half; allowed: a number from 0 to 1"],
        );
        says(&["set", "model.cycle", "30"], &["model.cycle cannot be 30; allowed: a duration from 0.1s"]);
        says(&["set", "model.cycle", "30s", "--at", "0s"], &["cannot change at 0s; allowed: ", "or later"]);
        says(&["set", "model.cycle", "30s", "--at", "2h"], &["allowed: before the end of the run, 3600s"]);
        says(&["set", "model.cycle", "30s", "--at", "soon"], &["soon"]);
        says(&["set"], &["model.cycle is 20s", "model.demand is 1 "]);
        says(&["checkpoint"], &["a checkpoint at "]);
        says(&["go"], &["goes on"]);
        let output = run.wait_with_output();
        assert!(output.status.success(), "{}", stderr(&output));
        let live: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let changes = &live["changes"];
        assert_eq!(changes.as_array().map(Vec::len), Some(2), "{changes}");
        assert_eq!((&changes[1]["at_s"], &changes[1]["made_while_running"]), (&1200.0.into(), &true.into()));
        assert_ne!(live["digest"], plain["digest"]);
        let same = scheduled(folder, changes, "auto");
        assert_eq!((&same["digest"], &same["results"]), (&live["digest"], &live["results"]), "{protocol}");
        assert_eq!(same["changes"][0]["made_while_running"], false);
        // A checkpoint has what was changed before it.
        let resumed = summary(folder, &["resume", "long.checkpoint", "--set", "run.protocol=null-message"]);
        assert_eq!((&resumed["digest"], &resumed["changes"]), (&live["digest"], changes), "{protocol}");
    }
}

#[test]
fn changes_of_a_scenario_hold_in_several_processes_and_are_kept_by_checkpoints() {
    let folder = folder_of(&[("long.toml", &streets())]);
    let folder = folder.path();
    let changes = serde_json::json!([
        { "at_s": 0, "set": "model.demand", "to": 0.8 },
        { "at_s": 700, "set": "model.cycle", "to": "31s" },
    ]);
    let reference = scheduled(folder, &changes, "sequential");
    for options in [&["--processes", "2"][..], &["--processes", "2", "--set", "run.protocol=optimistic"]] {
        let apart = summary(folder, &[&["run", "scheduled.toml"], options].concat());
        assert_eq!((&apart["digest"], &apart["changes"]), (&reference["digest"], &reference["changes"]));
    }
    let refused = command(folder, &["resume", "none.checkpoint", "--set", "run.change=[]"]).output().unwrap();
    assert!(
        stderr(&refused).contains("run.ties and run.change, which decide its result"),
        "{}",
        stderr(&refused)
    );
}
