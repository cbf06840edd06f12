//! Replayed MPI traces: run times that follow from the trace alone if all messages take equally long, the meaning of collective
//! actions, and refused traces.

use paceline_kernel::Time;
use paceline_models::mpi_trace::{Action, EAGER_BYTES, Message, MpiTrace};
use paceline_network::Constant;
use paceline_processes::{RunError, Simulation};

const DELAY_MS: u64 = 10;
const SPEED: f64 = 1e9;

fn run(trace: &MpiTrace) -> Result<(Vec<Time>, u64), RunError> {
    let ranks = trace.ranks();
    let hosts = vec![(SPEED, 1); ranks as usize];
    let mut simulation = Simulation::new(Constant::new(DELAY_MS as f64 / 1e3), &hosts);
    let outcome = trace.spawn(&mut simulation, ranks);
    let report = simulation.run()?;
    assert!(report.unreceived.is_empty(), "who is told something hears it");
    Ok((outcome.ends(), report.counts.messages))
}

fn ends(ranks: Vec<Vec<Action>>) -> Vec<Time> {
    run(&MpiTrace::new(ranks)).unwrap_or_else(|error| panic!("{error}")).0
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
fn ep_takes_its_computation_and_the_doublings_of_three_reductions() {
    for (ranks, doublings) in [(1, 0), (2, 1), (8, 3), (16, 4)] {
        let trace = MpiTrace::read("ep.txt", &ep(ranks, 500), &mut |_| Err("no".into())).unwrap();
        let (ends, messages) = run(&trace).unwrap();
        let expected = Time::millis(500 + 3 * doublings * DELAY_MS);
        assert_eq!(ends, vec![expected; ranks as usize]);
        assert_eq!(messages, 3 * doublings * u64::from(ranks));
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
                let (own, ms) = (rank(x, y), 20 + (x * 7 + y * 3 + sweep) as u64);
                let mut line = |action: String| text += &format!("{own} {action}\n");
                // A message's transfer starts once its receiver is ready.
                let mut start = expected[y][x];
                if y > 0 {
                    line(format!("recv {} {sweep} 400", rank(x, y - 1)));
                    start = start.max(expected[y - 1][x]) + DELAY_MS;
                }
                if x > 0 {
                    line(format!("irecv {} {sweep} 400", rank(x - 1, y)));
                    line(format!("wait {} {own} {sweep}", rank(x - 1, y)));
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
    let expected: Vec<Time> = expected.into_iter().flatten().map(Time::millis).collect();
    assert_eq!(ends, expected);
    assert_eq!(messages as usize, SWEEPS * 2 * WIDTH * (WIDTH - 1));
}

#[test]
fn nobody_leaves_a_barrier_or_a_reduction_to_all_before_the_last_has_come() {
    for ranks in 1..=17u32 {
        for action in [Action::Barrier, Action::ReduceAll { bytes: 1e6, flops: 0.0 }] {
            let late = ranks / 2;
            let each = |rank| vec![flops(if rank == late { 900 } else { 1 + u64::from(rank) }), action];
            let ends = ends((0..ranks).map(each).collect());
            assert!(ends.iter().all(|end| *end >= Time::millis(900)), "{ranks} ranks: {ends:?}");
            // Each doubling step takes one delay; the ranks in pairs take two more.
            let most = 900 + DELAY_MS * (u64::from(ranks.ilog2()) + 2);
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
            assert!(ends.iter().all(|end| *end <= Time::millis(depth * DELAY_MS)));
            assert_eq!(ends[root as usize], Time::ZERO, "small messages keep nobody");
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
    // Wait takes the action with the given tag; without a tag the latest one; wait-all takes all.
    let large = Message { bytes: EAGER_BYTES, ..message(1) };
    let begun = vec![Action::StartSend(large), flops(100), Action::Wait(Some((0, 1, 7)))];
    let waits = ends(vec![begun, vec![Action::StartReceive(message(0)), flops(100), Action::WaitAll]]);
    assert_eq!(waits, [Time::millis(100); 2], "it flowed while both computed");
    let unknown = ends(vec![vec![Action::Wait(Some((0, 1, 1))), Action::Wait(None), Action::WaitAll]]);
    assert_eq!(unknown, [Time::ZERO]);
}

#[test]
fn ranks_that_do_not_meet_are_named() {
    let trace = MpiTrace::new(vec![vec![Action::Barrier], vec![flops(5)]]);
    let told = run(&trace).unwrap_err().to_string();
    assert!(told.contains("process 0 `rank` on host 0 waits for a message"), "{told}");
}

#[test]
fn traces_are_one_file_or_several_and_mistakes_have_their_line() {
    let one = "# a comment\n0 init 1\n1 init\n\n0 SEND 1 0 5\n1 recv 0 0 5 3\n0 wait\n1 waitAll\n0 bcast 5e2 1 0\n1 reduce 2 3 1\n";
    let trace = MpiTrace::read("one.txt", one, &mut |_| Err("no".into())).unwrap();
    // Elements are doubles if init has an argument, else bytes; with data type 3 they are shorts.
    assert_eq!(trace.actions(0)[0], Action::Send(Message { other: 1, tag: 0, bytes: 40.0 }));
    assert_eq!(trace.actions(1)[0], Action::Receive(Message { other: 0, tag: 0, bytes: 10.0 }));
    assert_eq!(trace.actions(0)[2], Action::Broadcast { bytes: 4000.0, root: 1 });
    assert_eq!(trace.actions(1)[2], Action::Reduce { bytes: 2.0, flops: 3.0, root: 1 });
    let mut others = |file: &str| match file {
        "a.txt" => Ok("0 compute 5\n".to_owned()),
        "b.txt" => Ok("1 compute 6\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let split = MpiTrace::read("list.txt", "# two\na.txt\n\nb.txt\n", &mut others).unwrap();
    assert_eq!((split.ranks(), split.actions(1)), (2, &[Action::Compute(6.0)][..]));
    for (text, told) in [
        ("", "t:1: a trace without ranks; allowed: lines `RANK ACTION ARGUMENTS`"),
        ("0 compute", "t:1: `compute` without a number of flops; allowed: a number of flops after it"),
        ("0 init\n0 compute -1", "t:2: `-1` as a number of flops; allowed: a finite number from 0"),
        ("0 compute nan", "t:1: `nan` as a number of flops; allowed: a finite number from 0"),
        ("0 send 1.5 0 1", "t:1: `1.5` as a rank; allowed: a whole number below 4294967295"),
        ("0 send 1 4294967295 1", "t:1: `4294967295` as a tag; allowed: a whole number below 4294967295"),
        ("0 send 0 0 1 9", "t:1: data type 9; allowed: a data type from 0 to 6"),
        (
            "0 send 3 0 1",
            "t:1: there is no rank 3; allowed: a rank below 1, the number of ranks with actions",
        ),
        ("0", "t:1: a rank without an action; allowed: init,"),
        ("0 gather 1", "t:1: the action `gather`; allowed: init, finalize,"),
        ("99999999 init", "t:1: rank `99999999`; allowed: a whole number below 65536"),
        ("a.txt\nc.txt", "t:2: `c.txt` cannot be read: there is no such file; allowed: the name of a trace"),
    ] {
        let error = MpiTrace::read("t", text, &mut others).unwrap_err().to_string();
        assert!(error.starts_with(told), "{text:?}: {error}");
    }
}
