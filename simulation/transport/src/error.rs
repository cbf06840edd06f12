//! How the connection to a peer is lost.

use std::time::Duration;

use thiserror::Error;

/// A process of the run that can no longer be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("process {rank}: {kind}")]
#[non_exhaustive]
pub struct PeerError {
    /// The rank of the process that is lost.
    pub rank: u32,
    /// Why it is taken for lost.
    pub kind: PeerErrorKind,
}

impl PeerError {
    /// An error that the process of this rank is lost for this reason.
    pub fn new(rank: u32, kind: PeerErrorKind) -> Self {
        Self { rank, kind }
    }
}

/// Why a peer cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum PeerErrorKind {
    /// It has ended, or closed the connection, without announcing it.
    #[error("it is gone")]
    Gone,
    /// Nothing has come from it for this long, although it must give signs of life more often.
    #[error("no sign of life for {0:?}")]
    Silent(Duration),
    /// It has sent damaged data.
    #[error("a damaged frame: {0}")]
    Damaged(String),
    /// It has another version.
    #[error("it is version {theirs}, this is {ours}")]
    Version { theirs: String, ours: String },
    /// The operating system refuses.
    #[error("{0}")]
    System(String),
}
