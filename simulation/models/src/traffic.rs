//! Road traffic: the SCATTER-OPT benchmark of the PSX paper, on a generated grid or on the networks of real
//! cities.
//!
//! An LP is a node: an intersection, a source, a sink or a zone. Most events are vehicles that reach a stop
//! line. A vehicle crosses its node in `crossing`, which is the model's lookahead, and then drives along the
//! next road in the road's free-flow time. Lights and full roads make it wait; without both, its trip takes
//! exactly its shortest route's time, whatever the number of other vehicles.
//!
//! # Parameters (`[model]`, kind = "traffic")
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `grid` | | generate a grid with this number of intersections a side, from 1 to 512 |
//! | `block`, `speed`, `lanes` | 1 km, 50, 1 | of each road of the grid: length (`length_unit`), km/h, lanes |
//! | `rate` | 10 | vehicles an hour from each source to each sink of the grid |
//! | `network`, `trips` | | TNTP files to read instead, seen from the scenario's folder |
//! | `length_unit` | "km" | "km", "m", "mi" or "ft" |
//! | `time_unit` | "min" | of the TNTP network: "min", "s", "h" or "0.01h" |
//! | `lanes` | a column of that name, else capacity / 1800, rounded up | of each road of the TNTP network |
//! | `demand` | 1 | factor on all trips; fractions of vehicles are drawn |
//! | `period` | "1h" | departures are uniformly distributed over this time |
//! | `crossing` | "1s" | time to cross a node on the way; the lookahead |
//! | `lights` | false | traffic lights where a node has approaches of both groups |
//! | `cycle`, `green`, `red` | "8s", "4s", "4s" | of the first group; the second has green while the first has red |
//! | `offset` | "0s" | by how much the cycle starts later for each column and row of the grid, or for each node number of a city |
//! | `headway` | "1s" | between two vehicles that leave a lane under a light |
//! | `storage` | false | roads hold length x lanes / `spacing` vehicles (any number if shorter than one); vehicles wait for room |
//! | `spacing` | 7.5 | length of road that a standing vehicle takes, in metres |
//!
//! In results, nodes of TNTP files keep their numbers; nodes of the grid are numbered from 0, as described in
//! `grid.rs`. What is read of TNTP files, and what results say of the rest, is in `docs/files.md`.
//!
//! A vehicle is *generated* when it departs before the end of the run. Each generated vehicle has arrived or
//! is on the road: driving or crossing, at a stop line, or at its origin, waiting for room on its first road.
//!
//! # Where things are
//!
//! Input: `grid` or `tntp` make a `network` and trips; `routes` and `demand` make tables that are read-only
//! during the run; `settings` reads the scenario; `admit` checks what comes from a checkpoint. Event
//! handling: `event`, `node`, `lights`, `changes`, `partition`; `scene` is a node's interface to the
//! simulation; `undo` undoes events in optimistic runs, by reverse computation. Results: `output`, `results`;
//! `picture` draws a run that goes on.

mod admit;
mod changes;
mod demand;
mod event;
mod grid;
mod lights;
mod network;
mod node;
mod output;
mod partition;
mod picture;
mod results;
mod routes;
mod scene;
mod settings;
mod state;
mod tntp;
mod undo;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use paceline_kernel::{
    Channels, Context, Kept, LpId, Model, Parameter, ParameterValue, Partition, Time, Undo, UndoFn,
};

use changes::Changes;
use demand::{AT_HOME, Demand, Draw, Trips, Undrawable};
pub use event::TrafficEvent;
use grid::Grid;
use lights::Lights;
use network::{Network, Road, Signal};
use node::Desk;
pub use output::Output;
use output::{Arrival, RoadUse};
use routes::Routes;
pub use state::Node;
use undo::Undoing;

/// A road network and the vehicles that will drive on it.
#[derive(Debug)]
pub struct Traffic {
    network: Arc<Network>,
    demand: Arc<Demand>,
    routes: Routes,
    layout: Layout,
    rules: Rules,
    /// When the light cycle starts at each node, before any change of it.
    shifts: Vec<Time>,
    /// What was or will be changed of it while it runs.
    changes: Changes,
    /// The number of vehicles that fit on each road.
    room: Vec<u32>,
    /// What results say of the input: what was left out of it or filled in.
    notes: Vec<(&'static str, serde_json::Value)>,
    /// Where nodes are drawn, once they are.
    places: OnceLock<Vec<(f64, f64)>>,
}

/// The room of a road that holds any number of vehicles.
const ANY_ROOM: u32 = u32::MAX;

/// The kind of network: it determines how nodes are numbered and partitioned.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Grid(Grid),
    City,
}

impl Layout {
    /// How many times the offset the light cycle of a node starts after that of the first.
    fn steps(self, node: u32) -> u32 {
        match self {
            Self::Grid(grid) => grid.steps(node),
            Self::City => node,
        }
    }
}

/// The rules for all nodes.
#[derive(Clone, Copy, Debug)]
struct Rules {
    crossing: Time,
    lights: Option<Lights>,
    /// The difference between the starts of the light cycle at neighbouring nodes.
    offset: Time,
    /// Roads can be full.
    storage: bool,
    /// The length of a lane that a standing vehicle takes, in millimetres; above zero.
    vehicle_mm: u64,
}

impl Rules {
    fn nobody_waits(&self) -> bool {
        self.lights.is_none() && !self.storage
    }
}

