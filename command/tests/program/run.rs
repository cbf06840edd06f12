//! What a run prints and writes, and with which status it ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[cfg(unix)]
use crate::send;
use crate::{PROTOCOLS, Running, error_text, folder_of, paceline, says, stderr, stdout};
#[cfg(unix)]
use rustix::process::Signal;
use serde_json::Value;

const PHOLD: &str = r#"# A small PHOLD
[model]
kind = "phold"
lps = 32
messages_per_lp = 1.5

[run]
until = "20s"
"#;

fn folder() -> tempfile::TempDir {
    folder_of(&[("small.toml", PHOLD)])
}

fn json(folder: &Path, options: &[&str]) -> Value {
    let arguments: Vec<&str> = ["run", "small.toml", "--json"].iter().chain(options).copied().collect();
    let output = paceline(folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stderr.is_empty(), "no progress where there is no terminal");
    serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
}

#[test]
fn json_says_everything() {
    let folder = folder();
    let summary = json(folder.path(), &["--set", "run.threads=2", "--set", "run.federates=3"]);
    let number =
        |key: &str| summary[key].as_f64().unwrap_or_else(|| panic!("{key} is a number: {}", summary[key]));
    assert_eq!((&summary["model"], &summary["scenario"]), (&"phold".into(), &"small".into()));
    assert_eq!(summary["protocol"], "auto");
    assert_eq!((number("lps"), number("federates"), number("threads")), (32.0, 3.0, 2.0));
    assert_eq!((number("end_time_s"), &summary["ended_by"]), (20.0, &"horizon".into()));
    let digest = summary["digest"].as_str().unwrap();
    assert!(digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
    // 48 messages, each handled about once in the sum of lookahead and mean, 2 s.
    assert!((400.0..560.0).contains(&number("events_committed")), "{summary}");
    let speed = number("events_committed") / number("wall_seconds");
    assert!((number("events_per_second") / speed - 1.0).abs() < 1e-6);
    assert!(number("windows") >= 1.0 && number("null_messages") == 0.0);
    assert!(cfg!(not(target_os = "linux")) || number("peak_memory_bytes") > 1e5);
    assert_eq!(summary["results"]["messages"], 48);
}

#[test]
fn results_say_what_they_come_from() {
    let folder = folder();
    let ring =
        "[model]\nkind = \"chord\"\npeers = 20\n[network]\nlatency = \"250ms\"\n[run]\nuntil = \"5s\"\n";
    fs::write(folder.path().join("ring.toml"), ring).unwrap();
    let results_of = |arguments: &[&str]| {
        let output = paceline(folder.path(), &[arguments, &["--json", "--out", "out"]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let file = fs::read(folder.path().join("out/summary.json")).unwrap();
        let (all, file): (Value, Value) =
            (serde_json::from_slice(&output.stdout).unwrap(), serde_json::from_slice(&file).unwrap());
        for key in ["program", "version", "host", "horizon_s", "parameters"] {
            assert!(file.get(key).is_some() && file[key] == all[key], "{key}: {file}");
        }
        assert_eq!(file["version"], env!("CARGO_PKG_VERSION"));
        assert!(file["host"]["system"].as_str().is_some_and(|system| !system.is_empty()), "{file}");
        (file["horizon_s"].clone(), file["parameters"].clone())
    };
    let phold = serde_json::json!({ "kind": "phold", "lps": 16, "messages_per_lp": 1.5 });
    let run = ["run", "small.toml", "--set", "model.lps=16", "--set", "run.until=7s"];
    assert_eq!(results_of(&run), (7.0.into(), serde_json::json!({ "model": phold })));
    let chord = serde_json::json!({ "kind": "chord", "peers": 20 });
    let chord = serde_json::json!({ "model": chord, "network": { "latency": "250ms" } });
    assert_eq!(results_of(&["run", "ring.toml"]), (5.0.into(), chord));
}

#[test]
fn balance_keeps_the_result_and_is_one_of_three_words() {
    let folder = folder();
    let plain = json(folder.path(), &["--set", "run.federates=3"]);
    assert!(plain["imbalance_before"].is_null(), "nobody has looked: {plain}");
    for balance in ["load", "load+communication"] {
        let balance = format!("run.balance={balance}");
        let summary = json(folder.path(), &["--set", "run.federates=3", "--set", &balance]);
        assert_eq!(summary["digest"], plain["digest"], "{balance}");
        assert!(summary["imbalance_before"].as_f64() >= Some(1.0), "{balance}: {summary}");
    }
    let output = paceline(folder.path(), &["run", "small.toml", "--set", "run.balance=much"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("balance") && said.contains("load+communication"), "{said}");
}

#[test]
fn ties_can_be_broken_at_random_and_reproducibly() {
    let folder = folder();
    let random = || json(folder.path(), &["--set", "run.ties=random"])["digest"].clone();
    assert_eq!(random(), random());
    assert_ne!(random(), json(folder.path(), &[])["digest"]);
}

#[test]
fn people_get_a_page_or_a_line() {
    let folder = folder();
    let page = paceline(folder.path(), &["run", "small.toml", "--out", "out"]);
    let digest = json(folder.path(), &[])["digest"].as_str().unwrap().to_owned();
    let text = stdout(&page);
    assert!(page.status.success() && page.stderr.is_empty(), "{}", stderr(&page));
    says(&text, &["small (phold)", "horizon", "events", &digest, "out/summary.json"]);
    let line = paceline(folder.path(), &["run", "small.toml", "--quiet"]);
    assert!(line.stderr.is_empty() && stdout(&line).lines().count() == 1 && stdout(&line).contains(&digest));
}

#[test]
fn why_a_run_ended_is_reported() {
    let folder = folder();
    let empty = json(folder.path(), &["--set", "model.messages_per_lp=0"]);
    assert_eq!((&empty["ended_by"], &empty["events_committed"]), (&"no-events".into(), &0.into()));
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_run_ends_with_the_summary_so_far_and_the_status_of_its_signal() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        interrupt(signal, status);
    }
}

#[cfg(target_os = "linux")]
fn interrupt(signal: Signal, status: i32) {
    let folder = folder();
    // Long enough to be interrupted, and short enough to end if it cannot be.
    let long = ["run", "small.toml", "--json", "--out", "out", "--set", "run.until=300d"];
    // Under nohup, as a test may be, SIGHUP is ignored.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_paceline")]).args(long);
    let mut child = Running::start(command.current_dir(folder.path()).stdout(Stdio::piped()));
    // Signals are handled before the folder is made.
    while !folder.path().join("out").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is interrupted");
        std::thread::yield_now();
    }
    // Twice at once, as it comes from programs that signal a process and its group.
    send(&child, signal);
    send(&child, signal);
    let output = child.wait_with_output();
    assert_eq!((output.status.code(), stderr(&output)), (Some(status), String::new()));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["ended_by"], "interrupted");
    let file: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/summary.json")).unwrap()).unwrap();
    assert_eq!((&file["ended_by"], &file["digest"]), (&summary["ended_by"], &summary["digest"]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_under_nohup_goes_on_when_its_terminal_goes_away() {
    let folder = folder();
    let script = "trap '' HUP; exec \"$0\" run small.toml --json --out out --set run.until=300d";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_paceline")]).current_dir(folder.path());
    let mut child = Running::start(command.stdout(Stdio::piped()));
    while !folder.path().join("out").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is interrupted");
        std::thread::yield_now();
    }
    // Where both are handled, the first decides the status.
    send(&child, Signal::HUP);
    send(&child, Signal::INT);
    assert_eq!(child.wait_with_output().status.code(), Some(130));
}

#[test]
fn a_failure_while_running_is_status_1_and_leaves_no_files() {
    let folder = folder();
    // Two hops of 290 years reach the end of the clock.
    let far = [
        "run",
        "small.toml",
        "--out",
        "out",
        "--set",
        "model.lookahead=106000d",
        "--set",
        "run.until=213000d",
    ];
    let output = paceline(folder.path(), &far);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("LP ") && message.contains("beyond the end of the clock"), "{message}");
    assert!(!folder.path().join("out").exists());
    says(
        &error_text(folder.path(), &["run", "small.toml", "--out", "small.toml"], 1),
        &["cannot write small.toml"],
    );
    assert_eq!(fs::read_to_string(folder.path().join("small.toml")).unwrap(), PHOLD);
}

#[test]
fn check_and_list_say_what_there_is() {
    let folder = folder();
    fs::create_dir(folder.path().join("scenarios")).unwrap();
    fs::copy(folder.path().join("small.toml"), folder.path().join("scenarios/small.toml")).unwrap();
    let check = stdout(&paceline(folder.path(), &["check", "small.toml"]));
    says(&check, &["small.toml is sound", "phold", "32", "20 s", "auto"]);
    let list = stdout(&paceline(folder.path(), &["list"]));
    for word in PROTOCOLS.iter().chain(&["phold", "run.frame_bytes", "scenarios/small.toml  "]) {
        assert!(list.contains(word), "{list} says {word}");
    }
    assert!(list.contains("A small PHOLD"));
}

#[test]
fn every_scenario_of_the_project_is_sound() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(project.join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let scenarios: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(!scenarios.is_empty());
    for scenario in scenarios {
        let text = fs::read_to_string(&scenario).unwrap();
        assert!(
            text.starts_with("# ") && text.contains("\n# short: "),
            "{} says what it is",
            scenario.display()
        );
        // A line "# needs: FILE ..." names data that the project does not hold.
        let mut needed =
            text.lines().filter_map(|line| line.strip_prefix("# needs: ")).flat_map(str::split_whitespace);
        if needed.all(|file| project.join(file).exists()) {
            let output = paceline(&project, &["check", scenario.to_str().unwrap()]);
            assert!(output.status.success(), "{}: {}", scenario.display(), stderr(&output));
        }
    }
}
