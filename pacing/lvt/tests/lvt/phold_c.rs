//! The C program examples/c/phold.c: builds without a warning, computes the same however its processes wait,
//! over shared memory and over TCP, publishes what it says, and ends when one of its processes is killed.
//! Skipped, with the reason, where there is no make or C compiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use paceline_lvt::layout::DONE;
use paceline_lvt::{ENV, Page};
use tempfile::TempDir;

/// The longest that anything here may take.
const DEADLINE: Duration = Duration::from_secs(60);

fn built(folder: &TempDir) -> Option<PathBuf> {
    if Command::new("make").arg("--version").output().is_err()
        || Command::new("cc").arg("--version").output().is_err()
    {
        eprintln!("skipped: there is no make or no cc");
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    let out = format!("OUT={}", folder.path().display());
    let made =
        Command::new("make").arg("-sC").arg(source).args([&out, "CFLAGS=-O2 -Werror"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder.path().join("phold"))
}

fn run(program: &Path, options: &str, page: Option<&Page>) -> Output {
    let mut command = Command::new(program);
    command.args(options.split_whitespace()).env_remove(ENV);
    if let Some(page) = page {
        command.env(ENV, page.path());
    }
    command.output().expect("the program can be started")
}

/// The value behind `key` in what the program prints.
fn value(output: &Output, key: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {key} in {output:?}")).to_owned()
}

#[test]
fn it_computes_the_same_whoever_waits_how() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder) else { return };
    let page = Page::create_sealed(8).unwrap();
    let small = "--processes 5 --windows 20 --cost-us 10 --rate 100000";
    let mut checksums = Vec::new();
    for way in [
        "--wait busy",
        "--wait yield --load random",
        "--wait futex --load equal",
        "--gvt ring --wait yield --flag yes",
        "--gvt ring --wait futex",
        "--wait futex --fault lowest",
        "--wait futex --fault silent",
        "--wait futex --fault backwards",
    ] {
        let output = run(&program, &format!("{small} {way}"), Some(&page));
        assert!(output.status.success() && output.stderr.is_empty(), "{way}: {output:?}");
        checksums.push((value(&output, "checksum"), value(&output, "events")));
        assert_eq!(page.slots().unwrap(), [], "{way}: all slots are free again");
    }
    assert!(checksums.iter().all(|found| *found == checksums[0]), "{checksums:?}");
    let long = run(&program, "--processes 2 --windows 5000 --cost-us 1 --rate 1000 --wait futex", None);
    assert!(long.status.success(), "it checks that no event comes too late: {long:?}");
    let other = run(&program, &format!("{small} --wait futex --seed 2"), None);
    assert_ne!(value(&other, "checksum"), checksums[0].0, "another seed is another simulation");
}

#[test]
fn its_processes_publish_and_all_end_when_one_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder) else { return };
    let page = Page::create_sealed(8).unwrap();
    let mut command = Command::new(&program);
    command.args("--processes 4 --windows 1000000 --cost-us 20 --wait yield --rate 100000".split(' '));
    let running = command.env(ENV, page.path()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let deadline = Instant::now() + DEADLINE;
    let victim = loop {
        let slots = page.slots().unwrap();
        if slots.len() == 4 && slots.iter().all(|slot| slot.lvt_ns > 1_000_000 && slot.lvt_ns != DONE) {
            let mut names: Vec<_> = slots.iter().map(|slot| slot.name.to_string()).collect();
            names.sort();
            assert_eq!(names, ["phold 0", "phold 1", "phold 2", "phold 3"]);
            break slots[2];
        }
        assert!(Instant::now() < deadline, "the processes do not get on: {slots:?}");
        yield_now();
    };
    let pid = rustix::process::Pid::from_raw(victim.pid.cast_signed()).expect("a process has an id");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("a process has ended early"));
    assert_eq!(page.reclaim().unwrap(), 4);
}

