//! Which processes share memory as a group, and how each of them creates or opens it.

use std::collections::BTreeMap;

use super::host::{Host, Location};
use crate::{Group, SharedMemory};

/// The ranks that share memory with each rank, including itself; empty for ranks that share with no other.
/// `hosts` are by rank.
pub(super) fn groups(hosts: &[Option<Host>]) -> Vec<Vec<u32>> {
    let mut members: BTreeMap<&Host, Vec<u32>> = BTreeMap::new();
    for (rank, host) in hosts.iter().enumerate() {
        if let Some(host) = host {
            members.entry(host).or_default().push(rank as u32);
        }
    }
    let group = |host: &Option<Host>| members.get(host.as_ref()?).filter(|group| group.len() > 1).cloned();
    hosts.iter().map(|host| group(host).unwrap_or_default()).collect()
}

/// Creates the memory of a group, or opens it where its first member has made it.
pub(super) fn share(
    rank: u32,
    ranks: u32,
    group: &[u32],
    made: Option<Location>,
) -> Result<SharedMemory, String> {
    let members = Group::all(ranks).only(group.iter().copied());
    let shared = match made {
        None => SharedMemory::create(rank, &members),
        Some(made) => SharedMemory::open(&made.path(), rank, &members),
    };
    shared.map_err(|error| error.to_string())
}

/// Where others find memory that this process has made.
pub(super) fn location(shared: &SharedMemory) -> Location {
    Location { process: std::process::id(), descriptor: shared.descriptor() }
}
