//! Collectives do what they are for: a replay with sets of contributions, and the bytes by formula.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const KINDS: [CollectiveKind; 4] = [
    CollectiveKind::RingAllReduce,
    CollectiveKind::TreeAllReduce,
    CollectiveKind::AllToAll,
    CollectiveKind::AllToAllInRounds,
];

fn build(kind: CollectiveKind, hosts: usize, bytes: u64, rounds: u32) -> Workload {
    let hosts: Vec<u32> = (0..hosts as u32).collect();
    let mut workload = Workload::new(1);
    workload
        .collective(&hosts, 3, &Collective { kind, bytes, rounds, compute_ps: 1000, piece_bytes: None })
        .unwrap();
    workload
}

/// Every host ends with the sum of all: a flow carries what its sender knew of a chunk when it could start.
/// Chunks are the steps of a ring by its rule, or all of the data in a tree.
#[test]
fn an_all_reduce_gives_everybody_everything() {
    for kind in [CollectiveKind::RingAllReduce, CollectiveKind::TreeAllReduce] {
        for hosts in [2, 3, 4, 7, 16] {
            let workload = build(kind, hosts, 1003, 1);
            let chunks = if kind == CollectiveKind::RingAllReduce { hosts } else { 1 };
            let mut knows = vec![vec![BTreeSet::new(); chunks]; hosts];
            for (host, of_host) in knows.iter_mut().enumerate() {
                of_host.iter_mut().for_each(|chunk| _ = chunk.insert(host));
            }
            // What each flow carries: what its sender had by itself and from the flows that it waited for,
            // and from those they waited for.
            let mut carried: Vec<(usize, BTreeSet<usize>)> = Vec::new();
            for (number, flow) in workload.flows().iter().enumerate() {
                let (from, to) = (flow.from as usize, flow.to as usize);
                let chunk = if chunks == 1 { 0 } else { (from + 2 * hosts - number / hosts) % hosts };
                let mut content = BTreeSet::from([from]);
                for before in &flow.after {
                    let (of_chunk, known) = &carried[*before as usize];
                    assert_eq!(*of_chunk, chunk, "flow {number} goes on with what it waited for");
                    // 1003 bytes are in chunks of two lengths, which shows which chunk is meant.
                    assert_eq!(flow.bytes, workload.flows()[*before as usize].bytes, "flow {number}");
                    content.extend(known);
                }
                knows[to][chunk].extend(&content);
                carried.push((chunk, content));
            }
            let all: BTreeSet<usize> = (0..hosts).collect();
            assert!(knows.iter().flatten().all(|known| *known == all), "{kind:?} {hosts}: {knows:?}");
        }
    }
}

/// A ring sends 2 (n - 1) / n of the data from each host, a tree all of it twice over each edge, an
/// all-to-all all to each.
#[test]
fn hosts_send_as_much_as_the_formula_says() {
    for kind in KINDS {
        for hosts in [2usize, 3, 5, 8] {
            let bytes = 1000 * hosts as u64 * (hosts as u64 - 1);
            let workload = build(kind, hosts, bytes, 1);
            let mut sent = BTreeMap::new();
            for flow in workload.flows() {
                *sent.entry(flow.from).or_insert(0) += flow.bytes;
            }
            let total: u64 = sent.values().sum();
            let (n, of_each) = (hosts as u64, sent.values().all(|sent| *sent == total / hosts as u64));
            let expected = match kind {
                CollectiveKind::RingAllReduce => 2 * (n - 1) * bytes,
                CollectiveKind::TreeAllReduce | CollectiveKind::HalvingAllReduce => 2 * (n - 1) * bytes,
                CollectiveKind::AllToAll | CollectiveKind::AllToAllInRounds => n * (n - 1) * bytes,
            };
            assert_eq!(total, expected, "{kind:?} of {hosts}");
            assert!(of_each || kind == CollectiveKind::TreeAllReduce, "{kind:?} of {hosts}: {sent:?}");
        }
    }
    // Chunks of a ring are all bytes, though they cannot be equal.
    let flows = build(CollectiveKind::RingAllReduce, 7, 1000, 1);
    let first_step: Vec<u64> = flows.flows()[..7].iter().map(|flow| flow.bytes).collect();
    assert_eq!(first_step.iter().sum::<u64>(), 1000);
    assert!(first_step.iter().all(|bytes| (142..=143).contains(bytes)), "{first_step:?}");
}

/// On a network where a flow takes its bytes: 2 (n - 1) steps of B / n; twice the depth of the tree; n - 1
/// rounds.
#[test]
fn steps_follow_each_other() {
    let end = |kind, hosts, bytes| {
        let times = times(&build(kind, hosts, bytes, 1), 100, 1);
        times.iter().map(|(_, end)| *end).max().unwrap() - 3
    };
    assert_eq!(end(CollectiveKind::RingAllReduce, 8, 8000), 14 * (100 + 1000));
    assert_eq!(end(CollectiveKind::TreeAllReduce, 7, 500), 4 * (100 + 500));
    assert_eq!(end(CollectiveKind::TreeAllReduce, 8, 500), 6 * (100 + 500));
    assert_eq!(end(CollectiveKind::AllToAll, 6, 50), 100 + 50);
    assert_eq!(end(CollectiveKind::AllToAllInRounds, 6, 50), 5 * (100 + 50));
    // Three of each, with the computing between them.
    for (kind, one) in KINDS.map(|kind| (kind, end(kind, 7, 700))) {
        let times = times(&build(kind, 7, 700, 3), 100, 1);
        let all = times.iter().map(|(_, end)| *end).max().unwrap() - 3;
        assert_eq!(all, 3 * one + 2 * 1000, "{kind:?}");
    }
}

