//! The summary of a traffic run, and the check that no vehicle is missing.

use std::sync::Arc;

use paceline_kernel::{LpId, Time};

use super::output::{Arrival, LINKS, Output, TRIPS, write_links, write_trips};
use super::{ANY_ROOM, Node, Traffic};
use paceline_results::{Chart, Picture, Results, RunFacts, Summary};

impl Results for Traffic {
    fn results(&self, outputs: Vec<Output>, facts: &RunFacts) -> Result<Summary, String> {
        let all = Output::join(outputs, facts.end_time);
        let (arrived, on_road) = (all.arrivals.len() as u64, all.on_road());
        if all.generated != arrived + on_road {
            return Err(format!(
                "vehicles got lost: {} were generated, but {arrived} have arrived and {on_road} are on the road",
                all.generated
            ));
        }
        let mut summary = Summary::default();
        self.count(&all, &mut summary);
        self.measure(&all, &mut summary);
        let travel =
            |arrival: &Arrival| arrival.at.saturating_sub(self.demand.departs(arrival.vehicle)).as_secs_f64();
        summary.chart(Chart::histogram("travel_s", all.arrivals.iter().map(travel)));
        self.files(all, &mut summary);
        Ok(summary)
    }

    fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &Node)>) -> Option<Picture> {
        Some(self.draw(states))
    }
}

impl Traffic {
    /// Reports what was read, and where the vehicles are.
    fn count(&self, all: &Output, summary: &mut Summary) {
        for (name, value) in &self.notes {
            summary.line(*name, value.clone());
        }
        let unlimited = self.room.iter().filter(|room| **room == ANY_ROOM).count();
        if self.rules.storage && unlimited > 0 {
            summary.line("roads_without_limit", unlimited);
        }
        summary.line("trips_demanded", self.demand.trips());
        summary.line("vehicles_scheduled", self.demand.vehicles());
        summary.line("vehicles_generated", all.generated);
        summary.line("vehicles_arrived", all.arrivals.len());
        summary.line("vehicles_on_road", all.on_road());
        summary.line("vehicles_at_stop_lines", all.queued);
        summary.line("vehicles_waiting_to_start", all.starting.len());
    }

    /// Reports on the completed trips and the busiest road.
    fn measure(&self, all: &Output, summary: &mut Summary) {
        let (mut travel_ns, mut free_flow_ns, mut length_mm) = (0u128, 0u128, 0u128);
        for arrival in &all.arrivals {
            let pair = self.demand.pair(arrival.vehicle);
            let travel = arrival.at.saturating_sub(self.demand.departs(arrival.vehicle));
            travel_ns += u128::from(travel.as_nanos());
            free_flow_ns += u128::from(pair.free_flow.as_nanos());
            length_mm += u128::from(pair.length_mm);
        }
        let trips = all.arrivals.len() as u128;
        if let (Some(travel), Some(free_flow)) =
            (travel_ns.checked_div(trips), free_flow_ns.checked_div(trips))
        {
            let seconds = |ns: u128| Time::nanos(u64::try_from(ns).unwrap_or(u64::MAX)).as_secs_f64();
            summary.line("mean_travel_s", seconds(travel));
            summary.line("mean_free_flow_s", seconds(free_flow));
            summary.line("mean_delay_s", seconds(travel.saturating_sub(free_flow)));
        }
        summary.line("distance_km", length_mm as f64 / 1e6);
        let busiest = all.roads.iter().max_by_key(|used| (used.passed, std::cmp::Reverse(used.road)));
        if let Some(used) = busiest.filter(|used| used.passed > 0) {
            let road = self.network.road(used.road);
            let (from, to) = (self.network.number(road.from), self.network.number(road.to));
            summary.line("busiest_road", format!("{from} to {to}"));
            summary.line("busiest_road_vehicles", used.passed);
        }
        summary.line("longest_queue", all.roads.iter().map(|used| used.longest).max().unwrap_or(0));
    }

    fn files(&self, all: Output, summary: &mut Summary) {
        let (demand, network) = (Arc::clone(&self.demand), Arc::clone(&self.network));
        summary.table("trips.csv", &TRIPS, move |to| write_trips(to, &all.arrivals, &demand, &network));
        let network = Arc::clone(&self.network);
        summary.table("links.csv", &LINKS, move |to| write_links(to, &all.roads, &network));
    }
}
