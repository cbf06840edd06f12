//! What the program writes into whatever a path names: nothing that is no regular file is replaced, nothing
//! is left behind, and runs do not write over each other.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::{Running, folder_of, paceline, send, stderr, stdout};

const SCENARIO: &str = "[model]\nkind = \"phold\"\nlps = 12\nmessages_per_lp = 2\n\n[run]\nuntil = \"20s\"\n";
const GRID: &str = "[model]\nkind = \"traffic\"\ngrid = 3\nrate = 3\n\n[run]\nuntil = \"10min\"\n";

fn folder() -> tempfile::TempDir {
    folder_of(&[("small.toml", SCENARIO), ("grid.toml", GRID)])
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    paceline(folder, &[&["run", "small.toml", "--json"], arguments].concat())
}

fn succeeds(folder: &Path, arguments: &[&str]) -> Output {
    let output = paceline(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Reads a FIFO to its end.
fn reader(path: &Path) -> std::thread::JoinHandle<Vec<u8>> {
    let path = path.to_owned();
    std::thread::spawn(move || {
        let mut content = Vec::new();
        File::open(path).unwrap().read_to_end(&mut content).unwrap();
        content
    })
}

#[test]
fn a_log_and_a_trace_go_through_fifos_devices_and_links() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    run(folder.path(), &["--log", "plain", "--trace", "plain-trace"]);
    let plain = fs::read(at("plain")).unwrap();
    assert!(plain.ends_with(b"}\n") && at("plain-trace").metadata().unwrap().len() > 0);
    fifo(&at("pipe"));
    symlink("pipe", at("to-pipe")).unwrap();
    for name in ["pipe", "to-pipe"] {
        let read = reader(&at("pipe"));
        assert!(run(folder.path(), &["--log", name]).status.success());
        assert!(read.join().unwrap() == plain, "{name}: the same log");
        let read = reader(&at("pipe"));
        assert!(run(folder.path(), &["--trace", name]).status.success());
        assert!(!read.join().unwrap().is_empty(), "{name}: a trace");
        assert!(at("pipe").symlink_metadata().unwrap().file_type().is_fifo());
    }
    // To a file, to none yet, from another folder.
    fs::create_dir(at("logs")).unwrap();
    fs::write(at("logs/kept"), "old").unwrap();
    fs::set_permissions(at("logs/kept"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("logs/kept", at("to-kept")).unwrap();
    symlink("logs/new", at("to-new")).unwrap();
    for (link, file) in [("to-kept", "logs/kept"), ("to-new", "logs/new")] {
        for option in ["--trace", "--log"] {
            assert!(run(folder.path(), &[option, link]).status.success(), "{option} {link}");
            assert!(at(link).symlink_metadata().unwrap().is_symlink());
        }
        assert!(fs::read(at(file)).unwrap() == plain, "{file}");
    }
    assert_eq!(at("logs/kept").metadata().unwrap().mode() & 0o7777, 0o640);
    // A device that takes nothing, by its name and by a link.
    symlink("/dev/full", at("full")).unwrap();
    for name in ["/dev/full", "full"] {
        let output = run(folder.path(), &["--log", name]);
        let message = stderr(&output);
        assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        assert!(message.starts_with(&format!("error: cannot write {name}: No space left")), "{message}");
        assert!(message.contains("nothing of it is there"), "{message}");
        serde_json::from_slice::<Value>(&output.stdout).expect("the summary is there all the same");
    }
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    let left: Vec<_> = names(folder.path()).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty() && names(&at("logs")) == ["kept", "new"], "{left:?}");
}

/// Runs a shell command in which `$P` is the program.
fn shell(folder: &Path, command: &str) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).env("P", env!("CARGO_BIN_EXE_paceline")).current_dir(folder);
    bash.output().expect("there is a bash")
}

