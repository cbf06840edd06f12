//! Where an outside federate that runs ahead stands, as it says from any thread and a worker takes it in.
//!
//! Invariant: what it says while no worker takes it in is joined into one standing, so that a worker that is
//! late finds one, however much was said.

use paceline_kernel::{Effort, Mail, Time};

use crate::sync::{Mutex, lock};

/// Where an outside federate that runs ahead stands, see [`super::Door::stands`].
#[derive(Debug)]
pub struct Standing<E> {
    /// The number of the latest hand-over that it has taken in. All that it reports here takes that into
    /// account.
    pub taken_in: u64,
    /// It will run nothing before this any more, and cancel nothing whose cause is before this, unless
    /// something new is handed over.
    pub floor: Time,
    /// It has run nothing at or after this.
    pub front: Time,
    /// What it has sent to LPs of other federates, and anti-messages, in this order, since it said so last.
    pub mail: Mail<E>,
    /// What it has done since then, where it counts that: the width of what is worth it follows from it.
    pub effort: Effort,
}

impl<E> Standing<E> {
    /// Takes in what it has said later.
    fn join(&mut self, mut later: Self) {
        self.taken_in = later.taken_in;
        self.floor = later.floor;
        self.front = self.front.max(later.front);
        self.mail.append(&mut later.mail);
        self.effort.turns += later.effort.turns;
        self.effort.handled += later.effort.handled;
        self.effort.again += later.effort.again;
        self.effort.wasted += later.effort.wasted;
    }
}

/// What a federate has said, until a worker takes it in.
#[derive(Debug)]
pub(crate) struct Said<E>(Mutex<Option<Standing<E>>>);

impl<E> Default for Said<E> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<E> Said<E> {
    /// Adds what it says now. Returns whether nothing else was here, so that a worker must be woken.
    pub(super) fn add(&self, standing: Standing<E>) -> bool {
        let mut said = lock(&self.0);
        // One report at a time is enough: a worker that is late finds the sum of all that was said since.
        match &mut *said {
            Some(earlier) => {
                earlier.join(standing);
                false
            }
            None => {
                *said = Some(standing);
                true
            }
        }
    }

    pub(super) fn take(&self) -> Option<Standing<E>> {
        lock(&self.0).take()
    }
}
