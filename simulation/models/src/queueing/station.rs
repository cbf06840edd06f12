//! The state of a station, and the events that stations handle.
//!
//! Invariant: nobody waits while a server is free.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// A customer on its way through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Customer {
    /// The number of its class, in the order of the scenario.
    pub class: u16,
    /// When it came into the network.
    pub entered: Time,
}

/// What happens at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueingEvent {
    /// A customer comes from outside.
    Outside {
        /// The number of its class.
        class: u16,
    },
    /// A customer comes from a station, or has been here from the start.
    Arrive(Customer),
    /// A customer has been served.
    Done {
        /// Who it is.
        customer: Customer,
        /// When it came to this station.
        came: Time,
        /// When its service began.
        begun: Time,
        /// Whether it leaves the network.
        leaves: bool,
    },
}

impl QueueingEvent {
    pub(super) fn class(&self) -> u16 {
        match self {
            Self::Outside { class } => *class,
            Self::Arrive(customer) | Self::Done { customer, .. } => customer.class,
        }
    }
}

/// The state of a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Station {
    /// Servers at work.
    pub(super) busy: u32,
    /// Who waits, by priority, the first served first.
    pub(super) lines: Vec<VecDeque<Waiting>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub customer: Customer,
    /// When it came to the station.
    pub came: Time,
}

impl Station {
    pub(super) fn join_line(&mut self, level: usize, customer: Customer, came: Time) {
        self.lines[level].push_back(Waiting { customer, came });
    }

    /// Gives the next customer a server, if both are there; with zero `servers` one is always free.
    pub(super) fn take_next(&mut self, servers: u32) -> Option<Waiting> {
        if servers > 0 && self.busy >= servers {
            return None;
        }
        let next = self.lines.iter_mut().find_map(VecDeque::pop_front)?;
        self.busy = self.busy.saturating_add(1);
        Some(next)
    }

    pub(super) fn waiting(&self) -> usize {
        self.lines.iter().map(VecDeque::len).sum()
    }
}
