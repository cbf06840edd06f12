//! A random model of timers: LPs schedule some for themselves, often for the same instant, cancel them
//! whatever has become of them, reschedule them, and send to others. Every answer is remembered, and says
//! what the LP does next.
//!
//! There are two of it. [`Cancels`] has the kernel cancel them. [`Ignores`] is the reference: it lets every
//! timer happen, knows by itself which it wants no more, and does nothing in those. Both must remember the
//! same.

use std::fmt::Debug;
use std::marker::PhantomData;

use paceline_kernel::{Context, EventId, Kept, LpId, Model, Partition, Rng, Time, Undo, UndoFn};
use serde::{Deserialize, Serialize};

/// How timers are cancelled.
pub trait Way: Copy + Debug + Default + Send + Sync + 'static {
    const CANCELS: bool;

    fn cancel(memory: &mut Memory, number: usize, cx: &mut Context<Timers<Self>>) -> bool;
    fn is_pending(memory: &Memory, number: usize, cx: &Context<Timers<Self>>) -> bool;
    /// Of an event that another LP has scheduled for itself.
    fn cancel_of_other(id: EventId, cx: &mut Context<Timers<Self>>) -> bool;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Cancels;

impl Way for Cancels {
    const CANCELS: bool = true;

    fn cancel(memory: &mut Memory, number: usize, cx: &mut Context<Timers<Self>>) -> bool {
        cx.cancel(memory.ids[number])
    }
    fn is_pending(memory: &Memory, number: usize, cx: &Context<Timers<Self>>) -> bool {
        cx.is_pending(memory.ids[number])
    }
    fn cancel_of_other(id: EventId, cx: &mut Context<Timers<Self>>) -> bool {
        cx.is_pending(id) || cx.cancel(id)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Ignores;

impl Way for Ignores {
    const CANCELS: bool = false;

    fn cancel(memory: &mut Memory, number: usize, _: &mut Context<Timers<Self>>) -> bool {
        let was = std::mem::replace(&mut memory.over[number], true);
        !was
    }
    fn is_pending(memory: &Memory, number: usize, _: &Context<Timers<Self>>) -> bool {
        !memory.over[number]
    }
    fn cancel_of_other(_: EventId, _: &mut Context<Timers<Self>>) -> bool {
        false
    }
}

/// A model drawn from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Timers<W> {
    pub seed: u64,
    pub lps: u32,
    pub lookahead: Time,
    grain: Time,
    scatter: bool,
    way: PhantomData<W>,
}

/// What an LP remembers.
#[derive(Clone, Debug, Default, Hash, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Of all that has happened, in its order, and of all answers.
    trace: u64,
    happened: u32,
    /// Of all its timers, by their numbers.
    ids: Vec<EventId>,
    /// Which of them have happened or were cancelled; only where nobody else knows.
    over: Vec<bool>,
}

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// The timer of this number is due.
    Timer { number: u32, left: u32 },
    /// From another LP, perhaps with the id of a timer of its own.
    Word { word: u64, left: u32, timer: Option<EventId> },
}

/// What a run leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub committed: Vec<(LpId, Time, Message)>,
    pub left_over: Vec<(LpId, Time, Message)>,
    /// After each event that was committed, the LP's trace and how much has happened to it.
    pub states: Vec<(LpId, Time, u64, u32)>,
    /// The same at the end.
    pub remembered: Vec<(LpId, u64, u32)>,
}

