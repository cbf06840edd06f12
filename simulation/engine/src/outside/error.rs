//! What an outside federate can do wrong.

use paceline_kernel::{LpId, Time};
use thiserror::Error;

/// An outside federate that broke the rules, and ended the run by that.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("outside federate {federate}: {kind}")]
#[non_exhaustive]
pub struct OutsideError {
    /// The number of the federate, as in [`crate::Simulation::outside`].
    pub federate: u32,
    /// What it did.
    pub kind: OutsideErrorKind,
}

paceline_kernel::debug_tells!(OutsideError);

/// What an outside federate did, or what cannot be done with one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum OutsideErrorKind {
    /// There is no federate of this number.
    #[error("there is no such federate; allowed: numbers below {federates}")]
    NoSuchFederate { federates: u32 },
    /// Two were named for the same federate.
    #[error("two outside federates have this number")]
    Twice,
    /// What was asked for cannot be done with outside federates.
    #[error("{0} cannot be used with outside federates")]
    Unsupported(&'static str),
    /// It said that it was done, but it was not.
    #[error("it says that it is done with everything before {bound}, but its next event is at {next}")]
    NotDone { bound: Time, next: Time },
    /// It sent a message for a time about which it had promised silence.
    #[error("a message from {from} to {to} at {at}; allowed: {earliest} or later")]
    TooEarly { from: LpId, to: LpId, at: Time, earliest: Time },
    /// It sent a message along a channel that the model does not declare, or earlier than declared.
    #[error("a message from {from} to {to} at {at}, which the channels that the model declares exclude")]
    Channel { from: LpId, to: LpId, at: Time },
    /// It sent a message to an LP that does not exist.
    #[error("a message to {to}; allowed: LPs below {lps}")]
    UnknownLp { to: LpId, lps: u32 },
    /// It sent a message in the name of an LP that is not one of its own.
    #[error("a message in the name of {from}, which is not one of its LPs")]
    ForeignSender { from: LpId },
    /// It took back a message that it has not sent, or not any more, or that is final.
    #[error("an anti-message from {from} to {to} at {at}, for a message that was never sent, or is final")]
    NeverSent { from: LpId, to: LpId, at: Time },
    /// Its floor fell behind what it had said, and what was handed over since does not explain that.
    #[error("it says that its floor is {floor}; allowed: {earliest} or later")]
    FloorFell {
        /// The time before which it says that it will run nothing.
        floor: Time,
        earliest: Time,
    },
    /// It ran farther ahead than it was permitted.
    #[error("it says that it has run everything before {front}; allowed: nothing at or after {allowed}")]
    BeyondPermit { front: Time, allowed: Time },
    /// It took in what was not handed over, or less than it had said before.
    #[error("it says that it has taken in hand-over {taken_in}; allowed: {least} to {most}")]
    NotHandedOver {
        taken_in: u64,
        /// What it had taken in before.
        least: u64,
        /// The number of the latest hand-over.
        most: u64,
    },
    /// It answered what it was not asked.
    #[error("an answer that was not asked for")]
    NotAsked,
    /// It gave back other LPs than its own.
    #[error("it has given back the LPs of federate {0}")]
    OtherLps(u32),
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    Late(std::time::Duration),
    /// It ended without an answer: a panic, a closed connection.
    #[error("it ended without an answer")]
    Gone,
    /// It has failed, as it says itself.
    #[error("{0}")]
    Failed(String),
}
