//! `run --log`: the events that happened, the same bytes in every way to run.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::{folder_of, paceline, stderr};

const SCENARIO: &str = "[model]\nkind = \"phold\"\nlps = 12\nmessages_per_lp = 2\nlookahead = \"0.5s\"\nmean = \"1s\"\n\n[run]\nuntil = \"40s\"\n";

fn folder() -> tempfile::TempDir {
    folder_of(&[("small.toml", SCENARIO)])
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    paceline(folder, &[&["run", "small.toml", "--json"], arguments].concat())
}

fn log(folder: &Path, arguments: &[&str]) -> (Value, String) {
    let output = run(folder, &[&["--log", "log"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let summary = serde_json::from_slice(&output.stdout).expect("a JSON object");
    (summary, fs::read_to_string(folder.join("log")).unwrap())
}

#[test]
fn a_log_is_the_same_however_the_run_is_divided_and_holds_all_events() {
    let folder = folder();
    let (summary, all) = log(folder.path(), &["--set", "run.protocol=sequential"]);
    assert_eq!(summary["events_committed"].as_u64(), Some(all.lines().count() as u64));
    for protocol in ["window", "null-message", "optimistic", "mixed"] {
        let protocol = format!("run.protocol={protocol}");
        let arguments = ["--set", &protocol, "--set", "run.federates=5", "--set", "run.threads=2"];
        assert_eq!(log(folder.path(), &arguments).1, all, "{protocol}");
    }
    let lines: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |line: &Value| (line["time_ns"].as_u64().unwrap(), line["lp"].as_u64().unwrap());
    assert!(lines.windows(2).all(|pair| place(&pair[0]) <= place(&pair[1])));
    assert!(lines.iter().all(|line| line["event"].is_string()));
    // A part of it: the same lines.
    let arguments = ["--log-lps", "3,7-9", "--log-from", "10s", "--log-to", "20s"];
    let (_, part) = log(folder.path(), &arguments);
    let is_asked_for = |line: &&str| {
        let (time_ns, lp) = place(&serde_json::from_str(line).unwrap());
        (10_000_000_000..20_000_000_000).contains(&time_ns) && [3, 7, 8, 9].contains(&lp)
    };
    let wanted: Vec<_> = all.lines().filter(is_asked_for).collect();
    assert!(!wanted.is_empty());
    assert_eq!(part.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn what_cannot_be_logged_is_reported_before_the_run() {
    let folder = folder();
    for (arguments, status, printed) in [
        (&["--log", "no/log"][..], 1, "cannot write no/log"),
        (&["--log", "."], 1, "cannot write ."),
        (&["--log", "log", "--log-lps", "9-3"], 2, "such as 3,7-9"),
        (&["--log", "log", "--log-from", "5s", "--log-to", "5s"], 2, "an empty span"),
        (&["--log-lps", "3"], 2, "--log"),
        (&["--log", "log", "--processes", "2"], 2, "a run in one process"),
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(printed), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
}
