//! Outside federates: LPs that are run elsewhere take part in a run.
//!
//! To the protocols such a federate is one whose turn ends later: a worker hands it the events before its
//! bound and turns to other federates at once; the answer comes from any thread, through a [`Door`], and is
//! taken in by whatever worker is free. Nothing is handed over that could still be taken back, unless the
//! federate can run ahead and so does the run ([`OutsideFederate::is_optimistic`]).
//!
//! - [`OutsideFederate`] is the trait to implement to take part: [`ThreadFederate`] runs the model itself on
//!   a thread of its own, [`JsonFederate`] speaks JSON lines over a socket or a pipe.
//! - [`ahead`](self::ahead) is what those that run ahead are handed and say, and how that counts in GVT.
//! - [`proxy`](self::proxy) stands for it on the board of the protocol, [`answers`](self::answers) is where
//!   its answers wait.
//!
//! Invariants: between two legs every outside federate has given its LPs back; it is asked one thing at a
//! time, unless it runs ahead; what it answers is checked before any other federate sees it.

mod ahead;
mod answers;
mod error;
#[cfg(all(feature = "json", not(feature = "picoseconds")))]
mod json;
mod leg;
mod proxy;
mod standing;
mod thread;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use paceline_kernel::{Event, Federate, LpId, Model, Optimism, Partition, Rollbacks, Time};

use crate::watch::lvt::Publishing;

pub use ahead::{HandOver, Permit};
pub(crate) use answers::{Answer, Answers};
pub use answers::{Door, FederateError};
pub use error::{OutsideError, OutsideErrorKind};
#[cfg(all(feature = "json", not(feature = "picoseconds")))]
pub use json::JsonFederate;
pub(crate) use leg::{Outsiders, Seated, Start, recall, seat, settle, timed, unseat};
pub(crate) use proxy::{Asked, Heard, Occupant, Proxy, call_back};
pub use standing::Standing;
pub use thread::ThreadFederate;

/// The LPs of a federate, on their way out and back.
pub struct OutsideLps<M: Model> {
    /// The LPs with their events. [`Federate::lvt`] is the earliest of them.
    pub federate: Federate<M>,
    /// Which LP is in which federate, in the whole run.
    pub partition: Partition,
    /// The time that the run has reached.
    pub reached: Time,
    /// How it is to run ahead, in a stretch in which it is.
    pub(crate) optimism: Option<Optimism>,
    /// On the way back: what one that ran ahead has rolled back, if it counts that. It is part of
    /// [`crate::Report::rollbacks`].
    pub rollbacks: Option<Box<Rollbacks>>,
    /// Where a thread of this process publishes how far it has come.
    pub(crate) publishing: Publishing,
}

/// Runs the LPs of a federate somewhere else: on another thread, in another process, in a virtual machine, by
/// hand.
///
/// The calls come one after the other, from any thread, and must return at once; the answers go through the
/// door. A run begins and ends stretches as it pauses: [`OutsideFederate::begin`], any number of
/// [`OutsideFederate::advance`], each answered by [`Door::done`], then [`OutsideFederate::end`], answered by
/// [`Door::ended`].
pub trait OutsideFederate<M: Model>: Send {
    /// Takes over the LPs. Gives back the earliest time at which it may do anything by itself, what is sent
    /// to it apart; [`Time::MAX`] for never.
    fn begin(&mut self, lps: OutsideLps<M>, door: Door<M>) -> Time;

    /// `events`, all before `bound` and in the total order, happen to its LPs; nothing else will be sent to
    /// it for before `bound`. It does all that it does before `bound`, and answers.
    fn advance(&mut self, bound: Time, events: Vec<Event<M::Event>>);

    /// The stretch is over: it gives back the LPs, with the events that wait for them.
    fn end(&mut self);

    /// Whether it can run ahead of what is final, and take back what it has done. In a stretch under an
    /// optimistic or mixed protocol ([`OutsideLps::optimism`] gives the settings then) it is not asked to
    /// [`advance`](Self::advance), but gets everything at once by [`run_ahead`](Self::run_ahead).
    fn is_optimistic(&self) -> bool {
        false
    }

    /// Takes in mail, and goes on as far as it is permitted, until something else is handed over. It says
    /// where it stands when it likes, by [`Door::stands`], but at least once after each hand-over. Only those
    /// that are optimistic are called.
    fn run_ahead(&mut self, handed: HandOver<M::Event>) {
        drop(handed);
    }