impl<W: Way> Timers<W> {
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0x7469_6d65);
        let grain = Time::nanos([1, 1_000_003, 250_000_000][rng.below(3) as usize]);
        Self {
            seed,
            lps: 1 + rng.below(20) as u32,
            lookahead: Time::nanos(grain.as_nanos() * rng.below(4)),
            grain,
            scatter: rng.chance(0.3),
            way: PhantomData,
        }
    }

    /// A horizon that leaves something over in most cases.
    pub fn until(&self) -> Time {
        let grains = Rng::new(self.seed, 0x756e_7469).below(40);
        if grains < 5 { Time::MAX } else { Time::nanos(self.grain.as_nanos() * grains) }
    }

    /// The same, with timers that are cancelled in another way.
    pub fn other<V: Way>(self) -> Timers<V> {
        let Self { seed, lps, lookahead, grain, scatter, .. } = self;
        Timers { seed, lps, lookahead, grain, scatter, way: PhantomData }
    }

    fn schedule(&self, memory: &mut Memory, left: u32, cx: &mut Context<Self>) -> usize {
        let delay = Time::nanos(self.grain.as_nanos() * [0, 0, 1, 2, 3, 9][cx.rng().below(6) as usize]);
        let timer = Message::Timer { number: memory.ids.len() as u32, left };
        let at = cx.now() + delay;
        let id = if cx.rng().chance(0.5) { cx.schedule(delay, timer) } else { cx.schedule_at(at, timer) };
        assert_eq!(id.time(), at);
        memory.ids.push(id);
        if !W::CANCELS {
            memory.over.push(false);
        }
        memory.ids.len() - 1
    }

    /// Does something with the timers; `left` says how many times what comes of it may do so.
    fn act(&self, memory: &mut Memory, left: u32, cx: &mut Context<Self>) {
        let mix = |memory: &mut Memory, answer: bool| {
            memory.trace =
                memory.trace.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(answer);
        };
        let Some(left) = left.checked_sub(1) else { return };
        for _ in 0..[0, 1, 1, 1, 2, 3][cx.rng().below(6) as usize] {
            let number = self.schedule(memory, left, cx);
            if cx.rng().chance(0.2) {
                let was = W::cancel(memory, number, cx);
                assert!(was, "it has just been scheduled");
            }
        }
        // What was answered says how many more are tried.
        let mut tries = cx.rng().below(3);
        while tries > 0 && !memory.ids.is_empty() {
            let recent = if cx.rng().chance(0.7) { 6 } else { u64::MAX };
            let back = cx.rng().below(recent.min(memory.ids.len() as u64)) as usize;
            let number = memory.ids.len() - 1 - back;
            let pending = W::is_pending(memory, number, cx);
            mix(memory, pending);
            if cx.rng().chance(0.8) {
                let was = W::cancel(memory, number, cx);
                mix(memory, was);
                assert_eq!(was, pending);
                assert!(
                    !W::cancel(memory, number, cx) && !W::is_pending(memory, number, cx),
                    "it was cancelled"
                );
                if was && cx.rng().chance(0.5) {
                    self.schedule(memory, left, cx);
                }
            }
            tries -= u64::from(!pending || cx.rng().chance(0.7));
        }
        if self.lps > 1 && cx.rng().chance(0.4) {
            let to = LpId((cx.lp().0 + 1 + cx.rng().below(u64::from(self.lps - 1)) as u32) % self.lps);
            let extra = Time::nanos(self.grain.as_nanos() * cx.rng().below(5));
            let word = cx.rng().u64() ^ memory.trace;
            let timer = memory.ids.last().copied();
            cx.send(to, self.lookahead + extra, Message::Word { word, left, timer });
        }
    }
}

impl<W: Way> Model for Timers<W> {
    type State = Memory;
    type Event = Message;
    type Output = Output;

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);
    const CANCELS: bool = W::CANCELS;
    const COMMITS_STATE: bool = true;

    fn lps(&self) -> u32 {
        self.lps
    }
    fn lookahead(&self) -> Time {
        self.lookahead
    }
    fn partition(&self, federates: u32) -> Partition {
        match self.scatter {
            true => Partition::table(&(0..self.lps).map(|lp| lp % federates).collect::<Vec<_>>()),
            false => Partition::runs(self.lps, federates),
        }
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> Memory {
        let mut memory = Memory::default();
        for _ in 0..cx.rng().below(3) {
            self.act(&mut memory, 9, cx);
        }
        memory
    }
    fn handle(&self, memory: &mut Memory, message: &Message, cx: &mut Context<Self>) {
        cx.keep(memory.trace);
        cx.keep(memory.ids.len() as u64);
        cx.keep(u64::from(memory.happened));
        if let (Message::Timer { number, .. }, false) = (message, W::CANCELS)
            && std::mem::replace(&mut memory.over[*number as usize], true)
        {
            return;
        }
        let (word, left) = match message {
            Message::Timer { number, left } => {
                assert!(!W::is_pending(memory, *number as usize, cx), "it is happening");
                assert!(!W::cancel(memory, *number as usize, cx), "it is happening");
                (u64::from(*number), *left)
            }
            Message::Word { word, left, timer } => {
                let other = timer.is_some_and(|timer| W::cancel_of_other(timer, cx));
                assert!(!other, "it is for another LP to cancel");
                (*word, *left)
            }
        };
        memory.happened += 1;
        memory.trace = memory.trace.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word;
        memory.trace ^= cx.now().as_nanos();
        self.act(memory, left, cx);
    }
    fn commit(&self, lp: LpId, at: Time, message: &Message, output: &mut Output) {
        output.committed.push((lp, at, message.clone()));
    }
    fn commit_state(&self, lp: LpId, memory: &Memory, at: Time, message: &Message, output: &mut Output) {
        assert_eq!(
            output.committed.last(),
            Some(&(lp, at, message.clone())),
            "right after the event was committed"
        );
        output.states.push((lp, at, memory.trace, memory.happened));
    }
    fn left_over(&self, lp: LpId, at: Time, message: &Message, output: &mut Output) {
        output.left_over.push((lp, at, message.clone()));
    }
    fn finish(&self, lp: LpId, memory: &Memory, output: &mut Output) {
        output.remembered.push((lp, memory.trace, memory.happened));
    }
}

impl<W: Way> Undo for Timers<W> {
    fn undo(&self, memory: &mut Memory, _: &Message, kept: &mut Kept<'_>) {
        memory.happened = kept.word() as u32;
        memory.ids.truncate(kept.word() as usize);
        memory.trace = kept.word();
    }
}
