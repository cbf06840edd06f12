//! Requests of replayed MPI traces: which of several a wait means, and what becomes of those that are open
//! when a rank ends.
//!
//! Two hosts of 1 Gf with one link of 100 MB/s between them, without latency, on CM02: a message of 1e8 bytes
//! takes 1.05 s (cross-traffic), and the 16 bytes of its envelope 0.168 us. Times are by hand, and those of
//! SimGrid 3.32 (`smpirun -replay`) on the same lines where nothing else is said.

use paceline_kernel::Rng;
use paceline_models::mpi_trace::{MpiTrace, Outcome};
use paceline_network::{FlowModel, Flows, read};
use paceline_processes::{Rounds, RunError, Simulation};

const PLATFORM: &str = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\
    <host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"BANDWIDTH\" latency=\"0\"/>\
    <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";

/// Replays the ranks' lines, which do not name their rank, on two hosts, on some threads.
fn replay(
    bandwidth: &str,
    ranks: &[&str],
    threads: usize,
) -> (std::sync::Arc<Outcome>, Result<String, RunError>) {
    let lines = (0..).zip(ranks).flat_map(|(rank, lines)| {
        ["init"].into_iter().chain(lines.split("; ")).map(move |line| format!("{rank} {line}\n"))
    });
    let text: String = lines.collect();
    let trace =
        MpiTrace::read("t", &text, &mut |_| Err("no".into())).unwrap_or_else(|error| panic!("{error}"));
    run(&trace, bandwidth, threads)
}

fn run(
    trace: &MpiTrace,
    bandwidth: &str,
    threads: usize,
) -> (std::sync::Arc<Outcome>, Result<String, RunError>) {
    let platform =
        read("two.xml", &PLATFORM.replace("BANDWIDTH", bandwidth), &mut |_| Err("no".into())).expect("sound");
    let network = Flows::new(&platform, FlowModel::CM02);
    let rounds = if threads > 1 { Rounds::Always } else { Rounds::Never };
    let mut simulation = Simulation::new(network, &[(1e9, 1); 2]).threads(threads).rounds(rounds);
    let outcome = trace.spawn(&mut simulation, 2);
    let ran = simulation.run().map(|report| report.digest.to_string());
    (outcome, ran)
}

/// When each rank ends, in seconds, which is the same on any number of threads.
fn ends(ranks: &[&str]) -> Vec<f64> {
    let (outcome, ran) = replay("100MBps", ranks, 1);
    let digest = ran.unwrap_or_else(|error| panic!("{ranks:?}: {error}"));
    let (again, ran) = replay("100MBps", ranks, 2);
    assert_eq!((again.ends(), ran), (outcome.ends(), Ok(digest)), "{ranks:?}");
    outcome.ends().into_iter().map(|end| end.expect("every rank ends").as_secs_f64()).collect()
}

fn check(cases: &[(&[&str], &[f64])]) {
    for (ranks, expected) in cases {
        let ends = ends(ranks);
        let is_near = |(end, expected): (&f64, &f64)| (end - expected).abs() < 2e-6;
        assert!(ends.iter().zip(*expected).all(is_near), "{ranks:?}: {ends:?}, expected {expected:?}");
    }
}

