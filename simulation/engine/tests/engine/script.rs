//! The model of tests that need a model, and not one of their own type: what it does is a [`Play`], called
//! through a pointer, so that the engine is compiled once for all of them.
//!
//! A model has a type of its own in these tests where its states are undone, cancel, or are compared field by
//! field.

use std::sync::Arc;

use paceline_engine::Simulation;
use paceline_kernel::{Channels, Context, LpId, Model, Partition, Time};

/// What a test's model does. States and events are numbers. Where nothing else is said, its lookahead is a
/// second and each LP begins with 0 and an event 0 at once; the rest is as in [`Model`].
pub trait Play: Send + Sync + 'static {
    fn lps(&self) -> u32;
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, _lp: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::ZERO, 0);
        0
    }
    fn handle(&self, state: &mut u64, event: u64, cx: &mut Context<Script>);

    fn parameters(&self) -> String {
        String::new()
    }
    fn channels(&self, _lp: LpId) -> Channels {
        Channels::All
    }
    fn partition(&self, federates: u32) -> Partition {
        Partition::runs(self.lps(), federates)
    }
    fn commit(&self, _lp: LpId, _event: u64) {}
    fn finish(&self, _lp: LpId) {}
    fn left_over(&self, _lp: LpId) {}
}

/// The model of a play.
#[derive(Clone)]
pub struct Script(Arc<dyn Play>);

/// The model that does what `play` says.
pub fn script(play: impl Play) -> Script {
    Script(Arc::new(play))
}

/// A run of it.
pub fn run_of(play: impl Play) -> Simulation<Script> {
    Simulation::new(script(play))
}

impl Model for Script {
    type State = u64;
    type Event = u64;
    type Output = ();

    fn parameters(&self) -> String {
        self.0.parameters()
    }
    fn lps(&self) -> u32 {
        self.0.lps()
    }
    fn lookahead(&self) -> Time {
        self.0.lookahead()
    }
    fn channels(&self, lp: LpId) -> Channels {
        self.0.channels(lp)
    }
    fn partition(&self, federates: u32) -> Partition {
        self.0.partition(federates)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
        self.0.init(lp, cx)
    }
    fn handle(&self, state: &mut u64, event: &u64, cx: &mut Context<Self>) {
        self.0.handle(state, *event, cx);
    }
    fn commit(&self, lp: LpId, _at: Time, event: &u64, (): &mut ()) {
        self.0.commit(lp, *event);
    }
    fn finish(&self, lp: LpId, _state: &u64, (): &mut ()) {
        self.0.finish(lp);
    }
    fn left_over(&self, lp: LpId, _at: Time, _event: &u64, (): &mut ()) {
        self.0.left_over(lp);
    }
}
