//! Signals that hit the pacer and its first guard at once, as `pkill`, `killall` and scripts send them:
//! nobody is left in a class of the pacer's, and all threads go on.

use std::collections::BTreeMap;
use std::fs;

use procfs::process::{Process, all_processes};

use super::{GOVERNOR, is_there};
use crate::lab::{
    IDLE, NORMAL, Running, classes, descendants, guard_of, pace_worker, second_guard_of, send, turn,
    turn_in_folder, wait_until, wait_until_paced, workers_of,
};

/// Threads that never give their core away, many more than there are cores.
const POLLERS: &str = "60 works works works works works works works works works works works works";
const ALWAYS: [&str; 3] = ["--policy", "governor", "--always"];

/// How a user picks the processes that a signal goes to.
#[derive(Clone, Copy, Debug)]
enum By {
    /// `pkill paceline` and `killall paceline`: the first word of a name.
    Name,
    /// `pkill -f 'paceline pace'`: the command line.
    CommandLine,
    /// `killall /path/of/paceline`, and `pidof paceline` of procps: the executable file.
    File,
    /// Everything that the pacer has started, apart from the program that it paces.
    Family,
    /// `kill -- -SESSION`.
    Session,
}

impl By {
    /// The processes that belong to a running pacer and are hit, in the order of their ids.
    fn hit(self, pace: &Running, workers: &[i32]) -> Vec<i32> {
        let known = [pace.pid(), guard_of(pace.pid()), second_guard_of(pace.pid())];
        let program = fs::canonicalize(env!("CARGO_BIN_EXE_paceline")).expect("the program is there");
        let session =
            |pid: i32| Process::new(pid).and_then(|process| process.stat()).map(|stat| stat.session);
        let is_hit = |pid: &i32| {
            let process = Process::new(*pid).expect("it is there");
            let name = || process.stat().expect("it is there").comm;
            match self {
                Self::Name => name().starts_with("paceline"),
                Self::CommandLine => {
                    process.cmdline().expect("it is there").join(" ").contains("paceline pace")
                }
                Self::File => process.exe().expect("it is there") == program,
                Self::Family => {
                    let below = descendants(pace.pid()).contains(pid) && !workers.contains(pid);
                    *pid == pace.pid() || below
                }
                Self::Session => session(*pid).ok() == session(pace.pid()).ok(),
            }
        };
        let mut hit: Vec<i32> = known.into_iter().filter(is_hit).collect();
        hit.sort_unstable();
        assert!(hit.contains(&pace.pid()), "{self:?}: {hit:?} of {known:?}");
        hit
    }
}

/// The CPU time of all threads of these processes in clock ticks, by thread.
fn used(pids: &[i32]) -> BTreeMap<i32, u64> {
    let tasks = pids.iter().filter_map(|pid| Process::new(*pid).and_then(|process| process.tasks()).ok());
    let stats = tasks.flatten().flatten().filter_map(|task| Some((task.tid, task.stat().ok()?)));
    stats.map(|(tid, stat)| (tid, stat.utime + stat.stime)).collect()
}

/// All threads become normal, and stay so while those that poll get CPU time.
fn check_freed(what: &str, workers: &[i32]) {
    let are_normal = || {
        let classes = classes(workers);
        classes.len() > 12 && classes.iter().all(|class| *class == NORMAL)
    };
    let polling = POLLERS.split(' ').count() - 1;
    // A pacer that has not noticed yet what was done may have all in one class for a moment: from there on it
    // is tried again.
    wait_until(&format!("all are normal and stay so after {what}"), || {
        if !are_normal() {
            return false;
        }
        let before = used(workers);
        wait_until(&format!("all pollers go on after {what}"), || {
            let now = used(workers);
            let goes_on = |(tid, before): &(&i32, &u64)| now.get(tid).is_some_and(|now| now > before);
            before.iter().filter(goes_on).count() >= polling
        });
        are_normal()
    });
}

#[test]
fn whatever_a_signal_by_name_hits_nobody_is_left_in_a_class_of_the_pacers() {
    let Some(_turn) = turn() else { return };
    // In the order of process ids the pacer comes before its guard.
    for (by, backwards) in [
        (By::Name, false),
        (By::Name, true),
        (By::CommandLine, false),
        (By::File, false),
        (By::Family, true),
        (By::Session, false),
    ] {
        let what = format!("a signal by {by:?}, backwards: {backwards}");
        let folder = tempfile::tempdir().expect("there can be folders");
        let running = Running::start(pace_worker(&ALWAYS, "endure", POLLERS, folder.path()));
        let workers = wait_until_paced(&running);
        let second = second_guard_of(running.pid());
        let mut hit = by.hit(&running, &workers);
        assert!(!hit.contains(&second), "{what}: the second guard is hit");
        if backwards {
            hit.reverse();
        }
        hit.iter().for_each(|pid| send(*pid, "KILL"));
        check_freed(&what, &workers);
        wait_until("the second guard has ended", || !is_there(second));
        fs::write(folder.path().join("stop"), "").expect("files can be written");
        wait_until("the program has ended", || !workers.iter().any(|pid| is_there(*pid)));
    }
}

