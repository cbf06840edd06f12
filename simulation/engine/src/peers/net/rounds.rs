//! Rounds: the exchanges of all processes that they need to go on.
//!
//! Processes form a tree with that of rank 0 at its root. Each contributes to a round once; a process passes
//! up what it and those below it have said when all of them have, and the root sends down what all have come
//! to. So a round takes two messages for each process but one, however many there are.
//!
//! A round also says that messages have arrived: each process counts what it has sent to each other one
//! between two of its contributions, and a round is complete in a process only when it has received as many
//! messages of that round as all have sent to it. Every message says in which round it was sent.
//!
//! Some protocols contribute only where they have news. What asks others to contribute too goes through the
//! tree before the round is complete.
//!
//! The type here is pure: it gives what is to be sent ([`Saying`]), and [`Peers`](super::Peers) sends it.
//!
//! Invariants: messages between two processes arrive in their order; no process is two rounds ahead of
//! another, since the round between them needs both.

#[cfg(test)]
mod test;

use super::Contribution;

/// The most processes directly below one: two levels for 33 processes, three for 1,057.
const FAN_OUT: u32 = 32;

/// Rounds that messages can be of at the same time in one process, and one more: round numbers go with
/// messages modulo this. While messages of the open round are missing, others come of the next one, and of
/// the one after it, from a process that has completed the open one and contributed to the next.
pub(super) const COLOURS: usize = 4;

/// What a process says to a neighbour in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Saying {
    /// What it and all below it have contributed.
    Up(Contribution),
    /// What all have come to.
    Down(Contribution),
    /// The neighbour is to contribute to the round of this number.
    Ask(u64),
}

/// What is to be sent, each with its receiver.
pub(super) type ToSend = Vec<(u32, Saying)>;

/// Rounds as one process sees them.
#[derive(Debug)]
pub(super) struct Rounds {
    rank: u32,
    /// The number of the round that is open: of those that are complete here.
    open: u64,
    /// Rounds that this process has contributed to.
    contributed: u64,
    /// What it has said in the round that is open, until that has been passed on.
    contribution: Option<Contribution>,
    /// By process below this one, in the order of ranks: what it has said in the round that is open, or once
    /// that has been passed on, in the next one.
    below: Vec<(u32, Option<Contribution>)>,
    /// What all have come to in the round that is open, though messages of it may be missing.
    result: Option<Contribution>,
    /// Messages received of a round, by its number modulo [`COLOURS`].
    received: [u64; COLOURS],
    /// Rounds that this process has been asked to contribute to, and has asked others to.
    asked: u64,
}

fn parent(rank: u32) -> Option<u32> {
    rank.checked_sub(1).map(|before| before / FAN_OUT)
}

fn is_below(mut rank: u32, top: u32) -> bool {
    while rank > top {
        rank = parent(rank).expect("only rank 0 has nothing above it");
    }
    rank == top
}

impl Rounds {
    pub(super) fn new(rank: u32, ranks: u32) -> Self {
        let first = rank.saturating_mul(FAN_OUT).saturating_add(1);
        let below = (first..first.saturating_add(FAN_OUT)).take_while(|below| *below < ranks);
        Self {
            rank,
            open: 0,
            contributed: 0,
            contribution: None,
            below: below.map(|rank| (rank, None)).collect(),
            result: None,
            received: [0; COLOURS],
            asked: 0,
        }
    }

    pub(super) fn neighbours(&self) -> impl Iterator<Item = u32> {
        parent(self.rank).into_iter().chain(self.below.iter().map(|(rank, _)| *rank))
    }

    pub(super) fn has_contributed(&self) -> bool {
        self.contributed > self.open
    }

    /// Whether another process wants this one to contribute to the round that is open.
    pub(super) fn is_asked(&self) -> bool {
        self.asked > self.open
    }

    /// Whether a message of the round `colour` (modulo [`COLOURS`]) belongs to the round that is open, rather
    /// than to a later one.
    pub(super) fn is_open(&self, colour: u8) -> bool {
        self.open % COLOURS as u64 == u64::from(colour)
    }

    /// So many messages of a round have been received.
    pub(super) fn received(&mut self, colour: u8, messages: u64) {
        self.received[colour as usize % COLOURS] += messages;
    }

    /// This process says `contribution`. It has not contributed to the round that is open.
    pub(super) fn contribute(&mut self, contribution: Contribution) -> ToSend {
        assert!(!self.has_contributed(), "a process contributes once to a round");
        self.contributed += 1;
        let asks = contribution.asks;
        self.contribution = Some(contribution);
        let mut sends = self.pass_on();
        if asks {
            self.spread(self.open, self.rank, &mut sends);
        }
        sends
    }

