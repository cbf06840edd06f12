//! The lines of `queues.csv`.

use std::io::{self, Write};

use paceline_results::Column;

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
