//! Logs of datagrams, segments and frames of all kinds, copied, cut, written and read.

use paceline_kernel::Rng;

use super::*;
use crate::capture::Packet;
use crate::queue::Ecn;
use crate::tcp::{Block, Flags, Options, SackBlocks};

/// A record of any kind, in which much is as in the one before.
fn record(number: u64) -> Record {
    let mut rng = Rng::new(number, 0x6c6f_6773);
    let mut often = |usual: u64, bits: u32| if rng.below(8) > 0 { usual } else { rng.below(1 << bits) };
    // A gap that a datagram has no room for, one that a segment has none for, and times that go back.
    let start_ps = number * 1_000_003 + (often(0, 31) << 3) + (often(0, 1) << 34);
    let arrival_ps = start_ps + 7 + often(0, 40);
    let (flow, bytes) = (often(3, 32) as u32, often(1_030, 24) as u32);
    let ecn = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Congested][often(0, 2) as usize];
    let is_back = often(number & 1, 1) != 0;
    let number_of_packet = number as u16;
    let segment = Segment {
        sequence: often(1 << 20, 32),
        ack: often(1, 32),
        window: often(1 << 16, 32) as u32,
        stamp: often(9, 32) as u32,
        echo: often(4, 32) as u32,
        length: often(1_448, 16) as u16,
        flags: Flags::of_bits(often(0x110, 10) as u16),
        options: match often(0, 3) {
            0 | 1 => None,
            2 => Some(Options::Syn { mss: often(1_460, 16) as u16, scale: None, sack: true }),
            3 => Some(Options::Syn { mss: 0, scale: Some(often(0, 8) as u8), sack: false }),
            count => {
                let mut blocks = SackBlocks::default();
                (4..=count).for_each(|_| blocks.push(Block { start: often(1, 32), end: often(2, 32) }));
                Some(Options::Sack(blocks))
            }
        }
        .map(Box::new),
    };
    let number = number_of_packet;
    let content: Vec<u8> = (0..often(61, 7)).map(|place| ((place * u64::from(bytes)) >> 3) as u8).collect();
    let packet = match often(0, 2) {
        0 => Packet::Udp { flow, number, bytes, ecn, is_back },
        1 => Packet::Frame { content: content.into(), ecn },
        _ => Packet::Tcp { segment, flow, number, bytes, ecn, is_back },
    };
    Record::new(start_ps, (often(0, 1) == 0).then_some(arrival_ps), packet)
}

fn push(log: &mut Log, record: &Record) {
    log.push(&record.as_ref());
}

fn is_whole(log: &Log, count: u64) -> bool {
    log.records().eq((0..count).map(record))
}

/// As in an optimistic run: a copy before each record, and some records taken back.
#[test]
fn copies_keep_what_they_had() {
    let mut copies = vec![Log::default()];
    for number in 0..3_000 {
        let mut log = copies.last().unwrap().clone();
        push(&mut log, &record(number));
        copies.push(log);
        if number % 5 == 4 {
            // Records that are then taken back must not show in what was copied before.
            let mut other = copies[number as usize - 1].clone();
            (0..20).for_each(|_| push(&mut other, &record(1)));
        }
    }
    for (count, copy) in (0..).zip(&copies) {
        assert!(is_whole(copy, count), "{count} records");
        assert!(copy.copied_bytes() <= size_of::<Records>() + 2 * 8 * LEAST_CHUNK, "little is copied");
    }
}

#[test]
fn a_long_log_is_written_and_read() {
    let mut log = Log::default();
    assert!(log.is_empty() && is_whole(&log, 0));
    (0..100_000).for_each(|number| push(&mut log, &record(number)));
    assert!(is_whole(&log, 100_000));
    let bytes = postcard::to_stdvec(&log).unwrap();
    let read: Log = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(read, log);
    assert!(is_whole(&read, 100_000));
    let lost = read.records().filter(|record| record.arrival_ps().is_none()).count();
    assert!((1_000..50_000).contains(&lost), "{lost} lost");
    assert_eq!(format!("{read:?}"), "100000 packets");
    let mut shorter = Log::default();
    (0..99_999).for_each(|number| push(&mut shorter, &record(number)));
    assert_ne!(shorter, log);
}

/// What costs little in a capture of all links: packets of one length, evenly spaced, of many flows.
#[test]
fn a_datagram_takes_a_word() {
    let mut log = Log::default();
    for number in 0..10_000 {
        let start_ps = u64::from(number) * 824_000;
        let (flow, number, ecn) = (number % 5_000, number as u16, Ecn::NotCapable);
        let packet = Packet::Udp { flow, number, bytes: 1_030, ecn, is_back: false };
        log.push(&Record::new(start_ps, Some(start_ps + 3_824_000), packet));
    }
    assert_eq!(log.chunks().flatten().count(), 10_000 + 3, "one word each, and a shape");
}
