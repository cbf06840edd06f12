//! Disks that are full, and folders that cannot be written: what has been computed is told all the same.
//!
//! A limit of the size of files stands for a full disk: a file can be made, and not a byte written to it.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{paceline, stderr, stdout};
use serde_json::Value;

const PHOLD: &str = r#"[model]
kind = "phold"
lps = 32
messages_per_lp = 1.5

[run]
until = "20s"
"#;

const CHORD: &str = "[model]\nkind = \"chord\"\npeers = 20\n[run]\nuntil = \"5s\"\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), PHOLD).unwrap();
    fs::write(folder.path().join("ring.toml"), CHORD).unwrap();
    folder
}

/// Runs `paceline` where no file can grow beyond so many kilobytes.
fn on_a_full_disk(folder: &Path, kilobytes: u32, arguments: &[&str]) -> Output {
    let limited = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_paceline")]).args(arguments);
    command.current_dir(folder).output().expect("there is a bash")
}

#[test]
fn results_are_told_before_files_are_written() {
    let folder = folder();
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/machine-phold.toml");
    let machine = machine.to_str().unwrap();
    for command in [
        &["run", "small.toml"][..],
        &["run", "ring.toml"],
        &["machine", machine, "--set", "domain.horizon=2s"],
    ] {
        for form in [&["--json"][..], &["--quiet"], &[]] {
            let told = paceline(folder.path(), &[command, form].concat());
            let full = on_a_full_disk(folder.path(), 0, &[command, form, &["--out", "out"]].concat());
            let message = stderr(&full);
            assert_eq!(full.status.code(), Some(1), "{command:?}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(message.starts_with("error: cannot write out/summary.json: "), "{message}");
            let digest = |output: &Output| {
                let text = stdout(output);
                let digest = text
                    .split_whitespace()
                    .skip_while(|word| !word.contains("digest") && *word != "schedule")
                    .nth(1);
                digest.map(|word| word.to_owned()).unwrap_or_else(|| panic!("{text} has a digest"))
            };
            assert_eq!(digest(&full), digest(&told), "{command:?} {form:?}");
            assert_eq!(stdout(&full).lines().count(), stdout(&told).lines().count());
            assert!(!folder.path().join("out").exists(), "nothing unfinished is left");
        }
    }
}

#[test]
fn replications_are_told_whose_files_cannot_be_written() {
    let folder = folder();
    let full = on_a_full_disk(
        folder.path(),
        0,
        &["replicate", "small.toml", "--replications", "2", "--json", "--out", "out"],
    );
    let message = stderr(&full);
    assert_eq!(full.status.code(), Some(1), "{message}");
    let told: Value = serde_json::from_slice(&full.stdout).expect("exactly one JSON object");
    assert_eq!(told["completed"], 2, "{told}");
    assert!(told["runs"].as_array().unwrap().iter().all(|run| run["digest"].is_string()), "{told}");
    assert!(message.contains("cannot write out/"), "{message}");
}

#[test]
fn files_are_written_though_nobody_reads_the_summary() {
    let folder = folder();
    let mut command = Command::new("bash");
    let unread = "\"$0\" run small.toml --out out >/dev/full";
    let output =
        command.args(["-c", unread, env!("CARGO_BIN_EXE_paceline")]).current_dir(folder.path()).output();
    let output = output.expect("there is a bash");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: cannot write to standard output: "), "{}", stderr(&output));
    assert!(folder.path().join("out/summary.json").exists());
}
