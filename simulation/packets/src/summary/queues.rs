//! The lines of `queues.csv`, and the charts of the longest queues.

use std::collections::BTreeMap;
use std::io::{self, Write};

use paceline_results::{Chart, Column};

use super::rows::seconds;
use crate::clock::PS_PER_TICK;
use crate::{Network, QueueSample};

pub const QUEUES: [Column; 5] = [
    Column::reals("time_s"),
    Column::texts("from"),
    Column::texts("to"),
    Column::integers("packets"),
    Column::integers("bytes"),
];

/// As many queues are drawn over time, those that were longest.
const DRAWN: usize = 4;

/// The longest queues over simulated time, in packets.
pub fn charts(network: &Network, samples: &[QueueSample], names: &[String]) -> Vec<Chart> {
    let mut queues: BTreeMap<(u32, u32), Vec<(f64, f64)>> = BTreeMap::new();
    for &QueueSample { at, node, port, packets, .. } in samples {
        queues.entry((node, port)).or_default().push((at.as_secs_f64(), f64::from(packets)));
    }
    let longest = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut queues: Vec<_> = queues.into_iter().filter(|(_, points)| longest(points) > 0.0).collect();
    // Of queues equally long those of the first nodes.
    queues.sort_by(|(_, one), (_, other)| longest(other).total_cmp(&longest(one)));
    queues.truncate(DRAWN);
    let chart = |((node, port), points): ((u32, u32), Vec<_>)| {
        let (from, to) = (&names[node as usize], &names[network.peer(node, port) as usize]);
        Chart::course(format!("packets waiting from {from} to {to}"), points)
    };
    queues.into_iter().map(chart).collect()
}

/// A line of `queues.csv`: a queue at a moment.
pub fn line(
    network: &Network,
    sample: &QueueSample,
    names: &[String],
    write: &mut dyn Write,
) -> io::Result<()> {
    let &QueueSample { at, node, port, packets, bytes } = sample;
    let time = seconds(at.as_ticks() * PS_PER_TICK);
    let (from, to) = (&names[node as usize], &names[network.peer(node, port) as usize]);
    writeln!(write, "{time},{from},{to},{packets},{bytes}")
}
