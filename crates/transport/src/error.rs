//! How a peer is lost.

use std::time::Duration;

use thiserror::Error;

/// A process of the run that cannot be reached any more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("process {rank}: {kind}")]
#[non_exhaustive]
pub struct PeerError {
    /// Its rank.
    pub rank: u32,
    /// What happened.
    pub kind: PeerErrorKind,
}

impl PeerError {
    /// The process of this rank is lost for this reason.
    pub fn new(rank: u32, kind: PeerErrorKind) -> Self {
        Self { rank, kind }
    }
}

/// Why a peer cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PeerErrorKind {
    /// It has ended, or closed the connection, without taking leave.
    #[error("it is gone")]
    Gone,
    /// Nothing has come from it for so long, though it is to give a sign of life more often.
    #[error("no sign of life for {0:?}")]
    Silent(Duration),
    /// What has come from it is damaged.
    #[error("a damaged frame: {0}")]
    Damaged(String),
    /// It speaks another version.
    #[error("it is version {theirs}, this is {ours}")]
    Version {
        /// Its version.
        theirs: String,
        /// The version of this process.
        ours: String,
    },
    /// The operating system refuses.
    #[error("{0}")]
    System(String),
}
