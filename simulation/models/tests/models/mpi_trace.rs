//! Replayed MPI traces: run times that follow from the trace alone if all messages take equally long, and the
//! meaning of collective actions.

use paceline_kernel::Time;
use paceline_models::mpi_trace::{Action, EAGER_BYTES, Message, MpiTrace};
use paceline_network::Constant;
use paceline_processes::{RunError, Simulation};

const DELAY_MS: u64 = 10;
const SPEED: f64 = 1e9;

fn run(trace: &MpiTrace) -> Result<(Vec<Option<Time>>, u64), RunError> {
    let ranks = trace.ranks();
    let hosts = vec![(SPEED, 1); ranks as usize];
    let mut simulation = Simulation::new(Constant::new(DELAY_MS as f64 / 1e3), &hosts);
    let outcome = trace.spawn(&mut simulation, ranks);
    let report = simulation.run()?;
    assert_eq!(outcome.failure(), None);
    assert!(report.unreceived.is_empty(), "every message is received");
    Ok((outcome.ends(), report.counts.messages))
}

fn ends(ranks: Vec<Vec<Action>>) -> Vec<Time> {
    let (ends, _) = run(&MpiTrace::new(ranks)).unwrap_or_else(|error| panic!("{error}"));
    ends.into_iter().map(|end| end.expect("every rank ends")).collect()
}

fn flops(ms: u64) -> Action {
    Action::Compute(SPEED * ms as f64 / 1e3)
}

fn message(other: u32) -> Message {
    Message { other, tag: 7, bytes: 100.0 }
}

/// EP of the NAS benchmarks: computation, then three all-reduce operations.
fn ep(ranks: u32, ms: u64) -> String {
    let mut text = String::new();
    for rank in 0..ranks {
        text += &format!("{rank} init\n{rank} compute {}\n", SPEED * ms as f64 / 1e3);
        for bytes in [8, 16, 80] {
            text += &format!("{rank} allreduce {bytes} 0\n");
        }
        text += &format!("{rank} finalize\n");
    }
    text
}

#[test]
fn ep_takes_its_computation_and_three_reductions_with_their_broadcasts() {
    for (ranks, depth) in [(1, 0), (2, 1), (8, 3), (16, 4)] {
        let trace = MpiTrace::read("ep.txt", &ep(ranks, 500), &mut |_| Err("no".into())).unwrap();
        let (ends, messages) = run(&trace).unwrap();
        // One delay to rank 0, and one for each level of the tree from there.
        let once = if ranks > 1 { 1 + depth } else { 0 };
        assert_eq!(ends.iter().max(), Some(&Some(Time::millis(500 + 3 * once * DELAY_MS))), "{ranks} ranks");
        assert_eq!(messages, 3 * 2 * u64::from(ranks - 1));
    }
}

#[test]
fn lu_sweeps_over_the_ranks_as_a_front() {
    const WIDTH: usize = 4;
    const SWEEPS: usize = 6;
    let rank = |x: usize, y: usize| (y * WIDTH + x) as u32;
    let (mut text, mut expected) = (String::new(), vec![vec![0u64; WIDTH]; WIDTH]);
    for sweep in 0..SWEEPS {
        for y in 0..WIDTH {
            for x in 0..WIDTH {
                let (here, ms) = (rank(x, y), 20 + (x * 7 + y * 3 + sweep) as u64);
                let mut line = |action: String| text += &format!("{here} {action}\n");
                // A message's transfer starts once its receiver is ready.
                let mut start = expected[y][x];
                if y > 0 {
                    line(format!("recv {} {sweep} 400", rank(x, y - 1)));
                    start = start.max(expected[y - 1][x]) + DELAY_MS;
                }
                if x > 0 {
                    line(format!("irecv {} {sweep} 400", rank(x - 1, y)));
                    line(format!("wait {} {here} {sweep}", rank(x - 1, y)));
                    start = start.max(expected[y][x - 1]) + DELAY_MS;
                }
                line(format!("compute {}", SPEED * ms as f64 / 1e3));
                expected[y][x] = start + ms;
                if y + 1 < WIDTH {
                    line(format!("send {} {sweep} 400", rank(x, y + 1)));
                }
                if x + 1 < WIDTH {
                    line(format!("isend {} {sweep} 400", rank(x + 1, y)));
                }
            }
        }
    }
    let trace = MpiTrace::read("lu.txt", &text, &mut |_| Err("no".into())).unwrap();
    let (ends, messages) = run(&trace).unwrap();
    let expected: Vec<_> = expected.into_iter().flatten().map(|ms| Some(Time::millis(ms))).collect();
    assert_eq!(ends, expected);
    assert_eq!(messages as usize, SWEEPS * 2 * WIDTH * (WIDTH - 1));
}

