//! `paceline check --determinism`: what it says, and how it ends. (Models that differ are in the engine's
//! tests; ours do not.)

use std::fs;
use std::process::{Command, Stdio};

use crate::{Running, error_text, folder_of, paceline, says, stderr, stdout};

const PHOLD: &str = "[model]\nkind = \"phold\"\nlps = 32\n\n[run]\nuntil = \"20s\"\n";

fn folder() -> tempfile::TempDir {
    folder_of(&[("small.toml", PHOLD)])
}

#[test]
fn a_sound_model_is_reported_how_far_it_was_compared() {
    let folder = folder();
    let run = paceline(folder.path(), &["run", "small.toml", "--quiet"]);
    let events = stdout(&run).split(' ').nth(1).unwrap().to_owned();
    let check = paceline(folder.path(), &["check", "--determinism", "small.toml"]);
    let said = stdout(&check);
    assert!(check.status.success() && check.stderr.is_empty(), "{}", stderr(&check));
    for word in ["small.toml do not differ", &format!("events compared  {events}\n"), "at the horizon, 20 s"]
    {
        assert!(said.contains(word), "{said} says {word}");
    }
    let limited = ["check", "--determinism", "small.toml", "--events", "100"];
    let said = stdout(&paceline(folder.path(), &limited));
    assert!(said.contains("events compared  100\n") && said.contains("as many events as wanted"), "{said}");
}

#[test]
fn a_rule_that_both_runs_break_is_reported_as_in_a_run() {
    let folder = folder();
    let far = ["--set", "model.lookahead=106000d", "--set", "run.until=213000d"];
    let arguments: Vec<&str> = ["check", "--determinism", "small.toml"].into_iter().chain(far).collect();
    says(&error_text(folder.path(), &arguments, 1), &["beyond the end of the clock"]);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = folder();
    for arguments in [
        &["--events", "100"][..],
        &["--determinism", "--events", "-1"],
        &["--determinism", "--set", "run.until=x"],
    ] {
        let arguments: Vec<&str> = ["check", "small.toml"].iter().chain(arguments).copied().collect();
        let output = paceline(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interruption_ends_it_with_what_was_compared() {
    let folder = folder();
    let endless =
        ["check", "--determinism", "small.toml", "--set", "run.until=200000d", "--events", "50000000"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    let mut child = Running::start(command.args(endless).current_dir(folder.path()).stdout(Stdio::piped()));
    // Long enough to be interrupted, and short enough to end if it cannot be.
    // Once the handler is set, the interruption is among the signals caught.
    let status = format!("/proc/{}/status", child.id());
    let catches = || {
        let text = fs::read_to_string(&status).unwrap();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        u64::from_str_radix(mask, 16).unwrap() & 0b10 != 0
    };
    while !catches() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is interrupted");
        std::thread::yield_now();
    }
    crate::send(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("interrupted at"), "{}", stdout(&output));
}
