//! Large rounds, which are handed in batch by batch: random programs of thousands of processes that all act
//! at once give one digest on one thread, whose batches are small, on two, whose batches are large, and on
//! federates, whose rounds are parts of it.
//!
//! What else of the order can be seen is compared too: in which order the simulation drops messages that
//! nobody receives, and what code sees of others that have ended, by a number that their last hook raises.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{Process, ProcessId, Report, Resource, Rounds, Semaphore, Simulation};
use paceline_results::Output;

const HOSTS: u32 = 4;
/// In a round there are four times as many: more than two batches, and no whole number of them.
const GUESTS: usize = 650;
const STEPS: u64 = 5;
const BOXES: u64 = 8;

/// A message that is noted where it is dropped unread.
struct Message {
    number: u64,
    dropped: Option<Arc<Mutex<Vec<u64>>>>,
}

impl Message {
    fn read(mut self) -> u64 {
        self.dropped = None;
        self.number
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(dropped) = &self.dropped {
            dropped.lock().unwrap().push(self.number);
        }
    }
}

/// What the guests of a host share.
#[derive(Clone)]
struct Shared {
    guests: Arc<OnceLock<Vec<ProcessId>>>,
    /// Whether they raise the number of those that have ended. A round is handed in whole where they do.
    hooks: bool,
    ended: Arc<AtomicU64>,
    permits: Semaphore,
    desk: Resource,
    /// By mailbox: messages that were dropped unread.
    dropped: Arc<[Arc<Mutex<Vec<u64>>>]>,
}

async fn guest(cx: Process<Message>, number: u64, shared: Shared) {
    if shared.hooks {
        let ended = Arc::clone(&shared.ended);
        cx.on_exit(move || _ = ended.fetch_add(1, Ordering::Relaxed));
    }
    for step in 1..=STEPS {
        cx.sleep_until(Time::secs(step)).await;
        cx.record(shared.ended.load(Ordering::Relaxed));
        let (what, to, other) = cx.draw(|rng| (rng.below(12), rng.below(BOXES), rng.below(GUESTS as u64)));
        let other = shared.guests.get().expect("all have come")[other as usize];
        let message = || {
            let dropped = Some(Arc::clone(&shared.dropped[to as usize]));
            Message { number: number * STEPS + step, dropped }
        };
        let limit = Time::millis(250);
        match what {
            0 => cx.kill(other),
            1 => cx.interrupt(other, number),
            2 | 3 => cx.send_detached(to, message(), 1.0),
            4 => drop(cx.start_send(to, message(), 1.0)),
            5 => cx.record(
                cx.send_within(to, message(), 1.0, Time::millis(100)).await.map_or_else(|e| e as u64, |()| 9),
            ),
            6 => {
                let from = u64::from(cx.host().0) + u64::from(HOSTS) * (to % 2);
                cx.record(cx.receive_within(from, limit).await.map_or(0, Message::read));
            }
            7 => {
                let child = cx.spawn("child", cx.host(), async move |cx: Process<Message>| cx.record(number));
                // Both may be interrupted.
                if let Ok(child) = child.await {
                    cx.record(u64::from(cx.join(child).await.is_ok()));
                }
            }
            8 => {
                if shared.permits.acquire_within(&cx, limit).await.is_ok() {
                    cx.yield_now().await;
                    shared.permits.release(&cx);
                }
            }
            9 => {
                let serve = shared.desk.serve(&cx, Time::millis(1)).priority(to as i64);
                cx.record(u64::from(serve.preempting().within(limit).await.is_ok()));
            }
            10 => cx.record(u64::from(cx.hold(limit).await.is_ok())),
            _ => cx.tally("drawn", 1.0 / (1 + to) as f64),
        }
    }
}

/// All that can be seen of a run.
#[derive(PartialEq)]
struct Facts {
    digest: String,
    end_time: Time,
    /// Steps, messages, processes, values measured.
    counts: [u64; 4],
    mean: Option<f64>,
    dropped: Vec<Vec<u64>>,
}