#[test]
fn of_equal_requests_a_wait_means_the_oldest() {
    check(&[
        // The first message ends at 1.05 s, then come 5 s of computation; the second one begins at 11.05 s.
        (
            &[
                "isend 1 7 1e8; isend 1 7 1e8; wait 0 1 7; compute 5e9; wait 0 1 7",
                "recv 0 7 1e8; compute 10e9; recv 0 7 1e8",
            ],
            &[12.1, 12.1],
        ),
        (
            &[
                "irecv 1 3 1e8; irecv 1 3 1e8; wait 1 0 3; compute 5e9; wait 1 0 3",
                "send 0 3 1e8; compute 10e9; send 0 3 1e8",
            ],
            &[12.1, 12.1],
        ),
        // Three, of which the second is waited for after the first has been.
        (
            &[
                "isend 1 7 1e8; isend 1 7 1e8; isend 1 7 1e8; wait 0 1 7; wait 0 1 7; compute 5e9; wait 0 1 7",
                "recv 0 7 1e8; recv 0 7 1e8; compute 10e9; recv 0 7 1e8",
            ],
            &[13.15, 13.15],
        ),
        // Requests with other tags between them do not matter.
        (
            &[
                "isend 1 7 1e8; isend 1 8 1e8; isend 1 7 1e8; wait 0 1 7; compute 5e9; wait 0 1 7; wait 0 1 8",
                "recv 0 7 1e8; compute 10e9; recv 0 7 1e8; recv 0 8 1e8",
            ],
            &[13.15, 13.15],
        ),
        // A rank sends and receives with one tag.
        (
            &[
                "isend 1 7 1e8; irecv 1 7 1e8; isend 1 7 1e8; irecv 1 7 1e8; wait 1 0 7; wait 0 1 7; compute 5e9; waitall",
                "recv 0 7 1e8; send 0 7 1e8; compute 10e9; send 0 7 1e8; recv 0 7 1e8",
            ],
            &[14.2, 14.2],
        ),
        // Small messages: the wait for the first, which arrives at once, is over at once.
        (
            &[
                "irecv 1 3 8; irecv 1 3 8; wait 1 0 3; compute 5e9; wait 1 0 3",
                "send 0 3 8; compute 10e9; send 0 3 8",
            ],
            &[10.0, 10.0],
        ),
        // After a wait for all the next wait means a new request.
        (
            &[
                "isend 1 7 1e8; isend 1 7 1e8; waitall; isend 1 7 1e8; wait 0 1 7; compute 1e9",
                "recv 0 7 1e8; recv 0 7 1e8; compute 1e9; recv 0 7 1e8",
            ],
            &[5.15, 4.15],
        ),
    ]);
}

#[test]
fn a_test_leaves_the_oldest_request_the_oldest() {
    check(&[
        // A test takes 0.1 ms, the second in a row that fails twice as much, and so on; one that succeeds
        // completes its request.
        (
            &["isend 1 7 1e8; test 0 1 7; test 0 1 7; test 0 1 7; finalize", "compute 1e9; recv 0 7 1e8"],
            &[2.05, 2.05],
        ),
        (&["compute 1e9; irecv 1 7 8; test 1 0 7; wait 1 0 7", "send 0 7 8"], &[1.0001, 0.0]),
        (
            &["irecv 1 7 1e8; test 1 0 7; test 1 0 7; compute 2e9; test 1 0 7; test 1 0 7", "send 0 7 1e8"],
            &[2.0006, 1.05],
        ),
        // Eager sends are over for their sender.
        (&["isend 1 7 8; test 0 1 7; test 0 1 7; wait 0 1 7", "recv 0 7 8"], &[0.0001, 0.0]),
        // By hand: SimGrid 3.32 puts a request that was tested behind those of equal ends, so that the wait
        // means the second (17.1001).
        (
            &[
                "isend 1 7 1e8; isend 1 7 1e8; test 0 1 7; wait 0 1 7; compute 5e9; wait 0 1 7",
                "recv 0 7 1e8; compute 10e9; recv 0 7 1e8",
            ],
            &[12.1, 12.1],
        ),
        // The first is over at 1.05 s, and is waited for no more.
        (
            &[
                "isend 1 7 1e8; isend 1 7 1e8; compute 2e9; test 0 1 7; wait 0 1 7; compute 1e9",
                "recv 0 7 1e8; compute 10e9; recv 0 7 1e8",
            ],
            &[13.1, 12.1],
        ),
    ]);
}

#[test]
fn a_receive_from_anybody_gets_what_was_sent_first() {
    check(&[
        (
            &[
                "compute 1e9; send 1 7 1e8; compute 1e9; send 1 7 1e8",
                "recv any 7 1e8; compute 1e9; recv any 7 1e8",
            ],
            &[4.1, 4.1],
        ),
        (&["compute 1e9; send 1 7 1e8; send 1 9 1e8", "recv 0 any 1e8; recv any any 1e8"], &[3.1, 3.1]),
        // By hand: SimGrid 3.32 does not find the request of a receive from anybody, and does not wait for
        // it.
        (&["compute 1e9; send 1 7 1e8", "irecv -333 7 1e8; wait -333 1 7; compute 1e9"], &[2.05, 3.05]),
        (&["compute 1e9; send 1 7 1e8", "irecv any -444 1e8; wait 0 1 7; compute 1e9"], &[2.05, 3.05]),
        (
            &[
                "send 1 7 1e8; compute 10e9; send 1 7 1e8",
                "irecv any 7 1e8; irecv any 7 1e8; wait any 1 7; compute 5e9; wait any 1 7",
            ],
            &[12.1, 12.1],
        ),
        // The receive that came first gets the first message, though the other one names the sender.
        (
            &[
                "send 1 7 1e8; compute 10e9; send 1 7 1e8",
                "irecv any 7 1e8; irecv 0 7 1e8; wait any 1 7; compute 5e9; wait 0 1 7",
            ],
            &[12.1, 12.1],
        ),
    ]);
}

