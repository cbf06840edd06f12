//! Chord (Stoica et al., 2001) on a ring that does not change: lookups over fingers, stabilization.

use std::time::Instant;

use paceline_kernel::Time;
use paceline_network::{FlowModel, HostId, read};
use paceline_processes::{Process, Simulation};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// What peers say; the number of the peer that asked comes along.
#[derive(Clone, Copy)]
enum Message {
    /// Find the peer that holds a key; so often it was passed on.
    Find(u64, u32, u64),
    /// It is this one, found after so many hops.
    Found(u32, u64),
    AskPredecessor(u32),
    Predecessor(u32),
}

const BYTES: f64 = 10.0;

/// Peer `me` of `peers` holds the keys from that of the peer before to its own: `me` times `gap`.
struct Peer {
    me: u32,
    gap: u64,
    ring: u64,
    successor: u32,
    predecessor: u32,
    fingers: Vec<u32>,
}

impl Peer {
    fn new(me: u32, peers: u32) -> Self {
        let mut fingers = Vec::new();
        let mut step = 1;
        while step < peers {
            fingers.push((me + step) % peers);
            step *= 2;
        }
        let gap = 1000;
        let (successor, predecessor) = ((me + 1) % peers, (me + peers - 1) % peers);
        Self { me, gap, ring: gap * u64::from(peers), successor, predecessor, fingers }
    }

    /// How far ahead of this peer a key is.
    fn ahead(&self, key: u64) -> u64 {
        (key + self.ring - self.gap * u64::from(self.me)) % self.ring
    }

    fn find(&self, cx: &Process<Message>, key: u64, asker: u32, hops: u64) {
        let distance = self.ahead(key);
        if distance == 0 {
            return cx.send_detached(u64::from(asker), Message::Found(self.me, hops), BYTES);
        }
        if distance <= self.gap {
            return cx.send_detached(u64::from(asker), Message::Found(self.successor, hops), BYTES);
        }
        let mut next = self.successor;
        for finger in &self.fingers {
            if self.ahead(self.gap * u64::from(*finger)) < distance {
                next = *finger;
            }
        }
        cx.send_detached(u64::from(next), Message::Find(key, asker, hops + 1), BYTES);
    }
}

async fn peer(cx: Process<Message>, me: u32, peers: u32) {
    let mut peer = Peer::new(me, peers);
    let mut lookup = Time::nanos(cx.draw(|rng| rng.below(10_000_000_000)));
    let mut stabilize = Time::nanos(cx.draw(|rng| rng.below(20_000_000_000)));
    loop {
        let wait = lookup.min(stabilize).saturating_sub(cx.now());
        match cx.receive_within(u64::from(me), wait).await {
            Ok(Message::Find(key, asker, hops)) => peer.find(&cx, key, asker, hops),
            Ok(Message::Found(holder, hops)) => cx.record(u64::from(holder) * 64 + hops),
            Ok(Message::AskPredecessor(asker)) => {
                cx.send_detached(u64::from(asker), Message::Predecessor(peer.predecessor), BYTES);
            }
            Ok(Message::Predecessor(other)) => {
                if other != me {
                    peer.successor = other;
                }
            }
            Err(_) => {
                if lookup <= cx.now() {
                    lookup += Time::secs(10);
                    let key = cx.draw(|rng| rng.below(peer.ring));
                    peer.find(&cx, key, me, 0);
                }
                if stabilize <= cx.now() {
                    stabilize += Time::secs(20);
                    cx.send_detached(u64::from(peer.successor), Message::AskPredecessor(me), BYTES);
                }
            }
        }
    }
}

/// Runs it on the hosts of the platform of this text, round-robin; digest, messages, and real seconds.
#[pyfunction]
pub fn run_reference_chord(
    python: Python<'_>,
    platform: &str,
    peers: u32,
    until_s: u64,
    seed: u64,
) -> PyResult<(String, u64, f64)> {
    let platform = read("platform.xml", platform, &mut |_| Err(String::new()))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let hosts = platform.hosts().len() as u32;
    let simulation = Simulation::on_platform(&platform, FlowModel::LV08).seed(seed);
    let mut simulation = simulation.until(Time::secs(until_s)).threads(1);
    for me in 0..peers {
        simulation.place(u64::from(me), HostId(me % hosts));
        simulation.spawn("peer", HostId(me % hosts), move |cx| peer(cx, me, peers));
    }
    let start = Instant::now();
    let report = python.detach(|| simulation.run());
    let report = report.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((report.digest.to_string(), report.counts.messages, start.elapsed().as_secs_f64()))
}
