//! Faults while a run starts, or starts again: nobody is left behind, and what can be resumed is.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{digest, first_pid, folder, others, runs, start};
use crate::together::{Started, until};

/// The time limits of the runs here.
const WITHIN: Duration = Duration::from_secs(3);

/// What the machine may add to a limit.
const MARGIN: Duration = Duration::from_secs(5);

/// The processes with this folder in their environment, however they are related: those of one test.
fn of(folder: &Path) -> Vec<Pid> {
    let marker = format!("XDG_RUNTIME_DIR={}", folder.display());
    let is_ours = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes())
    };
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_ours).filter_map(Pid::from_raw).filter(|pid| runs(*pid)).collect()
}

/// Starts three processes, and sends a signal to the first after so many milliseconds.
fn hit(folder: &Path, link: &str, signal: Signal, after_ms: u64) -> Started {
    let arguments = [
        "run",
        "long.toml",
        "--json",
        "--processes",
        "3",
        "--within",
        "3s",
        "--silence",
        "3s",
        "--link",
        link,
    ];
    let first = Started::new(folder, "first", &arguments);
    std::thread::sleep(Duration::from_millis(after_ms));
    kill_process(first_pid(&first), signal).unwrap();
    first
}

/// Kills the first process at moments around its start: all others end at once, and at most one says why.
#[test]
fn a_first_process_that_is_killed_as_it_starts_leaves_nobody() {
    for (number, after_ms) in [0, 2, 4, 6, 8, 10, 12, 16, 24, 40].into_iter().enumerate() {
        let folder = folder();
        let link = ["shared-memory", "tcp"][number % 2];
        let mut first = hit(folder.path(), link, Signal::KILL, after_ms);
        assert_eq!(first.status(), None);
        let start = Instant::now();
        until("the others end", || of(folder.path()).is_empty().then_some(()));
        // The limit of time would end them too; they do not wait for it.
        assert!(start.elapsed() < WITHIN + MARGIN, "{after_ms} ms: {:?}", start.elapsed());
        let printed = first.stderr();
        assert!(printed.lines().count() <= 1, "{after_ms} ms: {printed}");
        assert!(
            printed.lines().all(|line| line == "error: process 0 of the run is lost: it is gone"),
            "{after_ms} ms: {printed}"
        );
    }
}

/// Stops it instead: all others end when the time is over in which the processes may find each other.
#[test]
fn a_first_process_that_is_stopped_as_it_starts_holds_up_nobody() {
    for (number, after_ms) in [4, 8, 12, 20, 40, 80].into_iter().enumerate() {
        let folder = folder();
        let link = ["shared-memory", "tcp"][number % 2];
        let first = hit(folder.path(), link, Signal::STOP, after_ms);
        let (start, pid) = (Instant::now(), first_pid(&first));
        until("the others end", || of(folder.path()).iter().all(|other| *other == pid).then_some(()));
        assert!(start.elapsed() < WITHIN + MARGIN, "{after_ms} ms: {:?}", start.elapsed());
        let printed = first.stderr();
        assert!(
            printed.lines().filter(|line| line.starts_with("error: ")).count() <= 1,
            "{after_ms} ms: {printed}"
        );
        // Being continued, it would run on if it had been stopped before it started others.
        kill_process(pid, Signal::KILL).unwrap();
        until("it ends too", || of(folder.path()).is_empty().then_some(()));
    }
}

/// One that the first process has started is stopped as that is killed: it does not stay behind for ever.
#[test]
fn a_stopped_process_ends_with_the_first_one() {
    let folder = folder();
    let (first, others) = start(folder.path(), &["--link", "tcp"]);
    kill_process(others[0], Signal::STOP).unwrap();
    kill_process(first_pid(&first), Signal::KILL).unwrap();
    until("all end", || of(folder.path()).is_empty().then_some(()));
}

/// Whether new processes have been started instead of those that were there.
fn anew(first: &Started, before: &[Pid]) -> Option<Vec<Pid>> {
    let now: Vec<_> = others(first).into_iter().filter(|pid| !before.contains(pid) && runs(*pid)).collect();
    (!now.is_empty()).then_some(now)
}

#[test]
fn a_loss_while_a_restart_begins_costs_another_restart() {
    let folder = folder();
    let end = "run.until=10000s";
    let (mut first, others) = start(folder.path(), &["--restarts", "5", "--set", end]);
    kill_process(others[0], Signal::KILL).unwrap();
    let mut before = others;
    for left in [4, 3, 2] {
        until("the loss is reported", || {
            first.stderr().contains(&format!("restarts left: {left}")).then_some(())
        });
        // At once, before they have found each other.
        let now = until("it starts again", || {
            assert!(first.child.try_wait().unwrap().is_none(), "restarts are left: {}", first.stderr());
            anew(&first, &before)
        });
        kill_process(now[0], Signal::KILL).unwrap();
        before.extend(now);
    }
    assert_eq!(first.status(), Some(0), "{}", first.stderr());
    let printed = first.stderr();
    assert!(printed.contains("restarts left: 1"), "{printed}");
    assert_eq!(first.summary()["digest"], digest(folder.path(), end));
}

#[test]
fn a_loss_without_restarts_left_says_how_to_resume() {
    let folder = folder();
    let (mut first, others) = start(folder.path(), &["--restarts", "1"]);
    kill_process(others[0], Signal::KILL).unwrap();
    let now = until("it starts again", || anew(&first, &others));
    kill_process(now[0], Signal::KILL).unwrap();
    assert_eq!(first.status(), Some(1));
    let printed = first.stderr();
    assert!(printed.lines().last().unwrap().contains("`paceline resume "), "{printed}");
    assert!(printed.contains("long.checkpoint"), "{printed}");
}

/// The memory that the processes share cannot be truncated, by whatever name it is reached.
#[test]
fn shared_memory_keeps_its_size() {
    let folder = folder();
    let (mut first, others) = start(folder.path(), &["--link", "shared-memory"]);
    let mut found = 0;
    for pid in others.iter().copied().chain([first_pid(&first)]) {
        for entry in fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).unwrap() {
            let path = entry.unwrap().path();
            let target = fs::read_link(&path).unwrap_or_default();
            if !target.to_string_lossy().contains("paceline") || target.starts_with(folder.path()) {
                continue;
            }
            let Ok(file) = fs::OpenOptions::new().write(true).open(&path) else { continue };
            for size in [0, 1, 4_096, 1 << 40] {
                assert!(file.set_len(size).is_err(), "{size} bytes of {}", target.display());
            }
            found += 1;
        }
    }
    assert_eq!(found, 3, "each process has it open");
    let named = fs::read_dir("/dev/shm").map_or(0, |names| {
        names
            .filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().starts_with("paceline-"))
            .count()
    });
    assert_eq!(named, 0, "and it has no name");
    kill_process(first_pid(&first), Signal::INT).unwrap();
    assert_eq!((first.status(), first.stderr()), (Some(130), String::new()));
}
