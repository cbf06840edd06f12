//! The packet of the tests of queues, and what holds for all disciplines.

mod all;
mod buffer;
mod classes;
mod codel;
mod fq_codel;
mod red;

use super::*;

/// A packet with nothing but what queues ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Sample {
    pub number: u32,
    pub bytes: u32,
    pub ecn: Ecn,
    pub class: u8,
    pub flow: u64,
}

impl Sample {
    /// A packet of 1000 bytes, not ECN-capable, of class 0 and flow 0.
    pub fn new(number: u32) -> Self {
        Self { number, bytes: 1000, ecn: Ecn::NotCapable, class: 0, flow: 0 }
    }
}

impl Packet for Sample {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn flow_hash(&self) -> u64 {
        self.flow
    }
}

#[test]
fn a_drop_tail_queue_holds_its_limit_and_no_more() {
    for (limit, bytes, held) in
        [(Limit::Packets(3), 9000, 3), (Limit::Bytes(3500), 1000, 3), (Limit::Bytes(3000), 1000, 3)]
    {
        let mut queue = Queue::new(&QueueSettings::DropTail(limit), 1, 1).unwrap();
        let mut losses = Vec::new();
        for number in 0..5 {
            let verdict = queue.enqueue(Time::ZERO, Sample { bytes, ..Sample::new(number) }, &mut losses);
            let full = number as usize >= held;
            let expected = if full { Verdict::Dropped(DropReason::Full) } else { Verdict::Accepted };
            assert_eq!(verdict, expected, "{limit:?}, packet {number}");
        }
        assert_eq!((queue.len(), queue.bytes()), (held, held as u64 * u64::from(bytes)));
        assert_eq!(losses.iter().map(|loss| loss.packet.number).collect::<Vec<_>>(), [3, 4]);
        let out: Vec<u32> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, Classes::NONE, &mut losses))
            .map(|packet| packet.number)
            .collect();
        assert_eq!(out, [0, 1, 2], "in the order of arrival");
        assert_eq!((queue.len(), queue.bytes(), queue.head_bytes()), (0, 0, None));
    }
}

#[test]
fn an_endless_queue_takes_all() {
    let mut queue = Queue::new(&QueueSettings::DropTail(Limit::Endless), 1, 1).unwrap();
    let mut losses = Vec::new();
    for number in 0..10_000 {
        let packet = Sample { bytes: u32::MAX, ..Sample::new(number) };
        assert_eq!(queue.enqueue(Time::ZERO, packet, &mut losses), Verdict::Accepted);
    }
    assert_eq!((queue.len(), queue.bytes()), (10_000, 10_000 * u64::from(u32::MAX)));
}

#[test]
fn a_queue_for_nothing_is_refused() {
    for limit in [Limit::Packets(0), Limit::Bytes(0)] {
        let error = Queue::<Sample>::new(&QueueSettings::DropTail(limit), 1, 1).unwrap_err();
        assert_eq!(error.to_string(), "a queue for nothing; allowed: a limit of 1 or more");
    }
}

#[test]
fn a_paused_class_waits_with_all_that_is_behind_it() {
    let mut queue = Queue::new(&QueueSettings::DropTail(Limit::Packets(9)), 1, 1).unwrap();
    let mut losses = Vec::new();
    for (number, class) in [(0, 3), (1, 0)] {
        queue.enqueue(Time::ZERO, Sample { class, ..Sample::new(number) }, &mut losses);
    }
    let mut paused = Classes::NONE;
    paused.set(3, true);
    assert_eq!(queue.dequeue(Time::ZERO, paused, &mut losses), None);
    paused.set(3, false);
    assert!(paused.is_empty());
    assert_eq!(queue.dequeue(Time::ZERO, paused, &mut losses).unwrap().number, 0);
}

/// A state of a switch holds a queue for each of its ports, and is copied at each event under Time Warp.
#[test]
fn a_drop_tail_queue_is_small() {
    assert!(size_of::<AnyAdmission>() <= 40, "{}", size_of::<AnyAdmission>());
    assert!(size_of::<Queue<Sample>>() <= 104, "{}", size_of::<Queue<Sample>>());
}

#[test]
fn draws_are_numbered() {
    let (mut one, mut other) = (Draws::new(7, 1), Draws::new(7, 2));
    let first: Vec<u64> = (0..4).map(|_| one.u64()).collect();
    assert_ne!(first, (0..4).map(|_| other.u64()).collect::<Vec<_>>());
    assert_eq!((one.count(), Draws::new(7, 1).u64()), (4, first[0]));
}

#[test]
fn shares_are_exact_where_binary_numbers_are() {
    assert_eq!(Share::new(1.0), Some(Share::ONE));
    for wrong in [-0.1, 1.1, f64::NAN] {
        assert_eq!(Share::new(wrong), None);
    }
    assert_eq!(Share::ratio(1, 4), Share::new(0.25));
    assert_eq!((Share::ratio(3, 2), Share::ratio(0, 0)), (None, None));
    let quarter = Share::new(0.25).unwrap();
    assert_eq!(quarter.rest(), Share::new(0.75).unwrap());
    assert_eq!(quarter.power(3), Share::new(1.0 / 64.0).unwrap());
    assert_eq!(quarter.power(0), Share::ONE);
    assert!(Share::ONE.covers(u64::MAX) && !Share::ZERO.covers(0));
    assert_eq!((quarter.plus(Share::ONE), Share::ONE.plus(Share::ONE)), (Share::ONE, Share::ONE));
}
