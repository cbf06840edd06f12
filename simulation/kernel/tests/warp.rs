//! Time Warp without threads: federates that take turns at random, mail that comes late, GVT that is stale,
//! every way to save states - and always the digest of the sequential reference.
//!
//! `PACELINE_CASES` sets the number of cases (default 600), `PACELINE_SEED` the first.

#[path = "../../engine/tests/mesh/mod.rs"]
mod mesh;

use mesh::{Hop, Mesh};
use paceline_kernel::{
    Bounds, Cancellation, Digest, EventQueue, Federate, Gvt, GvtKind, Heap, LpId, Mail, Model, Optimism,
    Outbox, Partition, Rng, Rollbacks, Saving, Settings, TieBreak, Time, Warp, WarpTurn,
};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[derive(Debug, PartialEq)]
struct Facts {
    digest: Digest,
    events: u64,
    last: Time,
    committed: Vec<(LpId, Time, Hop)>,
}

fn finish<Q: EventQueue<Hop>>(federates: Vec<Federate<Mesh, Q>>, mesh: &Mesh) -> Facts {
    let mut facts = Facts { digest: Digest::default(), events: 0, last: Time::ZERO, committed: Vec::new() };
    for federate in federates {
        let finished = federate.finish(mesh);
        facts.digest.join(finished.digest);
        facts.events += finished.events;
        facts.last = facts.last.max(finished.last);
        facts.committed.extend(finished.output);
    }
    facts.committed.sort_by_key(|(lp, ..)| *lp);
    facts
}

fn sequential(mesh: &Mesh, settings: Settings, until: Time) -> Facts {
    let partition = Partition::runs(mesh.lps(), 1);
    let mut federates =
        Federate::<Mesh, Heap<Hop>>::build(mesh, &partition, settings).expect("keeps the rules");
    let mut outbox = Outbox::new(1);
    federates[0].step_on(mesh, &partition, until, usize::MAX, &mut outbox);
    finish(federates, mesh)
}

/// A mailbox in which mail stays as long as chance wants, in its order.
type Inbox = std::collections::VecDeque<Mail<Hop>>;

fn post(outbox: &mut Outbox<Hop>, inboxes: &mut [Inbox]) -> Vec<(u32, Time)> {
    let mut sent = Vec::new();
    outbox.flush_mail(|to, mail, least| {
        inboxes[to as usize].push_back(std::mem::take(mail));
        sent.push((to, least));
    });
    sent
}

/// Of a federate whose host never moves GVT on.
fn bounds_at_zero(floor: Time) -> Bounds {
    let width = Time::nanos(64);
    Bounds { floor, gvt: Time::ZERO, until: Time::MAX, width, ahead: Time::nanos(256) }
}

