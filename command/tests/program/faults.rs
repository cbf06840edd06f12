//! Runs that lose a process: the others end by themselves and say who and why, and the run goes on from its
//! last checkpoint.
#![cfg(target_os = "linux")]

mod start;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::together::{Started, until};
use crate::{folder_of, paceline, stderr};

const PHOLD: &str = "[model]\nkind = \"phold\"\nlps = 64\nmessages_per_lp = 4\n[run]\nuntil = \"300d\"\nthreads = 1\nfederates = 6\ncheckpoint = \"20ms\"\n";

fn folder() -> tempfile::TempDir {
    folder_of(&[("long.toml", PHOLD)])
}

/// Starts three processes, and waits until they have written a checkpoint: the first, and the ids of the
/// others.
fn start(folder: &Path, options: &[&str]) -> (Started, Vec<Pid>) {
    let arguments = [&["run", "long.toml", "--json", "--processes", "3"], options].concat();
    let mut first = Started::new(folder, "first", &arguments);
    until("there is a checkpoint", || {
        assert!(first.child.try_wait().unwrap().is_none(), "it goes on: {}", first.stderr());
        folder.join("long.checkpoint").exists().then_some(())
    });
    let others = others(&first);
    assert_eq!(others.len(), 2);
    (first, others)
}

/// The processes that one has started.
fn others(first: &Started) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", first.child.id())).unwrap();
    // A thread that has ended meanwhile has left its children to others.
    let children =
        threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default());
    let children: String = children.collect();
    children.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect()
}

/// Whether a process runs: it is there, and not only its exit status.
fn runs(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn first_pid(first: &Started) -> Pid {
    Pid::from_raw(first.child.id() as i32).unwrap()
}

/// The checkpoint goes on with `processes` to the digest of a run of one process.
fn assert_resumes(folder: &Path, processes: &str) {
    for end in ["run.until=2000s", "run.until=20000s", "run.until=200000s"] {
        let arguments = ["resume", "long.checkpoint", "--json", "--processes", processes, "--set", end];
        let resumed = paceline(folder, &arguments);
        if stderr(&resumed).contains("not before the horizon") {
            // It had come farther.
            continue;
        }
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        let resumed: Value = serde_json::from_slice(&resumed.stdout).unwrap();
        assert!(resumed["events_resumed"].as_u64() > Some(0), "{resumed}");
        assert_eq!(resumed["digest"], digest(folder, end));
        return;
    }
    panic!("a checkpoint of less than 200000 simulated seconds");
}

fn digest(folder: &Path, end: &str) -> Value {
    let sets = ["--set", end, "--set", "run.protocol=sequential", "--set", "run.checkpoint=1h"];
    let one = paceline(folder, &[&["run", "long.toml", "--json"], &sets[..]].concat());
    assert!(one.status.success(), "{}", stderr(&one));
    serde_json::from_slice::<Value>(&one.stdout).unwrap()["digest"].clone()
}

/// Asserts that the run has ended as specified, with this reason, and that nothing is left of it.
#[track_caller]
fn assert_lost(first: &mut Started, others: &[Pid], reason: &str) {
    assert_eq!(first.status(), Some(1));
    let printed = first.stderr();
    // The warning that a process is silent comes before the error that it is lost.
    let lines: Vec<_> =
        printed.lines().filter(|line| !line.starts_with("warning: no sign of life")).collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(lines[0].starts_with("error: process ") && lines[0].ends_with(reason), "{printed}");
    assert!(lines[1].contains("`paceline resume long.checkpoint`"), "{printed}");
    assert!(!others.iter().any(|pid| runs(*pid)), "nothing is left running");
}

#[test]
fn a_killed_process_ends_the_run_which_can_be_resumed() {
    for link in ["shared-memory", "tcp"] {
        let folder = folder();
        let (mut first, others) = start(folder.path(), &["--link", link]);
        kill_process(others[1], Signal::KILL).unwrap();
        assert_lost(&mut first, &others, "of the run is lost: it is gone");
        assert_resumes(folder.path(), if link == "tcp" { "1" } else { "2" });
    }
}

#[test]
fn a_stopped_process_ends_the_run() {
    for link in ["shared-memory", "tcp"] {
        let folder = folder();
        let (mut first, others) = start(folder.path(), &["--link", link, "--silence", "3s"]);
        kill_process(others[0], Signal::STOP).unwrap();
        let stopped = Instant::now();
        until("it is reported before", || {
            first.stderr().contains("warning: no sign of life from process").then_some(())
        });
        assert!(first.child.try_wait().unwrap().is_none(), "it is not lost yet");
        assert_lost(&mut first, &others, "of the run is lost: no sign of life for 3s");
        let took = stopped.elapsed();
        assert!(took < Duration::from_secs(5), "{link}: once the limit, and not twice: {took:?}");
        let printed = first.stderr();
        assert_eq!(printed.lines().filter(|line| line.starts_with("warning: ")).count(), 1, "{printed}");
    }
}

#[test]
fn a_process_that_is_stopped_for_a_while_is_reported_and_not_lost() {
    for link in ["shared-memory", "tcp"] {
        let folder = folder();
        let (mut first, others) = start(folder.path(), &["--link", link, "--silence", "4s"]);
        kill_process(others[0], Signal::STOP).unwrap();
        until("it is reported", || {
            first.stderr().contains("warning: no sign of life from process").then_some(())
        });
        kill_process(others[0], Signal::CONT).unwrap();
        until("that it is back", || first.stderr().contains("gives signs of life again").then_some(()));
        kill_process(first_pid(&first), Signal::INT).unwrap();
        assert_eq!(first.status(), Some(130), "{}", first.stderr());
        assert_eq!(first.stderr().lines().count(), 2, "{}", first.stderr());
    }
}

#[test]
fn without_the_first_process_the_others_end() {
    for link in ["shared-memory", "tcp"] {
        let folder = folder();
        let (mut first, others) = start(folder.path(), &["--link", link]);
        kill_process(first_pid(&first), Signal::KILL).unwrap();
        assert_eq!(first.status(), None);
        until("the others end", || (!others.iter().any(|pid| runs(*pid))).then_some(()));
        let printed = first.stderr();
        assert_eq!(printed, "error: process 0 of the run is lost: it is gone\n", "once, though two see it");
    }
}

#[test]
fn a_run_that_loses_a_process_starts_again() {
    let folder = folder();
    let end = "run.until=10000s";
    let (mut first, others) = start(folder.path(), &["--restarts", "1", "--set", end]);
    kill_process(others[0], Signal::KILL).unwrap();
    assert_eq!(first.status(), Some(0), "{}", first.stderr());
    let printed = first.stderr();
    assert!(printed.contains("is lost: it is gone") && printed.contains("restarts left: 0"), "{printed}");
    let summary = first.summary();
    assert!(summary["events_resumed"].as_u64() > Some(0), "{summary}");
    assert_eq!((&summary["digest"], &summary["processes"]), (&digest(folder.path(), end), &3.into()));
}

#[test]
fn a_run_that_is_interrupted_ends_in_order() {
    for link in ["shared-memory", "tcp"] {
        let folder = folder();
        let (mut first, others) = start(folder.path(), &["--link", link]);
        kill_process(first_pid(&first), Signal::INT).unwrap();
        assert_eq!((first.status(), first.stderr()), (Some(130), String::new()));
        let summary = first.summary();
        assert_eq!((&summary["ended_by"], &summary["processes"]), (&"interrupted".into(), &3.into()));
        assert!(!others.iter().any(|pid| runs(*pid)), "nothing is left running");
        assert_resumes(folder.path(), "2");
    }
}
