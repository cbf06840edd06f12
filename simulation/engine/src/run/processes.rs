//! What a run of several processes agrees on: its protocol, what their results add up to, and that one of
//! them cannot go on.

use paceline_kernel::{Digest, Model, Rollbacks, Time};
use serde::{Deserialize, Serialize};

use crate::peers::Peers;
use crate::{Protocol, RunError, Simulation};

/// The protocol that a run of several processes has, where that is left to us: nothing is tried across
/// processes.
pub(crate) fn protocol<M: Model>(simulation: &Simulation<M>) -> Protocol {
    match simulation.protocol {
        Protocol::Auto if simulation.model.lookahead() == Time::ZERO => Protocol::Optimistic,
        Protocol::Auto => Protocol::Window,
        other => other,
    }
}

/// What each process adds to the report of all.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) digest: Digest,
    pub(super) events: u64,
    pub(super) last: Time,
    pub(super) pending: u64,
    pub(super) null_messages: u64,
    pub(super) threads: u32,
    pub(super) rollbacks: Option<Rollbacks>,
    /// By federate: its load since LPs moved last, where they may.
    pub(super) loads: Vec<u64>,
}

pub(super) fn add_up(all: Vec<Results>) -> Results {
    let mut sum = Results::default();
    for results in all {
        sum.digest.join(results.digest);
        sum.events += results.events;
        sum.last = sum.last.max(results.last);
        sum.pending += results.pending;
        sum.null_messages += results.null_messages;
        sum.threads += results.threads;
        sum.loads.extend(results.loads);
        if let Some(rollbacks) = results.rollbacks {
            sum.rollbacks.get_or_insert_default().join(&rollbacks);
        }
    }
    sum
}

/// Sends the other processes, if there are any, that this one cannot go on; gives the error back.
pub(super) fn send_failure<M: Model>(peers: Option<&Peers<M>>, error: RunError) -> RunError {
    // A failure of peers is known to all that can still be reached.
    if let Some(peers) = peers.filter(|_| !matches!(error, RunError::Peers(_))) {
        peers.send_failure(&error.to_string());
    }
    error
}