#[test]
fn who_gets_what_does_not_depend_on_threads() {
    const RANKS: u64 = 7;
    for seed in 0..12 {
        let mut rng = Rng::new(seed, 36);
        let (mut text, mut due) = (String::new(), [0; RANKS as usize]);
        for rank in 0..RANKS {
            text += &format!("{rank} init\n");
            for _ in 0..6 {
                let to = (rank + 1 + rng.below(RANKS - 1)) % RANKS;
                due[to as usize] += 1;
                let (tag, size) = (rng.below(2), [8, 70_000][rng.below(2) as usize]);
                text +=
                    &format!("{rank} compute {}\n{rank} isend {to} {tag} {size}\n", 1_000_000 * rng.below(3));
            }
        }
        for (rank, due) in due.into_iter().enumerate() {
            for _ in 0..due {
                text += &format!("{rank} irecv any any 1\n{rank} test any {rank} any\n");
            }
            text += &format!("{rank} waitall\n{rank} allreduce 8 1e6\n{rank} compute {rank}e6\n");
        }
        let trace = MpiTrace::read("t", &text, &mut |_| Err("no".into())).expect("it is sound");
        let (first, digest) = run(&trace, "100MBps", 1);
        assert!(digest.is_ok(), "{digest:?}");
        for threads in [2, 5] {
            let (again, other) = run(&trace, "100MBps", threads);
            assert_eq!((again.ends(), &other), (first.ends(), &digest), "seed {seed}, {threads} threads");
        }
    }
}

#[test]
fn requests_that_are_open_at_the_end_are_completed() {
    check(&[
        (&["isend 1 5 1e8; compute 5e8; finalize", "recv 0 5 1e8; compute 3e9"], &[1.05, 4.05]),
        (&["isend 1 5 1e8; finalize", "recv 0 5 1e8; finalize"], &[1.05, 1.05]),
        (&["send 1 5 1e8; finalize", "irecv 0 5 1e8; finalize"], &[1.05, 1.05]),
        (&["isend 1 5 1e8", "irecv 0 5 1e8"], &[1.05, 1.05]),
        // A rank ends when the last of several has.
        (
            &["isend 1 5 1e8; isend 1 5 1e8; isend 1 6 1e8", "recv 0 5 1e8; recv 0 5 1e8; recv 0 6 1e8"],
            &[3.15, 3.15],
        ),
        // A small message does not keep its sender, and arrives after the sender's end.
        (&["isend 1 5 6e4; finalize", "compute 1e9; recv 0 5 6e4; finalize"], &[0.0, 1.00063]),
        // The receiver comes when the sender has nothing left to do.
        (&["isend 1 5 1e8", "compute 2e9; recv 0 5 1e8; compute 1e9"], &[3.05, 4.05]),
        // One waited for, one not.
        (
            &[
                "isend 1 5 1e8; isend 1 6 1e8; wait 0 1 5",
                "recv 0 5 1e8; compute 1e9; recv 0 6 1e8; compute 1e9",
            ],
            &[3.1, 4.1],
        ),
        // By hand, as SimGrid does not wait for it: a receive from anybody.
        (&["compute 1e9; send 1 5 1e8", "irecv any 5 1e8"], &[2.05, 2.05]),
    ]);
}