#[test]
fn nobody_leaves_a_barrier_or_a_reduction_to_all_before_the_last_has_come() {
    for ranks in 1..=17u32 {
        for action in [Action::Barrier, Action::ReduceAll { bytes: 1e6, flops: 0.0 }] {
            let late = ranks / 2;
            let each =
                |rank| vec![flops(if rank == late { 900 } else { 1 + u64::from(rank) }), action.clone()];
            let ends = ends((0..ranks).map(each).collect());
            assert!(ends.iter().all(|end| *end >= Time::millis(900)), "{ranks} ranks: {ends:?}");
            // One delay to rank 0, and one for each level of the tree from there; a barrier is released at
            // once.
            let most = 900 + DELAY_MS * (1 + u64::from(ranks.next_power_of_two().ilog2()));
            assert!(ends.iter().all(|end| *end <= Time::millis(most)), "{ranks} ranks: {ends:?}");
        }
    }
}

#[test]
fn broadcast_and_reduction_are_trees_and_the_exchange_is_of_all_pairs() {
    for ranks in 1..=17u32 {
        let depth = u64::from(ranks.next_power_of_two().ilog2());
        for root in [0, ranks - 1] {
            let all = |action| MpiTrace::new(vec![vec![action]; ranks as usize]);
            let (ends, messages) = run(&all(Action::Broadcast { bytes: 10.0, root })).unwrap();
            assert_eq!(messages, u64::from(ranks) - 1);
            assert!(ends.iter().all(|end| *end <= Some(Time::millis(depth * DELAY_MS))));
            assert_eq!(ends[root as usize], Some(Time::ZERO), "small messages keep nobody");
            let (ends, messages) = run(&all(Action::Reduce { bytes: 10.0, flops: 0.0, root })).unwrap();
            assert_eq!((messages, ends.iter().max()), (u64::from(ranks) - 1, Some(&ends[root as usize])));
        }
        let (_, messages) =
            run(&MpiTrace::new(vec![vec![Action::Exchange { bytes: 1.0 }]; ranks as usize])).unwrap();
        assert_eq!(messages, u64::from(ranks) * (u64::from(ranks) - 1));
    }
}

#[test]
fn large_messages_keep_their_sender_and_small_ones_do_not() {
    let times = |bytes| {
        let large = Message { bytes, ..message(1) };
        ends(vec![
            vec![Action::Send(large)],
            vec![flops(500), Action::Receive(Message { other: 0, ..large })],
        ])
    };
    let arrives = Time::millis(500 + DELAY_MS);
    assert_eq!(times(EAGER_BYTES - 1.0), [Time::ZERO, arrives]);
    assert_eq!(times(EAGER_BYTES), [arrives, arrives]);
    // They flow while both ranks compute.
    let large = Message { bytes: EAGER_BYTES, ..message(1) };
    let begun = vec![Action::StartSend(large), flops(100), Action::Wait((0, 1, 7))];
    let waits = ends(vec![begun, vec![Action::StartReceive(message(0)), flops(100), Action::WaitAll]]);
    assert_eq!(waits, [Time::millis(100); 2]);
    let none = ends(vec![vec![Action::Wait((0, 1, 1)), Action::Test((0, 1, 1)), Action::WaitAll]]);
    assert_eq!(none, [Time::ZERO]);
}

#[test]
fn ranks_that_do_not_meet_are_named() {
    let trace = MpiTrace::new(vec![vec![Action::Barrier], vec![flops(5)]]);
    let problem = run(&trace).unwrap_err().to_string();
    assert!(
        problem.contains(
            "process 0 `rank 0` on host 0 waits for a message in the mailbox of 0 for messages from 1"
        ),
        "{problem}"
    );
}
