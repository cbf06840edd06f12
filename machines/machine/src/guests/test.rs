//! What guest programs send, compute and count, under any order of delivery.

mod driver;

use driver::{Done, Ran, drive};

use super::class::Class;
use super::mpi::{Mpi, tally};
use super::rounds::{Pacing, outcome};
use super::{ep, hog::Hog, lu, rounds};
use crate::program::Page;
use crate::{Guest, MachineError, Op, ProcessId, Program};

const FIRST: u32 = 5;

fn lu(settings: &lu::Settings, seed: u64) -> Ran {
    drive(lu::programs(settings, ProcessId(FIRST)).expect("these settings can be"), FIRST, seed)
        .expect("LU goes on to its end")
}

fn ep(settings: &ep::Settings, seed: u64) -> Ran {
    drive(ep::programs(settings, ProcessId(FIRST)).expect("these settings can be"), FIRST, seed)
        .expect("EP goes on to its end")
}

/// A class on so many processes, with few iterations and messages that are never cut.
fn short(class: Class, processes: u32, iterations: u32) -> lu::Settings {
    let mpi = Mpi { segment_bytes: u32::MAX, ..Mpi::default() };
    lu::Settings { iterations, mpi, ..lu::Settings::new(class, processes) }
}

#[test]
fn lu_on_one_process_sends_nothing() {
    let ran = lu(&lu::Settings::new(Class::S, 1), 1);
    assert!(ran.done[0].iter().all(|done| matches!(done, Done::Computed(_))));
}

#[test]
fn lu_sends_what_the_decomposition_says() {
    const ITERATIONS: u32 = 3;
    // Class W is 33 a side: 17 and 16 points on either side, one of each on the surface.
    let ran = lu(&short(Class::W, 4, ITERATIONS), 7);
    let (points, inner) = ([17, 16], [16, 15]);
    // Ranks go along x first: 0 and 1 are neighbours in x, 0 and 2 in y.
    for (rank, x_other, y_other) in [(0, 1, 2), (1, 0, 3), (2, 3, 0), (3, 2, 1)] {
        for (other, across) in [(x_other, rank / 2), (y_other, rank % 2)] {
            let sizes = ran.sizes(rank, other);
            let count = |bytes: u64| sizes.iter().filter(|size| **size == bytes).count();
            // An edge per plane inside the cube, in the sweep that goes this way.
            let edge = 5 * 8 * inner[across];
            let face = 10 * 8 * points[across] * 33;
            assert_eq!(count(edge), 31 * ITERATIONS as usize, "edges of {rank} to {other}");
            // A face per right-hand side; there is one before the first iteration.
            assert_eq!(count(face), 1 + ITERATIONS as usize, "faces of {rank} to {other}");
            // Norms: one before, two after the last iteration; and the time.
            assert_eq!((count(40), count(8)), (3, 1), "reductions of {rank} to {other}");
            assert_eq!(
                sizes.len(),
                (31 + 1) * ITERATIONS as usize + 1 + 3 + 1,
                "messages of {rank} to {other}"
            );
        }
    }
}

#[test]
fn lu_divides_x_before_y() {
    // Eight processes: four along x, two along y. Rank 5 is second along x, second along y.
    let ran = lu(&short(Class::S, 8, 1), 3);
    let partners: Vec<u32> = (0..8).filter(|other| ran.sizes(5, *other).len() > 8).collect();
    assert_eq!(partners, [1, 4, 6]);
    // Three inner points a process along x, and two at the ends: edges to rank 1 across y.
    assert_eq!(ran.sizes(5, 1).iter().filter(|bytes| **bytes == 40 * 3).count(), 10);
    assert_eq!(ran.sizes(4, 0).iter().filter(|bytes| **bytes == 40 * 2).count(), 10);
}

#[test]
fn lu_takes_norms_as_often_as_told() {
    let norms = |norm_every| {
        let ran = lu(&lu::Settings { norm_every, ..short(Class::S, 2, 6) }, 2);
        ran.sizes(0, 1).iter().filter(|bytes| **bytes == 40).count()
    };
    assert_eq!(norms(0), 1 + 2);
    assert_eq!(norms(6), 1 + 2);
    assert_eq!(norms(2), 1 + 3 * 2);
    // The last iteration has the norm of its residual anyway.
    assert_eq!(norms(4), 1 + 2 + 1);
}

