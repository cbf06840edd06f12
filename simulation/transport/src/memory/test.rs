//! Everything arrives once and in order, whatever the delays; each fault is reported once, with the right
//! reason.

use proptest::prelude::*;

use super::*;

/// Receives until nothing is pending: the frames, and the lost peers.
fn drain(to: &Memory) -> (Vec<(u32, Vec<u8>)>, Vec<PeerError>) {
    let (mut frames, mut lost) = (Vec::new(), Vec::new());
    while to.is_pending() {
        to.wait(Duration::ZERO);
        let end = to.receive(&mut |from, frame| frames.push((from, frame.to_vec())));
        lost.extend(end.err());
    }
    (frames, lost)
}

fn give(from: &Memory, to: u32, frame: &[u8]) {
    assert_eq!(from.send(to, frame), Ok(Handed::Over));
}

proptest! {
    #[test]
    fn pairs_keep_their_order(seed in any::<u64>(), sends in proptest::collection::vec((0_u32..4, 0_u32..4), 0..200)) {
        let ranks = Memory::simulated(4, seed);
        let mut numbers = [[0_u8; 4]; 4];
        let mut arrived = vec![Vec::new(); 4];
        for (from, to) in sends {
            if from == to {
                let end = ranks[to as usize].receive(&mut |from, frame| arrived[to as usize].push((from, frame.to_vec())));
                prop_assert!(end.is_ok());
            } else {
                let number = &mut numbers[from as usize][to as usize];
                if ranks[from as usize].send(to, &[*number]) == Ok(Handed::Over) {
                    *number += 1;
                }
            }
        }
        for (to, mut frames) in arrived.into_iter().enumerate() {
            let (rest, lost) = drain(&ranks[to]);
            prop_assert_eq!(lost, []);
            frames.extend(rest);
            for from in 0..4 {
                let of_one: Vec<u8> = frames.iter().filter(|(sender, _)| *sender == from).map(|(_, frame)| frame[0]).collect();
                prop_assert_eq!(of_one, (0..numbers[from as usize][to]).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_found_wherever_it_is(bit in proptest::option::of(any::<u64>()), frame in proptest::collection::vec(any::<u8>(), 0..99)) {
        let ranks = Memory::mesh(3);
        give(&ranks[0], 1, b"before");
        ranks[2].inject(Fault::Corrupt { from: 0, to: 1, bit });
        give(&ranks[0], 1, &frame);
        give(&ranks[0], 1, b"after");
        give(&ranks[2], 1, b"another");
        let (mut frames, lost) = drain(&ranks[1]);
        frames.sort();
        prop_assert_eq!(frames, [(0, b"before".to_vec()), (2, b"another".to_vec())]);
        let damaged = matches!(&lost[..], [PeerError { rank: 0, kind: PeerErrorKind::Damaged(_) }]);
        prop_assert!(damaged);
        prop_assert!(ranks[1].send(0, b"answer").is_err());
    }
}

#[test]
fn a_network_interleaves_senders() {
    let orders = (0..20).map(|seed| {
        let ranks = Memory::simulated(3, seed);
        (0..5).for_each(|_| (1..3).for_each(|from| give(&ranks[from], 0, b"")));
        drain(&ranks[0]).0.into_iter().map(|(from, _)| from).collect::<Vec<_>>()
    });
    let orders: std::collections::BTreeSet<_> = orders.collect();
    assert!(orders.len() > 10, "{orders:?}");
}

#[test]
fn a_full_pair_sends_nothing() {
    let ranks = Memory::mesh(2);
    (0..FRAMES).for_each(|_| give(&ranks[0], 1, b"frame"));
    assert_eq!(ranks[0].send(1, b"more"), Ok(Handed::Full));
    assert_eq!(drain(&ranks[1]).0.len(), FRAMES);
    assert_eq!(ranks[1].paths()[0].bytes_received, 5 * FRAMES as u64);
    assert_eq!(ranks[0].paths()[0].frames_sent, FRAMES as u64);
}

#[test]
fn faults_are_found_once_as_what_they_are() {
    let silent = PeerErrorKind::Silent(Duration::from_secs(9));
    let faults = [
        (Fault::Cut(0, 1), PeerErrorKind::Gone, false, false),
        (Fault::Kill(0), PeerErrorKind::Gone, true, true),
        (Fault::Stop(0, Duration::from_secs(9)), silent, false, true),
    ];
    for seed in 0..50 {
        for (fault, kind, arrives, by_all) in faults.clone() {
            let ranks = Memory::simulated(3, seed);
            give(&ranks[0], 1, b"last");
            ranks[2].inject(fault.clone());
            let (frames, lost) = drain(&ranks[1]);
            assert_eq!(frames.len(), usize::from(arrives), "{fault:?}");
            assert_eq!(lost, [PeerError::new(0, kind.clone())]);
            assert_eq!(ranks[1].send(0, b"too late"), Err(PeerError::new(0, kind.clone())));
            assert_eq!(drain(&ranks[2]).1.len(), usize::from(by_all), "{fault:?}");
            give(&ranks[1], 2, b"the others go on");
        }
    }
}

#[test]
fn who_takes_leave_is_not_lost() {
    let mut ranks = Memory::mesh(2);
    give(&ranks[0], 1, b"bye");
    ranks[0].close();
    ranks.remove(0);
    assert_eq!(drain(&ranks[0]), (vec![(0, b"bye".to_vec())], vec![]));
    give(&ranks[0], 0, b"nobody reads this");
}

#[test]
fn who_ends_without_leave_is_gone() {
    let mut ranks = Memory::mesh(2);
    give(&ranks[0], 1, b"help");
    ranks.remove(0);
    assert_eq!(drain(&ranks[0]), (vec![(0, b"help".to_vec())], vec![PeerError::new(0, PeerErrorKind::Gone)]));
}

#[test]
fn a_wait_ends_with_what_has_happened_before() {
    let ranks = Memory::mesh(2);
    let most = Duration::from_secs(3_600);
    ranks[1].wake();
    ranks[1].wait(most);
    give(&ranks[0], 1, b"");
    ranks[1].wait(most);
    drain(&ranks[1]);
    ranks[1].wait(Duration::ZERO);
    std::thread::scope(|scope| {
        scope.spawn(|| ranks[1].wait(most));
        scope.spawn(|| give(&ranks[0], 1, b""));
    });
}
