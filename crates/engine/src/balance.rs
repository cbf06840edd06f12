//! LPs move between federates at the pauses of a run.
//!
//! A look is cheap where the events that the federates have run say that loads are even; otherwise the federates are taken
//! apart, the LPs measured ([`Activity`]), and dealt anew where [`improve`] finds enough to gain. A federate whose LPs have no
//! consecutive numbers any more looks its LPs up in a table, and every move ends a batch early; therefore LPs only move for
//! a gain of at least [`LEAST_GAIN`].
//!
//! Invariants: a move leaves the number of federates as it is; the result of a run does not depend on anything in here.

use std::time::{Duration, Instant};

use paceline_kernel::{
    Activity, Balance, EventQueue, Federate, Model, Partition, Rng, TieBreak, World, imbalance, improve,
    remote, span, sums,
};

/// From the start of a run to the first look, and from a look that moved LPs to the next one.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Between two looks while nothing moves, at most: the time doubles up to this.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// The share of the time that a move must promise to save.
const LEAST_GAIN: f64 = 0.05;
/// What a message to another federate costs more than one within, and a table of LPs more than consecutive numbers, in
/// nanoseconds for each such message. An estimate; `cargo bench -p paceline-engine --bench balance` shows what comes of it.
const REMOTE_NS: f64 = 80.0;

/// What moving LPs came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balancing {
    /// Looks taken, cheap ones too.
    pub looks: u64,
    /// Looks after which LPs moved.
    pub moves: u64,
    /// LPs moved, each as often as it was.
    pub moved: u64,
    /// How many times the mean the largest federate had run of the events before the first move.
    pub imbalance_before: f64,
    /// The same since the last move.
    pub imbalance_after: f64,
    /// Of the messages seen at the first look, the share between federates; none where nobody looked at messages.
    pub remote_before: Option<f64>,
    /// The same after the last look, by what had been seen until then.
    pub remote_after: Option<f64>,
    /// Time that the run stood still for looks and moves.
    pub wall: Duration,
}

/// Looks, and says where LPs are to go.
#[derive(Debug)]
pub(crate) struct Balancer {
    balance: Balance,
    ties: TieBreak,
    /// Moves LPs at random instead: for tests.
    shuffle: Option<Rng>,
    activity: Activity,
    /// Events of each federate since the last move, up to when the federates were last dealt.
    banked: Vec<u64>,
    /// The events of each federate since the last move: at the last look, and when LPs were last measured.
    at_look: Vec<u64>,
    at_measure: Vec<u64>,
    /// When LPs were last measured.
    measured: Instant,
    pause: Duration,
    imbalance_before: Option<f64>,
    came_to: Balancing,
}

impl Balancer {
    /// For a run with this many federates, of LPs that have done `activity`.
    pub(crate) fn new(
        balance: Balance,
        ties: TieBreak,
        shuffle: Option<u64>,
        activity: Activity,
        federates: u32,
    ) -> Self {
        let zeros = vec![0; federates as usize];
        let came_to = Balancing {
            looks: 0,
            moves: 0,
            moved: 0,
            imbalance_before: 1.0,
            imbalance_after: 1.0,
            remote_before: None,
            remote_after: None,
            wall: Duration::ZERO,
        };
        Self {
            balance,
            ties,
            shuffle: shuffle.map(|seed| Rng::new(seed, 0)),
            activity,
            banked: zeros.clone(),
            at_look: zeros.clone(),
            at_measure: zeros,
            measured: Instant::now(),
            pause: FIRST_LOOK,
            imbalance_before: None,
            came_to,
        }
    }

    /// From the start of the run to the first look.
    pub(crate) const fn first_look() -> Duration {
        FIRST_LOOK
    }

    /// Events of each federate since the last move.
    fn events<M: Model, Q: EventQueue<M::Event>>(&self, federates: &[Federate<M, Q>]) -> Vec<u64> {
        self.banked.iter().zip(federates).map(|(banked, federate)| banked + federate.events()).collect()
    }

    /// Federates are about to be taken apart, and their counters with them.
    pub(crate) fn bank<M: Model, Q: EventQueue<M::Event>>(&mut self, federates: &[Federate<M, Q>]) {
        self.banked = self.events(federates);
    }

    /// The LPs have been dealt to so many federates, other ones than before.
    pub(crate) fn dealt_anew(&mut self, federates: u32) {
        for counts in [&mut self.banked, &mut self.at_look, &mut self.at_measure] {
            *counts = vec![0; federates as usize];
        }
        self.measured = Instant::now();
    }