#[test]
fn cpu_time_does_not_depend_on_the_number_of_processes() {
    for class in [Class::S, Class::W] {
        let settings = |processes| short(class, processes, 2);
        let total = |processes: u32| {
            let ran = lu(&settings(processes), 1);
            (0..processes as usize).map(|p| ran.computed_ns(p)).sum::<u64>()
        };
        let alone = total(1);
        let (side, _) = class.lu_size();
        let inner = u64::from(side - 2).pow(3);
        let [begin, iteration] = [480, 1985].map(|operations| inner * operations * 3_000 / 1985);
        assert!(alone.abs_diff(begin + 2 * iteration) <= 2, "{alone} ns in class {}", class.name());
        for processes in [2, 4, 8] {
            // What a process has not rounded up is below 1 ns, but for a picosecond a step.
            assert!(alone.abs_diff(total(processes)) <= u64::from(processes) + 1, "{processes} processes");
        }
    }
    for processes in [1, 3, 4, 7] {
        let ran = ep(&ep::Settings::new(Class::S, processes), 1);
        let total: u64 = (0..processes as usize).map(|p| ran.computed_ns(p)).sum();
        assert_eq!(total, (1 << 24) * 100);
    }
}

#[test]
fn every_small_class_runs_to_its_end_in_any_order_of_delivery() {
    for seed in 0..20 {
        for processes in [2, 4, 8, 16] {
            lu(&short(Class::S, processes, 3), seed);
        }
        for processes in 1..=9 {
            ep(&ep::Settings::new(Class::S, processes), seed);
        }
    }
    lu(&lu::Settings::new(Class::S, 4), 99);
    lu(&short(Class::W, 32, 4), 99);
    lu(&short(Class::A, 8, 2), 99);
}

#[test]
fn ep_reduces_once_at_the_end() {
    for processes in [2, 4, 8] {
        let ran = ep(&ep::Settings::new(Class::S, processes), 11);
        for rank in 0..processes as usize {
            let Some((Done::Computed(_), sent)) = ran.done[rank].split_first() else {
                panic!("a rank computes first")
            };
            let bytes = |done: &Done| if let Done::Sent { bytes, .. } = done { *bytes } else { u64::MAX };
            let sent: Vec<u64> = sent.iter().map(bytes).collect();
            // Recursive doubling: a message per power of two, for two sums, the ten counts and the time.
            let expected = [8, 8, 80, 8].iter().flat_map(|size| vec![*size; processes.ilog2() as usize]);
            assert_eq!(sent, expected.collect::<Vec<_>>(), "rank {rank} of {processes}");
        }
    }
}

#[test]
fn large_messages_leave_in_segments() {
    let settings = |segment_bytes| {
        let mpi = Mpi { segment_bytes, ..Mpi::default() };
        lu::Settings { mpi, ..short(Class::S, 2, 1) }
    };
    let (whole, cut) = (lu(&settings(65_536), 1), lu(&settings(1_448), 1));
    let face = 10 * 8 * 12 * 12;
    let packets = |ran: &Ran, size: u64| ran.sizes(0, 1).iter().filter(|bytes| **bytes == size).count();
    assert_eq!((packets(&whole, face), packets(&whole, 1_448)), (2, 0));
    assert_eq!(packets(&cut, 1_448), 2 * (face / 1_448) as usize);
    for process in 0..2 {
        let tallies = [&whole, &cut].map(|ran| {
            let tally = tally(&*ran.programs[process]).expect("a process of LU");
            (
                tally.messages,
                tally.bytes,
                tally.computed_ns,
                ran.sizes(process, 1 - process as u32).iter().sum(),
            )
        });
        assert_eq!(tallies[0], tallies[1], "cutting changes neither messages nor bytes");
        let (messages, bytes, computed_ns, sent): (u64, u64, u64, u64) = tallies[0];
        assert_eq!((messages, bytes), (whole.sizes(process, 1 - process as u32).len() as u64, sent));
        assert_eq!(computed_ns, whole.computed_ns(process));
    }
}

#[test]
fn every_message_is_acknowledged_once() {
    let settings = |acknowledges| {
        let mpi = Mpi { acknowledges, ..Mpi::default() };
        lu::Settings { mpi, ..short(Class::S, 4, 2) }
    };
    let (without, with) = (lu(&settings(false), 1), lu(&settings(true), 1));
    for process in 0..4 {
        for other in (0..4).filter(|other| *other != process) {
            let (sizes, plain) = (with.sizes(process, other as u32), without.sizes(process, other as u32));
            let acknowledgements = sizes.iter().filter(|bytes| **bytes == 66).count();
            let heard = without.sizes(other, process as u32).len();
            assert_eq!(acknowledgements, heard, "{other} to {process}");
            assert_eq!(sizes.len() - acknowledgements, plain.len(), "{process} to {other}");
        }
        assert_eq!(with.computed_ns(process), without.computed_ns(process));
    }
}

#[test]
fn impossible_numbers_of_processes_are_reported() {
    let lu = |class, processes| lu::programs(&lu::Settings::new(class, processes), ProcessId(0)).map(|_| ());
    let allowed = |result: Result<(), MachineError>| match result {
        Err(MachineError::BadSpec { allowed, .. }) => allowed,
        other => panic!("{other:?}"),
    };
    assert_eq!(allowed(lu(Class::S, 32)), "a power of two up to 16");
    assert_eq!(allowed(lu(Class::S, 0)), "a power of two up to 16");
    assert_eq!(allowed(lu(Class::B, 6)), "a power of two up to 1024");
    assert!(lu(Class::S, 16).is_ok() && lu(Class::B, 1024).is_ok());
    let ep = ep::programs(&ep::Settings::new(Class::S, 0), ProcessId(0)).map(|_| ());
    assert_eq!(allowed(ep), "1 to 256");
}

