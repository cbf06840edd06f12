//! Federates without a machine: they take turns at random and messages are late, in order only between each
//! two - and always the results of the sequential reference.
//!
//! `PACELINE_CASES` sets the number of cases (default 600), `PACELINE_SEED` the first.

#[path = "../../../../../simulation/engine/tests/mesh/mod.rs"]
mod mesh;

use std::collections::VecDeque;
use std::sync::Arc;

use mesh::{Hop, Mesh};
use paceline_kernel::{
    Cancellation, Digest, Federate, LpId, Model, Optimism, Outbox, Partition, Rng, Saving, Settings,
    TieBreak, Time,
};

use super::*;
use crate::program::Page;
use crate::{Message, Wait};

#[derive(Debug, PartialEq)]
struct Facts {
    digest: Digest,
    events: u64,
    last: Time,
    committed: Vec<(LpId, Time, Hop)>,
}

fn sequential(mesh: &Mesh, settings: Settings, until: Time) -> Facts {
    let partition = Partition::runs(mesh.lps(), 1);
    let mut federates = Federate::<Mesh>::build(mesh, &partition, settings).expect("keeps the rules");
    federates[0].step_on(mesh, &partition, until, usize::MAX, &mut Outbox::new(1));
    let finished = federates.remove(0).finish(mesh);
    let (digest, events, last) = (finished.digest, finished.events, finished.last);
    Facts { digest, events, last, committed: in_order(vec![finished.output]) }
}

fn in_order(outputs: Vec<Vec<(LpId, Time, Hop)>>) -> Vec<(LpId, Time, Hop)> {
    let mut committed: Vec<_> = outputs.into_iter().flatten().collect();
    committed.sort_by_key(|(lp, ..)| *lp);
    committed
}

/// What was seen of one process.
#[derive(Default)]
struct Seen {
    inbox: VecDeque<Message>,
    waits: bool,
    done: bool,
    lvts: Vec<u64>,
    simulating: Vec<bool>,
    waiting: Vec<bool>,
    computed_ns: u64,
}

/// So many steps are enough: most cases take less than a million, and one in which two LPs roll each other
/// back over slow lines, some hundred thousand times, 42 million.
const STEPS: u64 = 200_000_000;

/// Runs the programs until all are done; messages wait as long as chance wants.
fn drive(programs: &mut [Box<dyn Program>], first: ProcessId, rng: &mut Rng, hasty: bool) -> Vec<Seen> {
    let count = programs.len();
    let mut seen: Vec<Seen> = (0..count).map(|_| Seen::default()).collect();
    let mut lines: Vec<VecDeque<Message>> = (0..count * count).map(|_| VecDeque::new()).collect();
    // Some lines are a hundred times as slow as others.
    let speeds: Vec<f64> = lines.iter().map(|_| [1.0, 0.5, 0.1, 0.01][rng.below(4) as usize]).collect();
    // Those with something in them.
    let mut busy: Vec<usize> = Vec::new();
    let (mut now_ns, mut still) = (0, 0);
    while seen.iter().any(|process| !process.done) {
        now_ns += 1;
        assert!(now_ns < STEPS, "it ends: {programs:?}");
        if !busy.is_empty() {
            let nth = rng.below(busy.len() as u64) as usize;
            let line = busy[nth];
            if rng.chance(speeds[line]) {
                seen[line % count].inbox.extend(lines[line].pop_front());
                if lines[line].is_empty() {
                    busy.swap_remove(nth);
                }
            }
        }
        let at = rng.below(count as u64) as usize;
        let process = &mut seen[at];
        if process.done || process.waits && process.inbox.is_empty() {
            still += 1;
            let waits = || programs.iter().map(|program| program.waits_for()).collect::<Vec<_>>();
            assert!(!busy.is_empty() || still < 1000 * count, "nobody can go on: {:?}", waits());
            continue;
        }
        (still, process.waits) = (0, false);
        let me = ProcessId(first.0 + at as u32);
        let mut guest = Guest { now_ns, me, inbox: &mut process.inbox, page: Page::default() };
        let op = programs[at].next(&mut guest);
        let page = guest.page;
        process.lvts.extend(page.lvt_ns);
        process.simulating.extend(page.simulating);
        process.waiting.extend(page.waiting);
        match op {
            Op::Compute(ns) => process.computed_ns += ns,
            Op::Send(outgoing) => {
                let to = (outgoing.to.0 - first.0) as usize;
                assert_ne!(to, at, "a federate sends itself nothing");
                let message = Message { from: me, bytes: outgoing.bytes, payload: outgoing.payload };
                if hasty {
                    seen[to].inbox.push_back(message);
                } else {
                    let line = at * count + to;
                    if lines[line].is_empty() {
                        busy.push(line);
                    }
                    lines[line].push_back(message);
                }
            }
            Op::Receive(_) => process.waits = true,
            Op::Done => process.done = true,
            Op::Yield | Op::Sleep(_) => unreachable!("federates do neither"),
        }
    }
    assert!(busy.is_empty(), "everything has come when all are done");
    assert!(seen.iter().all(|process| process.inbox.is_empty()), "nothing is left unread");
    seen
}