#[test]
fn standard_output_by_any_of_its_names_gets_log_and_summary() {
    let folder = folder();
    run(folder.path(), &["--log", "plain"]);
    let plain = fs::read_to_string(folder.path().join("plain")).unwrap();
    // A pipe. No device of this machine is named: standard output is none here.
    for name in ["/proc/self/fd/1", "/dev/fd/1", "/dev/stdout"] {
        let piped = shell(folder.path(), &format!("\"$P\" run small.toml --quiet --log {name} | cat"));
        let text = stdout(&piped);
        assert!(text.contains(&plain) && text.contains("digest"), "{name}: {text}");
        // A file: nothing of it is overwritten, and it stays the file that the shell has opened.
        let to_file = shell(
            folder.path(),
            &format!("echo first > all; \"$P\" run small.toml --quiet --log {name} >> all; echo last >> all"),
        );
        let all = fs::read_to_string(folder.path().join("all")).unwrap();
        assert!(
            to_file.status.success() && all.starts_with("first\n") && all.ends_with("last\n"),
            "{name}: {all}"
        );
        assert!(all.contains(&plain) && all.contains("digest"), "{name}: {all}");
    }
    // The file to which the output goes, by its own name.
    shell(folder.path(), "\"$P\" run small.toml --quiet --log all > all");
    let all = fs::read_to_string(folder.path().join("all")).unwrap();
    assert!(all.contains(&plain) && all.contains("digest"), "{all}");
    // Another open file, and a process that reads.
    shell(folder.path(), "\"$P\" run small.toml --quiet --log /dev/fd/5 5> five");
    assert_eq!(fs::read_to_string(folder.path().join("five")).unwrap(), plain);
    shell(folder.path(), "\"$P\" run small.toml --quiet --log >(cat > six); sleep 0.2");
    assert_eq!(fs::read_to_string(folder.path().join("six")).unwrap(), plain);
}

#[test]
fn where_no_file_can_be_made_one_message_says_so_before_the_run() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    symlink("nowhere/file", folder.path().join("far")).unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    for (arguments, printed) in [
        (["--log", "no/log"], "cannot write no/log: there is no folder no"),
        (["--log", "file/log"], "cannot write file/log: "),
        (["--log", "no/"], "cannot write no/: there is no such folder"),
        (["--log", "far"], "cannot write far: there is no folder "),
        (["--log", "loop"], "cannot write loop: "),
        (["--trace", "no/trace"], "cannot write no/trace: "),
        (["--trace", "."], "cannot write .: it is a folder"),
        (["--out", "file"], "cannot write file: it is no folder"),
        (["--out", "file/out"], "cannot write file/out: "),
        (["--out", "loop"], "cannot write loop: "),
    ] {
        let output = run(folder.path(), &arguments);
        let message = stderr(&output);
        assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{arguments:?}: {message}");
        assert!(message.contains(printed) && output.stdout.is_empty(), "{arguments:?}: {message}");
    }
    assert_eq!(names(folder.path()), ["far", "file", "grid.toml", "loop", "small.toml"]);
}

