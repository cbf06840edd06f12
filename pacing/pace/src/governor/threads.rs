//! The threads behind the slots of a page. Each is checked before anything is done to it.
//!
//! Invariant: a thread is paced only if it has the id, process and start time that its slot names, and its
//! process descends from ours. So whatever a page contains, threads of other programs are not changed.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use paceline_lvt::{Owner, SlotView};
use procfs::process::{Process, Stat};

use crate::plan::LVT_MAX_NS;
use crate::sched::{self, SchedClass};

/// The limit of a search through ancestors: more generations than a command has.
const GENERATIONS: usize = 64;

/// A thread that may be paced.
#[derive(Debug)]
pub struct Thread {
    /// Its id, process and start time.
    pub owner: Owner,
    /// The class to set it back to.
    pub normal: SchedClass,
    /// The class it has been set to; `None` if that is not known any more.
    set: Option<SchedClass>,
    /// Whether its class has ever been changed.
    touched: bool,
    /// The file with its CPU time, which ends with the thread.
    schedstat: File,
    /// Its progress when it was seen last: its LVT, or its number of messages if it has no LVT.
    reached: Option<u64>,
    /// The CPU time that it had when all were counted last.
    pub counted_ns: Cell<Option<u64>>,
}

impl Thread {
    /// The thread behind a slot, if it may be paced by process `us`.
    pub fn find(owner: Owner, us: i32) -> Option<Self> {
        let (pid, tid) = (i32::try_from(owner.pid).ok()?, i32::try_from(owner.tid).ok()?);
        // Opened before the start time is compared: it cannot belong to a later thread with the same id then.
        let schedstat = File::open(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        let stat = Process::new(pid).ok()?.task_from_tid(tid).ok()?.stat().ok()?;
        if stat.starttime != owner.start_time || !descends(&stat, us) {
            return None;
        }
        let normal = match sched::get(tid).ok()? {
            // No simulation starts in the idle class: it was forked by a thread that we had put there.
            SchedClass::Idle => SchedClass::Other,
            normal @ (SchedClass::Other | SchedClass::Batch) => normal,
            SchedClass::RealTime(_) | SchedClass::Foreign(_) => return None,
        };
        let (reached, counted_ns) = (None, Cell::new(None));
        Some(Self { owner, normal, set: None, touched: false, schedstat, reached, counted_ns })
    }

    pub fn tid(&self) -> i32 {
        self.owner.tid.cast_signed()
    }

    /// The CPU time it has had in nanoseconds; an error when it has ended. For a thread that runs, the time
    /// is that of the last timer tick.
    pub fn cpu_ns(&self) -> std::io::Result<u64> {
        let mut text = [0; 80];
        let read = self.schedstat.read_at(&mut text, 0)?;
        let first = text[..read].split(|byte| *byte == b' ').next().unwrap_or_default();
        let parsed = std::str::from_utf8(first).ok().and_then(|number| number.parse().ok());
        parsed.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
    }

    /// How far it has advanced since it was seen last, as a wrapping number.
    pub fn note_progress(&mut self, view: &SlotView) -> u64 {
        let now = if view.is_simulating() { view.lvt_ns } else { view.messages };
        // A thread that has nothing to do, or has just begun, has made no progress.
        let Some(before) = self.reached.replace(now).filter(|before| (*before).max(now) <= LVT_MAX_NS) else {
            return 0;
        };
        // An LVT falls when a federate rolls back; a sum of wrapping differences stays right.
        now.wrapping_sub(before)
    }

    /// Sets its class if it has another one; returns how long that took.
    pub fn put(&mut self, class: SchedClass) -> std::io::Result<Option<Duration>> {
        // Each change is a system call, and a thread that was never changed is in its normal class.
        if self.set == Some(class) || (self.set.is_none() && !self.touched && class == self.normal) {
            return Ok(None);
        }
        let start = Instant::now();
        // Reading the file fails if the thread has ended and another has its id.
        self.cpu_ns()?;
        sched::set(self.tid(), class)?;
        (self.set, self.touched) = (Some(class), true);
        Ok(Some(start.elapsed()))
    }

    /// Forgets its class: another program may have set it.
    pub fn forget_class(&mut self) {
        self.set = None;
    }

    /// Sets it back to its normal class, if its class was ever changed. Does nothing if it has ended.
    pub fn restore(&mut self) {
        if self.touched {
            let _ = self.put(self.normal);
        }
    }
}

/// Whether the process of `stat` descends from process `us`.
fn descends(stat: &Stat, us: i32) -> bool {
    let mut parent = stat.ppid;
    for _ in 0..GENERATIONS {
        if parent == us {
            return true;
        }
        match Process::new(parent).and_then(|process| process.stat()) {
            Ok(stat) if parent > 1 => parent = stat.ppid,
            _ => return false,
        }
    }
    false
}
