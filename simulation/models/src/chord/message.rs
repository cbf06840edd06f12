//! The messages between peers.

/// A number that stands for "no peer".
pub(super) const NOBODY: u32 = u32::MAX;
/// The number of successors that a peer knows.
pub(super) const SUCCESSORS: usize = 4;

/// A message of one peer to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Asks which peer holds this key. Passed on until a peer knows.
    Find {
        /// The key, as a place on the ring.
        key: u64,
        /// The peer that asks.
        asker: u32,
        /// The number of this question among those of the asker.
        request: u32,
        /// How often the question was passed on.
        hops: u32,
    },
    /// The answer, sent directly to the asker.
    Found {
        /// The question's number.
        request: u32,
        /// The peer that holds the key.
        holder: u32,
        /// How often the question was passed on.
        hops: u32,
    },
    /// Asks for the receiver's neighbours on the ring.
    Neighbours {
        /// The peer that asks.
        asker: u32,
    },
    /// The answer to `Neighbours`.
    AreNeighbours {
        /// The peer that answers.
        peer: u32,
        /// The peer before it.
        predecessor: u32,
        /// The peers after it.
        successors: [u32; SUCCESSORS],
    },
    /// The sender may be the receiver's predecessor.
    Notify {
        /// The number of the sending peer.
        peer: u32,
    },
    /// Asks whether the receiver is alive.
    Ping {
        /// The peer that asks.
        asker: u32,
    },
    /// The answer to `Ping`.
    Pong {
        /// The peer that answers.
        peer: u32,
    },
    /// The sender, which was the receiver's successor, leaves.
    NewSuccessor {
        /// The peer that leaves.
        instead_of: u32,
        /// The receiver's new successor.
        peer: u32,
    },
    /// The sender, which was the receiver's predecessor, leaves.
    NewPredecessor {
        /// The peer that leaves.
        instead_of: u32,
        /// The receiver's new predecessor.
        peer: u32,
    },
}
