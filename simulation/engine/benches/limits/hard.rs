//! A model of what is hard for a parallel simulation: PHOLD's LPs that pass messages around, with laws of
//! their own.

use std::hint::black_box;

use paceline_kernel::{Context, Kept, LpId, Model, Time, Undo, UndoFn};

use crate::groups::{LPS, MESSAGES};

/// The probability that a message goes to any LP, not to its sender.
const REMOTE: f64 = 0.25;
/// Messages per LP where all of them happen at once: 100,352 in all.
const BURST: u32 = 49;
/// Messages without delay in a row.
const CHAIN: u8 = 8;
/// LPs with more load than others: one in so many, the first ones.
const TENTH: u32 = 10;
/// Work for an event in nanoseconds, and how many times as much on LPs with more load.
const WORK_NS: u64 = 100;
const HEAVY: u64 = 20;

/// What makes it hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All messages take one second: 10^5 events in one instant, none in between.
    Burst,
    /// An exponential delay, then a chain of messages without any.
    Chains,
    /// Nine of ten messages go to the first tenth of the LPs.
    Tenth,
    /// Every message goes to any LP.
    AllToAll,
    /// One message in a thousand has no delay, all others one second at least.
    RareZero,
    /// The first tenth of the LPs works 20 times as long on an event.
    Heavy,
}

#[derive(Clone, Copy, Debug)]
pub struct Hard {
    pub kind: Kind,
    /// Declared, and kept by all delays to other LPs.
    pub lookahead: Time,
}

impl Hard {
    fn is_first_tenth(lp: LpId) -> bool {
        lp.0 < LPS / TENTH
    }

    #[inline(always)]
    fn destination<M: Model>(self, cx: &mut Context<M>) -> LpId {
        let lps = match self.kind {
            Kind::Tenth if cx.rng().chance(0.9) => LPS / TENTH,
            Kind::Tenth | Kind::AllToAll => LPS,
            _ if cx.rng().chance(REMOTE) => LPS,
            _ => return cx.lp(),
        };
        LpId(cx.rng().below(u64::from(lps)) as u32)
    }

    #[inline(always)]
    fn delay<M: Model>(self, cx: &mut Context<M>) -> Time {
        let exponential = |cx: &mut Context<M>| Time::nanos(cx.rng().exponential(1e9) as u64);
        match self.kind {
            Kind::Burst => Time::secs(1),
            Kind::RareZero if cx.rng().chance(1e-3) => Time::ZERO,
            Kind::RareZero => Time::secs(1).saturating_add(exponential(cx)),
            _ => self.lookahead.saturating_add(exponential(cx)),
        }
    }

    /// Sends the first messages of an LP.
    pub fn start<M: Model<Event = u8>>(self, cx: &mut Context<M>) {
        let messages = if self.kind == Kind::Burst { BURST } else { MESSAGES };
        for _ in 0..messages {
            let delay = self.delay(cx);
            cx.schedule(delay, if self.kind == Kind::Chains { CHAIN } else { 0 });
        }
    }

    /// Counts a message, works, and sends one on.
    #[inline(always)]
    pub fn pass_on<M: Model<Event = u8>>(self, received: &mut u64, left: u8, cx: &mut Context<M>) {
        *received += 1;
        if self.kind == Kind::Heavy {
            let mut chain = *received;
            for _ in 0..WORK_NS * if Self::is_first_tenth(cx.lp()) { HEAVY } else { 1 } {
                chain = black_box(chain.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
        }
        let to = self.destination(cx);
        let (delay, left) = match (self.kind, left) {
            (Kind::Chains, 0) => (self.delay(cx), CHAIN),
            (Kind::Chains, left) => (Time::ZERO, left - 1),
            _ => (self.delay(cx), 0),
        };
        cx.send(to, delay, left);
    }
}

impl Model for Hard {
    /// How many messages the LP has received.
    type State = u64;
    /// Messages without delay that follow it.
    type Event = u8;
    type Output = ();

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        LPS
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
        self.start(cx);
        0
    }

    #[inline(always)]
    fn handle(&self, received: &mut u64, left: &u8, cx: &mut Context<Self>) {
        self.pass_on(received, *left, cx);
    }
}

impl Undo for Hard {
    #[inline(always)]
    fn undo(&self, received: &mut u64, _left: &u8, _kept: &mut Kept<'_>) {
        *received -= 1;
    }
}