#[test]
fn wrong_options_are_reported_and_too_few_slots_are_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder) else { return };
    for wrong in [
        "--processes 0",
        "--processes 5x",
        "--wait never",
        "--pace 1",
        "--windows",
        "--tcp here",
        "--rank 64",
    ] {
        let output = run(&program, wrong, None);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.contains(wrong.split(' ').next().unwrap()) && printed.contains("usage: phold"),
            "{printed}"
        );
    }
    let page = Page::create_sealed(1).unwrap();
    let small = "--processes 3 --windows 5 --cost-us 10 --rate 100000 --wait futex";
    assert!(run(&program, small, Some(&page)).status.success());
}

/// Runs all ranks of a simulation over TCP, each a program of its own, and returns what they said.
fn run_ranks(program: &Path, ranks: u32, options: &str) -> Vec<Output> {
    // Addresses of this process's own among those of this machine.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let [.., high, low] = std::process::id().to_be_bytes();
    let address = |rank| format!("127.{high}.{low}.{}:{}", rank + 1, 7_000 + run);
    let list = (0..ranks).map(address).collect::<Vec<_>>().join(",");
    let start = |rank: u32| {
        let mut command = Command::new(program);
        command.args(options.split_whitespace()).args(["--tcp", &list, "--rank", &rank.to_string()]);
        command
            .env_remove(ENV)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started")
    };
    let running: Vec<_> = (0..ranks).rev().map(start).collect();
    let mut said: Vec<_> = running.into_iter().map(|rank| rank.wait_with_output().unwrap()).collect();
    said.reverse();
    said
}

/// The value behind `key=` in the result line of a rank.
fn value_of(output: &Output, key: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("paceline: program=phold "));
    let values = line.unwrap_or_else(|| panic!("no result in {output:?}")).split(' ');
    let value = values.filter_map(|value| value.split_once('=')).find(|(name, _)| *name == key);
    value.unwrap_or_else(|| panic!("no {key} in {output:?}")).1.to_owned()
}

#[test]
fn over_tcp_it_computes_what_it_computes_over_shared_memory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder) else { return };
    for (ranks, options) in [
        (1, "--windows 10 --load equal --wait busy"),
        (3, "--windows 40 --load random --wait futex"),
        (5, "--windows 30 --load halves --wait yield --seed 9"),
        (4, "--windows 200 --load heavy --wait futex --flag yes"),
    ] {
        let small = format!("{options} --cost-us 10 --rate 100000");
        let shared = run(&program, &format!("{small} --processes {ranks}"), None);
        let (checksum, events) = (value(&shared, "checksum"), value(&shared, "events"));
        let said = run_ranks(&program, ranks, &small);
        for (rank, output) in said.iter().enumerate() {
            assert!(output.status.success() && output.stderr.is_empty(), "{options}: {output:?}");
            assert_eq!(value_of(output, "rank"), rank.to_string());
            assert_eq!(
                (value_of(output, "checksum"), value_of(output, "events")),
                (checksum.clone(), events.clone())
            );
        }
    }
}

#[test]
fn ranks_end_when_one_of_them_ends_early() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder) else { return };
    // Rank 0 disagrees about when it is over, and leaves the others waiting for it.
    let [.., high, low] = std::process::id().to_be_bytes();
    let list = [1, 2].map(|rank| format!("127.{high}.{low}.{rank}:6999")).join(",");
    let start = |rank: &str, windows: &str| {
        let options =
            ["--tcp", &list, "--rank", rank, "--windows", windows, "--wait", "futex", "--rate", "1000"];
        let mut command = Command::new(&program);
        command.args(options).args(["--cost-us", "10"]).env_remove(ENV);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started")
    };
    let (long, short) = (start("1", "1000000"), start("0", "5"));
    let (long, short) = (long.wait_with_output().unwrap(), short.wait_with_output().unwrap());
    assert!(!long.status.success() || !short.status.success());
    let printed = [long, short].map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).concat();
    assert!(printed.contains("phold: rank "), "who fails says with whom: {printed}");
}
