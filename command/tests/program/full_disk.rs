//! Disks that are full, and folders that cannot be written: what has been computed is printed all the same.
//!
//! A limit of the size of files stands for a full disk: a file can be made, and not a byte written to it.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{error_text, folder_of, paceline, says, stderr, stdout};
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
    folder_of(&[("small.toml", PHOLD), ("ring.toml", CHORD)])
}

/// Runs `paceline` where no file can grow beyond so many kilobytes. The signal that says so ends programs
/// that do not handle it.
fn on_a_full_disk(folder: &Path, kilobytes: u32, arguments: &[&str]) -> Output {
    let limited = format!("ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_paceline")]).args(arguments);
    command.current_dir(folder).output().expect("there is a bash")
}

#[test]
fn results_are_reported_before_files_are_written() {
    let folder = folder();
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/machine-phold.toml");
    let machine = machine.to_str().unwrap();
    for command in [
        &["run", "small.toml"][..],
        &["run", "ring.toml"],
        &["machine", machine, "--set", "domain.horizon=2s"],
    ] {
        for form in [&["--json"][..], &["--quiet"], &[]] {
            let with_room = paceline(folder.path(), &[command, form].concat());
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
            assert_eq!(digest(&full), digest(&with_room), "{command:?} {form:?}");
            assert!(!folder.path().join("out").exists(), "nothing unfinished is left");
        }
    }
}