    /// A look at the federates, which `threads` threads work off. Says whether the LPs are to be looked at.
    pub(crate) fn glance<M: Model, Q: EventQueue<M::Event>>(
        &mut self,
        federates: &[Federate<M, Q>],
        threads: u32,
    ) -> bool {
        let events = self.events(federates);
        let lately = since(&events, &self.at_look);
        self.at_look = events;
        self.came_to.looks += 1;
        if self.shuffle.is_some() || self.balance == Balance::LoadAndCommunication {
            return true;
        }
        let (now, sum) = (span(&lately, threads), lately.iter().sum::<u64>());
        let worth = share_saved(now, sum.div_ceil(u64::from(threads.max(1)))) >= LEAST_GAIN;
        if !worth {
            self.rest();
        }
        worth
    }

    /// Measures the LPs, which were taken apart for it. Gives out a better partition, if there is one that is worth it.
    pub(crate) fn plan<M: Model>(
        &mut self,
        world: &World<M>,
        partition: &Partition,
        threads: u32,
        fits: impl FnOnce(&Partition) -> bool,
    ) -> Option<Partition> {
        let (owner, federates) = (partition.owners(), partition.federates());
        let done = since(&self.banked, &self.at_measure);
        self.activity.look(world, partition, &done, self.ties);
        self.at_measure.clone_from(&self.banked);
        let activity = &self.activity;
        let (loads, edges) = (activity.loads(), activity.edges());
        let better = match &mut self.shuffle {
            Some(rng) => shuffled(rng, owner.len(), federates),
            None => improve(self.balance, &owner, federates, loads, edges),
        };
        let measure = |owner: &[u32]| {
            let messages = activity.messages().max(1) as f64;
            (span(&sums(owner, federates, loads), threads), remote(owner, edges) as f64 / messages)
        };
        let ((span_before, remote_before), (span_after, remote_after)) = (measure(&owner), measure(&better));
        // The thread with the most to do has taken all of the time for its events.
        let event_ns = self.measured.elapsed().as_nanos() as f64 / span(&done, threads).max(1) as f64;
        self.measured = Instant::now();
        let event_after_ns = (event_ns + REMOTE_NS * (remote_after - remote_before)).max(0.0);
        let gain = 1.0 - span_after as f64 * event_after_ns / (span_before.max(1) as f64 * event_ns.max(1.0));
        self.came_to.remote_before.get_or_insert(remote_before);
        let next = Partition::table(&better);
        let moved = owner.iter().zip(&better).filter(|(before, after)| before != after).count();
        if moved == 0 || (self.shuffle.is_none() && gain < LEAST_GAIN) || !fits(&next) {
            self.came_to.remote_after = Some(remote_before);
            self.rest();
            return None;
        }
        self.came_to.remote_after = Some(remote_after);
        self.came_to.moves += 1;
        self.came_to.moved += moved as u64;
        self.imbalance_before.get_or_insert(imbalance(&self.banked));
        for counts in [&mut self.banked, &mut self.at_look, &mut self.at_measure] {
            counts.fill(0);
        }
        self.pause = FIRST_LOOK;
        Some(next)
    }

    /// Nothing moves: the next look is later.
    fn rest(&mut self) {
        self.pause = (self.pause * 2).min(LAST_LOOK);
    }

    /// From this look to the next one.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// The run stood still this long.
    pub(crate) fn stood_still(&mut self, wall: Duration) {
        self.came_to.wall += wall;
    }

    /// What it came to, when the run is over.
    pub(crate) fn finish<M: Model, Q: EventQueue<M::Event>>(
        &self,
        federates: &[Federate<M, Q>],
    ) -> Balancing {
        let now = imbalance(&self.events(federates));
        let imbalance_before = self.imbalance_before.unwrap_or(now);
        Balancing { imbalance_before, imbalance_after: now, ..self.came_to }
    }
}

fn since(now: &[u64], before: &[u64]) -> Vec<u64> {
    now.iter().zip(before).map(|(now, before)| now - before).collect()
}

/// The share of `before` that `after` saves.
fn share_saved(before: u64, after: u64) -> f64 {
    1.0 - after as f64 / before.max(1) as f64
}

/// Any owner for any LP, but every federate has one.
fn shuffled(rng: &mut Rng, lps: usize, federates: u32) -> Vec<u32> {
    let mut owner: Vec<u32> = (0..federates).collect();
    owner.extend((federates as usize..lps).map(|_| rng.below(u64::from(federates)) as u32));
    for left in (1..owner.len()).rev() {
        owner.swap(left, rng.below(left as u64 + 1) as usize);
    }
    owner
}
