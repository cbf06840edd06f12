//! No record is lost or duplicated, order and bounds are kept, and withdrawn records are never sent.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Action {
    /// Adds a record of this many bytes, this long after the last action.
    Add(usize, u64),
    /// Withdraws one of the last records, counted backwards.
    Withdraw(u64),
    /// The transport has no room for the next so many attempts.
    Clog(u8),
    PeerWaits(bool),
    Ask,
}

fn action() -> impl Strategy<Value = Action> {
    let gap = prop_oneof![0..300_u64, 0..1_000_000_u64];
    prop_oneof![
        8 => (0..200_usize, gap).prop_map(|(bytes, gap)| Action::Add(bytes, gap)),
        2 => (0..40_u64).prop_map(Action::Withdraw),
        1 => (0..3_u8).prop_map(Action::Clog),
        1 => any::<bool>().prop_map(Action::PeerWaits),
        1 => Just(Action::Ask),
    ]
}

fn settings() -> impl Strategy<Value = Marshalling> {
    let size = prop_oneof![
        Just(SizeLimit::Adaptive),
        (0..5_000_usize).prop_map(SizeLimit::Bytes),
        Just(SizeLimit::Off)
    ];
    let time = prop_oneof![
        (0..500_000_u64).prop_map(|most_ns| TimeLimit::Adaptive { most_ns }),
        (0..500_000_u64).prop_map(|ns| TimeLimit::Fixed { ns }),
    ];
    (size, time).prop_map(|(size, time)| Marshalling { size, time })
}

proptest! {
    #[test]
    fn what_is_added_goes_once_in_order_unless_withdrawn(
        settings in settings(),
        unit in 64..2_000_usize,
        limit in 300..10_000_usize,
        actions in vec(action(), 0..400),
    ) {
        let mut gather = Gather::new(settings, unit, limit);
        let (mut now_ns, mut clogged, mut number) = (0, 0, 0_u64);
        let (mut expected, mut frames, mut tickets) = (Vec::new(), Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Add(bytes, gap) => {
                    now_ns += gap;
                    number += 1;
                    let record: Vec<u8> = number.to_le_bytes().into_iter().chain((0..bytes).map(|byte| byte as u8)).collect();
                    let (ticket, size) = add(&mut gather, &record, now_ns, &mut clogged, &mut frames)?;
                    tickets.push((ticket, number));
                    expected.push(record);
                    let in_frame = gather.frame.len() - gather.dead_bytes;
                    prop_assert!(in_frame <= size || gather.records() == 1, "{} bytes above {}", in_frame, size);
                }
                Action::Withdraw(back) => {
                    let Some((ticket, number)) = tickets.len().checked_sub(1 + back as usize).map(|place| tickets[place]) else {
                        continue;
                    };
                    let waits = number > number_gone(&frames);
                    let known = expected.iter().position(|record| record[..8] == number.to_le_bytes());
                    let withdrawn = gather.withdraw(ticket);
                    prop_assert_eq!(withdrawn, waits && known.is_some());
                    if withdrawn {
                        expected.remove(known.expect("it was found"));
                    }
                }
                Action::Clog(times) => clogged = times,
                Action::PeerWaits(waits) => gather.peer_waits(waits),
                Action::Ask => {
                    send(&mut gather, Reason::Asked, &mut clogged, &mut frames);
                }
            }
            if let Some(reason) = gather.due(now_ns) {
                prop_assert!(!gather.is_empty());
                let free = clogged == 0;
                prop_assert_eq!(send(&mut gather, reason, &mut clogged, &mut frames), free);
            } else if let Some(at_ns) = gather.due_at_ns() {
                prop_assert!(at_ns > now_ns && at_ns - now_ns <= 500_000, "no record waits beyond the limit");
            }
        }
        prop_assert!(send(&mut gather, Reason::Asked, &mut 0, &mut frames));
        let records = records_of(&frames, settings.size, limit)?;
        prop_assert_eq!(&records, &expected);
        let statistics = gather.statistics();
        prop_assert_eq!(statistics.frames, frames.len() as u64);
        prop_assert_eq!(statistics.frames, statistics.by_size + statistics.by_time + statistics.asked);
        prop_assert_eq!(statistics.records, expected.len() as u64);
        prop_assert_eq!(statistics.bytes, frames.concat().len() as u64);
        prop_assert_eq!(statistics.records + statistics.withdrawn, number);
    }

    #[test]
    fn any_bytes_can_be_read(bytes in vec(any::<u8>(), 0..300), flags in 0..3_u8) {
        let bytes = [&[flags], &bytes[..]].concat();
        if let Ok(records) = Records::read(&bytes) {
            let length: usize = records.map(|record| record.len() + 1).sum();
            prop_assert!(length < bytes.len());
        }
    }
}

