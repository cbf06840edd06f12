//! The synchronization protocols that a run can have, with their names.
//!
//! Invariant: every protocol is in the list `ALL`, by which the program names, reads and lists it.
//!
//! What a protocol does is chosen in `protocols/leg.rs`, how federates are merged under it in
//! `adapt/auto.rs`, and what it asks of a model is checked in `run/build.rs` and
//! `simulation/app/src/settings.rs`.

/// How federates are kept in step: how far each may run before the others have come as far. The result and
/// its digest are the same under all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The protocol that a short trial of the model itself finds fastest; it may change during the run.
    Auto,
    /// One queue, one event after the other: the reference.
    Sequential,
    /// A barrier after every fixed step of simulated time.
    TimeStep,
    /// A barrier after every window that opens at the earliest event and is as wide as the lookahead (LBTS).
    /// Where the channels of the model declare longer lookaheads, each federate goes as far as its
    /// distance from the others allows ([`paceline_kernel::Distances::worth`]).
    Window,
    /// Chandy-Misra-Bryant: every channel promises how far ahead it is silent.
    NullMessage,
    /// Chandy-Misra-Bryant, with promises without events only where a federate waits for them.
    NullMessageOnDemand,
    /// Time Warp: federates run ahead and roll back.
    Optimistic,
    /// Time Warp in which some LPs never handle what could be rolled back.
    Mixed,
}

impl Protocol {
    /// All of them, with the name used in scenario files and a line about each.
    pub const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Auto, "auto", "whatever a short trial of the model finds fastest: the default"),
        (Self::Sequential, "sequential", "one queue, one event after the other: the reference"),
        (Self::TimeStep, "time-step", "a barrier after every fixed step of simulated time"),
        (Self::Window, "window", "a barrier after every lookahead-wide window from the earliest event"),
        (Self::NullMessage, "null-message", "Chandy-Misra-Bryant: channels promise how far they are silent"),
        (Self::NullMessageOnDemand, "null-message-on-demand", "the same, promises only to those who wait"),
        (Self::Optimistic, "optimistic", "Time Warp: federates run ahead and roll back"),
        (Self::Mixed, "mixed", "Time Warp in which some LPs never handle what could be rolled back"),
    ];

    /// The name used in scenario files.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(protocol, ..)| *protocol == self);
        found.expect("every protocol is listed").1
    }

    /// Whether federates may run ahead and roll back.
    pub(crate) fn speculates(self) -> bool {
        matches!(self, Self::Optimistic | Self::Mixed)
    }
}
