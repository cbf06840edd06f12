//! Everything that a node does can be undone: in real runs, and in orders of events that occur in optimistic
//! runs only.
//!
//! A [`History`] drives one node and records the state before every event and its effects. At random times it
//! undoes the latest events one by one, compares the states, and handles the events again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::AddAssign;
use std::path::Path;

use paceline_kernel::{Context, Kept, LpId, Model, ParameterValue, Rng, Time, Undo};
use paceline_scenario::Scenario;

use super::drive::run;
use super::worlds::world;
use crate::traffic::node::Desk;
use crate::traffic::scene::Scene;
use crate::traffic::state::{Node, Waiting};
use crate::traffic::{Traffic, TrafficEvent};

/// The most events that a history remembers; when there are more, it forgets the older half.
const REMEMBERED: usize = 64;

/// The calls a node makes while it handles an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Play {
    lp: LpId,
    now: Time,
    sent: Vec<(LpId, Time, TrafficEvent)>,
    words: Vec<u64>,
}

impl Scene for Play {
    fn lp(&self) -> LpId {
        self.lp
    }
    fn now(&self) -> Time {
        self.now
    }
    fn send(&mut self, to: LpId, delay: Time, event: TrafficEvent) {
        self.sent.push((to, delay, event));
    }
    fn keep(&mut self, word: u64) {
        self.words.push(word);
    }
}

/// A handled event: the event, the node's state before it, and its effects.
#[derive(Clone, Debug, Hash)]
struct Done {
    event: TrafficEvent,
    before: Node,
    play: Play,
}

/// How often events of each kind that needs its own undo code were undone.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Tally {
    arrivals: u32,
    departures: u32,
    wakes: u32,
    spaces: u32,
    crossings: u32,
    /// Events that let several vehicles cross.
    platoons: u32,
    /// A vehicle waited for room on its first road, and then entered it.
    started: u32,
    /// A place was reserved for a vehicle, and later taken.
    promised: u32,
    longest: u32,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.arrivals += other.arrivals;
        self.departures += other.departures;
        self.wakes += other.wakes;
        self.spaces += other.spaces;
        self.crossings += other.crossings;
        self.platoons += other.platoons;
        self.started += other.started;
        self.promised += other.promised;
        self.longest += other.longest;
    }
}

impl Tally {
    /// Counts what changed between two states.
    fn count(&mut self, event: TrafficEvent, before: &Node, after: &Node) {
        match event {
            TrafficEvent::Arrive { .. } => self.arrivals += 1,
            TrafficEvent::Depart => self.departures += 1,
            TrafficEvent::Wake { .. } => self.wakes += 1,
            TrafficEvent::Space { .. } => self.spaces += 1,
        }
        let mut crossed = 0;
        for (before, after) in before.approaches.iter().zip(&after.approaches) {
            crossed += after.passed - before.passed;
            self.promised += u32::from(before.promised && !after.promised);
            self.longest += u32::from(before.longest > 0 && before.longest != after.longest);
        }
        self.crossings += crossed;
        self.platoons += u32::from(crossed > 1);
        for (before, after) in before.exits.iter().zip(&after.exits) {
            self.started += u32::from(before.starting.len() > after.starting.len());
        }
    }

    fn least(&self) -> u32 {
        let Self { arrivals, departures, wakes, spaces, crossings, .. } = *self;
        let Self { platoons, started, promised, longest, .. } = *self;
        [arrivals, departures, wakes, spaces, crossings, platoons, started, promised, longest]
            .into_iter()
            .min()
            .expect("there are kinds")
    }
}

/// A node and its latest events.
#[derive(Clone, Debug, Hash)]
struct History {
    node: Node,
    done: Vec<Done>,
    handled: u64,
    undone: Tally,
}