/// Adds a record, and sends the frame whenever it is full. Returns the record's ticket and what size the
/// frame was to have.
fn add(
    gather: &mut Gather,
    record: &[u8],
    now_ns: u64,
    clogged: &mut u8,
    frames: &mut Vec<Vec<u8>>,
) -> Result<(Ticket, usize), TestCaseError> {
    loop {
        let size = gather.size();
        match gather.add(record, now_ns) {
            Ok(ticket) => return Ok((ticket, size)),
            Err(AddError::Full) => {
                prop_assert!(!gather.is_empty());
                send(gather, Reason::Size, clogged, frames);
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
}

/// The records of all frames, none of which is longer than it may be.
fn records_of(frames: &[Vec<u8>], size: SizeLimit, limit: usize) -> Result<Vec<Vec<u8>>, TestCaseError> {
    let mut records = Vec::new();
    for frame in frames {
        let before = records.len();
        let read = Records::read(frame).map_err(|error| TestCaseError::fail(error.to_string()))?;
        records.extend(read.map(<[u8]>::to_vec));
        prop_assert!(frame.len() <= limit.max(64));
        if size == SizeLimit::Off {
            prop_assert!(records.len() - before <= 1);
        } else if let SizeLimit::Bytes(bytes) = size {
            prop_assert!(frame.len() <= bytes || records.len() - before <= 1);
        }
    }
    Ok(records)
}

/// The number of the last record sent.
fn number_gone(frames: &[Vec<u8>]) -> u64 {
    let records = frames.iter().flat_map(|frame| Records::read(frame).expect("our own frames are whole"));
    let numbers = records.map(|record| u64::from_le_bytes(record[..8].try_into().expect("8 bytes")));
    numbers.max().unwrap_or(0)
}

/// Sends the frame through a transport that has no room for the next `clogged` attempts. Returns whether it
/// was sent.
fn send(gather: &mut Gather, reason: Reason, clogged: &mut u8, frames: &mut Vec<Vec<u8>>) -> bool {
    let handed = gather.hand_over(reason, |frame| {
        if *clogged > 0 {
            *clogged -= 1;
            return Ok(Handed::Full);
        }
        frames.push(frame.to_vec());
        Ok::<_, ()>(Handed::Over)
    });
    handed == Ok(Handed::Over)
}

/// Adds `count` records of 32 bytes, one every `gap_ns`, and sends frames when they are due.
fn feed(gather: &mut Gather, count: u64, gap_ns: u64, start_ns: u64) -> u64 {
    for number in 1..=count {
        let now_ns = start_ns + number * gap_ns;
        // A sleeping host sends at the time that was computed before.
        while let Some(at_ns) = gather.due_at_ns().filter(|at_ns| *at_ns <= now_ns) {
            let reason = gather.due(at_ns).expect("it is due now");
            assert_eq!(gather.hand_over(reason, |_| Ok::<_, ()>(Handed::Over)), Ok(Handed::Over));
        }
        gather.add(&[0; 32], now_ns).expect("there is room");
        if let Some(reason) = gather.due(now_ns) {
            assert_eq!(gather.hand_over(reason, |_| Ok::<_, ()>(Handed::Over)), Ok(Handed::Over));
        }
    }
    start_ns + count * gap_ns
}

#[test]
fn frames_grow_with_the_rate() {
    let per_frame = [20, 200, 2_000, 200_000].map(|gap_ns| {
        let mut gather = Gather::new(Marshalling::default(), 1_424, 1 << 16);
        let warm_ns = feed(&mut gather, 1_000, gap_ns, 0);
        let before = gather.statistics();
        feed(&mut gather, 20_000, gap_ns, warm_ns);
        let after = gather.statistics();
        (after.records - before.records) as f64 / (after.frames - before.frames) as f64
    });
    let [fast, middle, slow, rare] = per_frame;
    assert!(fast > 300.0 && middle > 40.0 && middle <= 130.0, "{per_frame:?}");
    assert!(slow > 1.5 && slow < middle, "{per_frame:?}");
    assert!(rare < 1.01, "who comes alone does not wait: {per_frame:?}");
}

#[test]
fn who_waits_is_served_sooner() {
    let mut patience = [false, true].map(|waits| {
        let mut gather = Gather::new(Marshalling::default(), 1_424, 1 << 16);
        let now_ns = feed(&mut gather, 1_000, 300, 0);
        assert_eq!(gather.hand_over(Reason::Asked, |_| Ok::<_, ()>(Handed::Over)), Ok(Handed::Over));
        gather.peer_waits(waits);
        gather.add(&[0; 32], now_ns).expect("there is room");
        gather.due_at_ns().expect("a record waits") - now_ns
    });
    patience.reverse();
    assert!(patience.is_sorted() && patience[0] <= 1_000 && patience[1] > 10_000, "{patience:?}");
}

#[test]
fn a_frame_says_who_waits() {
    let mut gather = Gather::new(Marshalling::default(), 1_424, 1 << 16);
    for waiting in [true, false] {
        gather.say_waiting(waiting);
        let check = |frame: &[u8]| {
            let records = Records::read(frame).expect("our own frames are whole");
            assert_eq!(records.is_waiting(), waiting);
            Ok::<_, ()>(Handed::Over)
        };
        assert_eq!(gather.hand_over(Reason::Asked, check), Ok(Handed::Over));
    }
}

#[test]
fn a_record_that_fits_no_frame_is_refused() {
    let mut gather = Gather::new(Marshalling::default(), 1_424, 100);
    assert_eq!(gather.add(&[0; 95], 0), Err(AddError::TooLong { length: 95, most: 94 }));
    assert!(gather.add(&[0; 94], 0).is_ok());
}
