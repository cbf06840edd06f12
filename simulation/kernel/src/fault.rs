//! What a model can do wrong: every send that breaks a rule, with the LP, both times and the event named.

use thiserror::Error;

use crate::{LpId, Time};

/// The rule that a send broke.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RuleErrorKind {
    /// The event was to happen before now.
    #[error("is in its past")]
    Past,
    /// The event was to happen earlier than the model's lookahead allows for a message to another LP.
    #[error("is nearer than the declared lookahead of {lookahead}")]
    Lookahead { lookahead: Time },
    /// The event was sent to another LP along a channel that [`crate::Model::channels`] does not declare, or
    /// below the channel's lookahead.
    #[error("is not covered by the channels the LP declares")]
    Channel,
    /// There is no such LP.
    #[error("goes to an LP that does not exist (there are {lps})")]
    UnknownLp { lps: u32 },
    /// The event was to happen after the end of the clock (2^64 ticks: about 584 years, or 213 days in
    /// picoseconds).
    #[error("is beyond the end of the clock")]
    BeyondClock,
    /// A chain of zero-delay events within one instant is longer than [`crate::MAX_DEPTH`].
    #[error("continues a chain of more than 65535 zero-delay events in one instant")]
    EndlessInstant,
}

/// A send that broke a rule; the run ends with it.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{from} at {now} sent {event} to {to} for {at}, which {kind}")]
pub struct RuleError {
    /// The rule that the send broke.
    pub kind: RuleErrorKind,
    /// The LP that sent.
    pub from: LpId,
    /// The simulated time of the event in which it sent; zero in `init`.
    pub now: Time,
    /// The LP it sent to.
    pub to: LpId,
    /// When the event was to happen.
    pub at: Time,
    /// The event, as its `Debug` shows it.
    pub event: String,
}

crate::debug_tells!(RuleError);
