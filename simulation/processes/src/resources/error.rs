//! Why a wait for a resource did not end as it should.

use std::sync::Arc;

use paceline_kernel::Time;
use thiserror::Error;

use crate::core::{Failure, Interruption, Preemption, RequestError};

/// Why a wait for a resource, an event or a time did not end as it should.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WaitError {
    /// The time that it was to take at most is over.
    #[error("the time limit has expired")]
    TimedOut,
    /// As many others waited as the request allowed, or more.
    #[error("too many others wait")]
    Balked,
    /// There are never so many units, or there is never so much room.
    #[error("more is asked for than there is at any time")]
    TooMuch,
    /// The resource is not there (any more), or it is of another kind.
    #[error("there is no such resource")]
    Unknown,
    /// The event failed; the text says why.
    #[error("the event failed: {0}")]
    Failed(Arc<String>),
    /// Another process has interrupted the wait.
    #[error("process {} has interrupted the wait", .0.by)]
    Interrupted(Box<Interruption>),
    /// Units that the process held were taken away.
    #[error("the units were preempted")]
    Preempted(Box<Preemption>),
    /// Something else that the process asked for did not come about.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl WaitError {
    /// What was left of the time that the process wanted to hold or to be served when it was interrupted or
    /// preempted; nothing otherwise.
    pub fn left(&self) -> Option<Time> {
        match self {
            Self::Interrupted(interruption) => Some(interruption.left),
            Self::Preempted(preemption) => Some(preemption.left),
            _ => None,
        }
    }

    /// The cause that another process gave when it interrupted the wait, if it is of type `T`.
    pub fn cause<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Interrupted(interruption) => interruption.cause.get(),
            _ => None,
        }
    }
}

impl From<Failure> for WaitError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TimedOut => Self::TimedOut,
            Failure::Balked => Self::Balked,
            Failure::TooMuch => Self::TooMuch,
            Failure::Unknown => Self::Unknown,
            Failure::Failed(reason) => Self::Failed(reason),
            Failure::Interrupted(interruption) => Self::Interrupted(interruption),
            Failure::Preempted(preemption) => Self::Preempted(preemption),
        }
    }
}
