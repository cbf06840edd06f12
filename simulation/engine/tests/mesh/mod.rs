//! A random model: everything that may go wrong between LPs, drawn from one number.
//!
//! Random topology with a lookahead per channel, in some models up to 1000 times that of others, delays on a
//! coarse grid so that many events are simultaneous, zero-delay and short self-messages, bursts, LPs that
//! fall silent, and a state that depends on the order of everything received. In one model out of three the
//! `Hash` of messages leaves out what matters: messages are not to be confused for that. In two models out of
//! five LPs cancel messages to themselves, whether they have happened or not.

use std::hash::{Hash, Hasher};

use paceline_kernel::{Channels, Context, EventId, Kept, LpId, Model, Partition, Rng, Time, Undo, UndoFn};
use serde::{Deserialize, Serialize};

/// A model drawn from a seed.
#[derive(Clone, Debug)]
pub struct Mesh {
    seed: u64,
    lookahead: Time,
    /// To whom each LP sends, with the channel's lookahead.
    channels: Vec<Vec<(LpId, Time)>>,
    declare: bool,
    /// Delays are multiples of this.
    grain: Time,
    starters: u64,
    scatter: bool,
    /// Lookaheads of channels differ by up to 1000 times.
    spread: bool,
    /// The `Hash` of messages leaves out their word.
    lax: bool,
    cancels: bool,
}

/// What an LP remembers: a hash of all it received, in order, how much that was, and a message to itself.
#[derive(Clone, Debug, Default, Hash, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    trace: u64,
    received: u32,
    timer: Option<EventId>,
}

/// What a state takes.
#[allow(dead_code, reason = "not all tests that share this module need it")]
pub const STATE_BYTES: usize = size_of::<Memory>();

/// A message with a number of hops left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    left: u32,
    word: u64,
    /// `Hash` leaves the word out.
    lax: bool,
}

impl Hash for Hop {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.left.hash(hasher);
        if !self.lax {
            self.word.hash(hasher);
        }
    }
}

impl Hop {
    /// One that comes from outside.
    #[allow(dead_code, reason = "not all tests that share this module send from outside")]
    pub fn outside(word: u64) -> Self {
        Self { left: 8, word, lax: false }
    }
}

impl Mesh {
    /// The model of case `seed`; `zero` gives it no lookahead.
    pub fn draw(seed: u64, zero: bool) -> Self {
        let mut rng = Rng::new(seed, 0x6d65_7368);
        let lps = 1 + rng.below(40) as u32;
        let grain = Time::nanos([1, 1000, 1_000_003, 250_000_000][rng.below(4) as usize]);
        let lookahead = if zero { Time::ZERO } else { Time::nanos(grain.as_nanos() * (1 + rng.below(4))) };
        let degree = 1 + rng.below(4);
        let channels = (0..lps).map(|_| {
            let channel = |_| {
                let to = LpId(rng.below(u64::from(lps)) as u32);
                (to, Time::nanos(lookahead.as_nanos() + grain.as_nanos() * rng.below(3)))
            };
            (0..degree).map(channel).collect()
        });
        let channels = channels.collect();
        let (declare, starters, scatter) = (rng.chance(0.5), 1 + rng.below(3), rng.chance(0.3));
        let mut mesh = Self {
            seed,
            lookahead,
            channels,
            declare,
            grain,
            starters,
            scatter,
            spread: false,
            lax: seed % 3 == 2,
            cancels: seed % 5 > 2,
        };
        if !zero && rng.chance(0.3) {
            mesh.spread(&mut rng);
        }
        mesh
    }

    /// Makes the lookaheads of channels differ by up to 1000 times, and declares them.
    fn spread(&mut self, rng: &mut Rng) {
        (self.spread, self.declare) = (true, true);
        let short = [0.0, 0.1, 0.5][rng.below(3) as usize];
        for (_, lookahead) in self.channels.iter_mut().flatten() {
            let factor = if rng.chance(short) { 1 } else { [10, 100, 1000][rng.below(3) as usize] };
            *lookahead = Time::nanos(lookahead.as_nanos() * factor);
        }
    }

    /// Of what delays are multiples.
    #[allow(dead_code, reason = "not all tests that share this module need it")]
    pub fn grain(&self) -> Time {
        self.grain
    }

    /// A horizon that cuts some cases short.
    pub fn until(&self) -> Time {
        let mut rng = Rng::new(self.seed, 0x756e_7469);
        let grains = if self.spread { 10_000 } else { 200 };
        if rng.chance(0.3) { Time::MAX } else { Time::nanos(self.grain.as_nanos() * (1 + rng.below(grains))) }
    }