fn draw(rng: &mut Rng, mesh: &Mesh, sync: Protocol) -> GuestSettings {
    // With a near horizon, messages for later are on their way when all federates have come to it.
    let near = Time::nanos(mesh.lookahead().as_nanos() * (1 + rng.below(2)));
    let until = if near > Time::ZERO && rng.chance(0.4) { near } else { mesh.until() };
    let reductions =
        [Reduction::Tree { fan_in: 1 + rng.below(4) as u32 }, Reduction::Butterfly, Reduction::Central];
    GuestSettings {
        sync,
        until,
        wait: Wait::Block,
        batch: 1 + rng.below(50) as u32,
        per_packet: 1 + rng.below(3) as u32,
        reduction: reductions[rng.below(3) as usize],
        gvt_period: 1 + rng.below(100) as u32,
        reports: rng.chance(0.5),
        reported: if rng.chance(0.5) { Reported::Processable } else { Reported::Committable },
        reports_per_lookahead: 1 + rng.below(10) as u32,
        flags_waiting: rng.chance(0.5),
        ..GuestSettings::default()
    }
}

/// Runs a mesh with these settings, and compares. Gives out the outcome and what was seen of the processes.
fn case(
    number: u64,
    zero: bool,
    sync: Protocol,
    rng: &mut Rng,
) -> (Outcome<<Mesh as Model>::Output>, Vec<Seen>) {
    let mesh = Arc::new(Mesh::draw(number, zero));
    let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(number) };
    let settings = Settings { seed: number, ties, window: mesh.lookahead() };
    let partition = Arc::new(mesh.partition(1 + rng.below(u64::from(mesh.lps())) as u32));
    let guests = draw(rng, &mesh, sync);
    let what = format!("case {number}: {guests:?}, {} federates", partition.federates());
    let first = ProcessId(rng.below(5) as u32);
    let mut programs = federates(Arc::clone(&mesh), partition, settings, guests.clone(), first)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let hasty = rng.chance(0.3);
    let seen = drive(&mut programs, first, rng, hasty);
    let outcome = collect::<Mesh>(programs).unwrap_or_else(|error| panic!("{what}: {error}"));
    let reference = sequential(&mesh, settings, guests.until);
    let committed = in_order(outcome.outputs.clone());
    let differs = committed.iter().zip(&reference.committed).find(|(found, expected)| found != expected);
    assert_eq!(differs, None, "{what}: the first committed event that differs");
    let (digest, events, last) = (outcome.digest, outcome.events, outcome.last);
    assert_eq!(Facts { digest, events, last, committed }, reference, "{what}");
    for process in &seen {
        // Of what is written in one call only the last is seen: one federate alone may be done in the first.
        let both = seen.len() > 1 || process.simulating.len() > 1;
        let modes: &[bool] = if both { &[true, false] } else { &[false] };
        let modes = if guests.reports { modes } else { &[] };
        assert_eq!(process.simulating, modes, "{what}: reported when it starts and ends");
        assert!(guests.reports || process.lvts.is_empty(), "{what}: reports LVTs only when asked");
        let waiting = |pair: &[bool]| pair[0] != pair[1];
        assert!(process.waiting.windows(2).all(waiting), "{what}: flags are set and cleared in turn");
        assert_ne!(process.waiting.last(), Some(&true), "{what}: nobody waits at the end");
        assert_eq!(
            guests.flags_waiting,
            !process.waiting.is_empty(),
            "{what}: flags when asked, whoever waits or not"
        );
        let mut reported = 0;
        let least_ns = mesh.lookahead().as_nanos() / u64::from(guests.reports_per_lookahead);
        for lvt in &process.lvts {
            assert!(lvt.abs_diff(reported) > least_ns, "{what}: reports are thinned");
            assert!(guests.sync != Protocol::Conservative || *lvt > reported, "{what}: LVT rises");
            reported = *lvt;
        }
    }
    let handled = outcome.rollbacks.as_ref().map_or(events, |rollbacks| rollbacks.processed);
    let computed: u64 = seen.iter().map(|process| process.computed_ns).sum();
    assert!(computed >= handled * guests.event_ns, "{what}: every event costs CPU time");
    (outcome, seen)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn numbers() -> std::ops::Range<u64> {
    let first = setting("PACELINE_SEED", 0);
    first..first + setting("PACELINE_CASES", 600)
}