fn warped(
    mesh: &Mesh,
    settings: Settings,
    until: Time,
    optimism: &Optimism,
    kind: GvtKind,
    rng: &mut Rng,
) -> (Facts, Rollbacks) {
    let partition = mesh.partition(1 + rng.below(u64::from(mesh.lps())) as u32);
    let federates = Federate::<Mesh>::build(mesh, &partition, settings).expect("keeps the rules");
    let count = federates.len();
    let mut warps: Vec<_> = federates.into_iter().map(|federate| Warp::new(federate, optimism)).collect();
    let mut gvt = Gvt::new(kind, warps.iter_mut().map(Warp::floor).collect());
    let mut inboxes: Vec<Inbox> = (0..count).map(|_| Inbox::new()).collect();
    let mut outbox = Outbox::new(count as u32);
    let pause = rng.chance(0.2).then(|| rng.below(200));
    let mut turns = 0;
    let mut idle = 0;
    while gvt.value() < until && pause != Some(turns) {
        turns += 1;
        assert!(idle < 10_000, "somebody can always go on");
        let id = rng.below(count as u64) as u32;
        gvt.take(id);
        let known = gvt.value();
        let warp = &mut warps[id as usize];
        for mut mail in inboxes[id as usize].drain(..) {
            warp.receive(mesh, &partition, &mut mail, &mut outbox);
        }
        let patient = idle == 0 && rng.chance(0.5);
        let turns = 1 + rng.below(3);
        for _ in 0..turns {
            // The window may be any, and another one in every turn.
            let widest = 1 << rng.below(12);
            let width = Time::nanos(1 + rng.below(widest));
            let ahead = Time::nanos(width.as_nanos() * (1 + rng.below(4)));
            let bounds = Bounds { floor: warp.floor(), gvt: known, until, width, ahead };
            match warp.turn(mesh, &partition, bounds, patient, &mut outbox) {
                WarpTurn::Ran => idle = 0,
                WarpTurn::Waits => idle += 1,
                WarpTurn::Failed(trouble) => panic!("{trouble}"),
            }
        }
        let times = warp.times();
        assert!(
            times.committed >= known && times.committable <= times.processable,
            "{times:?} at GVT {known}"
        );
        let floor = warp.floor();
        let sent = post(&mut outbox, &mut inboxes);
        gvt.report(id, floor, sent);
        if rng.chance(0.5) {
            gvt.open_round();
        }
    }
    // Whatever is not final is taken back; what that cancels has to arrive.
    for (warp, inbox) in warps.iter_mut().zip(&mut inboxes) {
        for mut mail in inbox.drain(..) {
            warp.receive(mesh, &partition, &mut mail, &mut outbox);
        }
    }
    gvt.open_round();
    let end = gvt.value().min(until);
    for warp in &mut warps {
        warp.retreat(mesh, &partition, end, &mut outbox).unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    while !outbox.is_empty() {
        post(&mut outbox, &mut inboxes);
        for (warp, inbox) in warps.iter_mut().zip(&mut inboxes) {
            for mut mail in inbox.drain(..) {
                warp.receive(mesh, &partition, &mut mail, &mut outbox);
            }
        }
    }
    let mut stats = Rollbacks::default();
    let mut federates = Vec::new();
    for warp in warps {
        let (federate, counts) = warp.settle();
        stats.join(&counts);
        federates.push(federate);
    }
    if pause.is_some() {
        // The rest of the run on one federate, one event after the other.
        let world = paceline_kernel::World::gather(federates, &partition, paceline_kernel::Past::default());
        let one = Partition::runs(mesh.lps(), 1);
        let (mut federates, past) = world.deal::<Heap<Hop>>(mesh, &one, settings);
        federates[0].step_on(mesh, &one, until, usize::MAX, &mut Outbox::new(1));
        let mut facts = finish(federates, mesh);
        facts.digest.join(past.digest);
        facts.events += past.events;
        facts.last = facts.last.max(past.last);
        let mut committed: Vec<_> = past.outputs.into_iter().flatten().collect();
        committed.extend(facts.committed);
        committed.sort_by_key(|(lp, ..)| *lp);
        return (Facts { committed, ..facts }, stats);
    }
    (finish(federates, mesh), stats)
}

fn cases(zero: bool) -> Rollbacks {
    let first = setting("PACELINE_SEED", 0);
    let mut all = Rollbacks::default();
    for case in first..first + setting("PACELINE_CASES", 600) {
        let mesh = Mesh::draw(case, zero);
        let mut rng = Rng::new(case, 0x7761_7270);
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(case) };
        let settings = Settings { seed: case, ties, window: mesh.lookahead() };
        let until = mesh.until();
        let reference = sequential(&mesh, settings, until);
        for saving in [Saving::Copy, Saving::Periodic, Saving::Undo] {
            for cancellation in [Cancellation::Aggressive, Cancellation::Lazy] {
                let mixed = !zero && rng.chance(0.3);
                let optimism = Optimism {
                    saving,
                    cancellation,
                    memory_bytes: rng.chance(0.3).then(|| rng.below(4000) as usize),
                    optimistic: mixed.then(|| (0..mesh.lps()).map(|_| rng.chance(0.5)).collect()),
                    check: rng.chance(0.1),
                    ahead: rng.chance(0.3).then(|| Time::millis(rng.below(5_000))),
                    eager: rng.chance(0.5),
                };
                let kind = if rng.chance(0.5) { GvtKind::Synchronous } else { GvtKind::Asynchronous };
                let (facts, stats) = warped(&mesh, settings, until, &optimism, kind, &mut rng);
                let what = format!("case {case}: {optimism:?}, {kind:?}, {ties:?}");
                let first =
                    facts.committed.iter().zip(&reference.committed).find(|(found, other)| found != other);
                assert_eq!(first, None, "{what}: the first committed event that differs");
                assert_eq!(
                    (facts.digest, facts.events, facts.last),
                    (reference.digest, reference.events, reference.last),
                    "{what}"
                );
                all.join(&stats);
            }
        }
    }
    all
}