impl History {
    /// A node that has been started, and what it sent.
    fn new(model: &Traffic, lp: LpId) -> (Self, Play) {
        let exits = if model.rules.storage { model.network.exits(lp.0).len() } else { 0 };
        let mut node = Node::new(model.network.approaches(lp.0).len(), exits);
        let mut play = Play { lp, now: Time::ZERO, sent: Vec::new(), words: Vec::new() };
        Desk { traffic: model, node: &mut node, cx: &mut play }.depart();
        (Self { node, done: Vec::new(), handled: 0, undone: Tally::default() }, play)
    }

    /// Handles an event; now and then undoes the latest events and handles them again.
    fn handle(&mut self, model: &Traffic, lp: LpId, now: Time, event: TrafficEvent) -> Play {
        if self.done.len() == REMEMBERED {
            self.done.drain(..REMEMBERED / 2);
        }
        let before = self.node.clone();
        let mut play = Play { lp, now, sent: Vec::new(), words: Vec::new() };
        Desk { traffic: model, node: &mut self.node, cx: &mut play }.handle(event);
        self.done.push(Done { event, before, play: play.clone() });
        self.handled += 1;
        let mut rng = Rng::new(self.handled, u64::from(lp.0));
        if rng.chance(0.2) {
            let deepest = if rng.chance(0.5) { 3.min(self.done.len()) } else { self.done.len() };
            self.back_and_forth(model, 1 + rng.below(deepest as u64) as usize);
        }
        play
    }

    fn back_and_forth(&mut self, model: &Traffic, depth: usize) {
        let last = self.node.clone();
        let latest = self.done.len() - depth..;
        for Done { event, before, play } in self.done[latest.clone()].iter().rev() {
            let after = self.node.clone();
            let mut kept = Kept::new(play.lp, play.now, Rng::new(1, 0), &play.words);
            model.undo(&mut self.node, event, &mut kept);
            assert_eq!(self.node, *before, "{event:?} at {} leaves something behind at {after:?}", play.now);
            assert_eq!(hash(&self.node), hash(before), "equal nodes have equal hashes");
            assert!(kept.is_empty(), "{event:?} at {} keeps more than it needs: {:?}", play.now, play.words);
            self.undone.count(*event, before, &after);
        }
        for Done { event, play, .. } in &self.done[latest] {
            let mut again = Play { sent: Vec::new(), words: Vec::new(), ..play.clone() };
            Desk { traffic: model, node: &mut self.node, cx: &mut again }.handle(*event);
            assert_eq!(again, *play, "{event:?} does something else the second time");
        }
        assert_eq!(self.node, last, "the same events lead to the same node");
    }
}

fn hash(node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.hash(&mut hasher);
    hasher.finish()
}

/// Traffic whose nodes undo and redo events all the time.
struct Restless<'a>(&'a Traffic);

impl Model for Restless<'_> {
    type State = History;
    type Event = TrafficEvent;
    /// The counts of undone events, and the events in the order in which they were finally handled.
    type Output = (Tally, Vec<(LpId, Time, TrafficEvent)>);

    fn lps(&self) -> u32 {
        self.0.lps()
    }
    fn lookahead(&self) -> Time {
        self.0.lookahead()
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> History {
        let (history, play) = History::new(self.0, lp);
        play.sent.into_iter().for_each(|(to, delay, event)| cx.send(to, delay, event));
        history
    }
    fn handle(&self, history: &mut History, event: &TrafficEvent, cx: &mut Context<Self>) {
        let play = history.handle(self.0, cx.lp(), cx.now(), *event);
        play.sent.into_iter().for_each(|(to, delay, event)| cx.send(to, delay, event));
    }
    fn commit(&self, lp: LpId, at: Time, event: &TrafficEvent, (_, events): &mut Self::Output) {
        events.push((lp, at, *event));
    }
    fn finish(&self, _lp: LpId, history: &History, (undone, _): &mut Self::Output) {
        *undone += history.undone;
    }
}

