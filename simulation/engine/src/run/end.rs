//! The end of a run: the report.
//!
//! Invariant: where a run has several processes, digest, events, null messages, threads and rollbacks in
//! the report of each are those of all. All open the same windows; rounds of GVT and checkpoints are those of
//! the process.

use std::time::Instant;

use paceline_kernel::{Model, Past, Time};

use super::course::Course;
use super::processes::{Results, add_up};
use crate::adapt::auto::Auto;
use crate::workers::seat::Federates;
use crate::{EndedBy, Report, RunError, Simulation};

impl<M: Model> Course<M> {
    /// Ends the run where it is.
    pub(super) fn finish(mut self, simulation: &Simulation<M>) -> Result<Report<M::Output>, RunError> {
        let Simulation { model, protocol, until, .. } = simulation;
        let start = Instant::now();
        let reached = self.lvt();
        let mut pending = self.pending();
        // The report counts the last checkpoint, or its failure.
        let written = self.steward.finish();
        self.settled(simulation, written)?;
        let balancer = self.balancer;
        let mut loads = balancer.as_ref().map(|balancer| balancer.loads(&self.federates)).unwrap_or_default();
        let groups = self.federates.len() as u32;
        let past = committed(model, self.federates, self.past);
        let Past { mut digest, mut events, mut last, mut outputs, .. } = past;
        let mut sums = self.sums;
        if let Some(peers) = &self.peers {
            let results = Results { digest, events, last, pending: pending as u64, loads, ..sums.results() };
            let mut all = add_up(peers.exchange(&results)?);
            (digest, events, last, pending) = (all.digest, all.events, all.last, all.pending as usize);
            loads = std::mem::take(&mut all.loads);
            sums.take(all);
            outputs = peers.join_outputs(outputs)?;
            // Before the transport closes: the others end too, and the pulse would take their silence for a
            // loss.
            drop(self.pulse);
            peers.transport().close();
        }
        let (ended_by, end_time) = match pending {
            // No protocol ends by itself before the horizon: somebody has asked for it, or the owner ends
            // the run where it stands.
            _ if reached < *until => (EndedBy::Interrupted, self.time),
            0 if reached == Time::MAX => (EndedBy::NoEvents, last),
            _ => (EndedBy::Horizon, *until),
        };
        Ok(Report {
            protocol: *protocol,
            processes: self.peers.as_ref().map_or(1, |peers| peers.transport().ranks()),
            links: self.peers.as_ref().map(|peers| peers.links()).unwrap_or_default(),
            federates: self.dealt.federates(),
            groups,
            tried: self.auto.map(Auto::finish).unwrap_or_default(),
            threads: sums.threads,
            lps: model.lps(),
            events,
            resumed_events: self.resumed_events,
            wall: sums.wall + start.elapsed(),
            digest,
            end_time,
            ended_by,
            windows: sums.windows,
            null_messages: sums.null_messages,
            rollbacks: sums.rollbacks,
            gvt_rounds: sums.gvt_rounds,
            gvt_steps: sums.gvt_steps,
            gvt_lag: Time::ticks((sums.gvt_lag_ticks / u128::from(sums.gvt_rounds.max(1))) as u64),
            legs: sums.legs,
            checkpoints: sums.checkpoints,
            checkpoints_wall: sums.checkpoints_wall,
            checkpoints_failed: sums.checkpoints_failed,
            balancing: balancer.map(|balancer| balancer.finish(&loads)),
            lateness: self.tie.map(|_| self.lateness),
            dropped: self.outsiders.dropped(),
            unpaced: None,
            changes: self.changes,
            outputs,
        })
    }
}

/// What was committed in this process: before its federates were dealt, and by them.
fn committed<M: Model>(model: &M, federates: Federates<M>, mut past: Past<M::Output>) -> Past<M::Output> {
    for federate in federates {
        // One that another process runs has no LPs here, and that process counts it.
        if federate.members().next().is_none() {
            continue;
        }
        let finished = federate.finish(model);
        past.digest.join(finished.digest);
        past.events += finished.events;
        past.last = past.last.max(finished.last);
        past.outputs.push(finished.output);
    }
    past
}
