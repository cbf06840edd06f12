//! Carries frames between the processes of a run: shared memory on one host, TCP between hosts, MPI on clusters.
//!
//! A [`Transport`] joins a fixed number of processes, each with a rank. It knows nothing of simulations: a frame is some bytes.
//! Frames between two processes arrive complete, once, and in the order in which they were sent; between different pairs there is no order.
//!
//! [`SharedMemory`] joins processes of one host, [`Memory`] threads of one process in tests, with faults on demand. [`mod@frame`] is what
//! goes over any path, [`marshal`] gathers small records in frames. `docs/clusters.md` is for users of runs of several processes.
//!
//! Invariants: nothing here waits without bound unless asked to ([`Transport::wait`]); a peer that is lost is reported once with the
//! reason, and never takes the process down.

mod error;
pub mod frame;
pub mod marshal;
mod memory;
#[cfg(all(feature = "mpi", not(paceline_shuttle)))]
mod mpi;
#[cfg(all(target_os = "linux", not(paceline_shuttle)))]
mod rendezvous;
#[cfg(all(target_os = "linux", not(paceline_shuttle)))]
mod secret;
#[cfg(target_os = "linux")]
mod shm;
mod sync;
#[cfg(all(target_os = "linux", not(paceline_shuttle)))]
mod tcp;

use std::fmt::Debug;
use std::time::Duration;

pub use error::{PeerError, PeerErrorKind};
pub use memory::{Fault, Memory};
#[cfg(all(feature = "mpi", not(paceline_shuttle)))]
pub use mpi::{Mpi, MpiError, is_started_by_mpi};
#[cfg(all(target_os = "linux", not(paceline_shuttle)))]
pub use rendezvous::{Coordinator, Mesh, Prefer, Refusal, RendezvousError, Settings, join};
#[cfg(all(target_os = "linux", not(paceline_shuttle)))]
pub use secret::{Secret, SecretError};
#[cfg(target_os = "linux")]
pub use shm::{Group, SharedMemory, SharedMemoryError};
#[cfg(all(target_os = "linux", not(paceline_shuttle)))]
pub use tcp::handshake::{HandshakeError, Security};

/// What came of handing over a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Handed {
    /// The frame is on its way.
    Over,
    /// There is no room for it now. Nothing was sent: take in what has arrived, so that the peer can do the same, and try again.
    Full,
}

/// How a peer is reached, and what has gone that way so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The rank of the peer.
    pub peer: u32,
    /// In words: "shared memory", "TCP", "TLS", "MPI", "memory".
    pub kind: &'static str,
    /// Frames sent to it.
    pub frames_sent: u64,
    /// Bytes in them.
    pub bytes_sent: u64,
    /// Frames received from it.
    pub frames_received: u64,
    /// Bytes in them.
    pub bytes_received: u64,
}

/// Joins the processes of a run. All calls may come from any thread.
pub trait Transport: Send + Sync + Debug {
    /// The rank of this process, below [`Transport::ranks`].
    fn rank(&self) -> u32;

    /// How many processes there are.
    fn ranks(&self) -> u32;

    /// The most bytes that a frame to `to` may have.
    fn frame_limit(&self, to: u32) -> usize;

    /// The bytes that one unit of the path to `to` carries at best, such as the MTU less headers: frames gathered up to a multiple of it
    /// waste nothing.
    fn unit(&self, to: u32) -> usize;

    /// Hands over a frame for the process of rank `to`, never itself. It does not wait: what does not fit is [`Handed::Full`]. Where the peer
    /// is lost, that is the error, at every call; what it can no longer take because it has taken leave is dropped.
    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError>;

    /// Hands over a frame as [`Transport::send`] does, but need not wake a receiver that sleeps: it takes the frame in when something
    /// else has woken it. For what is of no use to it before that.
    fn send_quietly(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        self.send(to, frame)
    }

    /// Calls `take` with the sender and the bytes of each frame that has arrived, in the order of each sender, up to some number of
    /// frames a call. Of several threads that call at the same time only one takes anything in. Says whether there was any. A lost peer is
    /// the error of one call, after all that has arrived from it; frames may have been taken in before the error, and the others go on.
    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError>;

    /// Whether [`Transport::receive`] could have something to take in, as far as can be seen at little cost: never a system call.
    fn is_pending(&self) -> bool;

    /// Lets the calling thread sleep until something has arrived, there is room for a frame that was [`Handed::Full`], [`Transport::wake`]
    /// is called, or `most` has passed. Any of these since the last call of `wait` ends it at once, and so does what has not been taken
    /// in; it may also end early. One thread at a time.
    fn wait(&self, most: Duration);

    /// Ends a call of [`Transport::wait`], the next one if there is none now.
    fn wake(&self);

    /// How each peer is reached.
    fn paths(&self) -> Vec<Path>;

    /// Tells the peers that nothing will follow. A peer that goes away after this is not lost.
    fn close(&self);
}
