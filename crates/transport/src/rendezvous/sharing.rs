//! The groups of processes that share memory, and the file that they share while it has a name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::host::{self, Host};
use super::message::Run;
use crate::shm::abandoned;
use crate::{Group, SharedMemory};

/// The ranks that share memory with each rank, including itself; empty for ranks that share with no other. `hosts` are by rank.
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

/// The name of a group's shared memory.
pub(super) fn name(run: &Run, group: &[u32]) -> String {
    let run: String = run.iter().map(|byte| format!("{byte:02x}")).collect();
    let leader = group.first().copied().unwrap_or_default();
    format!("paceline-{run}-{leader}")
}

/// A file that is removed when this is dropped: once all processes have opened it, it needs no name.
#[derive(Debug)]
pub(super) struct Named(PathBuf);

impl Drop for Named {
    fn drop(&mut self) {
        // If all went well, the last process that opened the file has removed it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Creates the memory of a group if this is its first member, else opens it.
pub(super) fn share(
    rank: u32,
    ranks: u32,
    group: &[u32],
    name: &str,
) -> Result<(SharedMemory, Option<Named>), String> {
    let path = host::path(name).ok_or_else(|| format!("{name:?} is no name"))?;
    let members = Group::all(ranks).only(group.iter().copied());
    if group.first() == Some(&rank) {
        if let Some(folder) = path.parent() {
            abandoned::remove(folder);
        }
        let named = Named(path.clone());
        let shared = SharedMemory::create(&path, rank, &members).map_err(|error| error.to_string())?;
        Ok((shared, Some(named)))
    } else {
        SharedMemory::open(&path, rank, &members)
            .map(|shared| (shared, None))
            .map_err(|error| error.to_string())
    }
}
