//! Packet networks of scenarios give the same digest, results and files in every mode of the engine.

use paceline_kernel::Time;
use paceline_models::packets::from_section;

use crate::built;
use crate::modes::all_agree;

pub const DUMBBELL: &str = r#"
topology = "dumbbell"
pairs = 12
access = { rate = "100Mbps", latency = "100us", jitter = { kind = "exponential", mean = "20us", keeps_order = false } }
bottleneck = { rate = "10Mbps", latency = "5ms", loss = 0.003, queue = { kind = "red", low = 5, high = 15, packets = 30, ecn = true } }
[[model.flows]]
from = "left-*"
to = "right-*"
transport = "tcp"
congestion = "cubic"
ecn = "classic"
apart = "10ms"
[[model.flows]]
from = "right-0"
to = "left-*"
transport = "udp"
rate = "1Mbps"
wire_bytes = 500
drive = "on-off"
on = "10ms"
off = "20ms"
"#;

const LOAD: &str = r#"
topology = "fat-tree"
k = 4
link = { rate = "1Gbps", latency = "5us", queue = { kind = "threshold", packets = 100, mark_packets = 20 } }
[[model.flows]]
from = "hosts"
to = "any"
transport = "tcp"
congestion = "dctcp"
min_rto = "10ms"
initial_rto = "10ms"
load = 0.4
sizes = "data/web-search.txt"
until = "20ms"
"#;

#[test]
fn streams_and_bursts_through_a_bottleneck() {
    all_agree(|| built(DUMBBELL, |section| from_section(section, 1)), Time::millis(1500));
}

#[test]
fn flows_of_a_web_search_in_a_fat_tree() {
    all_agree(|| built(LOAD, |section| from_section(section, 1)), Time::millis(25));
}

/// Links fail and are repaired, routes follow, and two queues are sampled.
pub const FAILING: &str = r#"
topology = "fat-tree"
k = 4
link = { rate = "100Mbps", latency = "50us", queue = { kind = "drop-tail", packets = 20 } }
convergence = "30ms"
sample = { every = "1ms", links = [{ from = "edge-0", to = "agg-0" }, { from = "core-0", to = "agg-0" }] }
[[model.changes]]
from = "edge-0"
to = "agg-0"
outages = [{ down = "50ms", up = "150ms" }]
[[model.changes]]
from = "agg-2"
to = "core-0"
outages = [{ down = "100ms" }]
[[model.changes]]
from = "host-3"
to = "edge-1"
outages = [{ down = "80ms", up = "120ms" }]
[[model.flows]]
from = "hosts"
to = "opposite"
transport = "tcp"
min_rto = "10ms"
initial_rto = "20ms"
[[model.flows]]
from = "host-0"
to = "host-3"
transport = "udp"
rate = "10Mbps"
wire_bytes = 1000
"#;

#[test]
fn routes_that_follow_failures_and_samples_of_queues() {
    all_agree(|| built(FAILING, |section| from_section(section, 1)), Time::millis(200));
}
