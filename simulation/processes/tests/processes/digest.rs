//! One digest: random programs of processes give the same one on any number of threads, with every way to
//! coordinate and to wait, and another when anything of what happens is another.

use std::hint::black_box;
use std::rc::Rc;
use std::thread;

use paceline_kernel::{Rng, Time};
use paceline_network::{Constant, HostId};
use paceline_processes::{
    Activity, ContextKind, Coordination, Process, Report, RequestError, Rounds, Semaphore, Simulation,
    Waiting,
};

const HOSTS: u32 = 4;
const BOXES: u64 = 5;

/// Does one of all that a process can do, drawn from its own random numbers.
async fn act(cx: &Process<u64>, permits: Semaphore, place: Place) -> Result<(), RequestError> {
    let Place { depth, .. } = place;
    let (what, one, other) = cx.draw(|rng| (rng.below(12), rng.below(BOXES), rng.below(4)));
    let limit = Time::millis(700 * (1 + other));
    match what {
        0 => cx.sleep(Time::millis(250 * other)).await,
        1 => cx.yield_now().await,
        2 => cx.compute(1e8 * one as f64).await?,
        3 => cx.send_within(one, other, 10.0, limit).await?,
        4 => cx.record(cx.receive_within(one, limit).await?),
        5 => cx.send_detached(one, other, 1.0),
        6 => {
            let mut mail = cx.start_receive(one);
            let mut work = cx.start_compute(5e8);
            let first = Activity::wait_any_within(cx, &mut [&mut mail, &mut work], limit).await?;
            cx.record(first as u64);
        }
        7 => {
            let (mut a, mut b) = (cx.start_send(one, 1, 1.0), cx.start_compute(1e8));
            b.wait(cx).await?;
            a.wait_within(cx, limit).await?;
        }
        8 if depth < 2 => {
            let host = HostId(other as u32 % HOSTS);
            let child = cx
                .spawn("child", host, move |cx| program(cx, permits, Place { depth: depth + 1, ..place }))
                .await?;
            cx.join_within(child, limit).await?;
        }
        9 => {
            permits.acquire_within(cx, limit).await?;
            cx.sleep(Time::millis(100)).await;
            permits.release(cx);
        }
        10 => cx.sleep_until(Time::secs(cx.now().as_nanos() / 1_000_000_000 + 1)).await,
        _ => {
            black_box((0..200).fold(one, |sum, n| sum.wrapping_mul(31) ^ n));
        }
    }
    Ok(())
}

fn program(
    cx: Process<u64>,
    permits: Semaphore,
    place: Place,
) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        for step in 0..30 {
            let done = match place.may_block && step % 7 < 4 {
                true => block(&cx, permits, place),
                false => act(&cx, permits, place).await,
            };
            if let Err(failure) = done {
                cx.record(100 + failure as u64);
            }
        }
    })
}

/// What a process is, but for its numbers.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    may_block: bool,
}

/// The same without being async, with something that must not change threads.
fn block(cx: &Process<u64>, permits: Semaphore, place: Place) -> Result<(), RequestError> {
    let (here, number) = (Rc::new(thread::current().id()), thread_number());
    let done = cx.block_on(act(cx, permits, place));
    assert_eq!((*here, number), (thread::current().id(), thread_number()), "who blocks stays on its thread");
    done
}

/// The address of something that every thread has for itself.
fn thread_number() -> usize {
    thread_local!(static OWN: u8 = const { 0 });
    OWN.with(|local| std::ptr::from_ref(local) as usize)
}

fn world(case: u64, context: ContextKind) -> Simulation<u64, Constant> {
    let hosts: Vec<(f64, u32)> = (0..HOSTS).map(|host| (1e9, 1 + host % 2)).collect();
    let mut rng = Rng::new(case, 3);
    let delay_s = [0.0, 0.25, 0.1][rng.below(3) as usize];
    let mut world = Simulation::new(Constant::new(delay_s), &hosts).seed(case).context(context);
    let processes = 1 + rng.below(60);
    let place = Place { depth: 0, may_block: context != ContextKind::Future };
    world.spawn("first", HostId(0), async move |cx| {
        let permits = cx.semaphore(2);
        for number in 0..processes {
            let host = HostId(number as u32 % HOSTS);
            cx.spawn("program", host, move |cx| program(cx, permits, place)).await.unwrap();
        }
    });
    world
}

fn facts(report: &Report) -> (String, Time, u64, u64) {
    (report.digest.to_string(), report.end_time, report.counts.steps, report.counts.messages)
}

#[test]
fn whoever_runs_the_code_the_digest_is_the_same() {
    let all_rounds = [Rounds::Always, Rounds::Auto, Rounds::Static(8), Rounds::Adaptive5, Rounds::Never];
    let coordinations = [Coordination::Works, Coordination::Sleeps, Coordination::Extra];
    let waitings = [Waiting::Futex, Waiting::Condition, Waiting::Busy];
    let mut parallel = 0;
    let is_full = std::env::var("PACELINE_MATRIX").is_ok_and(|matrix| matrix == "full");
    for case in 0..if is_full { 15 } else { 5 } {
        let reference =
            world(case, ContextKind::Future).run().unwrap_or_else(|error| panic!("case {case}: {error}"));
        let mut rng = Rng::new(case, 4);
        for threads in [2, 8] {
            let rounds = all_rounds[rng.below(5) as usize];
            for coordination in coordinations {
                for waiting in waitings {
                    let what =
                        format!("case {case}: {threads} threads, {rounds:?}, {coordination:?}, {waiting:?}");
                    let context = match rng.below(10) {
                        0 => ContextKind::Thread,
                        1 => ContextKind::Coroutine,
                        _ => ContextKind::Future,
                    };
                    let what = format!("{what}, {context:?}");
                    let world =
                        world(case, context).threads(threads).rounds(rounds).coordination(coordination);
                    let report = world.waiting(waiting).pin(rng.chance(0.2)).run();
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(facts(&report), facts(&reference), "{what}");
                    parallel += report.rounds.parallel_rounds;
                }
            }
        }
    }
    assert!(parallel > 100, "rounds did run on many threads: {parallel}");
}

#[test]
fn coroutines_on_many_threads_have_the_same_digest() {
    let coordinations = [Coordination::Works, Coordination::Sleeps, Coordination::Extra];
    for case in 0..9 {
        let reference = world(case, ContextKind::Future).run().unwrap();
        let (threads, coordination) = (1 + case as usize % 3, coordinations[case as usize / 3]);
        for rounds in [Rounds::Always, Rounds::Static(20)] {
            let world = world(case, ContextKind::Coroutine).threads(threads).coordination(coordination);
            let report = world.rounds(rounds).run().unwrap();
            assert_eq!(
                facts(&report),
                facts(&reference),
                "case {case}: {threads}, {rounds:?}, {coordination:?}"
            );
        }
    }
}

#[test]
fn another_run_has_another_digest() {
    let digests: std::collections::BTreeSet<String> =
        (0..40).map(|case| world(case, ContextKind::Future).run().unwrap().digest.to_string()).collect();
    assert_eq!(digests.len(), 40);
    let record = |number| {
        let mut world = Simulation::<(), _>::new(Constant::new(0.0), &[(1.0, 1)]);
        world.spawn("one", HostId(0), async move |cx| cx.record(number));
        world.run().unwrap().digest
    };
    assert_ne!(record(1), record(2));
    assert_eq!(record(1), record(1));
}
