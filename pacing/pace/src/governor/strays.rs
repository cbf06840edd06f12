//! Strays: threads and processes that a paced thread forked while it was in the idle class. They inherit this
//! class, and the kernel offers no way to prevent that. Those that do not publish an LVT are set back to the
//! normal class.
//!
//! Nothing is read while no process on the machine forks. After a fork all threads of the paced processes and
//! their children are checked, in a round of several looks: a look has a time limit, however many threads
//! there are.

use std::time::{Duration, Instant};

use procfs::process::{Process, Task, TasksIter};

use crate::sched::{self, SchedClass};

/// The time limit of a look.
const LOOK_MAX: Duration = Duration::from_micros(150);

/// The paced processes.
pub trait Paced {
    /// The processes with a paced thread.
    fn processes(&self) -> Vec<i32>;
    fn has_process(&self, pid: i32) -> bool;
    fn has_thread(&self, tid: i32) -> bool;
}

/// The state of the current round.
#[derive(Debug, Default)]
pub struct Strays {
    /// The newest process or thread of the machine when the round began.
    latest_pid: u32,
    /// Whether a process has forked since the round began.
    again: bool,
    /// The processes still to be looked at.
    open: Vec<i32>,
    /// The threads of the process that is being looked at.
    tasks: Option<TasksIter>,
}

impl Strays {
    /// Continues the round; `latest_pid` is the newest process or thread of the machine.
    pub fn look(&mut self, latest_pid: u32, paced: &impl Paced) {
        if latest_pid != self.latest_pid {
            (self.latest_pid, self.again) = (latest_pid, true);
        }
        let start = Instant::now();
        while start.elapsed() < LOOK_MAX {
            if let Some(task) = self.tasks.as_mut().and_then(Iterator::next) {
                // A thread that cannot be read has ended.
                if let Ok(task) = task {
                    self.look_at(&task, paced);
                }
            } else if let Some(pid) = self.open.pop() {
                self.tasks = Process::new(pid).and_then(|process| process.tasks()).ok();
            } else if self.again {
                // Something has forked since the round began, perhaps in a process that was looked at before.
                (self.again, self.open) = (false, paced.processes());
                self.tasks = None;
            } else {
                break;
            }
        }
    }

    /// Sets a thread back if it is not paced, and adds its children to the round.
    fn look_at(&mut self, task: &Task, paced: &impl Paced) {
        // Only the idle class is inherited: those above the normal one end at a fork.
        if matches!(sched::get(task.tid), Ok(SchedClass::Idle)) && !paced.has_thread(task.tid) {
            // An error means that it has ended meanwhile: then there is nothing to do.
            let _ = sched::set(task.tid, SchedClass::Other);
        }
        let children = task.children().unwrap_or_default().into_iter().map(u32::cast_signed);
        // Processes with a paced thread are in the round already.
        self.open.extend(children.filter(|child| !paced.has_process(*child)));
    }
}
