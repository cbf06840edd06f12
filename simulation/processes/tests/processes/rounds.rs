//! The records of rounds that an observer gets.

use std::sync::{Arc, Mutex};

use paceline_processes::{Process, ProcessId, RoundRecord, Rounds, Simulation};

use super::{HERE, THERE, run, secs, world};

/// Of a round: seconds, who went on, whether on many threads, and what each waits for after it.
type Record = (f64, Vec<u32>, bool, Vec<Option<String>>);

/// Keeps the records that it gets.
fn kept() -> (Arc<Mutex<Vec<Record>>>, impl FnMut(&RoundRecord<'_>) + Send) {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&rounds);
    let observer = move |round: &RoundRecord<'_>| {
        let waits = round.processes.iter().map(|id| round.waits_for(*id)).collect();
        let who = round.processes.iter().map(|id| id.0).collect();
        keep.lock().unwrap().push((round.time.as_secs_f64(), who, round.is_parallel, waits));
    };
    (rounds, observer)
}

#[test]
fn an_observer_is_reported_of_each_round_who_went_on_and_what_they_wait_for() {
    let (rounds, observer) = kept();
    let mut world = world().observe(observer);
    world.spawn("sends", HERE, async |cx: Process<u32>| {
        cx.sleep(secs(2)).await;
        cx.send("box", 1, 0.0).await.unwrap();
    });
    world.spawn("receives", THERE, async |cx: Process<u32>| {
        assert_eq!(cx.receive("box").await, Ok(1));
    });
    run(world);
    let some = |what: &str| Some(what.to_owned());
    let expected = [
        (0.0, vec![0, 1], false, vec![some("time 2s"), some("a message in mailbox `box`")]),
        (2.0, vec![0], false, vec![some("a message on its way to mailbox `box`")]),
        (3.0, vec![0, 1], false, vec![None, None]),
    ];
    assert_eq!(*rounds.lock().unwrap(), expected);
}

#[test]
fn what_an_observer_is_reported_adds_up_to_the_report_and_changes_nothing() {
    let simulation = |observe: bool| {
        let (rounds, observer) = kept();
        let world = world().threads(2).rounds(Rounds::Static(4)).until(secs(20));
        let mut world: Simulation<u32, _> = if observe { world.observe(observer) } else { world };
        for number in 0..6 {
            world.spawn("sleeps", HERE, async move |cx: Process<u32>| {
                loop {
                    cx.sleep(secs(1 + number % 3)).await;
                }
            });
        }
        (run(world), rounds)
    };
    let ((report, rounds), (plain, _)) = (simulation(true), simulation(false));
    assert_eq!((report.digest, report.rounds), (plain.digest, plain.rounds));
    let rounds = rounds.lock().unwrap();
    let steps = |parallel: bool| {
        rounds.iter().filter(|round| round.2 || !parallel).map(|round| round.1.len() as u64).sum::<u64>()
    };
    assert_eq!((rounds.len() as u64, steps(false)), (report.counts.rounds, report.counts.steps));
    let parallel = rounds.iter().filter(|round| round.2).count() as u64;
    assert!(parallel > 0 && parallel < report.counts.rounds);
    assert_eq!((parallel, steps(true)), (report.rounds.parallel_rounds, report.rounds.parallel_steps));
}

#[test]
fn an_observer_is_reported_once_who_was_ended_by_others() {
    let killed = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&killed);
    let mut world = world().observe(move |round| {
        shared.lock().unwrap().extend(round.killed.iter().map(|id| (round.time, *id)));
    });
    let other = world.spawn("sleeps", HERE, async |cx: Process<u32>| cx.sleep(secs(9)).await);
    world.spawn("kills", HERE, async move |cx: Process<u32>| {
        cx.sleep(secs(1)).await;
        cx.kill(other);
        cx.sleep(secs(1)).await;
    });
    run(world);
    assert_eq!(*killed.lock().unwrap(), [(secs(1), ProcessId(0))]);
}