#[test]
fn files_of_the_output_folder_are_written_through_links_and_keep_their_permissions() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("real")).unwrap();
    symlink("real", at("out")).unwrap();
    fs::write(at("results.json"), "{}").unwrap();
    fs::set_permissions(at("results.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("../results.json", at("real/summary.json")).unwrap();
    fifo(&at("real/trips.csv"));
    let read = reader(&at("real/trips.csv"));
    let output = paceline(folder.path(), &["run", "grid.toml", "--json", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(read.join().unwrap().starts_with(b"vehicle"), "the trips have gone through the pipe");
    let summary: Value = serde_json::from_slice(&fs::read(at("results.json")).unwrap()).unwrap();
    assert_eq!(summary["files"], serde_json::json!(["trips.csv", "links.csv"]));
    assert_eq!(at("results.json").metadata().unwrap().mode() & 0o7777, 0o600);
    assert!(at("real/summary.json").symlink_metadata().unwrap().is_symlink());
    assert_eq!(names(&at("real")), ["links.csv", "report.html", "summary.json", "trips.csv"]);
}

#[test]
fn tables_are_written_as_parquet() {
    let folder = folder();
    let run = |out: &str, more: &[&str]| {
        let arguments = [&["run", "grid.toml", "--json", "--out", out], more].concat();
        let output = paceline(folder.path(), &arguments);
        assert!(output.status.success(), "{more:?}: {}", stderr(&output));
        names(&folder.path().join(out))
    };
    assert_eq!(run("lines", &[]), ["links.csv", "report.html", "summary.json", "trips.csv"]);
    let parquet = ["links.parquet", "report.html", "summary.json", "trips.parquet"];
    assert_eq!(run("out", &["--parquet"]), parquet);
    let read = |name: &str| fs::read(folder.path().join("out").join(name)).unwrap();
    let summary: Value = serde_json::from_slice(&read("summary.json")).unwrap();
    assert_eq!(summary["files"], serde_json::json!(["trips.parquet", "links.parquet"]));
    let before = ["links.parquet", "trips.parquet"].map(read);
    assert!(before.iter().all(|file| file.starts_with(b"PAR1") && file.ends_with(b"PAR1")));
    assert_eq!(
        run("out", &["--parquet", "--set", "run.threads=2", "--set", "run.protocol=optimistic"]),
        parquet
    );
    assert!(["links.parquet", "trips.parquet"].map(read) == before, "the bytes do not depend on the run");
    let refused = paceline(folder.path(), &["run", "grid.toml", "--parquet"]);
    assert!(stderr(&refused).contains("--out <DIR>") && refused.status.code() == Some(2));
}

#[test]
fn results_of_another_run_are_replaced_with_a_warning_and_those_of_the_same_without() {
    let folder = folder();
    let out = folder.path().join("out");
    let warning = |arguments: &[&str]| {
        stderr(&succeeds(folder.path(), &[arguments, &["--quiet", "--out", "out"]].concat()))
    };
    assert_eq!(warning(&["run", "grid.toml"]), "");
    // However it is run, it is the same run.
    for setting in ["run.threads=2", "run.protocol=optimistic", "run.federates=3", "run.seed=1"] {
        assert_eq!(warning(&["run", "grid.toml", "--set", setting]), "", "{setting}");
    }
    for (setting, printed) in [
        ("run.seed=2", "(seed 1, here 2)"),
        ("run.until=5min", "(seed 2, here 1)"),
        ("model.rate=4", "(horizon in seconds 300.0, here 600.0)"),
    ] {
        let told_now = warning(&["run", "grid.toml", "--set", setting]);
        assert_eq!(told_now.lines().count(), 1, "{told_now}");
        assert!(
            told_now.starts_with("warning: out holds the results of another run, of grid")
                && told_now.contains(printed),
            "{told_now}"
        );
    }
    // The files of the other run do not stay beside the new summary, but those that are nobody's do.
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let printed = warning(&["run", "small.toml"]);
    assert!(printed.contains("parameters") || printed.contains("horizon"), "{printed}");
    assert_eq!(names(&out), ["notes.txt", "report.html", "summary.json"]);
    fs::write(out.join("summary.json"), "[1, 2, 3]").unwrap();
    let printed = warning(&["run", "small.toml"]);
    assert!(printed.contains("a summary.json that no run has written"), "{printed}");
    // Replications too.
    let replicate = ["replicate", "small.toml", "--replications", "2"];
    assert_eq!(warning(&replicate).lines().count(), 1);
    assert_eq!(warning(&replicate), "");
    let printed = warning(&["replicate", "small.toml", "--replications", "3"]);
    assert!(printed.contains("(replications 2, here 3)"), "{printed}");
}

#[test]
fn two_runs_at_once_do_not_write_into_one_place() {
    let folder = folder();
    let long = ["run", "small.toml", "--set", "run.until=300d", "--set", "run.checkpoint=5ms", "--quiet"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(long).args(["--out", "out", "--log", "log", "--log-to", "1s", "--trace", "trace"]);
    let mut first = Running::start(command.current_dir(folder.path()).stdout(Stdio::null()));
    crate::together::until("it has written a checkpoint", || {
        assert!(first.try_wait().unwrap().is_none());
        folder.path().join("out/small.checkpoint").exists().then_some(())
    });
    let into = "--checkpoint";
    for (arguments, printed) in [
        (vec!["--out", "out"], "out: another run is writing there"),
        (vec!["--log", "log"], "log: another run is writing there"),
        (vec!["--trace", "trace"], "trace: another run is writing there"),
        (
            vec!["--set", "run.checkpoint=1s", into, "out/small.checkpoint"],
            "small.checkpoint: another run is writing there",
        ),
    ] {
        let output = run(folder.path(), &arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains(printed) && output.stdout.is_empty(), "{arguments:?}: {message}");
    }
    // The one that writes it is no obstacle to another one elsewhere.
    assert!(run(folder.path(), &["--out", "other", "--log", "other-log"]).status.success());
    send(&first, Signal::KILL);
    first.wait().unwrap();
    // What it has left is taken away by the next, and nothing else.
    fs::write(folder.path().join("out/.summary.json.1.unfinished"), "{").unwrap();
    fs::write(folder.path().join("out/.mine.unfinished"), "").unwrap();
    let output = run(
        folder.path(),
        &["--out", "out", "--log", "log", "--trace", "trace", "--set", "run.checkpoint=1h"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let hidden =
        |folder: PathBuf| names(&folder).into_iter().filter(|name| name.starts_with('.')).collect::<Vec<_>>();
    assert_eq!(hidden(folder.path().into()), Vec::<String>::new());
    assert_eq!(hidden(folder.path().join("out")), [".mine.unfinished"]);
}

#[test]
fn a_run_killed_while_it_writes_leaves_nothing_for_the_next() {
    let folder = folder();
    fs::create_dir(folder.path().join("out")).unwrap();
    // It waits for a reader in the middle of its results, with the summary written.
    fifo(&folder.path().join("out/trips.csv"));
    symlink("trips.csv", folder.path().join("out/summary.json")).unwrap();
    for signal in [Signal::KILL, Signal::INT] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.args(["run", "small.toml", "--quiet", "--log", "log", "--out", "out"]);
        let mut child = Running::start(command.current_dir(folder.path()).stdout(Stdio::null()));
        std::thread::sleep(std::time::Duration::from_millis(150));
        send(&child, signal);
        if signal == Signal::INT {
            // The first asks it to end, another one ends it.
            std::thread::sleep(std::time::Duration::from_millis(300));
            send(&child, signal);
        }
        assert!(!child.wait().unwrap().success());
    }
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    assert!(run(folder.path(), &["--out", "out", "--log", "log"]).status.success());
    assert_eq!(names(folder.path()), ["grid.toml", "log", "out", "small.toml"]);
    assert_eq!(names(&folder.path().join("out")), ["report.html", "summary.json"]);
}

#[test]
fn a_folder_removed_while_the_run_goes_on_is_made_again() {
    let folder = folder();
    fs::create_dir(folder.path().join("logs")).unwrap();
    let long = ["run", "small.toml", "--set", "run.until=300d", "--set", "run.checkpoint=5ms", "--quiet"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(long).args(["--out", "out/deep", "--log", "logs/log", "--log-to", "1s"]);
    let mut child =
        Running::start(command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped()));
    let checkpoint = folder.path().join("out/deep/small.checkpoint");
    let wait = || crate::together::until("a checkpoint", || checkpoint.exists().then_some(()));
    wait();
    // A checkpoint may be made while the folder is being removed.
    crate::together::until("it is gone", || fs::remove_dir_all(folder.path().join("out")).ok());
    fs::remove_dir_all(folder.path().join("logs")).unwrap();
    wait();
    send(&child, Signal::INT);
    let mut printed = String::new();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    let written = ["report.html", "small.checkpoint", "summary.json"];
    assert_eq!(names(&folder.path().join("out/deep")), written, "{printed}");
    assert_eq!(names(&folder.path().join("logs")), ["log"], "{printed}");
    std::io::stdout().flush().unwrap();
}
