//! Every discipline in one type, built from its settings.
//!
//! To add a discipline, give it a file beside this one and a variant of [`QueueSettings`] and [`Queue`] here,
//! or of [`AnyAdmission`] if it decides at arrival. Its name and keys are in
//! `simulation/models/src/packets/queues.rs`; the tests list all disciplines (`queue/test/all.rs`,
//! `tests/packets/random.rs`, `damaged_checkpoints.rs` of the models).

use paceline_kernel::{Rng, Time};
use serde::{Deserialize, Serialize};

use super::{
    Admission, Backlog, Classes, Codel, CodelSettings, Discipline, Draws, DropTail, Drr, Ecn, Fifo, FqCodel,
    FqCodelSettings, Limit, Loss, Packet, QueueError, Red, RedSettings, StrictPriority, Threshold, Verdict,
};

/// The discipline of a queue with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum QueueSettings {
    /// A packet that finds the queue full is lost.
    DropTail(Limit),
    /// Random early detection.
    Red(RedSettings),
    /// Marks beyond a threshold, for DCTCP.
    Threshold(Threshold),
    /// Controlled delay, with a limit at arrival.
    Codel(CodelSettings, Limit),
    /// A queue for each flow, served in turn, under CoDel.
    FqCodel(FqCodelSettings),
    /// Classes of which the first that has packets is served.
    Priority(Vec<QueueSettings>),
    /// Classes that share the link in proportion to their quanta: the bytes a class may send in its turn.
    Drr(Vec<(u32, QueueSettings)>),
}

impl QueueSettings {
    /// The admission of a FIFO queue that decides at arrival, for a port that needs no event for a departure;
    /// none for the other disciplines. `seed` and `stream` as in [`Queue::new`].
    ///
    /// # Errors
    ///
    /// A setting makes no sense.
    pub fn admission(&self, seed: u64, stream: u64) -> Result<Option<AnyAdmission>, QueueError> {
        Ok(Some(match self {
            Self::DropTail(limit) => {
                limit.check()?;
                AnyAdmission::DropTail(DropTail(*limit))
            }
            Self::Red(settings) => {
                AnyAdmission::Red(Box::new(Red::new(*settings, Draws::new(seed, stream))?))
            }
            Self::Threshold(threshold) => {
                threshold.check()?;
                AnyAdmission::Threshold(*threshold)
            }
            Self::Codel(..) | Self::FqCodel(_) | Self::Priority(_) | Self::Drr(_) => return Ok(None),
        }))
    }
}

/// An admission of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AnyAdmission {
    /// See [`DropTail`].
    DropTail(DropTail),
    /// See [`Red`].
    Red(Box<Red>),
    /// See [`Threshold`].
    Threshold(Threshold),
}

impl AnyAdmission {
    /// Whether its numbers are such as it reaches, and the settings are those of `fresh`.
    pub(crate) fn is_consistent(&self, fresh: &Self) -> bool {
        match (self, fresh) {
            (Self::DropTail(admission), Self::DropTail(fresh)) => admission == fresh,
            (Self::Red(admission), Self::Red(fresh)) => admission.is_consistent(fresh),
            (Self::Threshold(admission), Self::Threshold(fresh)) => admission == fresh,
            _ => false,
        }
    }
}

impl Admission for AnyAdmission {
    #[inline]
    fn admit(&mut self, now: Time, backlog: &Backlog, bytes: u32, ecn: Ecn) -> Verdict {
        match self {
            Self::DropTail(admission) => admission.admit(now, backlog, bytes, ecn),
            Self::Red(admission) => admission.admit(now, backlog, bytes, ecn),
            Self::Threshold(admission) => admission.admit(now, backlog, bytes, ecn),
        }
    }
}

