//! A model with mistakes to choose from: what people plant in their models without knowing, and what the
//! program says of each.
//!
//! LPs send each other messages. `mistake = "none"` is the model as it should be. With `clock`, `global` or
//! `hash-order` two runs differ, and `mistakes check --determinism` names the first event after which they
//! do. The others end a run under every protocol, with an error that names the LP, the time and the event.
//! With `hang` a run does not end at all, until Ctrl-C names the LP that it waits for, and a second one ends
//! it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use paceline::prelude::*;
use paceline::results::{Results, RunFacts, Summary};
use paceline::scenario::time;
use serde::{Deserialize, Serialize};

/// What no model should have: it remembers other runs of this process, and other threads change it.
static MESSAGES: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Mistake {
    None,
    /// A delay depends on the clock on the wall.
    Clock,
    /// A delay depends on a global variable.
    Global,
    /// A delay depends on the order in which a hash map gives its entries.
    HashOrder,
    /// A message takes less than the lookahead.
    Lookahead,
    /// A message goes to an LP to which no channel was declared.
    Channel,
    /// A message goes to an LP that does not exist.
    UnknownLp,
    /// A message is for a time that has passed.
    Past,
    /// The model panics while it handles an event.
    Panic,
    /// It panics while it is asked for something else.
    PanicInLps,
    PanicInPartition,
    PanicInChannels,
    PanicInInit,
    PanicInCommit,
    PanicInFinish,
    PanicInLeftOver,
    PanicInResults,
    /// It panics where a state, or the model itself, is dropped.
    PanicInDrop,
    PanicInDropOfModel,
    /// It does not come back from an event.
    Hang,
    /// An LP sends itself messages without delay, and never stops.
    EndlessInstant,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chatter {
    lps: u32,
    #[serde(with = "time")]
    lookahead: Time,
    mistake: Mistake,
    /// When the mistake begins.
    #[serde(with = "time")]
    from: Time,
}

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct Talker {
    heard: u64,
    /// It panics when it is dropped.
    falls: bool,
}

impl Drop for Talker {
    fn drop(&mut self) {
        // A second panic on the way out of the first would end the process at once.
        assert!(!self.falls || std::thread::panicking(), "a talker falls");
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
struct Word(u64);

impl Drop for Chatter {
    fn drop(&mut self) {
        self.panic_in(Mistake::PanicInDropOfModel);
    }
}

impl Chatter {
    /// Panics, if that is the mistake.
    fn panic_in(&self, place: Mistake) {
        assert!(self.mistake != place || std::thread::panicking(), "no way on in {place:?}");
    }

    /// What is added to a delay, in nanoseconds: nothing that a run cannot repeat, unless that is the
    /// mistake.
    fn wrongly(&self) -> u64 {
        match self.mistake {
            Mistake::Clock => {
                SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| u64::from(since.subsec_nanos()))
            }
            Mistake::Global => MESSAGES.fetch_add(1, Ordering::Relaxed),
            Mistake::HashOrder => {
                let entries: HashMap<u64, u64> = (0..64).map(|entry| (entry, entry)).collect();
                entries.into_values().next().unwrap_or(0)
            }
            _ => 0,
        }
    }

    fn next(&self, lp: LpId, by: u32) -> LpId {
        LpId((lp.0 + by) % self.lps)
    }
}

impl Model for Chatter {
    type State = Talker;
    type Event = Word;
    type Output = ();

    fn parameters(&self) -> String {
        format!("{self:?}")
    }
    fn lps(&self) -> u32 {
        self.panic_in(Mistake::PanicInLps);
        self.lps
    }
    fn lookahead(&self) -> Time {
        self.lookahead
    }
    fn channels(&self, lp: LpId) -> Channels {
        if lp == LpId(3) {
            self.panic_in(Mistake::PanicInChannels);
        }
        Channels::Only(vec![(self.next(lp, 1), self.lookahead)])
    }
    fn partition(&self, federates: u32) -> Partition {
        self.panic_in(Mistake::PanicInPartition);
        Partition::runs(self.lps, federates)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Talker {
        if lp == LpId(3) {
            self.panic_in(Mistake::PanicInInit);
        }
        cx.schedule(Time::micros(u64::from(lp.0)), Word(0));
        Talker::default()
    }
    fn handle(&self, talker: &mut Talker, word: &Word, cx: &mut Context<Self>) {
        talker.heard += 1;
        let random = Time::from_secs_f64(cx.rng().exponential(self.lookahead.as_secs_f64()));
        let (neighbour, word) = (self.next(cx.lp(), 1), Word(word.0 + 1));
        if cx.now() < self.from {
            return cx.send(neighbour, self.lookahead + random, word);
        }
        match self.mistake {
            Mistake::Lookahead => cx.send(neighbour, Time::nanos(self.lookahead.as_nanos() / 2), word),
            Mistake::Channel => cx.send(self.next(cx.lp(), 2), self.lookahead, word),
            Mistake::UnknownLp => cx.send(LpId(self.lps), self.lookahead, word),
            Mistake::Past => cx.send_at(neighbour, cx.now() - Time::nanos(1), word),
            Mistake::Panic => panic!("{} has heard enough", cx.lp()),
            Mistake::PanicInDrop => talker.falls = true,
            Mistake::Hang => loop {
                std::hint::spin_loop();
            },
            Mistake::EndlessInstant => {
                cx.schedule(Time::ZERO, word);
            }
            _ => cx.send(neighbour, self.lookahead + random + Time::nanos(self.wrongly()), word),
        }
    }
    fn commit(&self, _: LpId, at: Time, _: &Word, (): &mut ()) {
        if at >= self.from {
            self.panic_in(Mistake::PanicInCommit);
        }
    }
    fn finish(&self, lp: LpId, _: &Talker, (): &mut ()) {
        if lp == LpId(3) {
            self.panic_in(Mistake::PanicInFinish);
        }
    }
    fn left_over(&self, _: LpId, _: Time, _: &Word, (): &mut ()) {
        self.panic_in(Mistake::PanicInLeftOver);
    }
}

impl Results for Chatter {
    fn results(&self, _: Vec<()>, _: &RunFacts) -> Result<Summary, String> {
        self.panic_in(Mistake::PanicInResults);
        Ok(Summary::default())
    }
}

paceline::app!(Chatter);
