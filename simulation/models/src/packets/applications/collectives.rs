//! Collectives of the hosts of a pattern.

use paceline_packets::Network;
use paceline_packets::application::Applications;
use paceline_packets::flows::{Collective, CollectiveKind};
use paceline_scenario::{Picoseconds, ScenarioError, Section, Size};

use super::Common;
use crate::packets::flows::{Entries, check_ends};
use crate::packets::hosts::select_at;

const ALL_REDUCES: [(&str, CollectiveKind); 3] = [
    ("ring", CollectiveKind::RingAllReduce),
    ("tree", CollectiveKind::TreeAllReduce),
    ("halving", CollectiveKind::HalvingAllReduce),
];

const ALL_TO_ALLS: [(&str, CollectiveKind); 2] =
    [("at-once", CollectiveKind::AllToAll), ("in-rounds", CollectiveKind::AllToAllInRounds)];

/// Reads `ranks`, `bytes`, `algorithm` ("ring"), `piece` with a ring, `rounds` (1) and `compute` ("0s").
pub fn all_reduce(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let kind = entry.choice("algorithm", &ALL_REDUCES, Some(CollectiveKind::RingAllReduce))?;
    let piece: Option<Size> = match kind {
        CollectiveKind::RingAllReduce => entry.optional("piece")?,
        _ => None,
    };
    add(entry, network, common, (kind, piece), all, flows)
}

/// Reads `ranks`, `bytes`, `algorithm` ("at-once"), `rounds` (1) and `compute` ("0s").
pub fn all_to_all(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let kind = entry.choice("algorithm", &ALL_TO_ALLS, Some(CollectiveKind::AllToAll))?;
    add(entry, network, common, (kind, None), all, flows)
}

fn add(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    (kind, piece): (CollectiveKind, Option<Size>),
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let ranks = select_at(entry, network, "ranks")?;
    let bytes: Size = entry.required("bytes")?;
    let rounds = entry.or_where("rounds", 1, |rounds: u32| rounds > 0, "at least 1")?;
    let compute: Picoseconds = entry.or("compute", Picoseconds::default())?;
    for pair in ranks.windows(2) {
        check_ends(entry, network, 0, pair[0], pair[1])?;
    }
    let piece_bytes = piece.map(|piece| piece.bytes as u64);
    let settings =
        Collective { kind, bytes: bytes.bytes as u64, rounds, compute_ps: compute.ps, piece_bytes };
    let hosts = (ranks.as_slice(), common.start_ps);
    let added = all.collective(&mut flows.flows, &common.tcp, common.name.clone(), hosts, &settings);
    added.map_err(|error| {
        let key = if error.what.starts_with("a ring") { "bytes" } else { "ranks" };
        entry.refuse(key, error.what, error.allowed)
    })
}