    /// Whether it does what the model would do. Then the run may be stepped event by event, and checkpointed,
    /// between two stretches.
    fn runs_model(&self) -> bool {
        false
    }

    /// Whether it can be saved between two stretches, although it does not do what the model would do. Then
    /// the run may be checkpointed, and it is asked to [`save`](Self::save) itself.
    fn can_save(&self) -> bool {
        false
    }

    /// Between two stretches, before a checkpoint is written to `checkpoint`: gives what the file is to keep
    /// of it beside its LPs ([`CheckpointFile::outside`](crate::CheckpointFile::outside)). It returns once
    /// all that it keeps in other files is on the disk. Until the checkpoint has got its name the one before
    /// is valid, so what that one needs has to stay. The error is the reason why it cannot be saved, in
    /// words.
    fn save(&mut self, checkpoint: &Path) -> Result<Vec<u8>, String> {
        Err(format!("an outside federate cannot be saved in {}", checkpoint.display()))
    }
}

/// What happens to an outside federate that does not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IfLate {
    /// The run ends with an error that names it.
    #[default]
    EndRun,
    /// Its LPs fall silent: they send nothing any more, and what is sent to them does not happen. What they
    /// have sent stays sent, even ahead of what is final. The result depends on when that was;
    /// [`crate::Report::dropped`] names them.
    Drop,
}

/// An outside federate with the terms on which it takes part, see [`crate::Simulation::outside`].
pub struct Outside<M: Model> {
    pub(crate) runner: Box<dyn OutsideFederate<M>>,
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) limit: Option<Duration>,
    pub(crate) if_late: IfLate,
    /// It has not answered in time, and is silent for good.
    pub(crate) dropped: bool,
    /// Between two stretches: it does nothing by itself before this, what waits for its LPs apart.
    pub(crate) next: Time,
}

impl<M: Model> Outside<M> {
    /// `runner` takes part from the beginning to the end, and may take as long as it likes to answer.
    pub fn new(runner: impl OutsideFederate<M> + 'static) -> Self {
        // What a model does is in its events; of any other nothing is known before it says so.
        let next = if runner.runs_model() { Time::MAX } else { Time::ZERO };
        Self {
            runner: Box::new(runner),
            from: Time::ZERO,
            until: Time::MAX,
            limit: None,
            if_late: IfLate::default(),
            dropped: false,
            next,
        }
    }

    /// It joins late: before simulated time `from` its LPs are run by the run itself.
    pub fn from(mut self, from: Time) -> Self {
        self.from = from;
        self
    }

    /// It leaves early: from simulated time `until` on its LPs are run by the run itself.
    pub fn until(mut self, until: Time) -> Self {
        self.until = until;
        self
    }

    /// It has so much real time for each answer; what happens otherwise.
    pub fn limit(mut self, limit: Duration, if_late: IfLate) -> Self {
        (self.limit, self.if_late) = (Some(limit), if_late);
        self
    }

    /// Whether it takes part at `time`; its silence is for good.
    pub(crate) fn takes_part(&self, time: Time) -> bool {
        self.dropped || self.from <= time && time < self.until
    }
}

impl<M: Model> fmt::Debug for Outside<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside")
            .field("from", &self.from)
            .field("until", &self.until)
            .field("limit", &self.limit)
            .field("if_late", &self.if_late)
            .finish_non_exhaustive()
    }
}

impl<M: Model> fmt::Debug for OutsideLps<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideLps")
            .field("federate", &self.federate.id())
            .field("reached", &self.reached)
            .finish_non_exhaustive()
    }
}

impl<M: Model> OutsideLps<M> {
    /// The numbers of its LPs, ascending.
    pub fn lps(&self) -> impl Iterator<Item = LpId> {
        self.federate.members()
    }

    /// How federates of this stretch run ahead, if this one is to: then it is called by
    /// [`OutsideFederate::run_ahead`], else by [`OutsideFederate::advance`].
    pub fn optimism(&self) -> Option<&Optimism> {
        self.optimism.as_ref()
    }

    /// The state of one of its LPs. Panics if it is not one of them.
    pub fn state(&self, lp: LpId) -> &M::State {
        assert!(self.federate.holds(lp, &self.partition), "{lp} is not in federate {}", self.federate.id());
        self.federate.look(lp, &self.partition).0
    }
}