#[test]
fn replications_are_reported_whose_files_cannot_be_written() {
    let folder = folder();
    let full = on_a_full_disk(
        folder.path(),
        0,
        &["replicate", "small.toml", "--replications", "2", "--json", "--out", "out"],
    );
    let message = stderr(&full);
    assert_eq!(full.status.code(), Some(1), "{message}");
    let with_room: Value = serde_json::from_slice(&full.stdout).expect("exactly one JSON object");
    assert_eq!(with_room["completed"], 2, "{with_room}");
    assert!(with_room["runs"].as_array().unwrap().iter().all(|run| run["digest"].is_string()), "{with_room}");
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
    // Something stands where the file is to be that cannot be replaced, or must not be.
    fs::create_dir(folder.path().join("small.checkpoint")).unwrap();
    let message = run(&[]);
    assert!(
        message.starts_with("error: --set run.checkpoint=2ms: `checkpoint` in [run]: cannot write the checkpoint small.checkpoint: it is a folder"),
        "{message}"
    );
    let message = run(&["--out", "small.toml/out"]);
    assert!(message.starts_with("error: cannot write "), "{message}");
    fs::create_dir(folder.path().join("out")).unwrap();
    let checkpoint = folder.path().join("out/small.checkpoint");
    let made = Command::new("mkfifo").arg(&checkpoint).status();
    assert!(made.unwrap().success());
    let message = run(&["--out", "out"]);
    assert!(
        message.starts_with("error: --set run.checkpoint=2ms: `checkpoint` in [run]: cannot write the checkpoint out/small.checkpoint: it is a FIFO"),
        "{message}"
    );
    assert!(message.contains("allowed: a folder in which you may make files"), "{message}");
    fs::remove_file(&checkpoint).unwrap();
    fs::write(&checkpoint, "my own notes").unwrap();
    let output =
        paceline(folder.path(), &[&["run", "small.toml", "--out", "out"], &WITH_CHECKPOINTS[..]].concat());
    let message = stderr(&output);
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    says(&message, &["out/small.checkpoint: stands where checkpoints of this run are to go"]);
    assert_eq!(fs::read_to_string(&checkpoint).unwrap(), "my own notes");
    // With nothing to write, the option is a mistake.
    says(
        &error_text(folder.path(), &["run", "small.toml", "--checkpoint", "c"], 2),
        &["--set run.checkpoint=10s"],
    );
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
            let with_room: Value = serde_json::from_slice(&paceline(folder.path(), &run).stdout).unwrap();
            let full = on_a_full_disk(folder.path(), 0, &[&run[..], &checkpoint, processes].concat());
            let message = stderr(&full);
            let summary: Value = serde_json::from_slice(&full.stdout).expect("exactly one JSON object");
            assert_eq!((&summary["digest"], &summary["checkpoints"]), (&with_room["digest"], &0.into()));
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
    let with_room = paceline(folder.path(), &["run", "small.toml", "--json", "--set", "run.until=20000s"]);
    let with_room: Value = serde_json::from_slice(&with_room.stdout).unwrap();
    let full = on_a_full_disk(folder.path(), 0, &resume);
    let (message, page) = (stderr(&full), stdout(&full));
    assert!(full.status.success() && message.contains("there is none of this run yet"), "{message}");
    assert!(message.contains("small.until-20000s.checkpoint, and small.checkpoint stays"), "{message}");
    assert!(page.contains(" could not be written\n"), "{page}");
    assert!(page.contains(with_room["digest"].as_str().unwrap()), "{page}");
    assert_eq!(fs::read(folder.path().join("small.checkpoint")).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing unfinished is left");
}

const ROADS: &str = "[model]\nkind = \"traffic\"\ngrid = 8\nrate = 5\n[run]\nuntil = \"30min\"\n";

#[test]
fn what_fits_is_kept_with_the_summary_first() {
    let folder = folder();
    fs::write(folder.path().join("roads.toml"), ROADS).unwrap();
    let run = ["run", "roads.toml", "--out", "out"];
    assert!(paceline(folder.path(), &run).status.success());
    let length = |name: &str| folder.path().join("out").join(name).metadata().unwrap().len();
    let [summary, links, trips] = ["summary.json", "links.csv", "trips.csv"].map(length);
    assert!(
        summary < 2_000 && links < 7_000 && links > 3_000 && trips > 10_000,
        "{summary}, {links}, {trips}"
    );
    let whole = |name: &str| fs::read(folder.path().join("out").join(name)).unwrap();
    let (whole_summary, whole_links) = (whole("summary.json"), whole("links.csv"));
    for (kilobytes, kept) in [(8, &["links.csv", "summary.json"][..]), (2, &["summary.json"])] {
        for form in [&["--quiet"][..], &["--json"], &[]] {
            fs::remove_dir_all(folder.path().join("out")).unwrap();
            let full = on_a_full_disk(folder.path(), kilobytes, &[&run[..], form].concat());
            let message = stderr(&full);
            assert_eq!((full.status.code(), message.lines().count()), (Some(1), 1), "{message}");
            assert!(message.starts_with("error: cannot write out/trips.csv: File too large"), "{message}");
            assert!(message.contains("; written: out/summary.json"), "{message}");
            assert_eq!(message.contains("; nor out/links.csv"), kept.len() == 1, "{message}");
            let entries = fs::read_dir(folder.path().join("out")).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            assert_eq!(names, kept, "nothing unfinished is left");
            assert!(
                whole("summary.json") == whole_summary
                    && (kept.len() == 1 || whole("links.csv") == whole_links)
            );
        }
    }
    // Where there is no room for the summary either, all of it is printed.
    let full = on_a_full_disk(folder.path(), 0, &[&run[..], &["--quiet"]].concat());
    assert!(stdout(&full).contains("mean"), "{}", stdout(&full));
    assert_eq!(stdout(&paceline(folder.path(), &["run", "roads.toml", "--quiet"])).lines().count(), 1);
}

#[test]
fn a_log_that_is_cut_short_says_so() {
    let folder = folder();
    let run = ["run", "small.toml", "--quiet", "--log", "log"];
    assert!(paceline(folder.path(), &run).status.success());
    let whole = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(whole.len() > 20_000, "{}", whole.len());
    for kilobytes in [1, 3, 7, 16] {
        fs::remove_file(folder.path().join("log")).unwrap();
        let full = on_a_full_disk(folder.path(), kilobytes, &run);
        let message = stderr(&full);
        assert_eq!((full.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        let (lines, last) = log.trim_end().rsplit_once('\n').unwrap();
        let last: Value = serde_json::from_str(last).expect("the last line is whole");
        let events = whole.lines().count();
        let kept = lines.lines().count();
        assert_eq!((&last["kept"], &last["events"]), (&kept.into(), &events.into()), "{last}");
        assert!(last["cut_short"].as_str().unwrap().starts_with("File too large"), "{last}");
        assert!(kept > 0 && whole.starts_with(lines), "the first events, whole lines");
        assert!(
            log.len() <= kilobytes as usize * 1024 && log.len() + 300 > kilobytes as usize * 1024,
            "{}",
            log.len()
        );
        assert!(message.contains(&format!("it is cut short after {kept} of {events} events")), "{message}");
    }
    // Nothing fits: there is none.
    fs::remove_file(folder.path().join("log")).unwrap();
    let message = stderr(&on_a_full_disk(folder.path(), 0, &run));
    assert!(message.contains("nothing of it is there") && !folder.path().join("log").exists(), "{message}");
}

#[test]
fn a_trace_that_is_cut_short_says_so_and_can_be_read() {
    use paceline_report::perfetto::packet::Trace;
    use prost::Message;
    let folder = folder();
    let ring = ["run", "ring.toml", "--quiet", "--trace", "trace"];
    for run in [&ring[..], &["run", "small.toml", "--quiet", "--trace", "trace", "--set", "run.until=300s"]] {
        assert!(paceline(folder.path(), run).status.success());
        let trace = folder.path().join("trace");
        let whole = fs::read(&trace).unwrap();
        let kilobytes = (whole.len() / 2048).max(1) as u32;
        let full = on_a_full_disk(folder.path(), kilobytes, run);
        let message = stderr(&full);
        assert_eq!((full.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        assert!(message.starts_with("error: cannot write trace: File too large"), "{message}");
        assert!(message.contains("the trace is cut short after"), "{message}");
        let cut = fs::read(&trace).unwrap();
        assert!(!cut.is_empty() && cut.len() <= kilobytes as usize * 1024);
        let read = Trace::decode(cut.as_slice()).expect("it ends after a whole packet");
        assert!(!read.packet.is_empty());
    }
}

#[test]
fn a_limit_on_file_sizes_does_not_end_a_run_that_writes_checkpoints() {
    let folder = folder();
    // Through shared memory, TCP and in one process; longer until a checkpoint is due.
    for processes in [&[][..], &["--processes", "2", "--link", "shared-memory", "--set", "run.threads=1"]] {
        let found = (0..8).find_map(|power| {
            let until = format!("run.until={}s", 20 << (2 * power));
            let run = ["run", "small.toml", "--json", "--set", "run.checkpoint=1ms", "--set", &until];
            // Enough for a ring in shared memory, which is a file too, and for no checkpoint of that many
            // LPs.
            let more = ["--set", "model.lps=60000"];
            let full = on_a_full_disk(folder.path(), 1_000, &[&run[..], &more, processes].concat());
            let message = stderr(&full);
            assert_eq!(full.status.code(), Some(0), "{message}");
            let summary: Value = serde_json::from_slice(&full.stdout).expect("exactly one JSON object");
            (summary["checkpoints_failed"].as_u64() > Some(0)).then_some(message)
        });
        let message = found.expect("a checkpoint is due in a long run");
        assert!(
            message.starts_with("warning: cannot write the checkpoint small.checkpoint: File too large"),
            "{message}"
        );
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2, "nothing unfinished is left");
    }
}
