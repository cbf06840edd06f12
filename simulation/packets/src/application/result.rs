//! What applications leave behind.
//!
//! Invariant: a client is at one host, and a round's times are the least and greatest of all hosts, so that
//! nothing depends on how these were divided among federates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::log::Log;
use super::state::{ApplicationState, Round};
use super::table::Table;
use super::video::Playback;

/// What the hosts of a federate leave behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApplicationOutput {
    clients: Vec<(u32, ClientResult)>,
    rounds: Vec<PartOfRound>,
    /// Flows that waited for others, and when they began (ps).
    pub starts: Vec<(u32, u64)>,
}

/// What a host has seen of a round of a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct PartOfRound {
    group: u32,
    number: u32,
    /// How many transfers the round has, of all hosts.
    of_round: u32,
    here: Round,
}

/// What a client has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientResult {
    /// How long each response took (ps), from the request being sent to being whole; where the connection is
    /// new, with its handshake.
    pub responses: Log,
    /// How long each job of several requests took, such as a page.
    pub jobs: Log,
    /// Of a client of a video.
    pub video: Option<Playback>,
}

impl ApplicationOutput {
    /// Takes in the final state of a host.
    pub fn add(&mut self, table: &Table, host: u32, state: &ApplicationState) {
        for (number, client) in table.clients_at(host).iter().zip(&state.clients) {
            let (responses, jobs) = (client.responses.clone(), client.jobs.clone());
            let video = client.playback.clone();
            self.clients.push((*number, ClientResult { responses, jobs, video }));
        }
        let starts = table.carriers_from(host).iter().zip(&state.outgoing);
        self.starts.extend(starts.filter_map(|(flow, outgoing)| Some((*flow, outgoing.opened_ps?))));
        for (group, rounds) in table.groups_at(host).iter().zip(&state.groups) {
            let of_round = table.group(*group).of_round;
            let part =
                |(number, here): (u32, &Round)| PartOfRound { group: *group, number, of_round, here: *here };
            self.rounds.extend((0..).zip(rounds.iter()).map(part));
        }
    }

    /// The results of all clients, by number.
    pub fn clients<'a>(outputs: impl Iterator<Item = &'a Self>) -> Vec<ClientResult> {
        let mut all: Vec<&(u32, ClientResult)> = outputs.flat_map(|output| &output.clients).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, result)| result.clone()).collect()
    }

    /// By group: of each round of which every transfer was delivered, when the first of them began, and when
    /// the last one was there (ps).
    pub fn rounds<'a>(outputs: impl Iterator<Item = &'a Self>) -> Vec<Vec<(u64, u64)>> {
        let mut all: BTreeMap<(u32, u32), (u32, Round)> = BTreeMap::new();
        for part in outputs.flat_map(|output| &output.rounds) {
            let (of_round, sum) = all.entry((part.group, part.number)).or_default();
            *of_round = part.of_round;
            sum.begin_ps = sum.begin_ps.min(part.here.begin_ps);
            sum.end_ps = sum.end_ps.max(part.here.end_ps);
            sum.delivered += part.here.delivered;
        }
        let mut groups: Vec<Vec<(u64, u64)>> = Vec::new();
        for ((group, _), (of_round, sum)) in all {
            groups.resize_with(groups.len().max(group as usize + 1), Vec::new);
            if sum.delivered == of_round {
                groups[group as usize].push((sum.begin_ps, sum.end_ps));
            }
        }
        groups
    }
}
