//! `paceline ctl`: a run is asked how far it is, and its threads change while it runs.
#![cfg(unix)]

mod parameters;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::{Running, folder_of, send, stderr, stdout};

const PHOLD: &str = r#"# Long enough to be looked at
[model]
kind = "phold"
lps = 512
messages_per_lp = 4

[run]
until = "12000s"
federates = 8
threads = 1
"#;

/// A folder with a scenario, where runs have their sockets as well.
fn folder() -> tempfile::TempDir {
    folder_of(&[("long.toml", PHOLD)])
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder).args(arguments).env("XDG_RUNTIME_DIR", folder);
    command
}

fn ctl(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, &[&["ctl"], arguments].concat()).output().unwrap()
}

/// Starts a run and waits until it listens; nothing where it has ended before.
fn listening(folder: &Path, options: &[&str]) -> Option<Running> {
    let arguments = [&["run", "long.toml", "--json"], options].concat();
    let mut child = Running::start(command(folder, &arguments).stdout(Stdio::piped()));
    let pid = child.id().to_string();
    while !ctl(folder, &["status", "--pid", &pid]).status.success() {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
    }
    Some(child)
}

/// A run that goes on for long after it listens.
fn start(folder: &Path, options: &[&str]) -> Running {
    listening(folder, options).expect("it goes on until it is looked at")
}

/// Waits until every thread has stopped: the signal reaches one after the other.
fn until_stopped(child: &Running) {
    let stopped =
        |task: fs::DirEntry| fs::read_to_string(task.path().join("status")).unwrap().contains("State:\tT");
    let tasks = format!("/proc/{}/task", child.id());
    while !fs::read_dir(&tasks).unwrap().all(|task| stopped(task.unwrap())) {
        std::thread::yield_now();
    }
}

