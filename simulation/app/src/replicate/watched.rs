//! Handles on all replications: how far they are together, and the end of all by a signal.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_kernel::{LpId, Time};

use super::{Plan, Replica, Replicas};
use crate::progress::{Progress, Speed};
use crate::text;

/// The part of the progress bar that a replication has.
const PART: u64 = 1000;

/// The handles on all replications. Clones share them.
#[derive(Clone, Debug)]
pub struct Watched(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    handles: Vec<Box<dyn Replica>>,
    stopped: AtomicBool,
    standing: Mutex<Standing>,
}

/// Where all are.
#[derive(Debug, Default)]
struct Standing {
    running: BTreeSet<u32>,
    ended: u32,
    /// The work of those that have ended.
    work: u64,
}

/// How many replications there are.
#[cfg(feature = "live")]
#[derive(Clone, Copy, Debug)]
pub struct Count {
    pub all: u32,
    pub ended: u32,
    /// The work of those that have ended or run.
    pub work: u64,
}

impl Watched {
    /// Handles on the replications of a plan.
    pub fn new(replicas: &dyn Replicas, plan: &Plan) -> Self {
        Self(Arc::new(Shared {
            handles: (0..plan.replications).map(|_| replicas.replica()).collect(),
            stopped: AtomicBool::new(false),
            standing: Mutex::default(),
        }))
    }

    /// Ends all replications that run, and lets no other begin.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.0.handles.iter().for_each(|handle| handle.stop());
    }

    /// The LPs that are at an event, in all replications.
    pub fn at_work(&self) -> Vec<(LpId, Time)> {
        self.0.handles.iter().flat_map(|handle| handle.at_work()).collect()
    }

    /// Whether all were asked to end.
    pub fn stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Calls `run` with the handle on a replication, counted from 0, unless all were asked to end.
    pub fn during<R>(&self, number: u32, run: impl FnOnce(&dyn Replica) -> R) -> Option<R> {
        if self.stopped() {
            return None;
        }
        self.standing().running.insert(number);
        let handle = &self.0.handles[number as usize];
        let result = run(&**handle);
        let mut standing = self.standing();
        standing.running.remove(&number);
        standing.ended += 1;
        standing.work += handle.work();
        Some(result)
    }

    /// Starts to show how far all are, if `wanted` and there is a terminal.
    pub fn show(&self, plan: &Plan, wanted: bool) -> Progress {
        let (looked, at_the_end) = (self.clone(), self.clone());
        let (until, all) = (plan.until, plan.replications);
        let mut speed = Speed::start();
        let look = move || looked.look(until, all, &mut speed);
        let last = move || {
            if at_the_end.stopped() {
                // The terminal has written ^C there.
                eprintln!();
            }
        };
        Progress::show(Some(u64::from(all) * PART), wanted, look, last)
    }

    /// How far all are, in parts of the bar, and what is said of it.
    fn look(&self, until: Option<Time>, all: u32, speed: &mut Speed) -> (u64, String) {
        let standing = self.standing();
        let running = standing.running.iter().map(|number| self.0.handles[*number as usize].work());
        let position = self.position(&standing, until);
        let rate = text::rate(speed.update(standing.work + running.sum::<u64>()));
        let (ended, beside) = (standing.ended, standing.running.len());
        let said = match self.stopped() {
            true => "stopping".to_owned(),
            false => format!("{ended} of {all} done, {beside} running, {rate}"),
        };
        (position, said)
    }

    /// How many there are and have ended, and the work of all.
    #[cfg(feature = "live")]
    pub fn count(&self) -> Count {
        let standing = self.standing();
        let running = standing.running.iter().map(|number| self.0.handles[*number as usize].work());
        let work = standing.work + running.sum::<u64>();
        Count { all: self.0.handles.len() as u32, ended: standing.ended, work }
    }

    /// Those that run, and how far each is.
    #[cfg(feature = "live")]
    pub fn running(&self) -> Vec<(u32, Time)> {
        let standing = self.standing();
        standing.running.iter().map(|number| (*number, self.0.handles[*number as usize].time())).collect()
    }

    /// The part of all that is done, from 0 to 1.
    #[cfg(feature = "live")]
    pub fn part(&self, until: Option<Time>) -> f64 {
        let all = self.0.handles.len() as u64 * PART;
        self.position(&self.standing(), until) as f64 / all.max(1) as f64
    }

    /// How far all are, in parts of the bar.
    fn position(&self, standing: &Standing, until: Option<Time>) -> u64 {
        let part = |number: &u32| {
            let now = self.0.handles[*number as usize].time().as_ticks();
            let end = until.map_or(u64::MAX, Time::as_ticks);
            (PART as f64 * (now as f64 / end as f64).min(1.0)) as u64
        };
        u64::from(standing.ended) * PART + standing.running.iter().map(part).sum::<u64>()
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        // A panic in a replication happens while nobody holds it.
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