    /// The process `from` says something. None if it may not say that now.
    pub(super) fn hear(&mut self, from: u32, saying: Saying) -> Option<ToSend> {
        match saying {
            Saying::Up(all) => self.up(from, all),
            Saying::Down(all) => self.down(from, all),
            Saying::Ask(round) => self.ask(from, round),
        }
    }

    fn up(&mut self, from: u32, all: Contribution) -> Option<ToSend> {
        let round = self.waiting();
        let (_, said) = self.below.iter_mut().find(|(rank, _)| *rank == from)?;
        if said.is_some() {
            return None;
        }
        let asks = all.asks;
        *said = Some(all);
        let mut sends = self.pass_on();
        if asks {
            self.spread(round, from, &mut sends);
        }
        Some(sends)
    }

    fn down(&mut self, from: u32, all: Contribution) -> Option<ToSend> {
        let waits = self.waiting() > self.open && self.result.is_none();
        (parent(self.rank) == Some(from) && waits).then(|| self.conclude(all))
    }

    fn ask(&mut self, from: u32, round: u64) -> Option<ToSend> {
        let is_neighbour = self.neighbours().any(|rank| rank == from);
        if !is_neighbour || round > self.open + 1 {
            return None;
        }
        let mut sends = Vec::new();
        self.spread(round, from, &mut sends);
        Some(sends)
    }

    /// What all have come to in the round that is open, if it is complete; then the next one is open.
    pub(super) fn complete(&mut self) -> Option<Contribution> {
        let colour = (self.open % COLOURS as u64) as usize;
        let expected = self.result.as_ref()?.sent_to(self.rank);
        if self.received[colour] < expected {
            return None;
        }
        // The colour is free for the round `COLOURS` later.
        self.received[colour] = 0;
        self.open += 1;
        self.result.take()
    }

    /// Messages of the round that is open that can never come, once all that was sent in the rounds before
    /// `round` has been received: some process has claimed to have sent more than it has.
    pub(super) fn missing(&self, round: u64) -> u64 {
        let expected =
            self.result.as_ref().filter(|_| round > self.open).map_or(0, |all| all.sent_to(self.rank));
        expected.saturating_sub(self.received[(self.open % COLOURS as u64) as usize])
    }

    /// The round in which nothing has been passed on yet.
    fn waiting(&self) -> u64 {
        self.open + u64::from(self.has_contributed() && self.contribution.is_none())
    }

    /// Passes on what this process and those below it have said, if all have.
    fn pass_on(&mut self) -> ToSend {
        if self.contribution.is_none() || self.below.iter().any(|(_, said)| said.is_none()) {
            return Vec::new();
        }
        let mut all = self.contribution.take().expect("it was looked at");
        for said in self.below.iter_mut().filter_map(|(_, said)| said.take()) {
            all.join(said);
        }
        match parent(self.rank) {
            Some(parent) => vec![(parent, Saying::Up(all))],
            None => self.conclude(all),
        }
    }

    /// Notes what all have come to, and passes it down.
    fn conclude(&mut self, all: Contribution) -> ToSend {
        let down = |rank: u32| Contribution {
            sent: all.sent.iter().copied().filter(|(to, _)| is_below(*to, rank)).collect(),
            extra: if all.gathers { Vec::new() } else { all.extra.clone() },
            next: all.next.clone(),
            ..all
        };
        let sends = self.below.iter().map(|(rank, _)| (*rank, Saying::Down(down(*rank)))).collect();
        self.result = Some(all);
        sends
    }

    /// Asks the neighbours that have not contributed to `round`, but for `from`, unless they were asked
    /// before.
    fn spread(&mut self, round: u64, from: u32, sends: &mut ToSend) {
        if round < self.asked {
            return;
        }
        self.asked = round + 1;
        // All from here down have contributed, and what was passed up says that it asks: the process above
        // spreads it.
        if round < self.waiting() {
            return;
        }
        // What they have said is of the round in which this process has passed nothing on.
        let silent = |said: &Option<Contribution>| said.is_none() || round > self.waiting();
        let below = self.below.iter().filter(|(_, said)| silent(said)).map(|(rank, _)| *rank);
        let next = parent(self.rank).into_iter().chain(below).filter(|rank| *rank != from);
        sends.extend(next.map(|rank| (rank, Saying::Ask(round))));
    }
}
