//! How the processes of a run find each other, and choose the kind of link for each pair.
//!
//! Rank 0, the [`Coordinator`], listens at an address; the other processes [`join`] it there. When all have
//! joined, it gives each a rank and the *charge* of the run, bytes that this module does not interpret.
//! Processes of one host create shared memory ([`host`] says which can); every other pair has a TCP
//! connection ([`gate`] accepts them). When every process has a link to every other one, all get a [`Mesh`].
//!
//! Invariants: everything has a time limit. The connection of a process that does not know the secret, has
//! another version, or violates the protocol, is closed, and this delays no other process. Nothing listens on
//! an address other than loopback unless the caller named such an address: the coordinator listens where the
//! caller says, and the others at the address from which they reach it.
//!
//! ```
//! use paceline_transport::{Coordinator, Secret, Settings, Transport, join};
//!
//! let settings = Settings::new(Secret::new(b"at least sixteen bytes")?);
//! let coordinator = Coordinator::listen("127.0.0.1:0", 2, &settings)?;
//! let address = coordinator.address();
//! // In another process, as a rule.
//! let other = std::thread::spawn(move || join(address, &settings).map(|(mesh, charge)| (mesh.rank(), charge)));
//! let mesh = coordinator.gather(b"what to do")?;
//! assert_eq!((mesh.rank(), mesh.ranks()), (0, 2));
//! assert_eq!(other.join().expect("no panic")?, (1, b"what to do".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod coordinator;
mod gate;
mod host;
mod joining;
mod mesh;
mod message;
mod refusal;
mod sharing;
#[cfg(test)]
mod test;

use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::tcp::handshake::{Credentials, HandshakeError, Security};
use crate::tcp::tls::Identity;
use crate::{Secret, SharedMemoryError};

pub use coordinator::Coordinator;
pub use joining::join;
pub use mesh::Mesh;
pub use refusal::{Refusal, Refusals};

const CHARGE_LIMIT: usize = 64 << 20;

const RANKS_LIMIT: u32 = 1 << 10;

/// How pairs of processes are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// By shared memory if both are on the same host, else by TCP.
    #[default]
    Auto,
    /// By shared memory only.
    SharedMemory,
    /// By TCP only, on one host too.
    Tcp,
}

/// The settings with which a process takes part in a run. All processes of a run need the same secret and
/// security. Each process follows its own or the coordinator's preference, whichever is not [`Prefer::Auto`].
#[derive(Clone, Debug)]
pub struct Settings {
    secret: Secret,
    security: Security,
    prefer: Prefer,
    time_limit: Duration,
    silence_limit: Duration,
    unit: Option<usize>,
    version: String,
}

impl Settings {
    /// TLS, shared memory where possible, a minute until all processes have joined, and ten seconds without a
    /// sign of life.
    pub fn new(secret: Secret) -> Self {
        Self {
            secret,
            security: Security::Tls,
            prefer: Prefer::Auto,
            time_limit: Duration::from_secs(60),
            silence_limit: Duration::from_secs(10),
            unit: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Sets how TCP connections are secured.
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Sets how pairs of processes are connected.
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// Sets how long all processes may take to find each other.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Sets how long a process may give no sign of life before it is lost ([`crate::PeerErrorKind::Silent`]).
    pub fn silence_limit(mut self, limit: Duration) -> Self {
        self.silence_limit = limit;
        self
    }

    /// Sets the bytes that a packet carries, from 1000 to 9000, instead of the value that the system reports
    /// for the path.
    pub fn unit(mut self, bytes: usize) -> Self {
        self.unit = Some(bytes);
        self
    }

    /// Sets the version that this process announces; the default is that of this crate. Only equal versions
    /// work together.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    fn credentials(&self) -> Result<Credentials, RendezvousError> {
        Ok(Credentials {
            secret: self.secret.clone(),
            security: self.security,
            version: self.version.clone(),
            identity: Identity::new().map_err(RendezvousError::Certificate)?,
        })
    }
}

/// Why the processes of a run did not find each other.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RendezvousError {
    /// The system does not let this process listen.
    #[error("cannot listen at {address}: {source}")]
    Listen { address: String, source: io::Error },
    /// The connection to another process failed.
    #[error("{address}: {error}")]
    Connect {
        /// Its address, or the address where it was expected.
        address: String,
        error: HandshakeError,
    },
    /// Not all processes came in time.
    #[error("{present} of {ranks} processes are there after {limit:?}{refusals}")]
    Missing {
        /// The number of processes that came, including this one.
        present: u32,
        ranks: u32,
        limit: Duration,
        refusals: Refusals,
    },
    /// A process that was watched ([`Coordinator::watch`]) ended before all had joined.
    #[error("{0} ended before it had joined the run")]
    Ended(String),
    /// A process was lost before the run began.
    #[error("process {rank}: {error}")]
    Peer { rank: u32, error: HandshakeError },
    /// The coordinator says that the run will not begin.
    #[error("the coordinator ended the run before it began: {0}")]
    Refused(String),
    /// Shared memory was requested and is not available.
    #[error("no shared memory: {0}")]
    NoSharedMemory(String),
    /// No certificate could be made.
    #[error("no certificate: {0}")]
    Certificate(String),
    /// The charge is too large.
    #[error("a charge of {0} bytes, {CHARGE_LIMIT} are allowed")]
    Charge(usize),
    /// A run cannot have this many processes.
    #[error("a run has from 1 to {RANKS_LIMIT} processes, not {0}")]
    Ranks(u32),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<SharedMemoryError> for RendezvousError {
    fn from(error: SharedMemoryError) -> Self {
        Self::NoSharedMemory(error.to_string())
    }
}
