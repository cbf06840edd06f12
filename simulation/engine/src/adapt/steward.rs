//! The steward of a run: a thread beside the workers that decides when a leg ends.
//!
//! `run/build.rs` gives it what is due and how often; `run/course.rs` does at the pause what it was asked
//! for.
//!
//! It asks for a pause when a checkpoint is due, when it is time to check whether LPs should move or which
//! protocol should run, when other programs keep workers from their cores, or when the number of threads
//! follows the cores and the cores that the process may use have changed. It also brings written checkpoints
//! to the disk during the run. It sleeps on a condition variable with a time-out, and is joined at the end of
//! the run. A build for shuttle has no such thread: there the run does the same at its pauses.
//!
//! Invariant: at most one checkpoint is on its way to the disk.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::checkpoint::Unpublished;
use crate::workers::cores::{self, Leader};
use crate::workers::crowd::Crowd;
use crate::{CheckpointError, Monitor, RunError};

/// How often it looks at the cores; it never sleeps for longer.
const LOOK: Duration = Duration::from_secs(1);
/// How often it looks whether workers are kept waiting: at first, and while they seem to be; less and less
/// often while not.
const CROWD: Duration = Duration::from_millis(20);
const CROWD_SELDOM: Duration = Duration::from_millis(320);

/// What is to be done.
#[derive(Debug, Default)]
struct Orders {
    over: bool,
    /// When the next checkpoint is due.
    due: Option<Instant>,
    /// When to look next whether LPs are to move between federates.
    look: Option<Instant>,
    /// When to decide next how the run continues.
    decision: Option<Instant>,
    /// Whether workers have been kept waiting since the last decision.
    crowded: bool,
    /// The number of threads that follows the cores, where it does.
    threads: Option<u32>,
    unpublished: Option<Unpublished>,
    publishing: bool,
    failed: Option<CheckpointError>,
}

/// What the run and its steward share: orders, and a signal that they have changed.
#[derive(Debug, Default)]
struct Shared {
    orders: Mutex<Orders>,
    changed: Condvar,
}

/// The run's handle on the steward.
pub(crate) struct Steward {
    shared: Arc<Shared>,
    every: Option<Duration>,
    thread: Option<JoinHandle<()>>,
}

impl Shared {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'o>(&self, orders: MutexGuard<'o, Orders>, most: Duration) -> MutexGuard<'o, Orders> {
        self.changed.wait_timeout(orders, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// The body of the steward's thread, which ends with the run.
    fn serve(&self, monitor: &Monitor, leader: Leader) {
        let mut looked = Instant::now();
        let mut orders = self.orders();
        let (mut crowd, mut crowd_looked, mut crowd_pause) = (Crowd::default(), looked, CROWD);
        // For the whole run: a run that has ways to choose from asks for decisions from its start on.
        let decides = orders.decision.is_some();
        loop {
            if let Some(checkpoint) = orders.unpublished.take() {
                orders.publishing = true;
                drop(orders);
                let published = checkpoint.publish();
                orders = self.orders();
                orders.publishing = false;
                if let Err(error) = published {
                    orders.failed = Some(error);
                    // The owner of the run learns of it at the pause, and not only at the next checkpoint.
                    monitor.pause();
                }
                self.changed.notify_all();
                continue;
            }
            if orders.over {
                return;
            }
            let now = Instant::now();
            let next = orders.due.into_iter().chain(orders.look).chain(orders.decision).min();
            let left = next.map_or(LOOK, |due| due.saturating_duration_since(now));
            // Between two calls of the owner nobody grants it. The next call begins by taking it back
            // (`Monitor::take_wanted`), and this thread asks anew when it looks next.
            if left.is_zero() {
                monitor.pause();
            }
            if now.duration_since(looked) >= LOOK {
                looked = now;
                // A number that was asked for stands: the cores decide only where nobody has.
                let follows = orders.threads.filter(|_| !monitor.has_wanted());
                if follows.is_some_and(|threads| threads != cores::available_to(leader)) {
                    monitor.pause();
                }
            }
            let since = now.duration_since(crowd_looked);
            if decides && since >= crowd_pause {
                crowd_looked = now;
                let workers = monitor.workers().clone();
                if crowd.look(&workers, since) {
                    orders.crowded = true;
                    monitor.pause();
                }
                crowd_pause = if crowd.is_near() { CROWD } else { CROWD_SELDOM.min(crowd_pause * 2) };
            }
            let most =
                if decides { LOOK.min((crowd_looked + crowd_pause).duration_since(now)) } else { LOOK };
            // What is due waits for the run to pause, which changes the orders; without a wait this thread
            // would spin.
            let most = if left.is_zero() { most } else { left.min(most) };
            orders = self.wait(orders, most);
        }
    }
}

