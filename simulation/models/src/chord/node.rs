//! What a peer knows of the ring, and how it answers questions from that.
//!
//! Invariant: once a peer is on the ring, its first successor is a peer, possibly itself.

use super::message::{Message, NOBODY, SUCCESSORS};
use super::ring::Ring;

/// The part of the ring that one peer knows: neighbours and fingers.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) peer: u32,
    pub(super) place: u64,
    pub(super) predecessor: u32,
    pub(super) successors: [u32; SUCCESSORS],
    /// For 1, 2, 4, ... keys ahead, the first peer at or after that key, if known.
    fingers: Box<[u32]>,
    next_finger: u32,
}

/// How a question proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// This peer holds the key: the question is answered.
    Holder(u32),
    /// The question is to be passed on to this peer.
    Next(u32),
}

impl Node {
    /// A peer that knows no other peer.
    pub(super) fn alone(ring: &Ring, peer: u32) -> Self {
        let fingers = vec![NOBODY; ring.bits() as usize].into();
        let mut successors = [NOBODY; SUCCESSORS];
        successors[0] = peer;
        Self { peer, place: ring.place(peer), predecessor: NOBODY, successors, fingers, next_finger: 0 }
    }

    /// A peer with complete neighbours and fingers; `there` are the peers on the ring, sorted by place.
    pub(super) fn warm(ring: &Ring, peer: u32, there: &[u32]) -> Self {
        let mut node = Self::alone(ring, peer);
        let place = there.partition_point(|other| ring.place(*other) < node.place);
        let ahead = |steps: usize| there[(place + steps) % there.len()];
        if there.len() > 1 {
            node.predecessor = ahead(there.len() - 1);
            let known = SUCCESSORS.min(there.len() - 1);
            (0..known).for_each(|place| node.successors[place] = ahead(place + 1));
            for (bit, finger) in node.fingers.iter_mut().enumerate() {
                *finger = ring.holder(ring.ahead(node.place, 1 << bit), there);
            }
        }
        node
    }

    pub(super) fn successor(&self) -> u32 {
        self.successors[0]
    }

    /// The peer that holds `key`, or the peer to ask next.
    pub(super) fn way(&self, ring: &Ring, key: u64) -> Way {
        let successor = self.successor();
        if successor == self.peer || ring.is_up_to(key, self.place, ring.place(successor)) {
            return Way::Holder(successor);
        }
        // Fingers beyond the key are useless; the farthest one before the key is best.
        let distance = ring.distance(self.place, key);
        let highest = if distance == 0 { ring.bits() - 1 } else { distance.ilog2() };
        let known = self.fingers[..=highest as usize].iter().rev().copied();
        let known = known.chain(self.successors.iter().rev().copied()).filter(|peer| *peer != NOBODY);
        let before = |peer: &u32| *peer != self.peer && ring.is_between(ring.place(*peer), self.place, key);
        Way::Next(known.into_iter().find(before).unwrap_or(successor))
    }

    /// The finger to refresh next, and the key that it stands for.
    pub(super) fn finger_to_mend(&mut self, ring: &Ring) -> (u32, u64) {
        self.next_finger = (self.next_finger + 1) % ring.bits();
        (self.next_finger, ring.ahead(self.place, 1 << self.next_finger))
    }

    pub(super) fn set_finger(&mut self, finger: u32, peer: u32) {
        self.fingers[finger as usize] = peer;
    }

    pub(super) fn set_successor(&mut self, peer: u32) {
        if peer != self.successor() {
            self.successors.rotate_right(1);
            self.successors[0] = peer;
        }
    }

    /// The first successor is lost: the next one replaces it; the peer itself does if there is none.
    pub(super) fn lose_successor(&mut self) {
        self.forget(self.successor());
    }

    /// Removes `gone` from the successors, the fingers and the predecessor.
    pub(super) fn forget(&mut self, gone: u32) {
        let mut kept = [NOBODY; SUCCESSORS];
        let others = self.successors.iter().copied().filter(|peer| *peer != gone && *peer != NOBODY);
        kept.iter_mut().zip(others).for_each(|(place, peer)| *place = peer);
        self.successors = kept;
        if self.successors[0] == NOBODY {
            self.successors[0] = self.peer;
        }
        self.fingers.iter_mut().filter(|finger| **finger == gone).for_each(|finger| *finger = NOBODY);
        if self.predecessor == gone {
            self.predecessor = NOBODY;
        }
    }

    /// The message that reports its neighbours.
    pub(super) fn neighbours(&self) -> Message {
        let Self { peer, predecessor, successors, .. } = *self;
        Message::AreNeighbours { peer, predecessor, successors }
    }

    /// Takes in the neighbours that its successor `peer` has reported.
    pub(super) fn learn(&mut self, ring: &Ring, peer: u32, predecessor: u32, successors: [u32; SUCCESSORS]) {
        if peer != self.successor() {
            return;
        }
        self.successors[1..].copy_from_slice(&successors[..SUCCESSORS - 1]);
        if let Some(itself) = self.successors[1..].iter().position(|other| *other == self.peer) {
            // The list has gone round the whole ring.
            self.successors[1 + itself..].fill(NOBODY);
        }
        let nearer = |other: u32| ring.is_between(ring.place(other), self.place, ring.place(peer));
        if predecessor != NOBODY && predecessor != self.peer && nearer(predecessor) {
            self.set_successor(predecessor);
        }
    }

    /// `peer` has notified us that it may be our predecessor.
    pub(super) fn notified(&mut self, ring: &Ring, peer: u32) {
        let known = self.predecessor;
        if known == NOBODY || ring.is_between(ring.place(peer), ring.place(known), self.place) {
            self.predecessor = peer;
        }
        if self.successor() == self.peer && peer != self.peer {
            self.set_successor(peer);
        }
    }
}
