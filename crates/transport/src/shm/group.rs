//! Which processes share a file of shared memory, and why they may not.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why links through shared memory cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SharedMemoryError {
    /// The operating system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// The group cannot be.
    #[error("{0}")]
    Group(String),
    /// Others than this user can open the file, or it is none.
    #[error("{}: not a file that only this user can open", path.display())]
    NotPrivate {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another group, or another version wrote it.
    #[error("{}: made by another version of this program, or for another group of processes", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
    },
    /// There is already a process of this rank, or there was one.
    #[error("{}: there is already a process {rank}", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The rank.
        rank: u32,
    },
}

/// The processes that share a file, and the size of its rings. All of them must give the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(super) ranks: u32,
    pub(super) members: Vec<u32>,
    pub(super) ring_bytes: usize,
}

impl Group {
    /// Bytes that a ring may have.
    pub const RING_BYTES: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 28;

    /// All processes of a run with that many, and rings of 256 KiB.
    pub fn all(ranks: u32) -> Self {
        Self { ranks, members: (0..ranks).collect(), ring_bytes: 256 << 10 }
    }

    /// Only these ranks: those on this host, in any order.
    pub fn only(mut self, members: impl IntoIterator<Item = u32>) -> Self {
        self.members = members.into_iter().collect();
        self.members.sort_unstable();
        self
    }

    /// The capacity of each ring in bytes, in [`Group::RING_BYTES`] and a power of two. A frame has at most a quarter of it.
    pub fn ring_bytes(mut self, bytes: usize) -> Self {
        self.ring_bytes = bytes;
        self
    }

    /// The number of `rank` among the members.
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