    /// Whether LPs cancel messages.
    #[allow(dead_code, reason = "not all tests that share this module need it")]
    pub fn cancels(&self) -> bool {
        self.cancels
    }

    /// Cancels what it may know of, or only asks; the answer matters.
    fn call_off(&self, memory: &mut Memory, cx: &mut Context<Self>) {
        let Some(timer) = memory.timer else { return };
        if cx.rng().chance(0.3) {
            let pending = cx.is_pending(timer);
            assert_eq!(cx.cancel(timer), pending, "what is pending can be cancelled, and nothing else");
            assert!(!cx.is_pending(timer) && !cx.cancel(timer), "once");
            memory.trace ^= u64::from(pending) << 17;
        } else {
            memory.trace ^= u64::from(cx.is_pending(timer)) << 23;
        }
    }

    fn hop(&self, memory: &mut Memory, hop: &Hop, cx: &mut Context<Self>) {
        let trace = memory.trace;
        let Some(left) = hop.left.checked_sub(1) else { return };
        let copies = [0, 1, 1, 1, 1, 2][cx.rng().below(6) as usize];
        for _ in 0..copies {
            // In a lax model, the same message sent again after a rollback has another word: only that
            // distinguishes them.
            let past = if self.lax { trace } else { 0 };
            let next = Hop { left, word: cx.rng().u64() ^ past, lax: self.lax };
            let most = if self.spread && cx.rng().chance(0.3) { 600 } else { 6 };
            let extra = Time::nanos(self.grain.as_nanos() * cx.rng().below(most));
            if cx.rng().chance(0.3) {
                // To oneself: any delay, often none at all.
                let delay = if cx.rng().chance(0.5) { Time::ZERO } else { extra };
                let id = cx.schedule(delay, next);
                if self.cancels && cx.rng().chance(0.5) {
                    memory.timer = Some(id);
                    self.call_off(memory, cx);
                }
            } else {
                let declared = &self.channels[cx.lp().index()];
                let (to, lookahead) = declared[cx.rng().below(declared.len() as u64) as usize];
                cx.send(to, lookahead + extra, next);
            }
        }
    }
}

impl Model for Mesh {
    type State = Memory;
    type Event = Hop;
    /// Committed events by LP, in each LP's order.
    type Output = Vec<(LpId, Time, Hop)>;

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);
    const CANCELS: bool = true;

    fn lps(&self) -> u32 {
        self.channels.len() as u32
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    fn channels(&self, lp: LpId) -> Channels {
        if self.declare { Channels::Only(self.channels[lp.index()].clone()) } else { Channels::All }
    }

    fn partition(&self, federates: u32) -> Partition {
        if !self.scatter {
            return Partition::runs(self.lps(), federates);
        }
        let owner: Vec<u32> = (0..self.lps()).map(|lp| lp % federates).collect();
        Partition::table(&owner)
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Memory {
        let mut memory = Memory::default();
        for _ in 0..cx.rng().below(self.starters + 1) {
            let hop = Hop { left: 12, word: cx.rng().u64(), lax: self.lax };
            let delay = Time::nanos(self.grain.as_nanos() * cx.rng().below(3));
            // First messages may go anywhere, at any time.
            let to =
                if cx.rng().chance(0.2) { LpId(cx.rng().below(u64::from(self.lps())) as u32) } else { lp };
            if self.cancels && to == lp {
                memory.timer = Some(cx.schedule(delay, hop));
                self.call_off(&mut memory, cx);
            } else {
                cx.send(to, delay, hop);
            }
        }
        memory
    }

    fn handle(&self, memory: &mut Memory, hop: &Hop, cx: &mut Context<Self>) {
        cx.keep(memory.trace);
        memory.timer.iter().for_each(|timer| cx.keep_id(*timer));
        cx.keep(u64::from(memory.timer.is_some()));
        memory.received += 1;
        memory.trace =
            memory.trace.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hop.word ^ cx.now().as_nanos();
        if self.cancels {
            self.call_off(memory, cx);
        }
        self.hop(memory, hop, cx);
    }

    fn commit(&self, lp: LpId, at: Time, hop: &Hop, output: &mut Self::Output) {
        output.push((lp, at, hop.clone()));
    }
}

impl Undo for Mesh {
    fn undo(&self, memory: &mut Memory, _hop: &Hop, kept: &mut Kept<'_>) {
        memory.received -= 1;
        memory.timer = (kept.word() == 1).then(|| kept.id());
        memory.trace = kept.word();
    }
}
