//! Rounds of processes whose messages are under way for as long as it takes, each pair's in their order.

use std::collections::VecDeque;

use paceline_kernel::{Rng, Time};

use super::{COLOURS, Rounds, Saying, ToSend};
use crate::peers::Contribution;

/// What is under way from one process to another.
#[derive(Debug)]
enum Sent {
    /// A message, of the sender's round.
    Message(u64),
    Saying(Saying),
}

/// Processes and what is under way between them.
struct World {
    rng: Rng,
    rounds: Vec<Rounds>,
    /// By sender and receiver.
    wires: Vec<Vec<VecDeque<Sent>>>,
    /// By sender and receiver: messages sent since the last contribution, and by receiver and round,
    /// messages sent and received.
    sent: Vec<Vec<u64>>,
    all_sent: Vec<Vec<u64>>,
    all_received: Vec<Vec<u64>>,
    /// By process: the results of its rounds.
    results: Vec<Vec<Contribution>>,
    asks: bool,
}

impl World {
    fn new(ranks: usize, rounds: usize, asks: bool, seed: u64) -> Self {
        let count = ranks as u32;
        let tally = || vec![vec![0; rounds + 2]; ranks];
        Self {
            rng: Rng::new(seed, 0),
            rounds: (0..count).map(|rank| Rounds::new(rank, count)).collect(),
            wires: (0..ranks).map(|_| (0..ranks).map(|_| VecDeque::new()).collect()).collect(),
            sent: vec![vec![0; ranks]; ranks],
            all_sent: tally(),
            all_received: tally(),
            results: vec![Vec::new(); ranks],
            asks,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit as u64) as usize
    }

    fn put(&mut self, from: usize, sends: ToSend) {
        for (to, saying) in sends {
            self.wires[from][to as usize].push_back(Sent::Saying(saying));
        }
    }

    fn send(&mut self, from: usize, to: usize) {
        let round = self.rounds[from].contributed;
        self.wires[from][to].push_back(Sent::Message(round));
        self.sent[from][to] += 1;
        self.all_sent[to][round as usize] += 1;
    }

    fn contribute(&mut self, rank: usize) {
        let contribution = Contribution {
            least: Time::nanos((rank as u64 * 31) % 17 + 100 * self.rounds[rank].open),
            slowest: rank as u32,
            sent: (0..).zip(self.sent[rank].iter().copied()).filter(|(_, sent)| *sent > 0).collect(),
            extra: vec![(rank as u32, vec![rank as u8])],
            asks: self.asks,
            ..Contribution::default()
        };
        self.sent[rank].fill(0);
        let sends = self.rounds[rank].contribute(contribution);
        self.put(rank, sends);
    }

    /// Takes in the oldest of what is under way from one process to another.
    fn deliver(&mut self, from: usize, to: usize) {
        let rounds = &mut self.rounds[to];
        match self.wires[from][to].pop_front() {
            None => {}
            Some(Sent::Message(round)) => {
                let colour = (round % COLOURS as u64) as u8;
                assert_eq!(rounds.is_open(colour), round == rounds.open, "a colour stands for one round");
                rounds.received(colour, 1);
                self.all_received[to][round as usize] += 1;
            }
            Some(Sent::Saying(saying)) => {
                let sends = rounds.hear(from as u32, saying);
                self.put(to, sends.expect("it comes from a process that keeps to the rules"));
            }
        }
    }

    fn complete(&mut self, rank: usize) {
        let round = self.rounds[rank].open as usize;
        if let Some(all) = self.rounds[rank].complete() {
            assert_eq!(self.all_received[rank][round], self.all_sent[rank][round], "all messages are there");
            self.results[rank].push(all);
        }
    }
}

/// Any number of processes, with messages at any time, come to the same in every round, and a round is
/// complete in a process only when all messages of it have arrived there.
#[test]
fn all_come_to_the_same_and_miss_nothing() {
    const ROUNDS: usize = 6;
    for (case, ranks) in (0..).zip([1, 2, 3, 5, 33, 34, 40, 70, 2, 3, 4, 8]) {
        let mut world = World::new(ranks, ROUNDS, false, case);
        let mut steps = 0;
        while world.results.iter().any(|results| results.len() < ROUNDS) {
            steps += 1;
            assert!(steps < 4_000_000, "case {case}: the rounds of {ranks} processes do not end");
            let (rank, other) = (world.below(ranks), world.below(ranks));
            match world.below(8) {
                0 if world.results[rank].len() < ROUNDS && !world.rounds[rank].has_contributed() => {
                    world.contribute(rank);
                }
                1 if rank != other && world.rounds[rank].contributed < ROUNDS as u64 => {
                    world.send(rank, other);
                }
                2 => world.complete(rank),
                _ => world.deliver(rank, other),
            }
        }
        for round in 0..ROUNDS {
            let least = (0..ranks).map(|rank| ((rank * 31) % 17 + 100 * round, rank)).min().expect("some");
            for results in &world.results {
                let result = &results[round];
                assert_eq!((result.least, result.slowest), (Time::nanos(least.0 as u64), least.1 as u32));
                let extra: Vec<_> = (0..ranks as u32).map(|rank| (rank, vec![rank as u8])).collect();
                assert_eq!(result.extra, extra, "case {case}, round {round}");
            }
        }
    }
}

/// Where processes contribute only when they have news or are asked, one that has news is enough for all to
/// contribute.
#[test]
fn one_that_has_news_has_all_asked() {
    for (case, ranks) in (0..).zip([1, 2, 3, 8, 33, 40, 70]) {
        let mut world = World::new(ranks, 5, true, case);
        for round in 0..5 {
            let first = world.below(ranks);
            world.contribute(first);
            let mut steps = 0;
            while world.results.iter().any(|results| results.len() <= round) {
                steps += 1;
                assert!(
                    steps < 1_000_000,
                    "case {case}: {ranks} processes are not all asked in round {round}"
                );
                let (rank, other) = (world.below(ranks), world.below(ranks));
                world.deliver(rank, other);
                if world.rounds[rank].is_asked() && !world.rounds[rank].has_contributed() {
                    world.contribute(rank);
                }
                world.complete(rank);
            }
        }
    }
}

/// What cannot have been said in a round is refused.
#[test]
fn what_does_not_fit_is_refused() {
    let mut root = Rounds::new(0, 3);
    let mut leaf = Rounds::new(1, 3);
    let nothing = Contribution::default;
    assert_eq!(leaf.hear(0, Saying::Down(nothing())), None, "it has not contributed");
    assert_eq!(leaf.hear(2, Saying::Up(nothing())), None, "nothing is below it");
    assert_eq!(leaf.hear(2, Saying::Ask(0)), None, "it is no neighbour");
    assert_eq!(leaf.hear(0, Saying::Ask(2)), None, "two rounds ahead");
    assert!(root.hear(1, Saying::Up(nothing())).is_some());
    assert_eq!(root.hear(1, Saying::Up(nothing())), None, "twice in one round");
    assert_eq!(leaf.contribute(nothing()), [(0, Saying::Up(nothing()))]);
    assert_eq!(leaf.hear(2, Saying::Down(nothing())), None, "it does not come from above");
    assert!(leaf.hear(0, Saying::Down(nothing())).is_some());
    assert_eq!(leaf.hear(0, Saying::Down(nothing())), None, "twice in one round");
}