fn summary(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The summaries of a run whose number of threads changed while it went on, and of the sequential run.
/// Nothing where the run had ended before its threads changed.
fn changed(folder: &Path, protocol: &str, until: &str) -> Option<[Value; 2]> {
    let options = ["--set", protocol, "--set", until];
    let child = listening(folder, &options)?;
    let mut accepted = 0;
    for threads in ["8", "2", "1"] {
        accepted += u32::from(ctl(folder, &["threads", threads]).status.success());
        let status = stdout(&ctl(folder, &["status"]));
        assert!(
            status.is_empty() || status.contains("long: at ") && status.contains(" events, threads "),
            "{status}"
        );
    }
    let changed = summary(&child.wait_with_output());
    // A change that was accepted is made at the next pause, before which the run may end.
    if accepted == 0 || changed["legs"].as_u64() < Some(2) || changed["threads"].as_u64() < Some(2) {
        return None;
    }
    let reference = ["run", "long.toml", "--json", "--set", "run.protocol=sequential", "--set", until];
    let alone = command(folder, &reference).output().unwrap();
    Some([changed, summary(&alone)])
}

#[test]
fn threads_change_and_the_digest_stays() {
    let folder = folder();
    for protocol in ["run.protocol=window", "run.protocol=null-message"] {
        // How much of a run passes before a command reaches it depends on the machine: one that was missed is
        // made longer.
        let longer = ["12000s", "60000s", "300000s"].map(|until| format!("run.until={until}"));
        let runs = longer.iter().find_map(|until| changed(folder.path(), protocol, until));
        let [changed, alone] = runs.expect("the threads of a run that takes half a minute change");
        assert_eq!(changed["digest"], alone["digest"], "{protocol}");
        assert_eq!(changed["events_committed"], alone["events_committed"], "{protocol}");
    }
    let sockets = fs::read_dir(folder.path().join("paceline")).unwrap().count();
    assert_eq!(sockets, 0, "a run that has ended leaves no socket");
}

#[test]
#[cfg(target_os = "linux")]
fn threads_follow_the_cores_that_the_process_may_use() {
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let folder = folder();
    let text = PHOLD.replace("threads = 1\n", "").replace("12000s", "400000s");
    fs::write(folder.path().join("long.toml"), text).unwrap();
    // Long enough for two looks at the cores, and short enough to end if there are none.
    let mut child = start(folder.path(), &[]);
    let pid = Pid::from_child(&child);
    let all = sched_getaffinity(Some(pid)).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).unwrap());
    for cores in [one, all] {
        sched_setaffinity(Some(pid), &cores).unwrap();
        let expected = format!(" threads {}\n", cores.count());
        while !stdout(&ctl(folder.path(), &["status"])).ends_with(&expected) {
            assert!(child.try_wait().unwrap().is_none(), "it goes on until it is killed");
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn one_message_says_which_run_there_is() {
    let folder = folder();
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = ctl(folder.path(), arguments);
        let message = stderr(&output);
        assert!(output.status.code() == Some(1) && message.lines().count() == 1, "{message}");
        words.iter().for_each(|word| assert!(message.contains(word), "{message:?} says {word:?}"));
    };
    refused(&["status"], &["no run of paceline is in progress"]);
    let endless = ["--set", "run.until=300d"];
    let mut first = start(folder.path(), &endless);
    let mut second = start(folder.path(), &[&endless[..], &["--set", "run.protocol=sequential"]].concat());
    let pids = [first.id().to_string(), second.id().to_string()];
    let listed = |text: &str| {
        for pid in &pids {
            let line = text.lines().find(|line| line.trim_start().starts_with(pid)).unwrap_or_default();
            assert!(line.contains("long: at ") && line.ends_with(" events, threads 1"), "{text}");
        }
    };
    let all = ctl(folder.path(), &["status"]);
    assert!(all.status.success() && stdout(&all).lines().count() == 2, "{}", stderr(&all));
    listed(&stdout(&all));
    let several = ctl(folder.path(), &["threads", "2"]);
    let message = stderr(&several);
    assert!(several.status.code() == Some(1) && message.lines().count() == 3, "{message}");
    assert!(
        message.contains("2 runs are in progress, and none of them was changed") && message.contains("--pid")
    );
    listed(&message);
    refused(&["status", "--pid", "1"], &["process 1 is not a run", &pids[0]]);
    refused(&["threads", "2", "--pid", &pids[1]], &["sequential", "one thread"]);
    assert!(ctl(folder.path(), &["threads", "2", "--pid", &pids[0]]).status.success());
    // One that is stopped still counts as one of several.
    send(&second, Signal::STOP);
    until_stopped(&second);
    let several = ctl(folder.path(), &["threads", "1"]);
    let message = stderr(&several);
    assert!(several.status.code() == Some(1) && message.contains("none of them was changed"), "{message}");
    assert!(message.contains(&format!("{}  scenario unknown: does not answer", pids[1])), "{message}");
    send(&second, Signal::CONT);
    for threads in ["0", "4097", "many"] {
        assert_eq!(ctl(folder.path(), &["threads", threads]).status.code(), Some(2), "{threads}");
    }
    // A killed run cannot remove its socket; the next command that lists runs does.
    for child in [&mut first, &mut second] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let sockets = || fs::read_dir(folder.path().join("paceline")).unwrap().count();
    assert_eq!(sockets(), 2);
    refused(&["status"], &["no run of paceline is in progress"]);
    assert_eq!(sockets(), 0);
}

#[test]
fn a_run_of_processes_is_stepped_and_says_why_they_wait() {
    let scenario = "[model]\nkind = \"chord\"\npeers = 50\n\n[network]\nlatency = \"20ms\"\n\n[run]\nuntil = \"1000000000s\"\n";
    let folder = folder_of(&[("long.toml", scenario)]);
    let mut run = start(folder.path(), &[]);
    let said = |arguments: &[&str]| stdout(&ctl(folder.path(), arguments));
    let step = said(&["step"]);
    assert!(
        step.starts_with("at ") && step.contains(" `peer` on host ") && step.contains(" resumed"),
        "{step}"
    );
    // It is held before the next turn, whatever is asked; one of the three may have that turn.
    let whys = ["7", "8", "9"].map(|process| said(&["why", process]));
    let at = whys[0].split(" process").next().unwrap();
    assert!(whys.iter().all(|why| why.starts_with(at)), "{whys:?}");
    let waits = |why: &String| why.contains(" waits for ") && why.contains(", since ");
    assert!(whys.iter().any(waits), "{whys:?}");
    let steps = said(&["step", "3"]);
    assert!(steps.starts_with(at) && steps.lines().count() == 3, "{steps}, held {at}");
    assert!(said(&["why", "nobody"]).contains("there is no process nobody"));
    assert!(said(&["go"]).starts_with("the run goes on, from "));
    let refused = ctl(folder.path(), &["threads", "2"]);
    assert!(stderr(&refused).contains("is a model of processes, whose number of threads stays"));
    send(&run, Signal::INT);
    run.wait().unwrap();
}

/// A run whose owner this is.
fn owned(folder: &Path, options: &[&str]) -> Running {
    let arguments = [&["run", "long.toml", "--json", "--owned"], options].concat();
    Running::start(
        command(folder, &arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()),
    )
}

/// Asks a run one thing after the other, and gives the answers.
fn answers(run: &mut Running, requests: &[&str]) -> Vec<Value> {
    let mut input = run.stdin.take().expect("it is piped");
    let mut output = BufReader::new(run.stdout.take().expect("it is piped"));
    let mut answers = Vec::new();
    for request in requests {
        writeln!(input, "{request}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        answers
            .push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{request}: {error}: {line:?}")));
    }
    (run.stdin, run.stdout) = (Some(input), Some(output.into_inner()));
    answers
}

#[test]
fn a_run_that_its_owner_advances_has_the_result_of_one_that_runs_through() {
    let folder = folder();
    let options = ["--set", "run.until=20s", "--set", "run.protocol=optimistic"];
    let whole = summary(
        &command(folder.path(), &[&["run", "long.toml", "--json"], &options[..]].concat()).output().unwrap(),
    );
    let mut run = owned(folder.path(), &options);
    let requests = [
        r#"{"until":"3s"}"#,
        r#""window""#,
        r#""event""#,
        r#"{"state":511}"#,
        r#""states""#,
        r#"{"threads":2}"#,
        r#"{"until":"3 parsecs"}"#,
        r#"{"state":512}"#,
        r#"{"send":{"to":1,"at":"2s","event":0}}"#,
        r#"{"jump":1}"#,
        r#"{"until":null}"#,
    ];
    let said = answers(&mut run, &requests);
    assert_eq!(
        (&said[0]["ok"]["time_s"], &said[0]["ok"]["reached"]),
        (&3.0.into(), &"time".into()),
        "{said:?}"
    );
    assert!(said[1]["ok"]["events"].as_u64() > said[0]["ok"]["events"].as_u64(), "{said:?}");
    assert!(said[2]["ok"]["event"]["lp"].is_u64() && said[2]["ok"]["event"]["sent"].is_array(), "{said:?}");
    assert_eq!(said[3]["ok"]["state"], said[4]["ok"]["states"][511], "{said:?}");
    for (place, words) in [(6, "parsecs"), (7, "allowed: LPs below 512"), (8, ""), (9, "jump")] {
        assert!(said[place]["error"].as_str().is_some_and(|error| error.contains(words)), "{said:?}");
    }
    assert_eq!((&said[10]["ok"]["reached"], &said[10]["ok"]["next_time_s"]), (&"end".into(), &Value::Null));
    writeln!(run.stdin.as_mut().unwrap(), "\"finish\"").unwrap();
    let stepped = summary(&run.wait_with_output());
    assert_eq!((&stepped["digest"], &stepped["ended_by"]), (&whole["digest"], &"horizon".into()));
}

#[test]
fn a_run_ends_where_its_owner_ends_it_or_has_gone() {
    let folder = folder();
    let endless = ["--set", "run.until=1000000h"];
    for is_gone in [false, true] {
        let mut run = owned(folder.path(), &endless);
        let said = answers(&mut run, &[r#"{"until":"5s"}"#]);
        match is_gone {
            true => drop(run.stdin.take()),
            false => writeln!(run.stdin.as_mut().unwrap(), "\"finish\"").unwrap(),
        }
        let output = run.wait_with_output();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let ended: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&ended["ended_by"], &ended["events_committed"]),
            (&"interrupted".into(), &said[0]["ok"]["events"])
        );
    }
}

#[test]
fn progress_is_written_as_lines_for_programs() {
    let folder = folder();
    let arguments = ["run", "long.toml", "--json", "--progress-lines", "--set", "run.until=2000s"];
    let output = command(folder.path(), &arguments).output().unwrap();
    let last = stderr(&output).lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).next_back();
    let progress = &last.expect("it takes more than a tenth of a second")["progress"];
    assert!(progress["time_s"].as_f64() > Some(0.0) && progress["until_s"] == 2000.0, "{progress}");
    assert!(progress["events"].as_u64() <= summary(&output)["events_committed"].as_u64(), "{progress}");
}