#[test]
fn a_request_that_nobody_meets_is_named() {
    for (ranks, message) in [
        (
            ["irecv 1 5 1e8", "compute 1e9"],
            "process 0 `rank 0` on host 0 waits for a message in the mailbox of 0 for messages from 1 with tag 5",
        ),
        (
            ["isend 1 5 1e8; isend 1 6 8", "recv 0 6 8"],
            "process 0 `rank 0` on host 0 waits for a receiver at the mailbox of 1 for messages from 0 with tag 5",
        ),
        (
            ["irecv any any 8", "compute 1e9"],
            "process 0 `rank 0` on host 0 waits for a message in the mailbox of 0 for messages from anybody with any tag",
        ),
        (
            ["compute 1e9", "send 0 9 1e8"],
            "process 1 `rank 1` on host 1 waits for a receiver at the mailbox of 0 for messages from 1 with tag 9",
        ),
        (
            ["barrier", "compute 1e9"],
            "process 0 `rank 0` on host 0 waits for a message in the mailbox of 0 for messages from 1 with tag -2",
        ),
        (
            ["compute 1e9", "irecv 0 9 1; wait 0 1 9"],
            "process 1 `rank 1` on host 1 waits for a message in the mailbox of 1 for messages from 0 with tag 9",
        ),
    ] {
        let (outcome, ran) = replay("100MBps", &ranks, 1);
        let error = ran.expect_err("nobody meets it").to_string();
        assert!(error.contains(message), "{ranks:?}: {error}");
        assert_eq!(outcome.failure(), None);
    }
}

#[test]
fn the_end_of_a_rank_at_zero_is_an_end() {
    let (outcome, _) = replay("100MBps", &["finalize", "compute 1e9"], 1);
    let found: Vec<_> = outcome.ends().iter().map(|end| end.map(|end| end.as_nanos())).collect();
    assert_eq!(found, [Some(0), Some(1_000_000_000)]);
    // A rank that does not end has no time, not zero.
    let (outcome, ran) = replay("100MBps", &["finalize", "recv 0 1 8"], 1);
    assert!(ran.is_err());
    assert_eq!(outcome.ends().iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    for (ranks, expected) in [
        (["init", "init"], [0.0, 0.0]),
        (["compute 0", "sleep 0"], [0.0, 0.0]),
        (["wait 0 1 7", "waitall"], [0.0, 0.0]),
    ] {
        assert_eq!(ends(&ranks), expected);
    }
}

#[test]
fn messages_have_an_envelope_of_16_bytes() {
    // 1 kB/s: a byte takes 1.05 ms. The envelope does not count for what keeps a sender.
    for (ranks, expected) in [
        (["send 1 0 0 6", "recv 0 0 0 6"], [0.0, 16.0]),
        (["send 1 0 100", "recv 0 0 100"], [0.0, 116.0]),
        (["isend 1 0 65535; waitall", "recv 0 0 65535"], [0.0, 65_551.0]),
        (["send 1 0 65536", "recv 0 0 65536"], [65_552.0, 65_552.0]),
        (["barrier", "barrier"], [16.0, 32.0]),
        (["bcast 84 1", "bcast 84 1"], [100.0, 0.0]),
        (["sendRecv 84 1 84 1 6 6", "sendRecv 84 0 84 0 6 6"], [200.0, 200.0]),
    ] {
        let (outcome, ran) = replay("1kBps", &ranks, 1);
        assert!(ran.is_ok(), "{ranks:?}");
        for (end, bytes) in outcome.ends().into_iter().zip(expected) {
            let end = end.expect("every rank ends").as_secs_f64();
            assert!((end - bytes * 1.05e-3).abs() < 2e-6, "{ranks:?}: {end}, expected {bytes} bytes");
        }
    }
}

#[test]
fn short_sleeps_add_up() {
    // A thousand times a third of a nanosecond, and more.
    for (times, seconds, expected_ns) in [
        (1000, "3.333333333e-10", 333),
        (1000, "1.3333333333e-9", 1333),
        (3, "5e-10", 2),
        (1_000, "1e-10", 100),
    ] {
        let lines = vec![format!("sleep {seconds}"); times].join("; ");
        let (outcome, _) = replay("100MBps", &[&lines, "init"], 1);
        assert_eq!(outcome.ends()[0].map(|end| end.as_nanos()), Some(expected_ns), "{times} times {seconds}");
    }
}

#[test]
fn short_computations_add_up() {
    // 4 flops at 3 Gf take 4/3 ns, as in SimGrid 3.32: 1000 of them 1333.3 ns.
    let flops_at_3_gf = |flops: f64| format!("compute {}", flops / 3.0);
    for (times, flops, expected_ns) in [(1000, 4.0, 1333), (1000, 1.0, 333), (10_000, 0.1, 333), (7, 2.0, 5)]
    {
        let lines = vec![flops_at_3_gf(flops); times].join("; ");
        let (outcome, _) = replay("100MBps", &[&lines, "init"], 1);
        let end = outcome.ends()[0].expect("it ends").as_nanos();
        assert!(end.abs_diff(expected_ns) <= 1, "{times} times {flops}: {end} ns");
    }
}
