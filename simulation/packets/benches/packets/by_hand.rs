//! A fat tree of UDP flows by hand: a heap of packets and sources, ports in one array, places of nodes by
//! arithmetic. No LP, no protocol, no check, no digest, no choice; times in picoseconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::measure::Ran;
use crate::networks::{UDP, fast};

/// A packet that comes to a node, or the source of its flow; in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ps: u64,
    node: u32,
    flow: u32,
    number: u32,
    is_source: bool,
    sent_ps: u64,
}

#[derive(Clone, Default)]
struct Port {
    free_ps: u64,
    starts_ps: VecDeque<u64>,
    sent: u64,
    dropped: u64,
}

/// What all links are.
struct Wire {
    packet_ps: u64,
    latency_ps: u64,
    most: usize,
}

impl Port {
    #[inline(always)]
    fn send(&mut self, wire: &Wire, now_ps: u64) -> Option<u64> {
        while self.starts_ps.front().is_some_and(|start_ps| *start_ps <= now_ps) {
            self.starts_ps.pop_front();
        }
        let start_ps = self.free_ps.max(now_ps);
        if start_ps > now_ps {
            if self.starts_ps.len() >= wire.most {
                self.dropped += 1;
                return None;
            }
            self.starts_ps.push_back(start_ps);
        }
        self.sent += 1;
        self.free_ps = start_ps + wire.packet_ps;
        Some(self.free_ps + wire.latency_ps)
    }
}

/// Pod by pod: hosts, edge and aggregation switches; then the core switches.
struct Tree {
    half: u32,
    pod: u32,
    core: u32,
}

impl Tree {
    fn host(&self, number: u32) -> u32 {
        let hosts = self.half * self.half;
        number / hosts * self.pod + number % hosts
    }

    /// The port of `node` towards the host `to`, and the node behind it.
    #[inline(always)]
    fn next(&self, node: u32, to: u32, hash: u64) -> (u32, u32) {
        let (half, hosts) = (self.half, self.half * self.half);
        let (pod_there, there) = (to / self.pod, to % self.pod);
        if node >= self.core {
            return (pod_there, pod_there * self.pod + hosts + half + (node - self.core) / half);
        }
        let (pod, here) = (node / self.pod, node % self.pod);
        let first = pod * self.pod + hosts;
        if here < hosts {
            return (0, first + here / half);
        }
        let switch = here - hosts;
        if switch < half {
            if pod == pod_there && there / half == switch {
                return (there % half, to);
            }
            let up = (((hash & 0xffff_ffff) * u64::from(half)) >> 32) as u32;
            return (half + up, first + half + up);
        }
        if pod == pod_there {
            return (there / half, first + there / half);
        }
        let up = (((hash >> 32) * u64::from(half)) >> 32) as u32;
        (half + up, self.core + (switch - half) * half + up)
    }
}

/// The finalizer of MurmurHash3 (Appleby, 2011).
#[inline(always)]
fn mix(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

/// Runs the fat tree of `k`-port switches.
pub fn run(k: u32, until_ps: u64) -> Ran {
    Ran::new(
        || simulate(k, until_ps),
        |(ports, arrived, delays_ps)| {
            let sum = |count: fn(&Port) -> u64| ports.iter().map(count).sum::<u64>();
            let dropped = sum(|port| port.dropped);
            let delay_ns = delays_ps as f64 / arrived as f64 / 1e3;
            (sum(|port| port.sent), format!("{arrived} arrived, {dropped} dropped, {delay_ns:.0} ns"))
        },
    )
}

fn simulate(k: u32, until_ps: u64) -> (Vec<Port>, u64, u128) {
    let half = k / 2;
    let pod = half * half + k;
    let tree = Tree { half, pod, core: k * pod };
    let hosts = k * half * half;
    let (link, bits) = (fast(), u64::from(UDP.wire_bytes) * 8);
    let wire =
        Wire { packet_ps: bits * 1_000_000_000_000 / link.rate, latency_ps: link.latency_ps, most: 100 };
    let interval_ps = bits * 1_000_000_000_000 / UDP.rate;
    // Every node has the room of a switch, so that the place of a port is a product.
    let mut ports = vec![Port::default(); ((tree.core + half * half) * k) as usize];
    let targets: Vec<u32> = (0..hosts).map(|host| tree.host((host + hosts / 2) % hosts)).collect();
    let mut heap = BinaryHeap::new();
    for host in 0..hosts {
        let (time_ps, node) = (UDP.stagger_ps(host, hosts), tree.host(host));
        heap.push(Reverse(Event { time_ps, node, flow: host, number: 0, is_source: true, sent_ps: 0 }));
    }
    let (mut arrived, mut delays_ps) = (0, 0u128);
    while let Some(Reverse(mut event)) = heap.pop() {
        if event.time_ps >= until_ps {
            break;
        }
        let to = targets[event.flow as usize];
        if event.is_source {
            let next = Event { time_ps: event.time_ps + interval_ps, number: event.number + 1, ..event };
            heap.push(Reverse(next));
            (event.is_source, event.sent_ps) = (false, event.time_ps);
        } else if event.node == to {
            arrived += 1;
            delays_ps += u128::from(event.time_ps - event.sent_ps);
            continue;
        }
        let hash = mix(u64::from(event.flow) << 32 | u64::from(event.number));
        let (port, node) = tree.next(event.node, to, hash);
        if let Some(time_ps) = ports[(event.node * k + port) as usize].send(&wire, event.time_ps) {
            heap.push(Reverse(Event { time_ps, node, ..event }));
        }
    }
    (ports, arrived, delays_ps)
}
