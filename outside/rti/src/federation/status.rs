//! How far each federate is, and for whom those wait that have asked for a time.

use super::Federation;
use crate::client::Client;
use crate::time::LogicalTime;

/// A federation, for whoever runs the infrastructure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// Which numbers its times are.
    pub time: &'static str,
    /// By handle.
    pub federates: Vec<FederateStatus>,
}

/// A federate, for whoever runs the infrastructure. Times are texts of the federation's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederateStatus {
    /// Who calls for it.
    pub client: Client,
    /// Its name.
    pub name: String,
    /// The type that it has named.
    pub kind: String,
    /// The time that was granted last.
    pub now: String,
    /// The time that it has asked for and does not have yet.
    pub asked: Option<String>,
    /// Its lookahead, if it regulates.
    pub lookahead: Option<String>,
    /// Whether it waits for others at all.
    pub is_constrained: bool,
    /// Before what nothing can arrive any more (GALT), if anybody may send.
    pub galt: Option<String>,
    /// The names of those that have not promised enough yet for what it waits for.
    pub waits_for: Vec<String>,
}

/// How far a federate is in logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FederateTimes {
    /// The time that was granted last.
    pub now: LogicalTime,
    /// What it will be granted, as far as is known, if it has asked for a time and does not have it yet.
    pub asked: Option<LogicalTime>,
    /// Before what nothing can arrive any more (GALT), if anybody may send.
    pub galt: Option<LogicalTime>,
}

impl Federation {
    /// The time that was granted last to a federate.
    pub(crate) fn now(&self, federate: u32) -> Option<LogicalTime> {
        Some(self.federates.get(&federate)?.clock.now)
    }

    pub(crate) fn times(&self, federate: u32) -> Option<FederateTimes> {
        let clock = &self.federates.get(&federate)?.clock;
        let asked = clock.pending.map(|advance| clock.target(advance).0);
        Some(FederateTimes { now: clock.now, asked, galt: self.galt(federate) })
    }

    pub(crate) fn status(&self) -> FederationStatus {
        let federates = self.federates.iter().map(|(handle, federate)| {
            let clock = &federate.clock;
            FederateStatus {
                client: federate.client,
                name: federate.name.clone(),
                kind: federate.kind.clone(),
                now: clock.now.text(),
                asked: clock.pending.map(|advance| clock.target(advance).0.text()),
                lookahead: clock.lookahead.map(LogicalTime::text),
                is_constrained: clock.is_constrained,
                galt: self.galt(*handle).map(LogicalTime::text),
                waits_for: self.waits_for(*handle),
            }
        });
        FederationStatus { name: self.name.clone(), time: self.time.name(), federates: federates.collect() }
    }

    /// Whose promises do not reach what the federate waits for; if all do, who might answer too early to what
    /// it sends itself.
    fn waits_for(&self, federate: u32) -> Vec<String> {
        let clock = &self.federates[&federate].clock;
        let Some(needed) = clock.needed() else { return Vec::new() };
        let others = || {
            let others = self.federates.iter().filter(|(other, _)| **other != federate);
            others.filter_map(|(_, other)| Some((&other.name, other.clock.sender()?)))
        };
        let short = others().filter(|(_, sender)| sender.promise() < needed);
        let short: Vec<String> = short.map(|(name, _)| name.clone()).collect();
        let waiting = clock.sender().filter(|_| short.is_empty());
        let answer = waiting.into_iter().flat_map(|waiting| {
            others()
                .filter(move |(_, sender)| sender.reacts && waiting.promise().later_by(sender.delay) < needed)
        });
        let answer: Vec<String> = answer.map(|(name, _)| name.clone()).collect();
        if short.is_empty() { answer } else { short }
    }
}
