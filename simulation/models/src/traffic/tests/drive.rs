//! A sequential run that records every vehicle at every stop line, and checks that an approach is never woken
//! twice at one time.

use std::collections::BTreeMap;

use paceline_kernel::{Context, Federate, LpId, Model, Partition, Progress, Settings, TieBreak, Time};

use crate::traffic::event::NO_ROAD;
use crate::traffic::network::Road;
use crate::traffic::node::Desk;
use crate::traffic::state::Node;
use crate::traffic::{Output, Traffic, TrafficEvent};

/// One vehicle at one stop line.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    pub vehicle: u32,
    pub at: Time,
    pub road: u32,
}

/// Traffic, observed.
pub struct Watched<'a>(&'a Traffic);

impl Model for Watched<'_> {
    type State = Node;
    type Event = TrafficEvent;
    /// The model's output, the stops, and when each approach was last woken.
    type Output = (Output, Vec<Stop>, BTreeMap<(LpId, u16), Time>);

    fn lps(&self) -> u32 {
        self.0.lps()
    }
    fn lookahead(&self) -> Time {
        self.0.lookahead()
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Node {
        let exits = if self.0.rules.storage { self.0.network.exits(lp.0).len() } else { 0 };
        let mut node = Node::new(self.0.network.approaches(lp.0).len(), exits);
        Desk { traffic: self.0, node: &mut node, cx }.depart();
        node
    }
    fn handle(&self, node: &mut Node, event: &TrafficEvent, cx: &mut Context<Self>) {
        Desk { traffic: self.0, node, cx }.handle(*event);
    }
    fn commit(&self, lp: LpId, at: Time, event: &TrafficEvent, (output, stops, wakes): &mut Self::Output) {
        self.0.commit(lp, at, event, output);
        if let TrafficEvent::Arrive { vehicle, road, .. } = *event
            && road != NO_ROAD
        {
            stops.push(Stop { vehicle, at, road });
        }
        if let TrafficEvent::Wake { approach } = *event {
            let last = wakes.insert((lp, approach), at);
            assert!(last.is_none_or(|last| last < at), "approach {approach} of {lp} is woken twice at {at}");
        }
    }
    fn finish(&self, lp: LpId, node: &Node, output: &mut Self::Output) {
        self.0.finish(lp, node, &mut output.0);
    }
    fn left_over(&self, lp: LpId, at: Time, event: &TrafficEvent, output: &mut Self::Output) {
        self.0.left_over(lp, at, event, &mut output.0);
    }
}

/// Runs `model` up to `until`. The stops are sorted by vehicle; the stops of one vehicle are in the order of
/// time.
pub fn drive(model: &Traffic, until: Time) -> (Output, Vec<Stop>) {
    let (output, mut stops, _) = run(&Watched(model), until);
    stops.sort_by_key(|stop| stop.vehicle);
    (output, stops)
}

/// Runs `model` up to `until`, one event after the other.
pub fn run<M: Model>(model: &M, until: Time) -> M::Output {
    let partition = Partition::runs(model.lps(), 1);
    let settings = Settings { seed: 1, ties: TieBreak::Fixed, window: Time::ZERO };
    let built = Federate::<M>::build(model, &partition, settings);
    let mut federate = built.expect("the start breaks no rule").remove(0);
    let mut outbox = paceline_kernel::Outbox::new(1);
    while federate.step(model, &partition, until, &mut outbox) == Progress::More {}
    assert_eq!(federate.fault(), None, "the model keeps the rules");
    federate.finish(model).output
}

/// A vehicle that crosses from one road onto the next.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    pub road: u32,
    pub next: u32,
    /// When it reached the stop line.
    pub came: Time,
    /// When it started to cross.
    pub went: Time,
}

/// All crossings whose vehicle has reached its next stop line, in the order in which they started.
pub fn crossings(model: &Traffic, stops: &[Stop]) -> Vec<Crossing> {
    let road = |number| -> &Road { model.network.road(number) };
    let same = stops.windows(2).filter(|two| two[0].vehicle == two[1].vehicle);
    let mut found: Vec<Crossing> = same
        .map(|two| {
            assert_eq!(road(two[0].road).to, road(two[1].road).from, "roads of a route follow each other");
            let went = two[1].at - road(two[1].road).free_flow - model.rules.crossing;
            Crossing { road: two[0].road, next: two[1].road, came: two[0].at, went }
        })
        .collect();
    found.sort_by_key(|crossing| (crossing.went, crossing.came));
    found
}