/// A small network; every second one has lights, and in most roads can be full. In some the demand and the
/// lights change.
fn small(seed: u64) -> Traffic {
    let model = world(seed, seed.is_multiple_of(2), !seed.is_multiple_of(5), seed.is_multiple_of(3));
    if seed % 4 < 2 { model } else { changing(model) }
}

fn changing(mut model: Traffic) -> Traffic {
    for (at_s, demand, cycle_s) in [(0, 0.6, 4), (20, 0.0, 7), (25, 1.0, 3)] {
        let at = Time::secs(at_s);
        model.change("model.demand", at, ParameterValue::Number(demand));
        if model.rules.lights.is_some() {
            model.change("model.cycle", at, ParameterValue::Time(Time::secs(cycle_s)));
        }
    }
    model
}

fn jammed_grid() -> Traffic {
    let text =
        "model = { grid = 6, rate = 150, lights = true, storage = true, block = 0.1, offset = \"1.3s\" }";
    let mut scenario = Scenario::parse("grid.toml", text, Path::new("."), &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    Traffic::from_section(&mut section, 1).unwrap_or_else(|error| panic!("{}", error.one_line()))
}

#[test]
fn events_of_a_run_are_taken_back_exactly() {
    let mut undone = Tally::default();
    for seed in 0..600 {
        undone += run(&Restless(&small(seed)), Time::MAX).0;
    }
    assert!(undone.least() > 100, "everything is undone many times: {undone:?}");
}

#[test]
fn events_of_a_jammed_grid_are_taken_back_exactly() {
    let (undone, events) = run(&Restless(&jammed_grid()), Time::secs(1200));
    assert!(events.len() > 20_000, "it is a large run: {}", events.len());
    assert!(undone.arrivals.min(undone.spaces).min(undone.started).min(undone.promised) > 100, "{undone:?}");
}

#[test]
fn events_in_any_order_are_taken_back_exactly() {
    let mut undone = Tally::default();
    for seed in 0..900 {
        let model = small(seed);
        let (_, events) = run(&Restless(&model), Time::MAX);
        let mut rng = Rng::new(seed, 3);
        for lp in (0..model.lps()).map(LpId) {
            // The node's own events: some are dropped, some duplicated, and some come earlier or later than
            // they should.
            let disorder_ns = [1, 2_000_000_000, 60_000_000_000][rng.below(3) as usize];
            let mut wrong: Vec<(Time, TrafficEvent)> = Vec::new();
            for (_, at, event) in events.iter().filter(|(to, ..)| *to == lp) {
                for _ in 0..[0, 1, 1, 1, 2][rng.below(5) as usize] {
                    let late = rng.below(disorder_ns);
                    wrong.push((Time::nanos((at.as_nanos() + late).saturating_sub(disorder_ns / 2)), *event));
                }
            }
            wrong.sort_by_key(|(at, _)| *at);
            let (mut history, _) = History::new(&model, lp);
            for (at, event) in wrong {
                history.handle(&model, lp, at, event);
            }
            history.back_and_forth(&model, history.done.len());
            undone += history.undone;
        }
    }
    assert!(undone.least() > 100, "everything is undone many times: {undone:?}");
}

#[test]
fn queues_count_as_memory_of_a_state() {
    let model = small(1);
    let mut node = Node::new(2, 1);
    let empty = model.state_bytes(&node);
    let bare = Node::new(0, 0);
    assert!(empty > model.state_bytes(&bare) && model.state_bytes(&bare) == size_of::<Node>());
    for number in 1..50 {
        let waiting = Waiting { vehicle: number, target: 0, since: Time::ZERO };
        let exit = number.is_multiple_of(3);
        let queue =
            if exit { &mut node.exits[0].starting } else { &mut node.approaches[number as usize % 2].queue };
        queue.push_back(waiting);
        assert_eq!(model.state_bytes(&node), empty + number as usize * size_of::<Waiting>());
    }
}
