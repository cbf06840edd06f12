//! Interrupts: a process ends a wait of another, with a reason.
//!
//! An interrupt ends the wait for a time or for a service, if the process has one, else the claim that it has
//! made first; the others stay. Where it waits for nothing that can be interrupted, the interrupt waits until
//! it does. Waits that are no claims, such as for a message, end in `core/outcomes.rs`, which says which of
//! them can be interrupted.
//!
//! Invariant: a process that is interrupted has no claim open and unanswered, or gets that answer next.

use std::collections::{BTreeMap, VecDeque};

use paceline_kernel::Time;

use super::super::ids::ProcessId;
use super::super::moment::Moment;
use super::super::wants::{Failure, Interruption, Outcome};
use super::Resources;
use super::claims::Stage;
use super::scope::Answered;

#[derive(Clone, Debug, Default)]
pub(in super::super) struct Interrupts {
    pending: BTreeMap<ProcessId, VecDeque<Failure>>,
    /// The latest that ended a wait which says only that it was interrupted.
    latest: BTreeMap<ProcessId, Failure>,
}

impl Interrupts {
    /// Takes the first that a process has not noticed.
    #[inline]
    pub(in super::super) fn pending(&mut self, process: ProcessId) -> Option<Failure> {
        if self.pending.is_empty() {
            return None;
        }
        let pending = self.pending.get_mut(&process)?;
        let first = pending.pop_front();
        if pending.is_empty() {
            self.pending.remove(&process);
        }
        first
    }

    /// Whether there is one that its process has not noticed.
    #[inline]
    pub(in super::super) fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(in super::super) fn add(&mut self, process: ProcessId, failure: Failure) {
        self.pending.entry(process).or_default().push_back(failure);
    }

    /// A process is to be able to ask for the reason.
    pub(in super::super) fn note(&mut self, process: ProcessId, failure: Failure) {
        self.latest.insert(process, failure);
    }

    /// Takes the reason of the latest that ended a wait without saying why.
    pub(in super::super) fn take_latest(&mut self, process: ProcessId) -> Option<Failure> {
        self.latest.remove(&process)
    }

    pub(super) fn forget(&mut self, process: ProcessId) {
        if !self.pending.is_empty() {
            self.pending.remove(&process);
        }
        if !self.latest.is_empty() {
            self.latest.remove(&process);
        }
    }
}

impl Failure {
    /// The same, with what was left of a time.
    pub(super) fn with_left(self, span: Time) -> Self {
        match self {
            Self::Interrupted(interruption) => {
                Self::Interrupted(Box::new(Interruption { left: span, ..*interruption }))
            }
            Self::Preempted(mut preemption) => {
                preemption.left = span;
                Self::Preempted(preemption)
            }
            other => other,
        }
    }
}

impl Resources {
    /// Ends a wait of a process, if it has one; else gives the failure back.
    pub(in super::super) fn interrupt(
        &mut self,
        at: Moment,
        process: ProcessId,
        failure: Failure,
    ) -> Option<Failure> {
        let rank = |place: &u32| match self.claims.get(*place).stage {
            Stage::Times => 0,
            Stage::Serves => 1,
            Stage::Waits => 2,
            Stage::Holds => 3,
        };
        // The latest comes first: of equals, the one that was made first is the last.
        let mut claims: Vec<u32> = self.claims.of(process).collect();
        claims.reverse();
        let Some(place) = claims.into_iter().min_by_key(rank).filter(|place| rank(place) < 3) else {
            return Some(failure);
        };
        let claim = self.claims.get(place);
        let (number, stage) = (claim.number, claim.stage);
        let left = match stage {
            Stage::Times | Stage::Serves => claim.due.saturating_sub(at.at),
            Stage::Waits | Stage::Holds => claim.left_of_service(),
        };
        self.leave(at, place, u32::MAX);
        let outcome = Outcome::Failed(failure.with_left(left));
        self.effects.answered.push(Answered { process, number, outcome, at });
        None
    }
}