/// A queue of any discipline. What is large stands in a box, so that a drop-tail queue is small: there are
/// most of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Queue<P> {
    /// First in, first out, decided at arrival.
    Fifo(Fifo<P, AnyAdmission>),
    /// See [`Codel`].
    Codel(Box<Codel<P>>),
    /// See [`FqCodel`].
    FqCodel(Box<FqCodel<P>>),
    /// See [`StrictPriority`].
    Priority(StrictPriority<Queue<P>>),
    /// See [`Drr`].
    Drr(Drr<Queue<P>>),
}

impl<P: Packet> Queue<P> {
    /// An empty queue. `seed` is that of the run, `stream` a number that no other queue has (that of the
    /// port): the random numbers of RED and the hash of FQ-CoDel come from both.
    ///
    /// # Errors
    ///
    /// A setting makes no sense.
    pub fn new(settings: &QueueSettings, seed: u64, stream: u64) -> Result<Self, QueueError> {
        if let Some(admission) = settings.admission(seed, stream)? {
            return Ok(Self::Fifo(Fifo::new(admission)));
        }
        // The queues of classes have streams of their own.
        let of_class = |class: usize, settings: &QueueSettings| {
            Self::new(settings, Rng::new(seed, stream).u64(), class as u64)
        };
        Ok(match settings {
            QueueSettings::Codel(settings, limit) => Self::Codel(Box::new(Codel::new(*settings, *limit)?)),
            QueueSettings::FqCodel(settings) => {
                Self::FqCodel(Box::new(FqCodel::new(*settings, seed, stream)?))
            }
            QueueSettings::Priority(classes) => {
                let queues = classes.iter().enumerate().map(|(class, settings)| of_class(class, settings));
                Self::Priority(StrictPriority::new(queues.collect::<Result<_, _>>()?)?)
            }
            QueueSettings::Drr(classes) => {
                let queues = classes
                    .iter()
                    .enumerate()
                    .map(|(class, (quantum, settings))| Ok((*quantum, of_class(class, settings)?)));
                Self::Drr(Drr::new(queues.collect::<Result<_, _>>()?)?)
            }
            QueueSettings::DropTail(_) | QueueSettings::Red(_) | QueueSettings::Threshold(_) => {
                unreachable!("these have an admission")
            }
        })
    }
}

impl<P: Packet> Queue<P> {
    /// Whether its numbers fit each other, and the settings are those of `fresh`, in a state at `latest`: for
    /// states that come from a file.
    pub(crate) fn is_consistent(&self, fresh: &Self, latest: Time) -> bool {
        let is_such = |class: &Self, fresh: &Self| class.is_consistent(fresh, latest);
        match (self, fresh) {
            (Self::Fifo(queue), Self::Fifo(fresh)) => queue.is_consistent(fresh, latest),
            (Self::Codel(queue), Self::Codel(fresh)) => queue.is_consistent(fresh, latest),
            (Self::FqCodel(queue), Self::FqCodel(fresh)) => queue.is_consistent(fresh, latest),
            (Self::Priority(queue), Self::Priority(fresh)) => queue.is_all(fresh, is_such),
            (Self::Drr(queue), Self::Drr(fresh)) => queue.is_all::<P>(fresh, is_such),
            _ => false,
        }
    }
}

/// The same call on whatever the queue is.
macro_rules! each {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            Queue::Fifo($inner) => $call,
            Queue::Codel($inner) => $call,
            Queue::FqCodel($inner) => $call,
            Queue::Priority($inner) => $call,
            Queue::Drr($inner) => $call,
        }
    };
}

impl<P: Packet> Discipline<P> for Queue<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, losses: &mut Vec<Loss<P>>) -> Verdict {
        each!(self, queue => queue.enqueue(now, packet, losses))
    }

    #[inline]
    fn dequeue(&mut self, now: Time, paused: Classes, losses: &mut Vec<Loss<P>>) -> Option<P> {
        each!(self, queue => queue.dequeue(now, paused, losses))
    }

    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn head_bytes(&self) -> Option<u32> {
        each!(self, queue => queue.head_bytes())
    }

    fn look(&self, show: &mut dyn FnMut(&P)) {
        each!(self, queue => queue.look(show))
    }
}
