//! What nodes, events and results of a run can be: asked where they come from a checkpoint, so that nothing
//! that has been damaged is used as a place in a table.
//!
//! The functions that handle events rely on what is checked here and on nothing else of a state that was
//! read: times may be any, and counters may be wrong, but every number is one of the network's or of the
//! demand's.

use paceline_kernel::LpId;

use super::Traffic;
use super::demand::AT_HOME;
use super::event::{NO_ROAD, TrafficEvent};
use super::output::Output;
use super::state::{Node, Waiting};

/// No counter of a run comes near this.
const MOST: u64 = 1 << 62;

impl Traffic {
    pub(super) fn admits_node(&self, lp: LpId, node: &Node) -> bool {
        let exits = if self.rules.storage { self.network.exits(lp.0).len() } else { 0 };
        let waits =
            |waiting: &Waiting| self.is_vehicle(waiting.vehicle) && self.routes.lead(lp.0, waiting.target);
        node.approaches.len() == self.network.approaches(lp.0).len()
            && node.exits.len() == exits
            && node.gone <= self.demand.starting_at(lp.0)
            && node.exits.iter().all(|exit| exit.starting.iter().all(waits))
            && node.approaches.iter().all(|approach| {
                approach.passed <= u32::MAX / 2
                    && approach.waited_ns <= u128::MAX / 2
                    && approach.queue.iter().all(waits)
            })
    }

    pub(super) fn admits(&self, lp: LpId, event: TrafficEvent) -> bool {
        match event {
            TrafficEvent::Arrive { vehicle, road: NO_ROAD, target } => {
                self.is_vehicle(vehicle) && target == AT_HOME
            }
            TrafficEvent::Arrive { vehicle, road, target } => {
                let arrives = self.routes.is_target(target) && self.routes.destination(target) == lp.0;
                let leads_here = self.is_road(road) && self.network.road(road).to == lp.0;
                self.is_vehicle(vehicle) && leads_here && (arrives || self.routes.lead(lp.0, target))
            }
            TrafficEvent::Depart => true,
            TrafficEvent::Wake { approach } => usize::from(approach) < self.network.approaches(lp.0).len(),
            TrafficEvent::Space { exit } => {
                self.rules.storage && usize::from(exit) < self.network.exits(lp.0).len()
            }
        }
    }

    pub(super) fn admits_results(&self, output: &Output) -> bool {
        output.arrivals.iter().all(|arrival| self.is_vehicle(arrival.vehicle))
            && output.roads.iter().all(|used| self.is_road(used.road) && used.waited_ns <= u128::MAX / 2)
            && output.generated <= u64::from(self.demand.vehicles())
            && output.queued < MOST
    }

    fn is_vehicle(&self, vehicle: u32) -> bool {
        vehicle < self.demand.vehicles()
    }

    fn is_road(&self, road: u32) -> bool {
        (road as usize) < self.network.roads().len()
    }
}
