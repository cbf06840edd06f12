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
        let running = || standing.running.iter().map(|number| &*self.0.handles[*number as usize]);
        let part = |handle: &dyn Replica| {
            let (now, end) = (handle.time().as_ticks(), until.map_or(u64::MAX, Time::as_ticks));
            (PART as f64 * (now as f64 / end as f64).min(1.0)) as u64
        };
        let position = u64::from(standing.ended) * PART + running().map(part).sum::<u64>();
        let rate = text::rate(speed.update(standing.work + running().map(Replica::work).sum::<u64>()));
        let (ended, beside) = (standing.ended, standing.running.len());
        let said = match self.stopped() {
            true => "stopping".to_owned(),
            false => format!("{ended} of {all} done, {beside} running, {rate}"),
        };
        (position, said)
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        // A panic in a replication happens while nobody holds it.
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
