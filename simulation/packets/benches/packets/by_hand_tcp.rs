//! TCP flows by hand: a heap of segments and deadlines, ports in one array. The connections and the routes
//! are those of the crate, since another TCP would do other work.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use paceline_kernel::Time;
use paceline_packets::queue::{Limit, QueueSettings};
use paceline_packets::tcp::{Connection, Segment, Settings, Step};
use paceline_packets::{Flow, Network, Transport};

use crate::measure::Ran;

enum Kind {
    Open,
    /// A deadline of the end that sends, or of the one that receives.
    Wake(bool),
    Packet {
        node: u32,
        is_back: bool,
        segment: Rc<Segment>,
    },
}

struct Event {
    time_ps: u64,
    /// What was sent first comes first.
    number: u64,
    flow: u32,
    kind: Kind,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time_ps, self.number).cmp(&(other.time_ps, other.number))
    }
}

struct Port {
    peer: u32,
    ps_per_byte: u64,
    latency_ps: u64,
    most: usize,
    free_ps: u64,
    starts_ps: VecDeque<u64>,
    sent: u64,
    dropped: u64,
}

impl Port {
    fn send(&mut self, now_ps: u64, bytes: u32) -> Option<u64> {
        while self.starts_ps.front().is_some_and(|start_ps| *start_ps <= now_ps) {
            self.starts_ps.pop_front();
        }
        let start_ps = self.free_ps.max(now_ps);
        if start_ps > now_ps {
            if self.starts_ps.len() >= self.most {
                self.dropped += 1;
                return None;
            }
            self.starts_ps.push_back(start_ps);
        }
        self.sent += 1;
        self.free_ps = start_ps + u64::from(bytes) * self.ps_per_byte;
        Some(self.free_ps + self.latency_ps)
    }
}

/// One end of a connection, and when it is to be woken.
struct End {
    connection: Connection,
    wake: Time,
}

struct World<'a> {
    network: &'a Network,
    flows: &'a [Flow],
    first: Vec<usize>,
    ports: Vec<Port>,
    ends: Vec<[Option<End>; 2]>,
    heap: BinaryHeap<Reverse<Event>>,
    number: u64,
    arrived: u64,
    out: Vec<Segment>,
}

/// The settings of all flows at both ends.
fn settings(flow: &Flow) -> &Settings {
    match &flow.transport {
        Transport::Tcp(tcp) => &tcp.sender,
        Transport::Udp(_) | Transport::Trace(_) | Transport::Rdma(_) => unreachable!("all flows are TCP"),
    }
}

impl<'a> World<'a> {
    fn new(network: &'a Network, flows: &'a [Flow]) -> Self {
        let (mut first, mut ports) = (vec![0], Vec::new());
        for node in 0..network.nodes() {
            for port in 0..network.ports(node) {
                let link = network.link(node, port);
                ports.push(Port {
                    peer: network.peer(node, port),
                    ps_per_byte: 8_000_000_000_000 / link.rate,
                    latency_ps: link.latency_ps,
                    most: match link.queue {
                        QueueSettings::DropTail(Limit::Packets(most)) => most as usize,
                        QueueSettings::DropTail(Limit::Endless) => usize::MAX,
                        _ => unreachable!("all queues count packets"),
                    },
                    free_ps: 0,
                    starts_ps: VecDeque::new(),
                    sent: 0,
                    dropped: 0,
                });
            }
            first.push(ports.len());
        }
        let ends = flows.iter().map(|_| [None, None]).collect();
        let (heap, out) = (BinaryHeap::new(), Vec::new());
        Self { network, flows, first, ports, ends, heap, number: 0, arrived: 0, out }
    }

    fn push(&mut self, time_ps: u64, flow: u32, kind: Kind) {
        self.number += 1;
        self.heap.push(Reverse(Event { time_ps, number: self.number, flow, kind }));
    }