#[test]
fn whatever_is_rolled_back_the_result_is_that_of_the_sequential_reference() {
    let stats = cases(false);
    // The test is worth something only if all of this happens in it.
    assert!(stats.primary > 1000 && stats.secondary > 100 && stats.antis > 1000, "{stats:?}");
    assert!(stats.confirmed > 100 && stats.annihilated > 100 && stats.coasted > 100, "{stats:?}");
}

#[test]
fn no_lookahead_is_needed() {
    let stats = cases(true);
    assert!(stats.primary > 1000 && stats.secondary > 100, "{stats:?}");
}

#[test]
fn nobody_runs_away_while_gvt_stands_still_and_the_budget_holds() {
    let (mut stopped, mut filled) = (0, 0);
    for case in 0..300 {
        let mesh = Mesh::draw(case, false);
        if mesh.lps() < 2 {
            continue;
        }
        let settings = Settings { seed: case, ties: TieBreak::Fixed, window: mesh.lookahead() };
        let partition = mesh.partition(2);
        let mut federates = Federate::<Mesh>::build(&mesh, &partition, settings).expect("keeps the rules");
        let most = (case % 2 == 0).then_some(600);
        let optimism = Optimism { memory_bytes: most, eager: true, ..Optimism::default() };
        let mut warp = Warp::new(federates.swap_remove(0), &optimism);
        // The other federate never gets a turn, so that GVT stays at zero.
        let mut outbox = Outbox::new(2);
        let mut was_full = false;
        let turns = (0..10_000).take_while(|_| {
            let before = warp.log_bytes();
            let bounds = bounds_at_zero(warp.floor());
            let turn = warp.turn(&mesh, &partition, bounds, false, &mut outbox);
            outbox.flush_mail(|_, _, _| {});
            // The first turn after that may still commit something and take its place.
            let full = most.is_some_and(|most| before >= most) && bounds.floor > Time::ZERO;
            if full && turn == WarpTurn::Waits {
                filled += 1;
                assert!(warp.log_bytes() <= before, "case {case}: it waits for room, and the log grows");
            }
            if full && was_full {
                assert!(warp.log_bytes() <= before, "case {case}: the log is full, and grows");
            }
            was_full = full;
            turn == WarpTurn::Ran
        });
        assert!(turns.count() < 10_000, "case {case}: it stops some time");
        stopped += u32::from(warp.floor() < Time::MAX);
    }
    assert!(stopped > 50 && filled > 0, "{stopped} were stopped by GVT, {filled} turns by the budget");
}

#[test]
fn the_times_of_a_federate_are_the_least_of_its_lps() {
    for case in 0..100 {
        let mesh = Mesh::draw(case, false);
        let mut rng = Rng::new(case, 0x7469_6d65);
        let settings = Settings { seed: case, ties: TieBreak::Fixed, window: mesh.lookahead() };
        let partition = mesh.partition(1 + rng.below(u64::from(mesh.lps())) as u32);
        let mut federates = Federate::<Mesh>::build(&mesh, &partition, settings).expect("keeps the rules");
        let optimism = Optimism { eager: true, ..Optimism::default() };
        let mut warp = Warp::new(federates.swap_remove(0), &optimism);
        let mut outbox = Outbox::new(partition.federates());
        for _ in 0..rng.below(6) {
            let bounds = bounds_at_zero(warp.floor());
            warp.turn(&mesh, &partition, bounds, false, &mut outbox);
        }
        let all = warp.times();
        let lps =
            partition.members(0).into_iter().map(|lp| warp.times_of(lp, &partition)).collect::<Vec<_>>();
        let least = |time: fn(&paceline_kernel::Times) -> Time| lps.iter().map(time).min().expect("an LP");
        assert_eq!(all.processable, least(|times| times.processable), "case {case}");
        assert_eq!(all.emittable, least(|times| times.emittable), "case {case}");
        assert!(all.committable <= least(|times| times.committable), "case {case}");
        for times in lps {
            assert_eq!(times.committed, all.committed, "case {case}");
            assert!(
                times.committable <= times.processable && times.processable <= times.emittable,
                "case {case}"
            );
        }
    }
}
