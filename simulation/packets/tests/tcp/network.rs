//! A small network for tests: pairs of connections and a path that says when a segment arrives, if at all.

use std::collections::BTreeMap;

use paceline_kernel::Time;
use paceline_packets::tcp::{Connection, Segment, Settings, Step};

/// What happens to a segment between the ends.
pub trait Path {
    /// When copies of a segment arrive, each with whether it has a congestion mark. `from` is 0 for the
    /// connecting end.
    fn send(&mut self, now: Time, flow: usize, from: usize, segment: &Segment) -> Vec<(Time, bool)>;
}

enum Event {
    Arrival(Segment, bool),
    Timer,
    Begin,
    /// The application writes the second half of its bytes and closes.
    Finish,
    /// A slow application reads half of what there is.
    Read,
}

/// A flow: an end that connects and sends, and one that listens.
pub struct Flow {
    pub ends: [Connection; 2],
    /// What was received by each end, as disjoint ranges of offsets by their beginnings.
    pub received: [BTreeMap<u64, u64>; 2],
    /// When the stream of the first end was delivered whole.
    pub done: Option<Time>,
    /// Bytes that each end sends.
    bytes: [u64; 2],
    is_reading: [bool; 2],
}

pub struct Network<P> {
    pub path: P,
    pub flows: Vec<Flow>,
    pub now: Time,
    settings: [Settings; 2],
    queue: BTreeMap<(Time, u64), (usize, usize, Event)>,
    number: u64,
    out: Vec<Segment>,
}

impl<P: Path> Network<P> {
    /// `flows`: when each begins, and the bytes of the end that connects.
    pub fn new(path: P, settings: [Settings; 2], flows: &[(Time, u64)]) -> Self {
        let both: Vec<_> = flows.iter().map(|&(begin, bytes)| (begin, [bytes, 0])).collect();
        Self::both_ways(path, settings, &both)
    }

    /// `flows`: when each begins, and the bytes of both ends.
    pub fn both_ways(path: P, settings: [Settings; 2], flows: &[(Time, [u64; 2])]) -> Self {
        let listen = |n| Connection::listen(&settings[n], 0);
        let all = flows.iter().map(|&(_, bytes)| Flow {
            ends: [listen(0), listen(1)],
            received: Default::default(),
            done: None,
            bytes,
            is_reading: [false; 2],
        });
        let flows_all = all.collect();
        let mut network = Self {
            path,
            flows: flows_all,
            now: Time::ZERO,
            settings,
            queue: BTreeMap::new(),
            number: 0,
            out: vec![],
        };
        for (flow, &(begin, _)) in flows.iter().enumerate() {
            network.push(begin, flow, 0, Event::Begin);
        }
        network
    }

    fn push(&mut self, time: Time, flow: usize, end: usize, event: Event) {
        self.number += 1;
        self.queue.insert((time, self.number), (flow, end, event));
    }

    /// Runs to a time, or until nothing is left to do. Returns whether there is more.
    pub fn run(&mut self, until: Time) -> bool {
        while let Some((&(time, number), _)) = self.queue.first_key_value() {
            if time > until {
                self.now = until;
                return true;
            }
            let (flow, end, event) = self.queue.remove(&(time, number)).expect("it is the first");
            self.now = time;
            self.handle(flow, end, event);
        }
        false
    }

    fn handle(&mut self, number: usize, end: usize, event: Event) {
        let flow = &mut self.flows[number];
        let settings = &self.settings[end];
        let mut step = Step::new(settings, self.now, &mut self.out);
        let connection = &mut flow.ends[end];
        match event {
            Event::Begin => {
                *connection = Connection::connect(&mut step, number as u64);
                connection.write(&mut step, flow.bytes[0] / 2);
                flow.ends[1].write(&mut Step::new(&self.settings[1], self.now, &mut vec![]), flow.bytes[1]);
                self.push(self.now + Time::millis(1), number, 0, Event::Finish);
            }
            Event::Finish => {
                connection.write(&mut step, flow.bytes[0] - flow.bytes[0] / 2);
                if flow.bytes[0] < Connection::ENDLESS {
                    connection.close(&mut step);
                }
            }
            Event::Read => {
                flow.is_reading[end] = false;
                let half = connection.readable().div_ceil(2);
                connection.read(&mut step, half);
            }
            Event::Timer => connection.on_timer(&mut step),
            Event::Arrival(segment, ce) => {
                if segment.length > 0 {
                    let data = (segment.sequence, segment.sequence + u64::from(segment.length));
                    insert(&mut flow.received[end], data);
                }
                let before = connection.counters().delivered;
                connection.on_segment(&mut step, &segment, ce);
                let delivered = connection.counters().delivered;
                assert!(delivered >= before, "what was delivered stays so");
                let whole = flow.received[end].get(&1).map_or(0, |end| end - 1);
                assert!(delivered <= whole, "{delivered} bytes delivered, {whole} arrived without a gap");
                if segment.length > 0 && !settings.reads_at_once {
                    let buffer = u64::from(settings.receive_buffer);
                    assert!(connection.readable() <= buffer, "more than the buffer holds");
                }
                if connection.is_received_whole() && flow.done.is_none() && end == 1 {
                    flow.done = Some(self.now);
                    connection.close(&mut step);
                }
            }
        }
        if self.flows[number].ends[end].readable() > 0 && !self.flows[number].is_reading[end] {
            self.flows[number].is_reading[end] = true;
            self.push(self.now + Time::millis(50), number, end, Event::Read);
        }
        let connection = &self.flows[number].ends[end];
        assert!(!self.number.is_multiple_of(64) || connection.is_consistent(), "{connection:?}");
        for segment in std::mem::take(&mut self.out) {
            for (time, ce) in self.path.send(self.now, number, end, &segment) {
                self.push(time, number, 1 - end, Event::Arrival(segment.clone(), ce));
            }
        }
        if let Some(deadline) = self.flows[number].ends[end].deadline() {
            assert!(deadline > self.now, "a timer that is due was left: {:?}", self.flows[number].ends[end]);
            // A timer that was moved fires in vain.
            let now = self.now;
            if !self.has_timer(number, end, deadline) {
                self.push(deadline.max(now), number, end, Event::Timer);
            }
        }
    }

    /// Whether a timer of this end is on its way for exactly that time.
    fn has_timer(&self, flow: usize, end: usize, time: Time) -> bool {
        self.queue
            .range((time, 0)..=(time, u64::MAX))
            .any(|(_, (f, e, event))| (*f, *e) == (flow, end) && matches!(event, Event::Timer))
    }

    /// Bytes delivered in order to the listening end of each flow.
    pub fn delivered(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.ends[1].counters().delivered).collect()
    }
}

fn insert(ranges: &mut BTreeMap<u64, u64>, (mut start, mut end): (u64, u64)) {
    while let Some((&first, &last)) = ranges.range(..=end).next_back()
        && last >= start
    {
        (start, end) = (start.min(first), end.max(last));
        ranges.remove(&first);
    }
    ranges.insert(start, end);
}

/// A number that looks random, of a number (SplitMix64).
pub fn mix(n: u64) -> u64 {
    let mut x = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
