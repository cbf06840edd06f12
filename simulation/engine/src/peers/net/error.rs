//! What can go wrong between the processes of a run.

use paceline_transport::{PeerError, PeerErrorKind};
use thiserror::Error;

/// Why a run of several processes cannot start, or has ended.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("process {rank} of the run {kind}")]
#[non_exhaustive]
pub struct PeersError {
    /// The rank of the process because of which it ended; of this one where it could not go on itself.
    pub rank: u32,
    /// What is wrong with that process.
    pub kind: PeersErrorKind,
}

paceline_kernel::debug_tells!(PeersError);

/// What ended a run of several processes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum PeersErrorKind {
    /// It cannot be reached any more.
    #[error("is lost: {0}")]
    Lost(PeerErrorKind),
    /// It could not continue; what it said.
    #[error("has stopped: {0}")]
    Failed(String),
    /// It waits for so many messages that no process has sent, though all have said that they have sent
    /// everything.
    #[error("waits for messages that nobody has sent: {0} more were announced in a round")]
    Missing(u64),
    /// What it has to send cannot be written.
    #[error("cannot write what it has to send: {0}")]
    Unwritable(String),
    /// It was started with other settings.
    #[error("has another {what}: {theirs}, here {ours}")]
    Differs {
        what: String,
        /// The setting of the process that [`PeersError::rank`] names, as text; "none" where it has no such
        /// one.
        theirs: String,
        ours: String,
    },
    /// A run of several processes cannot do this.
    #[error("takes part in a run of several processes, which cannot have {0}")]
    Unsupported(&'static str),
    /// It would have no federate.
    #[error("would have nothing to run: the run has {federates} federates for {ranks} processes")]
    Idle { federates: u32, ranks: u32 },
}

impl PeersError {
    pub(crate) fn new(rank: u32, kind: PeersErrorKind) -> Self {
        Self { rank, kind }
    }

    /// Whether the process cannot be reached any more, as opposed to a mistake, or a failure that it could
    /// still report.
    pub fn is_lost(&self) -> bool {
        matches!(self.kind, PeersErrorKind::Lost(_))
    }

    /// Whether the run was refused before it began, since its settings do not fit.
    pub fn is_mistake(&self) -> bool {
        use PeersErrorKind::{Differs, Idle, Unsupported};
        matches!(self.kind, Differs { .. } | Unsupported(_) | Idle { .. })
    }
}

impl From<PeerError> for PeersError {
    fn from(error: PeerError) -> Self {
        Self::new(error.rank, PeersErrorKind::Lost(error.kind))
    }
}
