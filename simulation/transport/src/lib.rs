//! Carries frames between the processes of a run: shared memory on one host, TCP between hosts, MPI on
//! clusters.
//!
//! A [`Transport`] connects a fixed number of processes, each with a rank. It does not know about
//! simulations: a frame is a sequence of bytes. Frames between two processes arrive complete, once, and in
//! the order in which they were sent; there is no order between different pairs.
//!
//! [`SharedMemory`] connects processes of one host; [`Memory`] connects threads of one process in tests, with
//! injected faults. [`mod@frame`] is the format on every path; [`marshal`] gathers small records in frames.
//! `docs/clusters.md` shows users how to run several processes.
//!
//! Invariants: only [`Transport::wait`] may wait without bound; the loss of a peer is reported once with its
//! reason, and never ends the process.
//!
//! To add a transport, implement [`Transport`]; `memory.rs` is the smallest. How pairs of processes choose
//! theirs: `rendezvous/mesh.rs`.

mod error;
pub mod frame;
pub mod marshal;
mod memory;
#[cfg(all(feature = "mpi", not(paceline_shuttle)))]
mod mpi;
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
mod rendezvous;
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
mod secret;
#[cfg(target_os = "linux")]
mod shm;
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
mod silence;
mod sync;
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
mod tcp;

use std::fmt::Debug;
use std::time::Duration;

pub use error::{PeerError, PeerErrorKind};
pub use memory::{Fault, Memory};
#[cfg(all(feature = "mpi", not(paceline_shuttle)))]
pub use mpi::{Mpi, MpiError, is_started_by_mpi};
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
pub use rendezvous::{Coordinator, Mesh, Prefer, Refusal, Refusals, RendezvousError, Settings, join};
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
pub use secret::{Secret, SecretError};
#[cfg(target_os = "linux")]
pub use shm::{Group, SharedMemory, SharedMemoryError};
#[cfg(all(feature = "rendezvous", target_os = "linux", not(paceline_shuttle)))]
pub use tcp::handshake::{HandshakeError, Security};

/// The outcome of handing over a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Handed {
    /// The frame has been accepted.
    Over,
    /// There is no room for it now. Nothing was sent: receive what has arrived, so that the peer can do the
    /// same, and try again.
    Full,
}

/// The path to a peer, and its traffic so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The rank of the peer.
    pub peer: u32,
    /// The kind in words: "shared memory", "TCP", "TLS", "MPI", "memory".
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

/// Connects the processes of a run. All functions may be called from any thread.
pub trait Transport: Send + Sync + Debug {
    /// The rank of this process, below [`Transport::ranks`].
    fn rank(&self) -> u32;

    /// The number of processes.
    fn ranks(&self) -> u32;

    /// The most bytes of a frame to `to`.
    fn frame_limit(&self, to: u32) -> usize;

    /// The bytes that one packet on the path to `to` carries at most, such as the MTU minus headers. Frames
    /// gathered up to a multiple of it waste nothing.
    fn unit(&self, to: u32) -> usize;

    /// Hands over a frame for the process of rank `to`, which is not this process. Never waits: if there is
    /// no room, the result is [`Handed::Full`]. If the peer is lost, every call returns that error. A
    /// frame to a peer that has announced its end is dropped.
    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError>;

    /// Hands over a frame as [`Transport::send`] does, but need not wake a sleeping receiver: it receives the
    /// frame when something else wakes it. For frames that are of no use to the receiver before that.
    fn send_quietly(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        self.send(to, frame)
    }

    /// Calls `take` with the sender and the bytes of each frame that has arrived, in the order of each
    /// sender, up to a limit per call. If several threads call it at the same time, only one of them
    /// receives anything. Returns whether there was any frame. The loss of a peer is returned as an error
    /// of one call, after everything that arrived from it; frames may have been received before the
    /// error, and the other peers remain connected.
    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError>;

    /// Whether [`Transport::receive`] could have something to receive; a cheap test, which asks the system
    /// every few microseconds at most. Without an arrival the answer never becomes `true`, so that a
    /// thread that finds nothing to do comes to [`Transport::wait`].
    fn is_pending(&self) -> bool;

    /// Lets the calling thread sleep until something has arrived, there is room again after [`Handed::Full`],
    /// [`Transport::wake`] is called, or `most` has passed. Returns at once if any of these has happened
    /// since the last call of `wait`, or if something has arrived and has not been received; it may also
    /// return early. Only one thread at a time may call it.
    fn wait(&self, most: Duration);

    /// Ends a call of [`Transport::wait`]: the current one, or else the next one.
    fn wake(&self);

    /// The path to each peer.
    fn paths(&self) -> Vec<Path>;

    /// Sends the peers that nothing will follow. A peer that ends after this does not count as lost.
    fn close(&self);
}