impl fmt::Debug for Facts {
    /// The first in which two facts differ says enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, end_time, counts, mean, dropped } = self;
        let dropped: Vec<_> = dropped.iter().map(|dropped| (dropped.len(), dropped.first())).collect();
        write!(f, "{digest} {end_time} {counts:?} {mean:?} {dropped:?}")
    }
}

/// The guests of all hosts, whose mailboxes are at hosts or nowhere, run in some way; and how many were in
/// the largest round.
fn ran(
    (seed, places, hooks): (u64, bool, bool),
    run: impl FnOnce(Simulation<Message, Constant>) -> Simulation<Message, Constant>,
) -> (Facts, u64) {
    let dropped: Arc<[_]> = (0..BOXES).map(|_| Arc::default()).collect();
    let mut world = Simulation::new(Constant::new(0.2), &[(1e9, 1); HOSTS as usize]).seed(seed);
    world.measure([Output::tally("drawn")]);
    for mailbox in (0..BOXES).filter(|_| places) {
        world.place(mailbox, HostId(mailbox as u32 % HOSTS));
    }
    for host in (0..HOSTS).map(HostId) {
        let (desk, dropped) = (world.resource(host, 2), Arc::clone(&dropped));
        world.spawn("source", host, async move |cx: Process<Message>| {
            let (guests, ended, permits) = (Arc::default(), Arc::default(), cx.semaphore(3));
            let shared = Shared { guests, hooks, ended, permits, desk, dropped };
            let mut guests = Vec::new();
            for number in 0..GUESTS as u64 {
                let (number, shared) = (u64::from(host.0) << 32 | number, shared.clone());
                let guest = async move |cx: Process<Message>| guest(cx, number, shared).await;
                guests.push(cx.spawn("guest", host, guest).await.unwrap());
            }
            shared.guests.set(guests).unwrap();
            // What is on its way to the last host, or has come, is lost.
            if host.0 == HOSTS - 1 {
                cx.sleep(Time::millis(3500)).await;
                cx.switch_off(host);
            }
        });
    }
    let report: Report = run(world).run().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let (drawn, counts) = (report.outputs.tally("drawn"), report.counts);
    let counts = [counts.steps, counts.messages, counts.processes, drawn.count()];
    let mut dropped: Vec<Vec<u64>> = dropped.iter().map(|dropped| dropped.lock().unwrap().clone()).collect();
    if places {
        // What is left at the end is dropped by one federate after the other.
        dropped.iter_mut().for_each(|dropped| dropped.sort_unstable());
    }
    let (digest, end_time, mean) = (report.digest.to_string(), report.end_time, drawn.mean());
    (Facts { digest, end_time, counts, mean, dropped }, report.rounds.largest)
}

#[test]
fn large_rounds_have_one_digest_on_any_threads_and_federates() {
    for case in [(1, false, false), (2, true, false), (3, true, true)] {
        let (seed, places, _) = case;
        let (one, largest) = ran(case, |world| world);
        assert!(largest > 2048, "seed {seed}: the largest round has {largest}");
        let dropped: usize = one.dropped.iter().map(Vec::len).sum();
        assert!(dropped > 100, "seed {seed}: {dropped} messages were dropped unread");
        for rounds in [Rounds::Always, Rounds::Static(2000)] {
            let (two, _) = ran(case, |world| world.threads(2).rounds(rounds));
            assert!(two == one, "seed {seed}, {rounds:?}: {two:?} {one:?}");
        }
        for (federates, threads) in [(1, 1), (2, 2), (4, 1)].into_iter().filter(|_| places) {
            let (dealt, _) = ran(case, |world| world.federates(federates).threads(threads));
            assert!(dealt == one, "seed {seed}, {federates} federates: {dealt:?} {one:?}");
        }
    }
}
