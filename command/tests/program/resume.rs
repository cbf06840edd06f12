//! Runs that are killed and go on from their last checkpoint end as if nothing had happened.
//!
//! `PACELINE_KILLS` sets how often runs are killed (6 unless said).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use paceline_kernel::Rng;

use crate::{PROTOCOLS, Running, error_text, folder_of, paceline, says, stderr, stdout};

const TRAFFIC: &str = r#"# A small grid, full of vehicles
[model]
kind = "traffic"
grid = 12
rate = 20

[run]
until = "2h"
checkpoint = "2ms"
"#;

pub const PHOLD: &str = r#"# Enough to be killed at
[model]
kind = "phold"
lps = 64
messages_per_lp = 4

[run]
until = "2500s"
checkpoint = "2ms"
"#;

/// The files that a run leaves in its folder, but its checkpoint and its report, which says how it was run.
pub fn results(out: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_none_or(|end| end != "checkpoint"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .filter(|(name, _)| !name.starts_with('.') && name != "report.html")
        .collect();
    files.sort();
    files
}

/// Starts the program and kills it after `span`, if it has not ended by then. Says whether it had.
fn killed_after(folder: &Path, arguments: &[String], span: Duration) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut child, start) = (Running::start(&mut command), Instant::now());
    while start.elapsed() < span {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{arguments:?} ends with {status}");
            return true;
        }
        std::thread::yield_now();
    }
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap().success()
}

fn kill_and_resume(name: &str, text: &str) {
    let kills: u64 = std::env::var("PACELINE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    let folder = folder_of(&[(name, text)]);
    let start = Instant::now();
    let whole = paceline(folder.path(), &["run", name, "--out", "whole", "--quiet"]);
    let whole_ns = start.elapsed().as_nanos() as u64;
    assert!(whole.status.success(), "{}", stderr(&whole));
    let expected = results(&folder.path().join("whole"));
    let checkpoint = format!("out/{}", name.replace(".toml", ".checkpoint"));
    let mut rng = Rng::new(8, 50);
    let (mut done, mut resumed) = (0, 0);
    while done < kills {
        let out = folder.path().join("out");
        loop {
            let settings = [
                format!("run.protocol={}", PROTOCOLS[1 + rng.below(7) as usize]),
                format!("run.threads={}", [1, 2, 8][rng.below(3) as usize]),
                format!("run.federates={}", 1 + rng.below(7)),
            ];
            let goes_on = folder.path().join(&checkpoint).exists();
            let opening = if goes_on { ["resume", &checkpoint] } else { ["run", name] };
            resumed += u64::from(goes_on);
            let mut arguments = [&opening[..], &["--out", "out", "--quiet"]]
                .concat()
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>();
            settings.iter().for_each(|setting| arguments.extend(["--set".to_owned(), setting.clone()]));
            if killed_after(folder.path(), &arguments, Duration::from_nanos(rng.below(whole_ns))) {
                break;
            }
            done += 1;
        }
        assert!(
            results(&out) == expected,
            "{name}: after {done} kills the results are the same, to the byte"
        );
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(resumed > 0, "{name}: some of {done} killed runs had written a checkpoint");
}

#[test]
fn killed_phold_goes_on() {
    kill_and_resume("phold.toml", PHOLD);
}

#[test]
fn killed_traffic_goes_on() {
    kill_and_resume("traffic.toml", TRAFFIC);
}

/// A folder with a checkpoint of a run that was interrupted.
pub fn interrupted() -> tempfile::TempDir {
    let folder = folder_of(&[("phold.toml", PHOLD)]);
    let arguments = ["run", "phold.toml", "--quiet", "--set", "run.until=300d"].map(str::to_owned);
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    let mut child = Running::start(command.current_dir(folder.path()).args(arguments).stdout(Stdio::null()));
    while !folder.path().join("phold.checkpoint").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is killed");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    folder
}

#[test]
fn what_would_change_the_result_is_refused() {
    let folder = interrupted();
    for setting in ["model.lps=65", "model.remote=0.5", "run.seed=2", "run.ties=random"] {
        let output =
            paceline(folder.path(), &["resume", "phold.checkpoint", "--set", setting, "--out", "out"]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("--set {setting}:")) && message.contains("allowed:"), "{message}");
    }
    says(
        &error_text(
            folder.path(),
            &["resume", "phold.checkpoint", "--set", "run.until=1ns", "--out", "out"],
            2,
        ),
        &[
            "--set run.until=1ns: `until` in [run]: the run is at ",
            "not before the horizon, 0.000000001s; allowed: a time after \"",
        ],
    );
    assert!(!folder.path().join("out").exists(), "nothing is written");
}

#[test]
fn files_that_are_no_checkpoint_are_refused() {
    let folder = interrupted();
    let whole = fs::read(folder.path().join("phold.checkpoint")).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let cases = [
        (&b"[model]"[..], "is not a checkpoint of Paceline"),
        (&whole[..whole.len() / 2], "is cut short"),
        (&damaged, "is damaged"),
    ];
    for (content, words) in cases {
        fs::write(folder.path().join("bad"), content).unwrap();
        let message = error_text(folder.path(), &["resume", "bad", "--out", "out"], 2);
        assert!(message.contains("bad: ") && message.contains(words), "{message}");
    }
    let output = paceline(folder.path(), &["resume", "nowhere", "--out", "out"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("nowhere: cannot be read"));
    assert!(!folder.path().join("out").exists() && stdout(&output).is_empty(), "nothing is written");
}
