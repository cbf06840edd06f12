//! The settings of Time Warp: how states are brought back, when messages are cancelled, how far ahead, and
//! the memory beyond which a federate runs ahead no farther.

use crate::Time;

/// How states are brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Saving {
    /// A copy before every event.
    Copy,
    /// A copy before the first event of an LP in a batch, and after every so many more, which adapts; events
    /// in between are handled again to come back to them (coast-forward).
    #[default]
    Periodic,
    /// By the model's [`Undo::undo`](crate::Undo::undo), the latest event first: no copies. Needs
    /// [`Model::UNDO`](crate::Model::UNDO).
    Undo,
}

/// What becomes of messages whose cause is rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Cancellation {
    /// They are cancelled at once.
    #[default]
    Aggressive,
    /// They are cancelled only when their cause, handled again, does not send the same once more (Gafni,
    /// 1988). Messages to oneself are cancelled at once here too.
    Lazy,
}

/// The settings of optimistic federates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Optimism {
    /// How states are brought back.
    pub saving: Saving,
    /// What becomes of messages whose cause is rolled back.
    pub cancellation: Cancellation,
    /// Bytes that the log of one federate may take; without limit unless said. Counted is what lies in the
    /// log, not the memory that is kept for more; a federate that holds up all others goes over it by the
    /// events of one instant.
    pub memory_bytes: Option<usize>,
    /// The LPs that may run ahead, by number: `None` for all of them.
    pub optimistic: Option<Vec<bool>>,
    /// Handles, takes back, compares and handles again every event.
    pub check: bool,
    /// How far beyond GVT a federate may run, in simulated time; unless said, as far as has been worth it.
    pub ahead: Option<Time>,
    /// Never runs in the safe gear, however well it could: for tests.
    pub eager: bool,
}
