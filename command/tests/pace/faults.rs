//! What goes wrong: pacers, guards and programs that are killed or stopped, and pages that are destroyed. The
//! normal scheduler is always restored, and the program continues. `together.rs` has what hits the pacer and
//! its guards at once.

mod together;

use std::fs;

use procfs::process::Process;

use crate::lab::{
    IDLE, NORMAL, Running, classes, guard_of, pace_worker, send, turn_in_folder, wait_until,
    wait_until_paced, workers_of,
};

const GOVERNOR: [&str; 2] = ["--policy", "governor"];
const WORKERS: &str = "60 works works lowest waiting works";

/// Whether all threads are there and normal: the harness of the test program has two besides its workers.
fn all_normal(pids: &[i32]) -> bool {
    let classes = classes(pids);
    classes.len() > WORKERS.split(' ').count() && classes.iter().all(|class| *class == NORMAL)
}

fn is_there(pid: i32) -> bool {
    Process::new(pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.state != 'Z')
}

#[test]
fn a_pacer_that_is_killed_leaves_a_program_under_the_normal_scheduler() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "endure", WORKERS, folder.path()));
    let workers = wait_until_paced(&running);
    let guard = guard_of(running.pid());
    send(running.pid(), "KILL");
    wait_until("all are normal", || all_normal(&workers));
    wait_until("the guard has ended", || !is_there(guard));
    assert!(workers.iter().all(|pid| is_there(*pid)), "the program goes on");
    assert!(all_normal(&workers), "and paceline does not change that any more");
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    wait_until("the program has ended", || !workers.iter().any(|pid| is_there(*pid)));
    assert_eq!(running.ended().0.code(), None, "a signal has ended it");
}

#[test]
fn a_pacer_that_is_stopped_is_stood_in_for_and_goes_on_later() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "endure", WORKERS, folder.path()));
    let workers = wait_until_paced(&running);
    send(running.pid(), "STOP");
    wait_until("all are normal", || all_normal(&workers));
    send(running.pid(), "CONT");
    wait_until("threads are paced again", || classes(&workers).contains(&IDLE));
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    let (status, printed) = running.ended();
    assert_eq!(status.code(), Some(0), "{printed}");
}

#[test]
fn without_its_guard_a_pacer_ends_and_the_program_goes_on() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "endure", WORKERS, folder.path()));
    let workers = wait_until_paced(&running);
    send(guard_of(running.pid()), "KILL");
    wait_until("all are normal", || all_normal(&workers));
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    let (status, printed) = running.ended();
    assert_eq!(status.code(), Some(0), "{printed}");
    assert!(
        printed.contains("pacing has ended, the command continues under the normal scheduler"),
        "{printed}"
    );
}

#[test]
fn a_program_that_is_killed_ends_its_pacer_with_its_status() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "endure", WORKERS, folder.path()));
    wait_until_paced(&running);
    let guard = guard_of(running.pid());
    let command = workers_of(&running)[0];
    send(command, "KILL");
    let (status, printed) = running.ended();
    assert_eq!(status.code(), Some(128 + 9), "{printed}");
    assert!(!is_there(guard), "the guard ends with the pacer");
}

#[test]
fn a_page_full_of_random_slots_harms_neither_the_program_nor_others() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let us = std::process::id().cast_signed();
    let before = classes(&[us]);
    assert!(before.iter().all(|class| *class == NORMAL), "{before:?}");
    let running = Running::start(pace_worker(&GOVERNOR, "scribble", "slots", folder.path()));
    let pid = running.pid();
    wait_until("it has ended", || {
        // Its slots name this process, with the right start time.
        assert!(classes(&[us]).iter().all(|class| *class == NORMAL), "a foreign thread was paced");
        !is_there(pid)
    });
    let (status, printed) = running.ended();
    assert_eq!(status.code(), Some(0), "{printed}");
}

#[test]
fn a_page_that_is_destroyed_ends_the_pacing_and_the_program_goes_on() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let (status, printed) = Running::start(pace_worker(&GOVERNOR, "scribble", "all", folder.path())).ended();
    assert_eq!(status.code(), Some(0), "{printed}");
    assert!(printed.contains("pacing has ended"), "{printed}");
}

#[test]
fn nobody_can_truncate_the_page() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let (status, printed) = Running::start(pace_worker(&GOVERNOR, "truncate", "", folder.path())).ended();
    assert_eq!(status.code(), Some(0), "{printed}");
}