impl Steward {
    /// Starts it, where it is needed: for checkpoints after `every` span of real time, for a look at the
    /// balance after `look`, for a decision how the run goes on after `decision`, and with `threads`, the
    /// number that follows the cores.
    pub(crate) fn start(
        monitor: &Monitor,
        every: Option<Duration>,
        look: Option<Duration>,
        decision: Option<Duration>,
        threads: Option<u32>,
    ) -> Result<Self, RunError> {
        let due = every.filter(|every| !every.is_zero()).and_then(|every| Instant::now().checked_add(every));
        let look = look.and_then(|look| Instant::now().checked_add(look));
        let decision = decision.and_then(|decision| Instant::now().checked_add(decision));
        let idle = every.is_none() && look.is_none() && decision.is_none() && threads.is_none();
        let orders = Orders { due, look, decision, threads, ..Orders::default() };
        let shared = Arc::new(Shared { orders: Mutex::new(orders), changed: Condvar::new() });
        let mut steward = Self { shared: Arc::clone(&shared), every, thread: None };
        if cfg!(paceline_shuttle) || idle {
            return Ok(steward);
        }
        // Its affinity is followed: this is the thread that starts the run, mostly the one that `taskset -p`
        // changes.
        let (monitor, leader) = (monitor.clone(), cores::leader());
        let thread = Builder::new().name("paceline-steward".into());
        let thread = thread
            .spawn(move || shared.serve(&monitor, leader))
            .map_err(|error| RunError::Threads(format!("the thread that asks for pauses: {error}")))?;
        steward.thread = Some(thread);
        Ok(steward)
    }

    pub(crate) fn is_checkpoint_due(&self) -> bool {
        let due = self.shared.orders().due.is_some_and(|due| due <= Instant::now());
        due || self.every.is_some_and(|every| every.is_zero())
    }

    /// Why the checkpoint handed over last has failed, if it has; it is not said twice.
    pub(crate) fn take_failed(&self) -> Result<(), CheckpointError> {
        self.shared.orders().failed.take().map_or(Ok(()), Err)
    }

    pub(crate) fn is_look_due(&self) -> bool {
        self.shared.orders().look.is_some_and(|look| look <= Instant::now())
    }

    /// The next look at the balance is in `pause`.
    pub(crate) fn schedule_look(&self, pause: Duration) {
        self.shared.orders().look = Instant::now().checked_add(pause);
        self.shared.changed.notify_all();
    }

    /// Whether workers are kept waiting; it is not said twice.
    pub(crate) fn take_crowded(&self) -> bool {
        std::mem::take(&mut self.shared.orders().crowded)
    }

    /// The next decision how the run goes on is due in `pause`.
    pub(crate) fn schedule_decision(&self, pause: Duration) {
        self.shared.orders().decision = Instant::now().checked_add(pause);
        self.shared.changed.notify_all();
    }

    /// Waits until the checkpoint handed over last is on the disk.
    pub(crate) fn settle(&self) -> Result<(), CheckpointError> {
        let mut orders = self.shared.orders();
        // Both: the thread takes the checkpoint out before it publishes it.
        while orders.publishing || orders.unpublished.is_some() {
            orders = self.shared.wait(orders, LOOK);
        }
        drop(orders);
        self.take_failed()
    }

    /// Hands over a checkpoint for the disk, after [`Steward::settle`]. Whether it could be written or not,
    /// the next one is due when its span of real time has passed from now on.
    pub(crate) fn publish(
        &self,
        written: Result<Unpublished, CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let mut orders = self.shared.orders();
        // Also where it could not be written: what has failed, as on a full disk, fails again at once.
        orders.due = orders.due.zip(self.every).and_then(|(_, every)| Instant::now().checked_add(every));
        let checkpoint = written?;
        if self.thread.is_none() {
            drop(orders);
            return checkpoint.publish();
        }
        orders.unpublished = Some(checkpoint);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// The number of threads follows the cores, or does not any more.
    pub(crate) fn follow(&self, threads: Option<u32>) {
        self.shared.orders().threads = threads;
    }

    /// Ends the thread, after what it has in hand.
    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.orders().over = true;
            self.shared.changed.notify_all();
            if let Err(panic) = thread.join() {
                // Not while another panic is on its way out.
                if !std::thread::panicking() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }

    /// Ends it: everything handed over is on the disk, or the error says why not.
    pub(crate) fn finish(&mut self) -> Result<(), CheckpointError> {
        self.end();
        self.take_failed()
    }
}

impl Drop for Steward {
    fn drop(&mut self) {
        self.end();
    }
}