/// Halving and doubling: 2 log n steps, in which each host sends 2 (n - 1) / n of the data in all, and in the
/// end everybody has something of everybody.
#[test]
fn halving_takes_two_log_n_steps() {
    for hosts in [2usize, 4, 8, 16] {
        let (n, bytes) = (hosts as u64, 100 * hosts as u64);
        let workload = build(CollectiveKind::HalvingAllReduce, hosts, bytes, 1);
        let sent: u64 = workload.flows().iter().map(|flow| flow.bytes).sum();
        assert_eq!(sent, 2 * (n - 1) * bytes);
        let mut content: Vec<BTreeSet<u32>> = Vec::new();
        for flow in workload.flows() {
            let before = flow.after.iter().flat_map(|before| content[*before as usize].iter().copied());
            content.push(before.chain([flow.from]).collect());
        }
        let last = &content[content.len() - hosts..];
        assert!(last.iter().all(|of| of.len() == hosts), "{hosts}: {last:?}");
        let end = times(&workload, 100, 1).iter().map(|(_, end)| *end).max().unwrap() - 3;
        assert_eq!(end, 2 * u64::from(hosts.ilog2()) * 100 + 2 * (bytes - 100), "{hosts} hosts");
    }
}

/// Pieces are all bytes together, and each waits for the same one of the step before.
#[test]
fn a_ring_passes_pieces_on() {
    let mut workload = Workload::new(1);
    let (kind, piece_bytes) = (CollectiveKind::RingAllReduce, Some(100));
    let ring = Collective { kind, bytes: 1003, rounds: 2, compute_ps: 0, piece_bytes };
    workload.collective(&[0, 1, 2], 0, &ring).unwrap();
    // Chunks of 334 or 335 bytes are 4 pieces, in 4 steps of 3 hosts.
    assert_eq!(workload.flows().len(), 2 * 4 * 3 * 4);
    let (one, two) = workload.flows().split_at(4 * 3 * 4);
    assert_eq!(one.iter().map(|flow| flow.bytes).sum::<u64>(), 2 * 2 * 1003);
    assert!(one.iter().all(|flow| flow.bytes <= 100 && flow.after.len() <= 1));
    assert!(two[..12].iter().all(|flow| flow.after.len() == 4), "a round begins after all pieces");
}

#[test]
fn rounds_begin_after_all_of_the_last_and_the_computing() {
    for kind in KINDS {
        for hosts in [2, 5, 6] {
            let workload = build(kind, hosts, 6000, 3);
            let times = times(&workload, 100, 1);
            let size = times.len() / 3;
            for round in 1..3 {
                for host in 0..hosts as u32 {
                    let numbers = |round: usize| round * size..(round + 1) * size;
                    let flows = workload.flows();
                    let last =
                        numbers(round - 1).filter(|number| flows[*number].to == host).map(|n| times[n].1);
                    let first =
                        numbers(round).filter(|number| flows[*number].from == host).map(|n| times[n].0);
                    let (last, first) = (last.max().unwrap(), first.min().unwrap());
                    assert!(first >= last + 1000, "{kind:?} {hosts}, round {round}, host {host}");
                }
            }
        }
    }
}

#[test]
fn collectives_that_make_no_sense_are_refused() {
    let mut workload = Workload::new(1);
    let of = |kind, bytes| Collective { kind, bytes, rounds: 1, compute_ps: 0, piece_bytes: None };
    let error = workload.collective(&[1], 0, &of(CollectiveKind::AllToAll, 1)).unwrap_err();
    assert_eq!(error.to_string(), "a collective of 1 hosts; allowed: 2 hosts or more");
    let error = workload.collective(&[1, 2, 3], 0, &of(CollectiveKind::RingAllReduce, 2)).unwrap_err();
    assert_eq!(error.to_string(), "a ring of 3 hosts for 2 bytes; allowed: a byte or more for each host");
    let error = workload.collective(&[1, 2, 3], 0, &of(CollectiveKind::HalvingAllReduce, 3)).unwrap_err();
    assert_eq!(error.to_string(), "halving and doubling of 3 hosts; allowed: a power of two");
    let error = workload.collective(&[1, 2], 0, &of(CollectiveKind::AllToAll, 0)).unwrap_err();
    assert_eq!(error.what, "1 rounds of 0 bytes");
    let many = Collective { rounds: 2_000_000, ..of(CollectiveKind::RingAllReduce, 3) };
    let error = workload.collective(&[1, 2, 3], 0, &many).unwrap_err();
    assert_eq!(error.what, "a collective of 30000000 transfers, or waits for them");
    let error = workload.collective(&[1, 2, 1], 0, &of(CollectiveKind::AllToAll, 2)).unwrap_err();
    assert_eq!(error.what, "a flow from host 1 to itself");
}
