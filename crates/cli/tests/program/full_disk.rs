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
                digest.unwrap_or_else(|| panic!("{text} has a digest")).to_owned()
            };
            assert_eq!(digest(&full), digest(&told), "{command:?} {form:?}");
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

const WITH_CHECKPOINTS: [&str; 4] = ["--set", "run.checkpoint=2ms", "--set", "run.until=2000s"];

#[test]
fn where_no_checkpoint_can_be_written_the_run_does_not_begin() {
    let folder = folder();
    let run = |arguments: &[&str]| {
        let output =
            paceline(folder.path(), &[&["run", "small.toml"], &WITH_CHECKPOINTS[..], arguments].concat());
        let message = stderr(&output);
        assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        assert!(output.stdout.is_empty(), "{}", stdout(&output));
        message
    };
    // Something stands where the file is to be, or beside it where it is made.
    fs::create_dir(folder.path().join("small.checkpoint")).unwrap();
    let message = run(&[]);
    assert!(
        message.starts_with("error: cannot write the checkpoint small.checkpoint: it is a folder"),
        "{message}"
    );
    fs::create_dir_all(folder.path().join("out/.small.checkpoint.unfinished")).unwrap();
    let message = run(&["--out", "out"]);
    assert!(message.starts_with("error: cannot write the checkpoint out/small.checkpoint: "), "{message}");
    assert!(message.contains("allowed: a folder in which you may make files"), "{message}");
}

#[test]
fn a_run_goes_on_where_the_disk_is_full_at_a_checkpoint() {
    let folder = folder();
    let checkpoint = ["--set", "run.checkpoint=1ms"];
    for processes in [&[][..], &["--processes", "2", "--link", "tcp"]] {
        // Runs longer and longer, until one is long enough for a checkpoint to be due before its end.
        let goes_on = (0..6).any(|longer| {
            let until = format!("run.until={}s", 10_000 << (2 * longer));
            let run = ["run", "small.toml", "--json", "--set", &until];
            let told: Value = serde_json::from_slice(&paceline(folder.path(), &run).stdout).unwrap();
            let full = on_a_full_disk(folder.path(), 0, &[&run[..], &checkpoint, processes].concat());
            let message = stderr(&full);
            let summary: Value = serde_json::from_slice(&full.stdout).expect("exactly one JSON object");
            assert_eq!((&summary["digest"], &summary["checkpoints"]), (&told["digest"], &0.into()));
            assert_eq!(full.status.code(), Some(0), "{message}");
            assert!(!folder.path().join("small.checkpoint").exists());
            if summary["checkpoints_failed"] == 0 {
                assert_eq!(message, "");
                return false;
            }
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(
                message.starts_with("warning: cannot write the checkpoint small.checkpoint: "),
                "{message}"
            );
            assert!(message.contains("none of this run yet"), "{message}");
            true
        });
        assert!(goes_on, "a checkpoint is due in a run a thousand times as long");
    }
    // A run that goes on from a checkpoint does not lose it.
    let short = ["run", "small.toml", "--quiet", "--set", "run.checkpoint=2ms", "--set", "run.until=10000s"];
    assert!(paceline(folder.path(), &short).status.success());
    let before = fs::read(folder.path().join("small.checkpoint")).unwrap();
    let resume = ["resume", "small.checkpoint", "--set", "run.until=20000s"];
    let told = paceline(folder.path(), &["run", "small.toml", "--json", "--set", "run.until=20000s"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let full = on_a_full_disk(folder.path(), 0, &resume);
    let (message, page) = (stderr(&full), stdout(&full));
    assert!(full.status.success() && message.contains("the last complete one stays"), "{message}");
    assert!(page.contains(" could not be written\n"), "{page}");
    assert!(page.contains(told["digest"].as_str().unwrap()), "{page}");
    assert_eq!(fs::read(folder.path().join("small.checkpoint")).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing unfinished is left");
}
