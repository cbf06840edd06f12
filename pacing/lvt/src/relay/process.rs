//! Publishing for a process whose program does not publish itself, by whoever knows how far it is.
//!
//! A slot belongs to a thread. Which thread of the process simulates is not known; it is taken to be the one
//! that has computed most since the last look. Client libraries have threads of their own beside it,
//! which read and sleep.
//!
//! Invariants: one thread of the process has a slot, at most; a process with a thread that publishes by
//! itself has none from here.

use std::collections::BTreeMap;

use procfs::process::Process;

use super::GuestReport;
use super::deputy::Deputy;
use crate::error::Error;
use crate::owner::Owner;
use crate::page::Page;
use crate::slot::{Name, SlotView};

/// Another thread gets the slot if it has computed this many times more than the one that has it.
const CLEARLY_MORE: u64 = 2;

/// Publishes for one process; when it is dropped, its slot is free again.
#[derive(Debug)]
pub struct ProcessRelay {
    host: Page,
    pid: u32,
    name: Name,
    /// By thread: the CPU time that it had at the last look, in nanoseconds.
    computed_ns: BTreeMap<u32, u64>,
    deputy: Option<Deputy>,
    report: Option<GuestReport>,
}

impl ProcessRelay {
    /// For process `pid`, which is called `name` on the page. Nothing is published before
    /// [`ProcessRelay::look`].
    pub fn new(host: Page, pid: u32, name: &str) -> Self {
        let (computed_ns, deputy, report) = (BTreeMap::new(), None, None);
        Self { host, pid, name: Name::new(name), computed_ns, deputy, report }
    }

    /// The thread that has the slot.
    pub fn thread(&self) -> Option<Owner> {
        self.deputy.as_ref().map(Deputy::owner)
    }

    /// Finds the thread that has computed most since the last look, and claims the slot for it. To be called
    /// about once a second.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; what [`Page::slots`] says of a page that is none any more.
    pub fn look(&mut self) -> Result<(), Error> {
        let threads = threads(self.pid);
        let now = threads.iter().map(|(owner, ns)| (owner.tid, *ns)).collect();
        let before = std::mem::replace(&mut self.computed_ns, now);
        if self.publishes_itself()? {
            self.deputy = None;
            return Ok(());
        }
        let since = |(owner, ns): &(Owner, u64)| ns - before.get(&owner.tid).copied().unwrap_or(0).min(*ns);
        // Of equals the first one, which is the main thread.
        let busiest = threads.iter().rev().max_by_key(|thread| since(thread));
        let Some(busiest) = busiest else {
            self.deputy = None;
            return Ok(());
        };
        let kept = self.thread().and_then(|kept| threads.iter().find(|(owner, _)| *owner == kept));
        if kept.is_none_or(|kept| since(busiest) > CLEARLY_MORE * since(kept)) {
            // The slot of the other thread is free before: a page may be full.
            self.deputy = None;
            let deputy = Deputy::claim(&self.host, busiest.0, self.name)?;
            deputy.write(self.report);
            self.deputy = Some(deputy);
        }
        Ok(())
    }

    /// Says how far the process is, and whether it waits. Whoever paces decides at once where it begins to
    /// wait, or need not wait any more.
    pub fn publish(&mut self, report: GuestReport) {
        let before = self.report.replace(report);
        if before == Some(report) {
            return;
        }
        let is_ours = self.deputy.as_ref().is_none_or(|deputy| deputy.write(self.report));
        if !is_ours {
            self.deputy = None;
        }
        if before.is_none_or(|before| before.waiting != report.waiting) {
            self.deputy.iter().for_each(Deputy::ring);
        }
    }

    /// Whether a thread of the process has claimed a slot by itself. One of our name was left by another
    /// relay that was killed.
    fn publishes_itself(&self) -> Result<bool, Error> {
        let is_another = |slot: &SlotView| {
            let owner = slot.owner();
            owner.pid == self.pid && slot.name != self.name && !owner.is_gone()
        };
        Ok(self.host.slots()?.iter().any(is_another))
    }
}

/// The threads of a process with the CPU time that each has had in nanoseconds, in the order of their ids;
/// none where there is no such process.
fn threads(pid: u32) -> Vec<(Owner, u64)> {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let tasks = process.and_then(|process| process.tasks().ok()).into_iter().flatten();
    // A thread that cannot be read has ended.
    let read = tasks.filter_map(|task| {
        let task = task.ok()?;
        let start_time = task.stat().ok()?.starttime;
        let owner = Owner { pid, tid: task.tid.cast_unsigned(), start_time };
        Some((owner, task.schedstat().ok()?.sum_exec_runtime))
    });
    let mut found: Vec<_> = read.collect();
    found.sort_by_key(|(owner, _)| owner.tid);
    found
}
