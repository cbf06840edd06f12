//! The output of a run of the network with losses, and the results shown.

use std::io::{self, Write};

use paceline_kernel::{LpId, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Csma, CsmaEntity, Motion, Tally};
use crate::wireless::space::{Point, Space};
use crate::wireless::{picture, sum};
use paceline_results::{Column, Picture, Results, RunFacts, Summary};

/// A host with so many frames to send is drawn as the busiest.
const FRAMES_SHOWN: f64 = 10.0;

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsmaOutput {
    /// Each host, its place, and its counts.
    pub hosts: Vec<(u32, Point, Tally)>,
}

impl Results for Csma {
    fn results(&self, outputs: Vec<CsmaOutput>, _: &RunFacts) -> Result<Summary, String> {
        let all = |counts: &mut dyn Iterator<Item = u64>| sum(counts);
        let mut hosts: Vec<_> = outputs.into_iter().flat_map(|output| output.hosts).collect();
        hosts.sort_unstable();
        let sum = |of: fn(&Tally) -> u64| sum(hosts.iter().map(|(_, _, tally)| of(tally)));
        let (sent, in_range, received) =
            (sum(|tally| tally.sent), sum(|tally| tally.in_range), sum(|tally| tally.received));
        let (collided, missed) = (sum(|tally| tally.collided), sum(|tally| tally.missed));
        if received.saturating_add(collided).saturating_add(missed) > in_range {
            return Err(format!(
                "frames from nowhere: {received} received, {collided} collided and {missed} missed of {in_range}"
            ));
        }
        let mut summary = Summary::default();
        summary.line("hosts", self.hosts);
        summary.line("frames_sent", sent);
        summary.line("frames_resent", sum(|tally| tally.resent));
        summary.line("frames_given_up", sum(|tally| tally.given_up));
        summary.line("frames_without_room", sum(|tally| tally.overflowed));
        summary.line("deliveries", received);
        summary.line("collisions", collided);
        summary.line("missed_while_sending", missed);
        if sent > 0 {
            summary.line("neighbours_mean", in_range as f64 / sent as f64);
        }
        let (asked, answered) = (sum(|tally| tally.asked), sum(|tally| tally.answered));
        summary.line("requests", asked);
        summary.line("requests_answered", answered);
        let longest = hosts.iter().map(|(_, _, tally)| tally.hops.len()).max().unwrap_or(0);
        let hops: Vec<u64> = (0..longest)
            .map(|hops| all(&mut hosts.iter().filter_map(|(_, _, tally)| tally.hops.get(hops).copied())))
            .collect();
        if answered > 0 {
            let all = all(&mut hops.iter().zip(0..).map(|(count, hops)| count.saturating_mul(hops)));
            summary.line("hops_mean", all as f64 / answered as f64);
            let mean = Time::nanos(sum(|tally| tally.waited_ns) / answered);
            summary.line("answer_mean_s", mean.as_secs_f64());
        }
        summary.line("hops_histogram", hops.into_iter().map(Value::from).collect::<Vec<_>>());
        self.motion.report(&mut summary);
        let (space, motion) = (self.space, self.motion.clone());
        summary.table("hosts.csv", &HOSTS, move |to| write_hosts(to, &hosts, space, &motion));
        Ok(summary)
    }

    fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &CsmaEntity)>) -> Option<Picture> {
        // Hosts come first.
        let host = |(_, entity): (LpId, &CsmaEntity)| match entity {
            CsmaEntity::Host(host) => Some((host.at, host.queue.len() as f64 / FRAMES_SHOWN)),
            CsmaEntity::Region(_) => None,
        };
        let hosts: Vec<_> = states.map_while(host).collect();
        Some(picture::draw(self.space, self.grid.range, &hosts, "10 frames wait to be sent"))
    }
}

/// The columns of `hosts.csv`.
const HOSTS: [Column; 12] = [
    Column::integers("host"),
    Column::reals("x"),
    Column::reals("y"),
    Column::integers("sent"),
    Column::integers("resent"),
    Column::integers("in_range"),
    Column::integers("received"),
    Column::integers("collided"),
    Column::integers("missed"),
    Column::integers("given_up"),
    Column::integers("asked"),
    Column::integers("answered"),
];

fn write_hosts(
    to: &mut dyn Write,
    hosts: &[(u32, Point, Tally)],
    space: Space,
    motion: &Motion,
) -> io::Result<()> {
    for (host, at, tally) in hosts {
        let (number, place) = (motion.number(*host), space.shown(*at));
        let Tally { sent, resent, in_range, received, collided, missed, given_up, asked, answered, .. } =
            tally;
        writeln!(
            to,
            "{number},{place},{sent},{resent},{in_range},{received},{collided},{missed},{given_up},{asked},{answered}"
        )?;
    }
    Ok(())
}
