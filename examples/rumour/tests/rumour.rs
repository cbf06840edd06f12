//! A model of processes has the program that models of LPs have: one result however it is run, mistakes with
//! their places, replications.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rumour.toml");

fn rumour(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rumour")).args(arguments).output().expect("the program starts")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a summary is JSON")
}

fn run(settings: &[&str]) -> Value {
    json(&rumour(&[&["run", SCENARIO, "--json"], settings].concat()))
}

/// Standard error of a command that is refused.
fn refused(arguments: &[&str]) -> String {
    let output = rumour(arguments);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    printed
}

#[test]
fn a_rumour_spreads_in_the_same_way_however_it_is_run() {
    let reference = run(&["--set", "run.threads=1"]);
    assert_eq!((&reference["model"], &reference["ended_by"]), (&"Rumour".into(), &"processes".into()));
    assert_eq!(reference["program"], env!("CARGO_PKG_NAME"));
    // Whoever hears a rumour of three tellings hears it with 1 - exp(-3 z) = z: z = 0.94.
    let heard = reference["results"]["people_who_heard"].as_u64().expect("it is a number");
    assert!((910..970).contains(&heard), "{reference}");
    for settings in
        [&["run.threads=2", "run.round=always"][..], &["run.federates=4"], &["run.context=coroutine"]]
    {
        let settings: Vec<&str> = settings.iter().flat_map(|value| ["--set", value]).collect();
        let other = run(&settings);
        for key in ["digest", "results", "messages", "end_time_s"] {
            assert_eq!(other[key], reference[key], "{key} with {settings:?}");
        }
    }
    let other = run(&["--set", "run.seed=2"]);
    assert_ne!((&other["digest"], &other["results"]), (&reference["digest"], &reference["results"]));
}

#[test]
fn it_has_the_commands_of_every_program() {
    let checked = rumour(&["check", SCENARIO]);
    let printed = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && printed.contains("Rumour") && printed.contains("1,000"), "{printed}");
    let list = rumour(&["list"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("the type Rumour"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("out").display().to_string();
    let alone = run(&["--out", &out]);
    let summary = fs::read(folder.path().join("out/summary.json")).expect("the summary was written");
    let summary: Value = serde_json::from_slice(&summary).expect("a summary is JSON");
    assert_eq!((&summary["digest"], &summary["files"][0]), (&alone["digest"], &"statistics.csv".into()));
    let rows =
        fs::read_to_string(folder.path().join("out/statistics.csv")).expect("the model's file was written");
    assert!(rows.starts_with("name,kind,count,mean,") && rows.contains("\nhops,tally,"), "{rows}");
    let all = json(&rumour(&["replicate", SCENARIO, "--replications", "3", "--json"]));
    assert_eq!(all["runs"][0]["digest"], alone["digest"], "the first replication is the run with its seed");
    assert_eq!(all["runs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn mistakes_are_reported_with_their_places() {
    for (change, printed) in [
        ("model.people=1", "1 people; allowed: at least 2"),
        ("model.persons=5", "persons"),
        ("network.model=lv08", "platform"),
        ("run.federates=0", "from 1 to 1000, the number of hosts"),
        ("run.checkpoint=1s", "code that waits in its midst"),
    ] {
        let found = refused(&["run", SCENARIO, "--set", change]);
        assert!(found.contains(printed), "{change}: {found}");
    }
    let same = rumour(&["check", "--determinism", SCENARIO]);
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stderr));
    let stopped = run(&["--set", "run.until=1h"]);
    assert_eq!((&stopped["ended_by"], &stopped["end_time_s"]), (&"horizon".into(), &3600.0.into()));
}
