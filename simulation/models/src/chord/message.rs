//! The messages between peers, and how many successors a peer keeps and names to others.

/// A number that stands for "no peer".
pub(super) const NOBODY: u32 = u32::MAX;
/// The number of successors that a peer knows.
pub(super) const SUCCESSORS: usize = 4;

/// A message of one peer to another. A question is for a `key`, a place on the ring; `request` is its number
/// among those of the `asker`, and `hops` says how often it was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Message {
    /// Asks which peer holds this key. Passed on until a peer knows.
    Find { key: u64, asker: u32, request: u32, hops: u32 },
    /// The answer, sent directly to the asker.
    Found { request: u32, holder: u32, hops: u32 },
    /// Asks for the receiver's neighbours on the ring.
    Neighbours { asker: u32 },
    /// The answer to `Neighbours`.
    AreNeighbours { peer: u32, predecessor: u32, successors: [u32; SUCCESSORS] },
    /// The sender may be the receiver's predecessor.
    Notify { peer: u32 },
    /// Asks whether the receiver is alive.
    Ping { asker: u32 },
    /// The answer to `Ping`.
    Pong { peer: u32 },
    /// The sender, which was the receiver's successor, leaves.
    NewSuccessor { instead_of: u32, peer: u32 },
    /// The sender, which was the receiver's predecessor, leaves.
    NewPredecessor { instead_of: u32, peer: u32 },
}
