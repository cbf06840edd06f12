//! The processes that share a file of shared memory, and the errors of sharing it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why links through shared memory are not available.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum SharedMemoryError {
    /// The operating system does not make a file in memory.
    #[error("a file in memory: {source}")]
    Create { source: io::Error },
    /// The operating system refuses.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The group is invalid.
    #[error("{0}")]
    Group(String),
    /// Other users can open the file, or it is not a regular file.
    #[error("{}: not a file that only this user can open", path.display())]
    NotPrivate { path: PathBuf },
    /// The file could be truncated, which would end every process that maps it.
    #[error("{}: its size is not sealed", path.display())]
    NotSealed { path: PathBuf },
    /// The file belongs to another group, or another version wrote it.
    #[error("{}: made by another version of this program, or for another group of processes", path.display())]
    Differs { path: PathBuf },
    /// There is or was already a process with this rank.
    #[error("{}: there is already a process {rank}", path.display())]
    Taken { path: PathBuf, rank: u32 },
}

/// The processes that share a file, and the size of its rings. All of them must use the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(super) ranks: u32,
    pub(super) members: Vec<u32>,
    pub(super) ring_bytes: usize,
}

/// The size of a ring where so many processes share a file.
fn ring_bytes(members: usize) -> usize {
    ((1 << 20) / members.next_power_of_two()).clamp(32 << 10, 256 << 10)
}

impl Group {
    /// The allowed sizes of a ring, in bytes.
    pub const RING_BYTES: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 28;

    /// All processes of a run with `ranks` processes. What a process writes into, its rings to all others,
    /// has about 1 MiB: many rings are smaller, from 256 KiB for four processes down to 32 KiB, so that
    /// they stay in the cache.
    pub fn all(ranks: u32) -> Self {
        let members: Vec<u32> = (0..ranks).collect();
        Self { ranks, ring_bytes: ring_bytes(members.len()), members }
    }

    /// Only these ranks: the processes on this host, in any order. Rings have the size for so many.
    pub fn only(mut self, members: impl IntoIterator<Item = u32>) -> Self {
        self.members = members.into_iter().collect();
        self.members.sort_unstable();
        self.ring_bytes = ring_bytes(self.members.len());
        self
    }

    /// Sets the capacity of each ring in bytes: a power of two within [`Group::RING_BYTES`]. A frame takes at
    /// most a quarter of it.
    pub fn ring_bytes(mut self, bytes: usize) -> Self {
        self.ring_bytes = bytes;
        self
    }

    /// The index of `rank` among the members.
    pub(super) fn member(&self, rank: u32) -> Result<usize, SharedMemoryError> {
        let refuse = |why: String| Err(SharedMemoryError::Group(why));
        if !Self::RING_BYTES.contains(&self.ring_bytes) || !self.ring_bytes.is_power_of_two() {
            let (least, most) = (Self::RING_BYTES.start(), Self::RING_BYTES.end());
            return refuse(format!(
                "a ring has a power of two from {least} to {most} bytes, not {}",
                self.ring_bytes
            ));
        }
        if self.members.windows(2).any(|pair| pair[0] == pair[1]) {
            return refuse(format!("a rank stands twice in {:?}", self.members));
        }
        if self.members.iter().any(|member| *member >= self.ranks) {
            return refuse(format!("ranks are below {}, not {:?}", self.ranks, self.members));
        }
        self.members
            .binary_search(&rank)
            .or_else(|_| refuse(format!("process {rank} is none of {:?}", self.members)))
    }
}
