//! No thread starves, whatever is published; and threads that do not publish get their share of the machine.

use std::fs;
use std::time::{Duration, Instant};

use crate::lab::{
    NORMAL, Running, classes, pace_worker, turn, turn_in_folder, wait_until, wait_until_paced, workers_of,
};
use crate::workers::STARVED;

const GOVERNOR: [&str; 2] = ["--policy", "governor"];

fn nobody_starves(habits: &str) {
    let folder = tempfile::tempdir().expect("there can be folders");
    let (status, printed) = Running::start(pace_worker(&GOVERNOR, "spin", habits, folder.path())).ended();
    assert_eq!(status.code(), Some(0), "{habits}: {printed}");
}

#[test]
fn liars_silent_ones_and_those_who_go_backwards_starve_nobody() {
    let Some(_turn) = turn() else { return };
    nobody_starves("3 lowest lowest lowest works works silent");
    nobody_starves("3 backwards works works works silent");
    nobody_starves("3 waiting idle works works lowest backwards silent silent");
    nobody_starves("3 waiting waiting waiting silent");
}

#[test]
fn the_rest_of_the_machine_runs_beside_a_paced_program() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "spin", "60 works works works works", folder.path()));
    wait_until_paced(&running);
    // This thread is of the normal class.
    let (start, mut last) = (Instant::now(), Instant::now());
    while start.elapsed() < Duration::from_secs(3) {
        assert!(last.elapsed() < STARVED, "kept from running for {:?}", last.elapsed());
        last = Instant::now();
    }
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    assert_eq!(running.ended().0.code(), Some(0));
}

#[test]
fn two_programs_that_are_paced_at_once_both_run() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let start =
        || Running::start(pace_worker(&GOVERNOR, "spin", "3 works works lowest silent", folder.path()));
    for running in [start(), start()] {
        let (status, printed) = running.ended();
        assert_eq!(status.code(), Some(0), "{printed}");
    }
}

#[test]
fn ten_thousand_threads_share_a_page_of_1024_slots() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let (status, printed) = Running::start(pace_worker(&GOVERNOR, "crowd", "", folder.path())).ended();
    assert_eq!(status.code(), Some(0), "{printed}");
}

#[test]
fn a_thread_that_leaves_the_page_is_a_normal_one_again() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "leave", "", folder.path()));
    wait_until_paced(&running);
    fs::write(folder.path().join("leave"), "").expect("files can be written");
    wait_until("all are normal", || classes(&workers_of(&running)).iter().all(|class| *class == NORMAL));
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    assert_eq!(running.ended().0.code(), Some(0));
}

#[test]
fn children_do_not_stay_in_the_idle_class_that_they_inherit() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "parent", "", folder.path()));
    let mut children = Vec::new();
    wait_until("there are children", || {
        let ids =
            (0..6).filter_map(|number| fs::read_to_string(folder.path().join(format!("child{number}"))).ok());
        children = ids.filter_map(|id| id.parse().ok()).collect();
        children.len() == 6
    });
    wait_until("the children are normal", || {
        let classes = classes(&children);
        classes.len() == 6 && classes.iter().all(|class| *class == NORMAL)
    });
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    assert_eq!(running.ended().0.code(), Some(0));
}