impl Traffic {
    fn build(
        network: Network,
        layout: Layout,
        trips: &[Trips],
        rules: Rules,
        draw: Draw,
    ) -> Result<Self, Undrawable> {
        let (demand, routes) = Demand::draw(&network, trips, draw)?;
        let shift =
            |node| rules.lights.map_or(Time::ZERO, |lights| lights.shift(rules.offset, layout.steps(node)));
        let room = |road: &Road| {
            // A road shorter than a vehicle is a connector: no place where vehicles stand, and not to hold
            // any back.
            if road.length_mm < rules.vehicle_mm {
                return ANY_ROOM;
            }
            let lane_mm = road.length_mm.saturating_mul(u64::from(road.lanes));
            u32::try_from(lane_mm / rules.vehicle_mm).unwrap_or(ANY_ROOM)
        };
        Ok(Self {
            shifts: (0..network.nodes()).map(shift).collect(),
            room: network.roads().iter().map(room).collect(),
            network: Arc::new(network),
            demand: Arc::new(demand),
            routes,
            layout,
            rules,
            changes: Changes::new(rules.lights, draw),
            notes: Vec::new(),
            places: OnceLock::new(),
        })
    }

    /// This model, with what results say of the input.
    fn noting(self, notes: Vec<(&'static str, serde_json::Value)>) -> Self {
        Self { notes, ..self }
    }

    /// The earliest time from `at` on when the light, as it is timed at `now`, lets vehicles cross from
    /// `road`.
    fn may_cross(&self, road: &Road, now: Time, at: Time) -> Time {
        let Some(lights) = &self.rules.lights else { return at };
        match self.changes.lights(now) {
            None => lights.next_green(road.signal, self.shifts[road.to as usize], at),
            Some(lights) => {
                let shift = lights.shift(self.rules.offset, self.layout.steps(road.to));
                lights.next_green(road.signal, shift, at)
            }
        }
    }

    fn light(&self, road: &Road) -> Option<&Lights> {
        self.rules.lights.as_ref().filter(|_| road.signal != Signal::None)
    }

    /// The number of vehicles drawn from the scenario's trips.
    pub fn vehicles(&self) -> u32 {
        self.demand.vehicles()
    }
}

impl Model for Traffic {
    type State = Node;
    type Event = TrafficEvent;
    type Output = Output;

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn changeable(&self, at: Time) -> Vec<Parameter> {
        self.changes.declared(at)
    }

    fn change(&mut self, parameter: &str, at: Time, value: ParameterValue) {
        self.changes.make(parameter, at, value);
    }

    fn lps(&self) -> u32 {
        self.network.nodes()
    }

    fn lookahead(&self) -> Time {
        self.rules.crossing
    }

    /// Vehicles are sent to the heads of the node's exits; notices of free places to the tails of its
    /// approaches.
    fn channels(&self, lp: LpId) -> Channels {
        let crossing = self.rules.crossing;
        let mut least = BTreeMap::new();
        let mut declare = |to: u32, lookahead: Time| {
            if to != lp.0 {
                let known = least.entry(to).or_insert(lookahead);
                *known = lookahead.min(*known);
            }
        };
        for road in self.network.exits(lp.0) {
            declare(road.to, crossing.saturating_add(road.free_flow));
        }
        if self.rules.storage {
            for road in self.network.approaches(lp.0) {
                declare(self.network.road(*road).from, crossing);
            }
        }
        Channels::Only(least.into_iter().map(|(to, lookahead)| (LpId(to), lookahead)).collect())
    }

    fn partition(&self, federates: u32) -> Partition {
        match self.layout {
            Layout::Grid(grid) => partition::grid(grid, federates),
            Layout::City => {
                let loads = self.demand.loads(&self.network, &self.routes);
                partition::city(&self.network, &loads, federates)
            }
        }
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Node {
        let exits = if self.rules.storage { self.network.exits(lp.0).len() } else { 0 };
        let mut node = Node::new(self.network.approaches(lp.0).len(), exits);
        Desk { traffic: self, node: &mut node, cx }.depart();
        node
    }

    fn handle(&self, node: &mut Node, event: &TrafficEvent, cx: &mut Context<Self>) {
        Desk { traffic: self, node, cx }.handle(*event);
    }

    fn state_bytes(&self, node: &Node) -> usize {
        node.bytes()
    }

    fn commit(&self, lp: LpId, at: Time, event: &TrafficEvent, output: &mut Output) {
        if let TrafficEvent::Arrive { vehicle, target, .. } = *event
            && (target == AT_HOME || self.routes.destination(target) == lp.0)
        {
            output.arrivals.push(Arrival { vehicle, at });
        }
    }

    fn finish(&self, lp: LpId, node: &Node, output: &mut Output) {
        output.generated += u64::from(node.gone) - self.left_out(lp.0, node.gone);
        for (approach, road) in node.approaches.iter().zip(self.network.approaches(lp.0)) {
            output.queued += approach.queue.len() as u64;
            let (passed, longest, waited_ns) = (approach.passed, approach.longest, approach.waited_ns);
            output.roads.push(RoadUse { road: *road, passed, longest, waited_ns });
        }
        for exit in &node.exits {
            output.starting.extend(exit.starting.iter().map(|waiting| waiting.since));
        }
    }

    fn admits_state(&self, lp: LpId, node: &Node) -> bool {
        self.admits_node(lp, node)
    }

    fn admits_event(&self, lp: LpId, event: &TrafficEvent) -> bool {
        self.admits(lp, *event)
    }

    fn admits_output(&self, output: &Output) -> bool {
        self.admits_results(output)
    }

    fn left_over(&self, _lp: LpId, _at: Time, event: &TrafficEvent, output: &mut Output) {
        if let TrafficEvent::Arrive { vehicle, .. } = *event {
            output.driving.push(self.demand.departs(vehicle));
        }
    }
}

impl Undo for Traffic {
    fn undo(&self, node: &mut Node, event: &TrafficEvent, kept: &mut Kept<'_>) {
        Undoing { traffic: self, node, kept }.handle(*event);
    }
}
