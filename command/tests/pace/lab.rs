//! Starts `paceline pace`, and looks at what becomes of threads.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use procfs::process::{FDTarget, Process, all_processes};

/// Nothing that is waited for takes longer.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// SCHED_OTHER, as the kernel counts classes.
pub const NORMAL: u32 = 0;
/// SCHED_IDLE.
pub const IDLE: u32 = 5;

/// The program, about to run `paceline pace OPTIONS -- COMMAND`.
pub fn pace(options: &[&str], command: &[&str]) -> Command {
    let mut pace = Command::new(env!("CARGO_BIN_EXE_paceline"));
    pace.arg("pace").args(options).arg("--").args(command);
    pace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    pace
}

/// The same, for this test program in one of the roles of `workers.rs`, with an argument and a folder to
/// write to.
pub fn pace_worker(options: &[&str], role: &str, argument: &str, folder: &Path) -> Command {
    let us = std::env::current_exe().expect("the test program has a path");
    let us = us.to_str().expect("its path is UTF-8");
    let mut pace = pace(options, &[us, "--exact", "workers::worker", "--nocapture"]);
    pace.env("PACE_ROLE", role).env("PACE_ARGUMENT", argument).env("PACE_FOLDER", folder);
    pace
}

/// Paced programs take turns: several at once would measure each other.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test for which it is all the same what is permitted.
pub fn any_turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turn of a test in which the governor paces with real-time priorities; none, with the reason on stderr,
/// where that is not permitted.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    let turn = any_turn();
    let output = pace(&["--policy", "governor"], &["true"]).output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let permitted = printed.contains("policy governor (real-time)");
    if !permitted {
        eprintln!("skipped: {printed}");
    }
    permitted.then_some(turn)
}

/// [`turn`], with a folder for the files of the test.
pub fn turn_in_folder() -> Option<(MutexGuard<'static, ()>, tempfile::TempDir)> {
    Some((turn()?, tempfile::tempdir().expect("there can be folders")))
}

/// A program that is killed, if it is still there, when the test is over.
pub struct Running {
    child: Child,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        Self { child: command.spawn().expect("the program starts") }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub fn is_over(&self) -> bool {
        let stat = Process::new(self.pid()).and_then(|process| process.stat());
        stat.is_ok_and(|stat| stat.state == 'Z')
    }

    /// Waits for its end, and says what it wrote to stderr.
    pub fn ended(self) -> (ExitStatus, String) {
        self.ended_within(PATIENCE)
    }

    /// The same for a program that may take so long.
    pub fn ended_within(mut self, patience: Duration) -> (ExitStatus, String) {
        let mut status = None;
        wait_within(patience, "the program has ended", || {
            status = self.child.try_wait().expect("children can be waited for");
            status.is_some()
        });
        let mut printed = String::new();
        let mut stderr = self.child.stderr.take().expect("stderr is a pipe");
        stderr.read_to_string(&mut printed).expect("stderr is UTF-8");
        (status.expect("it has ended"), printed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for pid in descendants(self.pid()) {
            send(pid, "KILL");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks until it is so, for a limited time.
#[track_caller]
pub fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait_within(PATIENCE, what, is_so);
}

#[track_caller]
fn wait_within(patience: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < patience, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal; ignores that the process may have ended.
pub fn send(pid: i32, signal: &str) {
    let signal = match signal {
        "KILL" => rustix::process::Signal::KILL,
        "TERM" => rustix::process::Signal::TERM,
        "STOP" => rustix::process::Signal::STOP,
        "CONT" => rustix::process::Signal::CONT,
        _ => rustix::process::Signal::INT,
    };
    let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
    let _ = rustix::process::kill_process(pid, signal);
}

pub fn descendants(pid: i32) -> Vec<i32> {
    let (mut open, mut found) = (vec![pid], Vec::new());
    while let Some(pid) = open.pop() {
        let tasks = Process::new(pid).and_then(|process| process.tasks());
        for task in tasks.into_iter().flatten().flatten() {
            let children = task.children().unwrap_or_default().into_iter().map(u32::cast_signed);
            for child in children {
                open.push(child);
                found.push(child);
            }
        }
    }
    found
}

/// The guard among the processes below `pid`, which is a running `paceline pace` with a governor.
pub fn guard_of(pid: i32) -> i32 {
    let is_guard = |pid: &i32| {
        Process::new(*pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.comm == "paceline-guard")
    };
    let mut found = None;
    // The kernel's list of children may have gaps while some come and go.
    wait_until("the guard is found", || {
        found = descendants(pid).into_iter().find(is_guard);
        found.is_some()
    });
    found.expect("it was found")
}

/// The second guard of a running `paceline pace` with a governor: it is no descendant, but reads from one of
/// the pacer's pipes.
pub fn second_guard_of(pid: i32) -> i32 {
    let pipes = |pid: i32| {
        let files = Process::new(pid).and_then(|process| process.fd());
        let targets = files.into_iter().flatten().flatten().map(|file| file.target);
        targets.filter(|target| matches!(target, FDTarget::Pipe(_))).collect::<Vec<_>>()
    };
    let mut found = None;
    wait_until("the second guard is found", || {
        let ours = pipes(pid);
        let all = all_processes().expect("there is /proc").flatten();
        let named = all.filter(|process| process.stat().is_ok_and(|stat| stat.comm == "sched-restore"));
        let reads = |process: &Process| pipes(process.pid).iter().any(|pipe| ours.contains(pipe));
        found = named.into_iter().find(reads).map(|process| process.pid);
        found.is_some()
    });
    found.expect("it was found")
}

/// The scheduling classes of all threads of these processes; those that have ended have none.
pub fn classes(pids: &[i32]) -> Vec<u32> {
    let tasks = pids.iter().filter_map(|pid| Process::new(*pid).and_then(|process| process.tasks()).ok());
    let stats = tasks.flatten().flatten().filter_map(|task| task.stat().ok());
    stats.filter(|stat| !matches!(stat.state, 'Z' | 'X')).filter_map(|stat| stat.policy).collect()
}

/// The command's processes below a running `paceline pace`: all but the guard.
pub fn workers_of(pace: &Running) -> Vec<i32> {
    let guard = guard_of(pace.pid());
    descendants(pace.pid()).into_iter().filter(|pid| *pid != guard).collect()
}

/// Waits until some threads of the command have to wait for others. Those others cannot be seen from here:
/// whoever looks runs only while they do not.
pub fn wait_until_paced(pace: &Running) -> Vec<i32> {
    wait_until("threads are paced", || classes(&workers_of(pace)).contains(&IDLE));
    workers_of(pace)
}
