//! The output of a traffic run, per federate, and the files written from it.
//!
//! Arrivals are recorded when they are committed; roads and vehicles on the road are recorded when the run
//! ends. Joined and sorted, the output is the same under every partition. Times are written as exact
//! decimals.

use std::fmt;
use std::io::{self, Write};

use paceline_kernel::Time;
use paceline_results::Column;
use serde::{Deserialize, Serialize};

use super::demand::Demand;
use super::network::Network;

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) roads: Vec<RoadUse>,
    /// Vehicles that have departed. Before `join` these are the released vehicles; a vehicle is released one
    /// crossing before it departs.
    pub(crate) generated: u64,
    /// The departure times of vehicles between two nodes.
    pub(crate) driving: Vec<Time>,
    /// Vehicles at a stop line.
    pub(crate) queued: u64,
    /// The departure times (past or future) of vehicles that wait at their origin for room on their first
    /// road.
    pub(crate) starting: Vec<Time>,
}

/// A vehicle has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Arrival {
    pub vehicle: u32,
    pub at: Time,
}

/// The traffic at the end of a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RoadUse {
    pub road: u32,
    pub passed: u32,
    pub longest: u32,
    pub waited_ns: u128,
}

impl Output {
    /// Joins the outputs of all federates, in an order that does not depend on the partition. Vehicles that
    /// were released but depart at the `end` of the run or later are not counted as generated.
    pub(crate) fn join(outputs: Vec<Self>, end: Time) -> Self {
        let mut all = Self::default();
        for output in outputs {
            all.arrivals.extend(output.arrivals);
            all.roads.extend(output.roads);
            all.generated += output.generated;
            all.driving.extend(output.driving);
            all.queued += output.queued;
            all.starting.extend(output.starting);
        }
        let let_go = all.driving.len() + all.starting.len();
        all.driving.retain(|departs| *departs < end);
        all.starting.retain(|departs| *departs < end);
        let to_come = (let_go - all.driving.len() - all.starting.len()) as u64;
        all.generated = all.generated.saturating_sub(to_come);
        all.arrivals.sort_unstable();
        all.roads.sort_unstable();
        all
    }

    /// Vehicles that are neither at home nor at their destination.
    pub(crate) fn on_road(&self) -> u64 {
        (self.driving.len() + self.starting.len()) as u64 + self.queued
    }
}

impl RoadUse {
    /// The mean time from entering the road to leaving it at its end.
    pub(crate) fn mean_time(&self, network: &Network) -> Option<Time> {
        let mean = self.waited_ns.checked_div(u128::from(self.passed))?;
        let waited = Time::nanos(u64::try_from(mean).unwrap_or(u64::MAX));
        Some(network.road(self.road).free_flow.saturating_add(waited))
    }
}

/// Seconds with as many decimals as needed.
struct Seconds(Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, nanos) = (self.0.as_nanos() / 1_000_000_000, self.0.as_nanos() % 1_000_000_000);
        if nanos == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{nanos:09}").trim_end_matches('0'))
    }
}

/// The columns of `trips.csv`.
pub(crate) const TRIPS: [Column; 6] = [
    Column::integers("vehicle"),
    Column::integers("origin"),
    Column::integers("destination"),
    Column::reals("depart_s"),
    Column::reals("arrive_s"),
    Column::reals("free_flow_s"),
];

/// The columns of `links.csv`.
pub(crate) const LINKS: [Column; 5] = [
    Column::integers("from"),
    Column::integers("to"),
    Column::integers("vehicles"),
    Column::reals("mean_time_s"),
    Column::integers("max_queue"),
];

/// Writes one line for every vehicle that has arrived.
pub(crate) fn write_trips(
    to: &mut dyn Write,
    arrivals: &[Arrival],
    demand: &Demand,
    network: &Network,
) -> io::Result<()> {
    for arrival in arrivals {
        let pair = demand.pair(arrival.vehicle);
        writeln!(
            to,
            "{},{},{},{},{},{}",
            arrival.vehicle,
            network.number(pair.origin),
            network.number(pair.destination),
            Seconds(demand.departs(arrival.vehicle)),
            Seconds(arrival.at),
            Seconds(pair.free_flow)
        )?;
    }
    Ok(())
}

/// Writes one line for every road, in the order of road numbers. The mean time is empty if no vehicle has
/// left the road.
pub(crate) fn write_links(to: &mut dyn Write, roads: &[RoadUse], network: &Network) -> io::Result<()> {
    for used in roads {
        let road = network.road(used.road);
        let mean = used.mean_time(network).map_or(String::new(), |mean| Seconds(mean).to_string());
        let (from, head) = (network.number(road.from), network.number(road.to));
        writeln!(to, "{from},{head},{},{mean},{}", used.passed, used.longest)?;
    }
    Ok(())
}
