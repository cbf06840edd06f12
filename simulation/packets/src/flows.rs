//! Lists of flows: who sends how much to whom, from when on, and after which other flows.
//!
//! A [`Workload`] is built before a run. A flow starts at a time, or a pause after the last of some other
//! flows has arrived, whichever is later: a response after its request, a step of an all-reduce after the one
//! before. The flows that it waits for all end at the host where it begins, so that a host knows by itself
//! when to start it, and no message is needed for it. Clients that act on what comes back are
//! [`crate::application`]s.
//!
//! | flows | built by |
//! |---|---|
//! | bulk transfers | [`Workload::bulk`] |
//! | all-reduce in a ring or a tree, all-to-all | [`Workload::collective`] |
//! | arrivals at a load | [`Workload::poisson`] |
//!
//! Invariants: a flow waits only for flows with lower numbers, so that no flows wait for each other; what is
//! random about flow `n` is a function of the seed and `n`, whatever was built before it; equal calls build
//! equal lists on every machine. Times are in picoseconds, sizes in bytes, rates in bits a second, hosts are
//! numbers of the caller's.

mod arrivals;
mod collectives;

#[cfg(test)]
mod test;

use paceline_kernel::Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use arrivals::{Pairing, Poisson};
pub use collectives::{Collective, CollectiveKind};

/// A flow of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FlowDemand {
    /// The host that sends.
    pub from: u32,
    /// The host that receives.
    pub to: u32,
    /// What is sent, in bytes.
    pub bytes: u64,
    /// It starts at this time (ps) or later.
    pub start_ps: u64,
    /// It starts when all these flows have arrived whole at `from`, and `pause_ps` after the last of them.
    pub after: Box<[u32]>,
    /// The pause after the last of these, in picoseconds.
    pub pause_ps: u64,
}

/// An application that cannot be built.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{what}; allowed: {allowed}")]
pub struct WorkloadError {
    /// What is wrong.
    pub what: String,
    /// What is allowed instead.
    pub allowed: &'static str,
}

paceline_kernel::debug_tells!(WorkloadError);

/// The flows of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    seed: u64,
    flows: Vec<FlowDemand>,
}

impl Workload {
    /// No flows; what is random about those to come is drawn from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed, flows: Vec::new() }
    }

    /// The flows, by their numbers.
    pub fn flows(&self) -> &[FlowDemand] {
        &self.flows
    }

    /// Adds a transfer of `bytes` that starts at `start_ps`, and returns its number.
    ///
    /// # Errors
    ///
    /// It goes to the host that sends it, has no bytes, or is one too many.
    pub fn bulk(&mut self, from: u32, to: u32, bytes: u64, start_ps: u64) -> Result<u32, WorkloadError> {
        self.push(FlowDemand { from, to, bytes, start_ps, after: Box::default(), pause_ps: 0 })
    }

    /// Adds a flow after others, and returns its number.
    ///
    /// # Errors
    ///
    /// As for [`Workload::bulk`]; or it waits for a flow that is not there yet, or ends at another host.
    pub fn push(&mut self, flow: FlowDemand) -> Result<u32, WorkloadError> {
        let refuse = |what: String, allowed| Err(WorkloadError { what, allowed });
        if flow.from == flow.to {
            return refuse(format!("a flow from host {} to itself", flow.from), "a flow between two hosts");
        }
        if flow.bytes == 0 {
            return refuse(format!("a flow of 0 bytes from host {}", flow.from), "1 byte or more");
        }
        let ends_here = |number: &u32| {
            self.flows.get(*number as usize).is_some_and(|flow_before| flow_before.to == flow.from)
        };
        if let Some(number) = flow.after.iter().find(|number| !ends_here(number)) {
            let what = format!("a flow from host {} that waits for flow {number}", flow.from);
            return refuse(what, "flows before it that end where it begins");
        }
        let Ok(number) = u32::try_from(self.flows.len()) else {
            return refuse("more flows than have numbers".into(), "up to 2^32 flows");
        };
        self.flows.push(flow);
        Ok(number)
    }

    /// The random numbers of the next flow.
    fn draws(&self) -> Rng {
        Rng::new(self.seed, self.flows.len() as u64)
    }
}
