//! Threads and processes that were forked by a paced thread while that was in the idle class: they inherit it, which the kernel
//! offers no way to prevent. Those that do not publish themselves are set back to the normal class.
//!
//! Nothing is looked at while nobody on the machine forks; after that, a few processes at a time, until all that are paced
//! have been looked at.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use procfs::process::{Process, Task};
use procfs::{Current, LoadAverage, ProcResult};

use crate::sched::{self, SchedClass};

/// How long a look may take at a time.
const LOOK_MAX: Duration = Duration::from_micros(200);

/// Where the looking is.
#[derive(Debug, Default)]
pub struct Strays {
    /// The last process of the machine when a round began.
    latest_pid: u32,
    /// Whether somebody has forked since the round began.
    again: bool,
    /// The processes still to be looked at.
    open: Vec<i32>,
}

impl Strays {
    /// Looks on, where `paced` are the threads that are paced, as (process, thread). Somebody who forks all the time is looked
    /// at all the time; what cannot be read has ended.
    pub fn look(&mut self, paced: impl Fn() -> BTreeSet<(i32, i32)>) {
        let latest_pid = LoadAverage::current().map_or(self.latest_pid, |load| load.latest_pid);
        if latest_pid != self.latest_pid {
            (self.latest_pid, self.again) = (latest_pid, true);
        }
        if self.open.is_empty() && !self.again {
            return;
        }
        let paced = paced();
        if self.open.is_empty() {
            self.again = false;
            self.open = paced.iter().map(|(pid, _)| *pid).collect();
            self.open.dedup();
        }
        let start = Instant::now();
        while let Some(pid) = self.open.pop() {
            // What cannot be read has ended.
            let _ = self.look_at(pid, &paced);
            if start.elapsed() > LOOK_MAX {
                break;
            }
        }
    }

    /// Sets the threads of a process back that are not paced themselves, and has its children looked at too.
    fn look_at(&mut self, pid: i32, paced: &BTreeSet<(i32, i32)>) -> ProcResult<()> {
        for task in Process::new(pid)?.tasks()?.flatten() {
            let Task { tid, .. } = task;
            if !paced.contains(&(pid, tid)) && matches!(sched::get(tid), Ok(SchedClass::Idle)) {
                // If it has ended meanwhile, so much the better.
                let _ = sched::set(tid, SchedClass::Other);
            }
            for child in task.children().unwrap_or_default() {
                let child = child.cast_signed();
                if paced.range((child, i32::MIN)..=(child, i32::MAX)).next().is_none() {
                    self.open.push(child);
                }
            }
        }
        Ok(())
    }
}