    fn forward(&mut self, now_ps: u64, flow: u32, node: u32, is_back: bool, segment: Rc<Segment>) {
        let Flow { from, to, .. } = self.flows[flow as usize];
        let key = if is_back { !u64::from(flow) } else { u64::from(flow) };
        // Another constant than the model's: the ways need not be equal, only as many.
        let hash =
            key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        let port = self.network.next_port(node, if is_back { from } else { to }, hash);
        let bytes = 22 + segment.header_bytes() + u32::from(segment.length);
        let port = &mut self.ports[self.first[node as usize] + port as usize];
        if let Some(time_ps) = port.send(now_ps, bytes) {
            let node = port.peer;
            self.push(time_ps, flow, Kind::Packet { node, is_back, segment });
        }
    }

    /// Sends what a call of a connection has led to, and sees to its deadline.
    fn send(&mut self, now_ps: u64, flow: u32, is_back: bool) {
        let end = self.ends[flow as usize][usize::from(is_back)].as_mut().expect("it was just at work");
        if let Some(deadline) = end.connection.deadline().filter(|deadline| *deadline < end.wake) {
            end.wake = deadline;
            self.push((deadline.as_nanos() * 1_000).max(now_ps), flow, Kind::Wake(is_back));
        }
        let Flow { from, to, .. } = self.flows[flow as usize];
        let mut out = std::mem::take(&mut self.out);
        for segment in out.drain(..) {
            self.forward(now_ps, flow, if is_back { to } else { from }, is_back, Rc::new(segment));
        }
        self.out = out;
    }

    fn handle(&mut self, event: Event) {
        let Event { time_ps, flow, kind, .. } = event;
        let Flow { from, to, .. } = self.flows[flow as usize];
        let settings = settings(&self.flows[flow as usize]);
        let now = Time::nanos(time_ps.div_ceil(1_000));
        match kind {
            Kind::Open => {
                let step = &mut Step::new(settings, now, &mut self.out);
                let mut connection = Connection::connect(step, u64::from(flow));
                connection.write(step, Connection::ENDLESS);
                self.ends[flow as usize][0] = Some(End { connection, wake: Time::MAX });
                self.send(time_ps, flow, false);
            }
            Kind::Wake(is_back) => {
                let end = self.ends[flow as usize][usize::from(is_back)].as_mut();
                let end = end.expect("only connections have deadlines");
                end.wake = Time::MAX;
                end.connection.on_timer(&mut Step::new(settings, now, &mut self.out));
                self.send(time_ps, flow, is_back);
            }
            Kind::Packet { node, is_back, segment } if node == if is_back { from } else { to } => {
                self.arrived += 1;
                let listen =
                    || End { connection: Connection::listen(settings, u64::from(flow)), wake: Time::MAX };
                let end = self.ends[flow as usize][usize::from(!is_back)].get_or_insert_with(listen);
                // No queue marks.
                end.connection.on_segment(&mut Step::new(settings, now, &mut self.out), &segment, false);
                self.send(time_ps, flow, !is_back);
            }
            Kind::Packet { node, is_back, segment } => self.forward(time_ps, flow, node, is_back, segment),
        }
    }
}

/// Runs endless flows on a network of drop-tail queues.
pub fn run(network: &Network, flows: &[Flow], until_ps: u64) -> Ran {
    Ran::new(
        || {
            let mut world = World::new(network, flows);
            for (number, flow) in (0..).zip(flows) {
                world.push(flow.start_ps, number, Kind::Open);
            }
            while let Some(Reverse(event)) = world.heap.pop().filter(|event| event.0.time_ps < until_ps) {
                world.handle(event);
            }
            world
        },
        |world| {
            let sum = |count: fn(&Port) -> u64| world.ports.iter().map(count).sum::<u64>();
            let (arrived, dropped) = (world.arrived, sum(|port| port.dropped));
            (sum(|port| port.sent), format!("{arrived} arrived, {dropped} dropped"))
        },
    )
}