#[test]
fn pacer_and_guard_that_are_stopped_by_name_hold_nobody() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&ALWAYS, "endure", POLLERS, folder.path()));
    let workers = wait_until_paced(&running);
    let hit = By::Name.hit(&running, &workers);
    hit.iter().for_each(|pid| send(*pid, "STOP"));
    check_freed("a stop", &workers);
    // Whoever is stopped may then be killed.
    hit.iter().for_each(|pid| send(*pid, "KILL"));
    check_freed("a kill", &workers);
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    wait_until("the program has ended", || !workers.iter().any(|pid| is_there(*pid)));
}

#[test]
fn a_pacer_ends_whose_guards_are_killed_or_stopped() {
    let Some(_turn) = turn() else { return };
    type Guards = fn(i32) -> Vec<i32>;
    let cases: [(&str, &str, Guards); 4] = [
        ("the second", "KILL", |pid| vec![second_guard_of(pid)]),
        ("both", "KILL", |pid| vec![guard_of(pid), second_guard_of(pid)]),
        ("the first", "STOP", |pid| vec![guard_of(pid)]),
        ("the second", "STOP", |pid| vec![second_guard_of(pid)]),
    ];
    for (which, signal, guards) in cases {
        let folder = tempfile::tempdir().expect("there can be folders");
        let running = Running::start(pace_worker(&ALWAYS, "endure", POLLERS, folder.path()));
        let workers = wait_until_paced(&running);
        let guards = guards(running.pid());
        guards.iter().for_each(|pid| send(*pid, signal));
        check_freed(&format!("{signal} of {which}"), &workers);
        fs::write(folder.path().join("stop"), "").expect("files can be written");
        let (status, printed) = running.ended();
        guards.iter().for_each(|pid| send(*pid, "KILL"));
        assert_eq!(status.code(), Some(0), "{which} {signal}: {printed}");
        assert!(printed.contains("pacing has ended"), "{which} {signal}: {printed}");
    }
}

#[test]
fn children_that_inherited_the_idle_class_are_freed_too() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "parent", "", folder.path()));
    wait_until("its children are there", || (0..6).all(|n| folder.path().join(format!("child{n}")).exists()));
    let workers = workers_of(&running);
    // As if the pacer had been killed before it saw them.
    let hit = By::Name.hit(&running, &workers);
    hit.iter().for_each(|pid| send(*pid, "STOP"));
    let children: Vec<i32> = (0..6)
        .filter_map(|n| fs::read_to_string(folder.path().join(format!("child{n}"))).ok()?.parse().ok())
        .collect();
    children.iter().for_each(|pid| set_idle(*pid));
    hit.iter().for_each(|pid| send(*pid, "KILL"));
    wait_until("all are normal", || {
        let classes = classes(&[workers.clone(), children.clone()].concat());
        classes.len() >= children.len() && !classes.contains(&IDLE)
    });
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    wait_until("the program has ended", || !workers.iter().any(|pid| is_there(*pid)));
}

/// Puts a process into the idle class, as `chrt` does.
fn set_idle(pid: i32) {
    let status = std::process::Command::new("chrt").args(["-i", "-p", "0", &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "there is `chrt`");
}

#[test]
fn no_guard_is_left_when_a_program_ends() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let running = Running::start(pace_worker(&GOVERNOR, "endure", POLLERS, folder.path()));
    wait_until_paced(&running);
    let (first, second) = (guard_of(running.pid()), second_guard_of(running.pid()));
    fs::write(folder.path().join("stop"), "").expect("files can be written");
    let (status, printed) = running.ended();
    assert_eq!(status.code(), Some(0), "{printed}");
    wait_until("the guards have ended", || !is_there(first) && !is_there(second));
    let left = all_processes().expect("there is /proc").flatten().filter(|process| {
        let parts = process.cmdline().unwrap_or_default();
        process.pid == second && parts.first().is_some_and(|name| name == "sched-restore")
    });
    assert_eq!(left.count(), 0);
}
