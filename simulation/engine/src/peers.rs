//! The other processes of a run: each runs some of the federates with an engine of its own, and all of them
//! are one run.
//!
//! What all processes have to know to go on - the least time of all, whether one of them wants to pause,
//! whether anything is left - they exchange in *rounds*: each contributes once ([`Contribution`]), and a
//! round is complete where all have contributed and all that was sent before has arrived.
//!
//! With the feature `net` there are such processes (`net.rs`). Without it there are none, and no code for
//! them: the types have no values (`alone.rs`), and no method of [`Simulation`](crate::Simulation) asks for
//! any. Nothing outside this module depends on the feature.

#[cfg(not(feature = "net"))]
mod alone;
mod contribution;
#[cfg(feature = "net")]
mod net;

use paceline_kernel::{Event, Mail, Model, Part, Time, World};

#[cfg(not(feature = "net"))]
pub use alone::{Link, PeersError};
#[cfg(not(feature = "net"))]
pub(crate) use alone::{Peers, Processes, Pulse, Transport, check, meet, start_pulse};
pub(crate) use contribution::{Contribution, Counts};
#[cfg(feature = "net")]
pub use net::{Link, PeersError, PeersErrorKind, Silence};
#[cfg(feature = "net")]
pub(crate) use net::{Peers, Processes, Pulse, Transport, check, meet, start_pulse};

use crate::watch::monitor::Halt;

/// The processes of a run, and the number of threads of each.
pub(crate) type Met<M> = (Peers<M>, Vec<u32>);

/// What all processes have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    /// The least time of all.
    pub(crate) least: Time,
    pub(crate) halt: Option<Halt>,
}

/// What a process has after the parts of all have been brought together.
pub(crate) enum Joined<M: Model> {
    /// The whole run: in the process of rank 0.
    Whole(World<M>),
    /// Its own part: in the others.
    Own(Part<M>),
}

/// Why a delivery cannot be handled: whoever sent it cannot have been right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeliveryError(pub(crate) String);

impl DeliveryError {
    /// Of a message that another protocol would have.
    pub(crate) fn protocol() -> Self {
        Self("a message that does not fit the protocol".into())
    }

    /// Of a message between two legs, where none may come.
    pub(crate) fn stray<M: Model>(_: Delivery<M>) -> Result<(), Self> {
        Err(Self("a message arrived while the run stood still".into()))
    }
}

/// A message from another process for a seat of this one.
pub(crate) enum Delivery<M: Model> {
    Events {
        to: u32,
        events: Vec<Event<M::Event>>,
    },
    Mail {
        to: u32,
        mail: Mail<M::Event>,
    },
    Promise {
        to: u32,
        slot: u32,
        clock: Time,
        events: Vec<Event<M::Event>>,
    },
    Request {
        to: u32,
        from: u32,
    },
    /// For the owner of the run.
    Bundle {
        from: u32,
        bytes: Vec<u8>,
    },
}
