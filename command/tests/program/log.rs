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

const PROCESSES: &str =
    "[model]\nkind = \"chord\"\npeers = 20\n\n[network]\nlatency = \"20ms\"\n\n[run]\nuntil = \"60s\"\n";

#[test]
fn a_log_of_processes_has_their_waits_the_same_on_any_number_of_threads() {
    let folder = folder_of(&[("small.toml", PROCESSES)]);
    let all = log(folder.path(), &[]).1;
    let threads = ["--set", "run.threads=2", "--set", "run.round=always"];
    assert_eq!(log(folder.path(), &threads).1, all);
    let lines: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let number = |line: &Value, key: &str| line[key].as_u64().unwrap();
    let mut last = [0; 20];
    for line in &lines {
        let (from, to) = (number(line, "from_ns"), number(line, "to_ns"));
        let process = number(line, "process");
        // A turn takes no time, so a wait begins where the one before ended, to the nanosecond.
        assert_eq!(last[process as usize], from, "{line}");
        assert!(from <= to, "{line}");
        last[process as usize] = to;
        assert_eq!(line["waited_for"]["kind"], "message");
        assert_eq!(line["waited_for"]["name"], format!("mailbox {process}"));
        assert!(line["result"] == "message" || line["reason"] == "the time limit has expired", "{line}");
    }
    assert!(lines.iter().any(|line| line["result"] == "message"));
    assert!(lines.windows(2).all(|pair| number(&pair[0], "to_ns") <= number(&pair[1], "to_ns")));
    let arguments = ["--log-processes", "3,7-9", "--log-from", "10s", "--log-to", "20s"];
    let (_, part) = log(folder.path(), &arguments);
    let is_asked_for = |line: &&str| {
        let line = serde_json::from_str(line).unwrap();
        (10_000_000_000..20_000_000_000).contains(&number(&line, "to_ns"))
            && [3, 7, 8, 9].contains(&number(&line, "process"))
    };
    let wanted: Vec<_> = all.lines().filter(is_asked_for).collect();
    assert!(!wanted.is_empty());
    assert_eq!(part.lines().collect::<Vec<_>>(), wanted);
    let refused = run(folder.path(), &["--log", "log", "--log-lps", "3"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("allowed: --log-processes"), "{}", stderr(&refused));
}
