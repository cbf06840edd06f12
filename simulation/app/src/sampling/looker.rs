//! What only a run that stands still can show: the picture that the model draws of itself, and the lengths of
//! queues.
//!
//! The sampler wants a look, and asks the run back from its workers; the thread of the run then looks, and
//! leaves what it saw in the slot. Invariant: a look that takes long is wanted the less often, so that all
//! looks together take less than a hundredth of the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paceline_engine::Run;
use paceline_kernel::Time;
use paceline_results::{Picture, Results};

/// A look takes at most one part in so many of the run. The leg that ends for it costs about as much again.
const SHARE: u32 = 250;
/// The least time between two looks, and the longest. The leg that ends for a look costs Time Warp all that
/// has run ahead, which nobody can measure: seldom looks keep it small.
const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(10);

/// What was seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The simulated time reached.
    pub(crate) at: Time,
    /// Events waiting in each federate.
    pub(crate) pending: Vec<usize>,
    /// What the model has drawn.
    pub(crate) picture: Option<Picture>,
}

/// Where looks are wanted and left.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    is_wanted: AtomicBool,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    seen: Option<Seen>,
    /// When the next look may be wanted.
    next: Option<Instant>,
}

impl Slot {
    /// Wants a look, unless the last one was a short time ago. Says whether the run is to be asked back for
    /// it.
    pub(crate) fn want(&self) -> bool {
        let is_due = self.left().next.is_none_or(|next| Instant::now() >= next);
        is_due && !self.is_wanted.swap(true, Ordering::AcqRel)
    }

    /// Takes what was seen, if there is something new.
    pub(crate) fn take(&self) -> Option<Seen> {
        self.left().seen.take()
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        // Nothing that may panic is done while it is held.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at a run on the thread that owns it.
#[derive(Debug)]
pub(crate) struct Looker {
    slots: Vec<Arc<Slot>>,
}

impl Looker {
    /// Leaves what it sees in all of these.
    pub(super) fn new(slots: Vec<Arc<Slot>>) -> Self {
        Self { slots }
    }

    /// Looks, if that is wanted or this is the end. The run stands still meanwhile.
    pub(crate) fn look<M: Results>(&mut self, run: &mut Run<M>, is_last: bool) {
        let wanting = |slot: &&Arc<Slot>| slot.is_wanted.swap(false, Ordering::AcqRel) || is_last;
        let wanting: Vec<_> = self.slots.iter().filter(wanting).collect();
        if wanting.is_empty() {
            return;
        }
        let start = Instant::now();
        let at = run.time();
        let picture = run.model().picture(at, &mut run.states());
        let seen = Seen { at, pending: run.pending_by_federate(), picture };
        // Each who wants looks wants no more of them than if it were alone; together they have one at a time.
        let wait = start.elapsed().saturating_mul(SHARE * self.slots.len() as u32).clamp(SOON, LATE);
        for slot in wanting {
            let mut left = slot.left();
            left.seen = Some(seen.clone());
            left.next = Some(Instant::now() + wait);
        }
    }
}
