//! Reads a swarm from a scenario's `[model]`.
//!
//! The fields, with their defaults, are in `bittorrent.rs`.

use std::ops::RangeInclusive;

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::Bittorrent;

const PEERS: RangeInclusive<u32> = 1..=1_000_000;
const PIECES: RangeInclusive<u32> = 1..=1_000_000;
const BLOCKS: RangeInclusive<u32> = 1..=10_000;
const SLOTS: RangeInclusive<u32> = 1..=1_000;
/// A peer keeps a byte for each block.
const MOST_BLOCKS: u64 = 1 << 24;

impl Bittorrent {
    /// Reads the keys `peers`, `seeds` (1), `pieces` (10), `blocks` (5), `block_bytes` (16384), `slots` (3),
    /// `starts` ("0s"), `seeds_leave` (never), `linger` (for ever), `takes_back` (true). Defaults are in
    /// brackets. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let default = Self::default();
        let peers = within(section, "peers", None, PEERS, |peers| format!("a swarm of {peers} peers"))?;
        let seeds = within(section, "seeds", Some(default.seeds.min(peers)), 0..=peers, |seeds| {
            format!("{seeds} seeds among {peers} peers")
        })?;
        let pieces = within(section, "pieces", Some(default.pieces), PIECES, |pieces| {
            format!("a file of {pieces} pieces")
        })?;
        let blocks = within(section, "blocks", Some(default.blocks), BLOCKS, |blocks| {
            format!("a piece of {blocks} blocks")
        })?;
        if u64::from(pieces) * u64::from(blocks) > MOST_BLOCKS {
            let problem = format!("a file of {pieces} pieces with {blocks} blocks each");
            return Err(section.refuse("pieces", problem, format!("at most {MOST_BLOCKS} blocks in all")));
        }
        let slots = within(section, "slots", Some(default.slots), SLOTS, |slots| {
            format!("{slots} peers served at a time")
        })?;
        let swarm = Self {
            peers,
            seeds,
            pieces,
            blocks,
            block_bytes: section.or("block_bytes", default.block_bytes)?,
            slots,
            starts: section.or("starts", default.starts)?,
            seeds_leave: section.optional::<Time>("seeds_leave")?,
            linger: section.optional::<Time>("linger")?,
            takes_back: section.or("takes_back", default.takes_back)?,
            observe: false,
        };
        if !(swarm.block_bytes.is_finite() && swarm.block_bytes >= 0.0) {
            let problem = format!("blocks of {} bytes", swarm.block_bytes);
            return Err(section.refuse("block_bytes", problem, "a finite number from 0"));
        }
        Ok(swarm)
    }
}

/// A number within `allowed`. If the key is missing, it is `default`; without a default the key is required.
fn within(
    section: &mut Section,
    key: &str,
    default: Option<u32>,
    allowed: RangeInclusive<u32>,
    problem: impl FnOnce(u32) -> String,
) -> Result<u32, ScenarioError> {
    let number = match default {
        Some(default) => section.or(key, default)?,
        None => section.required(key)?,
    };
    if allowed.contains(&number) {
        return Ok(number);
    }
    Err(section.refuse(
        key,
        problem(number),
        format!("a whole number from {} to {}", allowed.start(), allowed.end()),
    ))
}
