//! The output of a run of the network, per federate, and the results shown.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::host::MOST;
use super::space::{Point, Space};
use super::{Deliveries, Entity, Motion, Wireless, picture};
use paceline_kernel::{LpId, Time};
use paceline_results::{Column, Picture, Results, RunFacts, Summary};

/// A host that hears so many pings for each that it sends is drawn as the busiest.
const NEIGHBOURS_SHOWN: f64 = 20.0;

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// How many times a host heard a ping.
    pub deliveries: u64,
    /// By number of pings: how many times a host heard that many pings in a step.
    pub neighbours: Vec<u64>,
    /// The state of each host when the run ended.
    pub hosts: Vec<HostLine>,
}

/// A host at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostLine {
    /// The number of the host, from 0.
    pub host: u32,
    /// Where it is.
    pub at: Point,
    /// Pings that it sent.
    pub pings: u32,
    /// Pings that it heard.
    pub heard: u64,
    /// The sum of the results that it computed for them.
    pub computed: u64,
}

impl Output {
    /// Counts a host that has heard this many pings in a step, and these deliveries.
    pub(super) fn count(&mut self, heard: usize) {
        self.deliveries += heard as u64;
        self.count_hearer(heard);
    }

    /// Like `count`, for pings whose deliveries are counted one by one.
    pub(super) fn count_hearer(&mut self, heard: usize) {
        if self.neighbours.len() <= heard {
            self.neighbours.resize(heard + 1, 0);
        }
        self.neighbours[heard] += 1;
    }

    /// Whether a run of so many hosts can have left this, if it has been read from somewhere.
    pub(super) fn can_be(&self, hosts: u32) -> bool {
        self.neighbours.len() <= hosts as usize + 1
            && self.neighbours.iter().all(|count| *count < MOST)
            && self.deliveries < MOST
            && self.hosts.iter().all(|line| line.host < hosts && line.heard < MOST)
    }

    fn join(outputs: Vec<Self>) -> Self {
        let mut all = Self::default();
        for output in outputs {
            all.deliveries = all.deliveries.saturating_add(output.deliveries);
            if all.neighbours.len() < output.neighbours.len() {
                all.neighbours.resize(output.neighbours.len(), 0);
            }
            all.neighbours
                .iter_mut()
                .zip(output.neighbours)
                .for_each(|(sum, count)| *sum = sum.saturating_add(count));
            all.hosts.extend(output.hosts);
        }
        all.hosts.sort_unstable();
        all
    }
}

impl Results for Wireless {
    fn results(&self, outputs: Vec<Output>, _: &RunFacts) -> Result<Summary, String> {
        let mut all = Output::join(outputs);
        let heard = sum(all.hosts.iter().map(|line| line.heard));
        if heard != all.deliveries {
            return Err(format!("pings got lost: {} were delivered, and {heard} heard", all.deliveries));
        }
        let pings = sum(all.hosts.iter().map(|line| u64::from(line.pings)));
        let heard = sum(all.neighbours.iter().copied());
        if self.deliveries == Deliveries::Singly && heard < pings {
            // With single deliveries a host that hears nothing gets no event.
            all.neighbours.resize(all.neighbours.len().max(1), 0);
            all.neighbours[0] += pings - heard;
        }
        let mut summary = Summary::default();
        summary.line("hosts", self.hosts);
        summary.line("pings_sent", pings);
        summary.line("deliveries", all.deliveries);
        let hearings = sum(all.neighbours.iter().copied());
        if hearings > 0 {
            summary.line("neighbours_mean", all.deliveries as f64 / hearings as f64);
        }
        summary.line("neighbours_most", all.neighbours.iter().rposition(|count| *count > 0).unwrap_or(0));
        summary.line(
            "neighbours_histogram",
            all.neighbours.iter().copied().map(Value::from).collect::<Vec<_>>(),
        );
        self.motion.report(&mut summary);
        let (hosts, space, motion) = (all.hosts, self.space, self.motion.clone());
        summary.table("hosts.csv", &HOSTS, move |to| write_hosts(to, &hosts, space, &motion));
        Ok(summary)
    }

    fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &Entity)>) -> Option<Picture> {
        // Hosts come first.
        let host = |(_, entity): (LpId, &Entity)| match entity {
            Entity::Host(host) => {
                Some((host.at, host.heard as f64 / f64::from(host.pings.max(1)) / NEIGHBOURS_SHOWN))
            }
            Entity::Region(_) => None,
        };
        let hosts: Vec<_> = states.map_while(host).collect();
        Some(picture::draw(self.space, self.grid.range, &hosts, "20 pings heard a ping sent"))
    }
}

/// A sum that no damaged counter makes overflow.
pub(crate) fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The columns of `hosts.csv`.
const HOSTS: [Column; 5] = [
    Column::integers("host"),
    Column::reals("x"),
    Column::reals("y"),
    Column::integers("pings_sent"),
    Column::integers("pings_heard"),
];

fn write_hosts(to: &mut dyn Write, hosts: &[HostLine], space: Space, motion: &Motion) -> io::Result<()> {
    for line in hosts {
        writeln!(to, "{},{},{},{}", motion.number(line.host), space.shown(line.at), line.pings, line.heard)?;
    }
    Ok(())
}