#[test]
fn conservative_federates_give_the_results_of_the_sequential_reference() {
    let (mut repeats, mut reports, mut flags) = (0, 0, 0);
    for number in numbers() {
        let mut rng = Rng::new(number, 1);
        for _ in 0..3 {
            let (outcome, seen) = case(number, false, Protocol::Conservative, &mut rng);
            repeats += outcome.repeats;
            reports += outcome.reports;
            flags += seen.iter().map(|process| process.waiting.len()).sum::<usize>();
        }
    }
    // The test is worth something only if all of this happens in it.
    assert!(
        repeats > 100 && reports > 100 && flags > 100,
        "{repeats} repeats, {reports} reports, {flags} flags"
    );
}

fn optimistic(zero: bool) {
    let mut all = paceline_kernel::Rollbacks::default();
    let mut repeats = 0;
    for number in numbers() {
        let mut rng = Rng::new(number, 2 + u64::from(zero));
        for saving in [Saving::Copy, Saving::Periodic, Saving::Undo] {
            let mesh = Mesh::draw(number, zero);
            let lps = mesh.lps();
            // Some lookaheads; without lookahead some nanoseconds, down to the instant that GVT allows. Much
            // more is optimism without bound, under which slow lines make nothing but rollbacks.
            let most_ns = 4 * mesh.lookahead().as_nanos();
            let optimism = Optimism {
                saving,
                cancellation: if rng.chance(0.5) { Cancellation::Lazy } else { Cancellation::Aggressive },
                memory_bytes: rng.chance(0.2).then(|| rng.below(4000) as usize),
                optimistic: (!zero && rng.chance(0.2)).then(|| (0..lps).map(|_| rng.chance(0.5)).collect()),
                check: false,
                ahead: rng.chance(0.3).then(|| Time::nanos(rng.below(most_ns.max(4)))),
                eager: rng.chance(0.5),
            };
            let (outcome, _) = case(number, zero, Protocol::Optimistic(optimism), &mut rng);
            repeats += outcome.repeats;
            // Federates that nobody sends to have nothing to roll back.
            outcome.rollbacks.iter().for_each(|counts| all.join(counts));
        }
    }
    assert!(
        all.primary > 500 && all.secondary > 50 && all.antis > 500 && repeats > 100,
        "{repeats}, {all:?}"
    );
}

#[test]
fn optimistic_federates_give_the_results_of_the_sequential_reference() {
    optimistic(false);
}

#[test]
fn optimistic_federates_need_no_lookahead() {
    optimistic(true);
}
