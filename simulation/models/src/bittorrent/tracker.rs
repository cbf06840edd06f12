//! The tracker: it knows the peers of the swarm, and sends some of them to every peer that asks.
//!
//! Invariant: `places` says where in `peers` each peer is.

use std::collections::BTreeMap;

use paceline_kernel::{Rng, Time};
use paceline_processes::Process;

use super::message::{Content, Message};
use crate::inbox::Inbox;

/// The most peers in one answer of the tracker.
const PEERS_NAMED: usize = 50;
/// The number of queries that the tracker receives at a time.
const OPEN_RECEIVES: usize = 64;

/// The process of the tracker, whose mailbox is `number`.
pub(super) async fn run(cx: Process<Message>, number: u32, block_bytes: f64) {
    cx.daemonize();
    let mut inbox = Inbox::open(&cx, u64::from(number), OPEN_RECEIVES);
    let mut known = Known::default();
    while let Some(Message { sender, content }) = inbox.next(&cx, Time::MAX).await {
        match content {
            Content::Query => {
                let content = Content::Peers(cx.draw(|rng| known.draw(sender, rng)));
                let bytes = content.bytes(block_bytes);
                cx.send_detached(u64::from(sender), Message { sender: number, content }, bytes);
                known.add(sender);
            }
            Content::Stopped => known.remove(sender),
            _ => {}
        }
    }
}

/// The peers in the swarm.
#[derive(Debug, Default)]
struct Known {
    peers: Vec<u32>,
    places: BTreeMap<u32, usize>,
}

impl Known {
    fn add(&mut self, peer: u32) {
        let end = self.peers.len();
        if *self.places.entry(peer).or_insert(end) == end {
            self.peers.push(peer);
        }
    }

    fn remove(&mut self, peer: u32) {
        if let Some(place) = self.places.remove(&peer) {
            self.peers.swap_remove(place);
            if let Some(moved) = self.peers.get(place) {
                self.places.insert(*moved, place);
            }
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.peers.swap(one, other);
        self.places.insert(self.peers[one], one);
        self.places.insert(self.peers[other], other);
    }

    /// Draws peers from those that it knows, all different, without `asker`.
    fn draw(&mut self, asker: u32, rng: &mut Rng) -> Box<[u32]> {
        let mut drawn = Vec::new();
        for place in 0..self.peers.len() {
            if drawn.len() == PEERS_NAMED {
                break;
            }
            self.swap(place, place + rng.below((self.peers.len() - place) as u64) as usize);
            drawn.extend(Some(self.peers[place]).filter(|peer| *peer != asker));
        }
        drawn.into()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn those_told_are_known_different_and_others() {
        let (mut known, mut rng) = (Known::default(), Rng::new(1, 1));
        let mut there = std::collections::BTreeSet::new();
        for _ in 0..3000 {
            let peer = rng.below(80) as u32;
            if rng.chance(0.6) {
                known.add(peer);
                there.insert(peer);
            } else {
                known.remove(peer);
                there.remove(&peer);
            }
            let asker = rng.below(80) as u32;
            let mut drawn = known.draw(asker, &mut rng).into_vec();
            let others = there.len() - usize::from(there.contains(&asker));
            assert_eq!(drawn.len(), others.min(PEERS_NAMED));
            drawn.sort_unstable();
            assert!(drawn.is_sorted_by(|one, next| one < next));
            assert!(drawn.iter().all(|peer| *peer != asker && there.contains(peer)));
        }
    }
}
