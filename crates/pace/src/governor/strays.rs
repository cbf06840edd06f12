//! Threads and processes that were forked by a paced thread while that was in the idle class: they inherit it, which the kernel
//! offers no way to prevent. Those that do not publish themselves are set back to the normal class.
//!
//! Nothing is read while no process on the machine forks. After that all threads of the paced processes and their children
//! are looked at, some at a time: a look has a limit, however many there are.

use std::time::{Duration, Instant};

use procfs::process::{Process, Task, TasksIter};

use crate::sched::{self, SchedClass};

/// How long a look may take at a time.
const LOOK_MAX: Duration = Duration::from_micros(150);

/// The paced processes.
pub trait Paced {
    /// The processes with a thread that is.
    fn processes(&self) -> Vec<i32>;
    /// Whether the process has a thread that is.
    fn has_process(&self, pid: i32) -> bool;
    /// Whether the thread is.
    fn has_thread(&self, tid: i32) -> bool;
}

/// How far the looking has come.
#[derive(Debug, Default)]
pub struct Strays {
    /// The last process or thread of the machine when a round began.
    latest_pid: u32,
    /// Whether a process has forked since the round began.
    again: bool,
    /// The processes still to be looked at.
    open: Vec<i32>,
    /// The threads of the one that is being looked at.
    tasks: Option<TasksIter>,
}

impl Strays {
    /// Looks on, where `latest_pid` is the last process or thread that was started on the machine.
    pub fn look(&mut self, latest_pid: u32, paced: &impl Paced) {
        if latest_pid != self.latest_pid {
            (self.latest_pid, self.again) = (latest_pid, true);
        }
        let start = Instant::now();
        while start.elapsed() < LOOK_MAX {
            if let Some(task) = self.tasks.as_mut().and_then(Iterator::next) {
                // What cannot be read has ended.
                if let Ok(task) = task {
                    self.look_at(&task, paced);
                }
            } else if let Some(pid) = self.open.pop() {
                self.tasks = Process::new(pid).and_then(|process| process.tasks()).ok();
            } else if self.again {
                (self.again, self.open) = (false, paced.processes());
                self.tasks = None;
            } else {
                break;
            }
        }
    }

    /// Sets a thread back that is not paced, and has its children looked at.
    fn look_at(&mut self, task: &Task, paced: &impl Paced) {
        if matches!(sched::get(task.tid), Ok(SchedClass::Idle)) && !paced.has_thread(task.tid) {
            // If it has ended meanwhile, so much the better.
            let _ = sched::set(task.tid, SchedClass::Other);
        }
        let children = task.children().unwrap_or_default().into_iter().map(u32::cast_signed);
        self.open.extend(children.filter(|child| !paced.has_process(*child)));
    }
}
