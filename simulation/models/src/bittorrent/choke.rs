//! Which peers a peer serves: the choke algorithm (Cohen, 2003, section 3), with the later rule for
//! seeds (Legout et al., 2005).
//!
//! In every round a peer that is still downloading unchokes the peers that send to it fastest. It also
//! unchokes one peer drawn from the others (the optimistic unchoke); it draws a new one every three rounds. A
//! peer that has the whole file serves the peers that it has not served for the longest time.
//!
//! Invariant: only interested peers are unchoked, and at most `slots` + 1 of them.

use std::cmp::Reverse;

use paceline_kernel::{Rng, Time};

/// The number of rounds that an optimistic unchoke lasts.
const OPTIMISTIC_ROUNDS: u32 = 3;

/// A peer that is interested in our pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) peer: u32,
    /// Its recent average of bytes sent to us per round.
    pub(super) rate: u64,
    /// The last round in which it was unchoked; zero if never.
    pub(super) served: Time,
}

/// The peers that are unchoked, and since when.
#[derive(Clone, Debug)]
pub(super) struct Choker {
    slots: usize,
    /// Rounds until the next optimistic unchoke.
    left: u32,
    optimistic: Option<u32>,
}

impl Choker {
    /// For a peer that unchokes `slots` peers and one more.
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: slots as usize, left: 0, optimistic: None }
    }

    /// Decides which peers are unchoked from now on, sorted by number. `complete`: this peer has the whole
    /// file.
    pub(super) fn round(
        &mut self,
        complete: bool,
        mut interested: Vec<Candidate>,
        rng: &mut Rng,
    ) -> Vec<u32> {
        let place = |candidate: &Candidate| {
            let rate = if complete { 0 } else { candidate.rate };
            (Reverse(rate), candidate.served, candidate.peer)
        };
        interested.sort_unstable_by_key(place);
        let slots = if complete { self.slots + 1 } else { self.slots };
        let others = interested.split_off(slots.min(interested.len()));
        let mut unchoked: Vec<u32> = interested.iter().map(|candidate| candidate.peer).collect();
        if !complete {
            self.left = self.left.saturating_sub(1);
            let stays = |peer: &u32| others.iter().any(|other| other.peer == *peer);
            if self.left == 0 || !self.optimistic.as_ref().is_some_and(stays) {
                self.left = OPTIMISTIC_ROUNDS;
                let drawn = rng.below(others.len() as u64) as usize;
                self.optimistic = others.get(drawn).map(|candidate| candidate.peer);
            }
            unchoked.extend(self.optimistic);
        }
        unchoked.sort_unstable();
        unchoked
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_fastest_are_unchoked_and_at_most_one_more() {
        for seed in 0..500 {
            let mut rng = Rng::new(seed, 2);
            let slots = 1 + rng.below(4) as u32;
            let mut choker = Choker::new(slots);
            for _ in 0..10 {
                let count = rng.below(12) as u32;
                let candidate = |peer| Candidate { peer, rate: rng.below(5), served: Time::ZERO };
                let interested: Vec<Candidate> = (0..count).map(candidate).collect();
                let unchoked = choker.round(false, interested.clone(), &mut rng);
                assert!(
                    unchoked.is_sorted_by(|one, next| one < next)
                        && unchoked.iter().all(|peer| *peer < count)
                );
                assert_eq!(unchoked.len() as u32, count.min(slots + 1), "seed {seed}");
                // With one exception, no unchoked peer is slower than a choked one.
                let is_unchoked = |candidate: &&Candidate| unchoked.contains(&candidate.peer);
                let fastest =
                    interested.iter().filter(|other| !is_unchoked(other)).map(|other| other.rate).max();
                let slower = |candidate: &&Candidate| fastest.is_some_and(|fastest| candidate.rate < fastest);
                assert!(interested.iter().filter(is_unchoked).filter(slower).count() <= 1, "seed {seed}");
            }
        }
    }

    #[test]
    fn an_optimistic_unchoke_lasts_three_rounds_and_comes_to_everybody() {
        let (mut choker, mut rng) = (Choker::new(1), Rng::new(5, 5));
        let interested: Vec<Candidate> =
            (0..6).map(|peer| Candidate { peer, rate: u64::from(peer == 0), served: Time::ZERO }).collect();
        let rounds: Vec<Vec<u32>> =
            (0..300).map(|_| choker.round(false, interested.clone(), &mut rng)).collect();
        assert!(rounds.chunks(3).all(|three| three.iter().all(|round| *round == three[0])));
        assert!((0..6).all(|peer| rounds.iter().any(|round| round.contains(&peer))));
    }

    #[test]
    fn a_seed_serves_all_in_turn() {
        let (mut choker, mut rng) = (Choker::new(2), Rng::new(5, 5));
        let mut interested: Vec<Candidate> =
            (0..10).map(|peer| Candidate { peer, rate: u64::from(peer), served: Time::ZERO }).collect();
        for round in 1..=100 {
            for peer in choker.round(true, interested.clone(), &mut rng) {
                interested[peer as usize].served = Time::secs(round);
            }
            // 3 of 10 are served in a round.
            let longest_ago = interested.iter().map(|candidate| candidate.served).min();
            assert!(round < 4 || longest_ago > Some(Time::secs(round.saturating_sub(5))), "round {round}");
        }
    }
}