#[test]
fn hogs_follow_their_duty_cycle() {
    let ops = |mut hog: Hog| {
        let mut inbox = Default::default();
        let mut guest = Guest { now_ns: 0, me: ProcessId(0), inbox: &mut inbox, page: Page::default() };
        let ops = [(); 4].map(|()| hog.next(&mut guest));
        ops.map(|op| match op {
            Op::Compute(ns) => (ns, 0),
            Op::Sleep(ns) => (0, ns),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(ops(Hog::new(7, 3)), [(7, 0), (0, 3), (7, 0), (0, 3)]);
    assert_eq!(ops(Hog::new(7, 0)), [(7, 0); 4]);
}

mod message_rounds {
    use super::*;

    fn settings(pacing: Pacing) -> rounds::Settings {
        rounds::Settings { rounds: 50, pacing, ..rounds::Settings::default() }
    }

    fn run(settings: &rounds::Settings, seed: u64) -> Ran {
        drive(rounds::programs(settings, ProcessId(FIRST)), FIRST, seed).expect("rounds come to an end")
    }

    /// What rank 2 says when messages of these ranks come in this order.
    fn heard(senders: &[u32]) -> (u32, u32) {
        let free = rounds::Settings { rounds: senders.len() as u32 / 2, ..settings(Pacing::Free) };
        let last = driver::last_hears(rounds::programs(&free, ProcessId(FIRST)), FIRST, senders);
        let outcome = outcome(&*last).expect("rank 2 of the rounds");
        assert_eq!(outcome.ended_ns.len(), senders.len() / 2);
        (outcome.errors, outcome.overtaken)
    }

    #[test]
    fn errors_are_counted_pair_by_pair() {
        assert_eq!(heard(&[0, 1, 0, 1, 0, 1]), (0, 0));
        assert_eq!(heard(&[0, 1, 1, 0, 0, 1]), (1, 1));
        assert_eq!(heard(&[1, 0, 1, 0]), (2, 2));
        // Rank 0 is ahead: pairs are wrong, though nothing was overtaken.
        assert_eq!(heard(&[0, 0, 1, 1]), (2, 0));
        assert_eq!(heard(&[0, 0, 1, 0, 1, 1]), (3, 0));
        assert_eq!(heard(&[1, 1, 0, 0]), (2, 2));
    }

    #[test]
    fn each_pacing_comes_to_an_end_in_any_order_of_delivery() {
        let mut errors = 0;
        for pacing in Pacing::ALL {
            for seed in 0..50 {
                let ran = run(&settings(pacing), seed);
                let outcome = outcome(&*ran.programs[2]).expect("rank 2 of the rounds");
                assert_eq!(outcome.ended_ns.len(), 50);
                assert!(outcome.ended_ns.is_sorted());
                if pacing != Pacing::Free {
                    assert_eq!(outcome.errors, outcome.overtaken, "rounds do not overlap");
                    errors += outcome.errors;
                }
            }
        }
        assert!(errors > 0, "some detours were faster");
    }

    #[test]
    fn messages_are_those_of_the_pacing() {
        // From 0 to 1, 0 to 2, 1 to 2; and back.
        let counts = |pacing| {
            let ran = run(&settings(pacing), 4);
            [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)].map(|(from, to)| ran.sizes(from, to).len() / 50)
        };
        assert_eq!(counts(Pacing::Free), [1, 1, 1, 0, 0, 0]);
        assert_eq!(counts(Pacing::Closed), [1, 1, 1, 0, 1, 0]);
        // Two steps of a barrier: each rank sends to both others.
        assert_eq!(counts(Pacing::Barrier), [2, 2, 2, 1, 1, 1]);
    }

    #[test]
    fn the_message_that_takes_the_detour_leaves_first() {
        let ran = run(&settings(Pacing::Closed), 8);
        let sent = |done: &Done| if let Done::Sent { to, .. } = done { Some(*to) } else { None };
        let receivers: Vec<u32> = ran.done[0].iter().filter_map(sent).collect();
        assert_eq!(receivers, [1, 2].repeat(50));
    }

    #[test]
    fn seeds_make_runs_differ_and_nothing_else_does() {
        let done = |seed| run(&rounds::Settings { seed, ..settings(Pacing::Closed) }, 1).done;
        assert_eq!(done(1), done(1));
        assert_ne!(done(1), done(2));
        let even = rounds::Settings { spread_permille: 0, start_ns: 0, ..settings(Pacing::Closed) };
        for done in run(&even, 1).done.concat() {
            assert!(!matches!(done, Done::Slept(_)) && !matches!(done, Done::Computed(ns) if ns != 1_000));
        }
    }
}
