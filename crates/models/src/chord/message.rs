//! The messages between peers.

/// Peers whose number this is are not there.
pub(super) const NOBODY: u32 = u32::MAX;
/// Successors that a peer knows.
pub(super) const SUCCESSORS: usize = 4;

/// A message of one peer to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who holds this key? Passed on until somebody knows.
    Find {
        /// The key.
        key: u64,
        /// Who wants to know.
        asker: u32,
        /// Its number among the questions of the asker.
        request: u32,
        /// How often it was passed on.
        hops: u32,
    },
    /// The answer, straight to who asked.
    Found {
        /// The question's number.
        request: u32,
        /// Who holds the key.
        holder: u32,
        /// How often the question was passed on.
        hops: u32,
    },
    /// Which peers are before and after you on the ring?
    Neighbours {
        /// Who wants to know.
        asker: u32,
    },
    /// The answer.
    AreNeighbours {
        /// Who answers.
        peer: u32,
        /// Who is before it.
        predecessor: u32,
        /// Who is after it.
        successors: [u32; SUCCESSORS],
    },
    /// I might be the one before you.
    Notify {
        /// Who says so.
        peer: u32,
    },
    /// Are you still there?
    Ping {
        /// Who wants to know.
        asker: u32,
    },
    /// Yes.
    Pong {
        /// Who answers.
        peer: u32,
    },
    /// I go; your successor was me.
    NewSuccessor {
        /// Who goes.
        instead_of: u32,
        /// Who is your successor now.
        peer: u32,
    },
    /// I go; your predecessor was me.
    NewPredecessor {
        /// Who goes.
        instead_of: u32,
        /// Who is your predecessor now.
        peer: u32,
    },
}
