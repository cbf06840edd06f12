//! Federates that are run outside: the result is that of the run alone, whoever is outside and when; who
//! breaks a rule is named.
//!
//! `PACELINE_CASES` sets the number of random models (default 60), `PACELINE_SEED` the first.

use std::time::Duration;

use crate::facts::{assert_same, facts, sequential_facts, setting};
use crate::mesh::{Hop, Mesh, STATE_BYTES};
use crate::processes::protocols;
use crate::way::speculation;
use paceline_engine::{
    Door, IfLate, Outside, OutsideError, OutsideErrorKind, OutsideFederate, OutsideLps, Protocol, RunError,
    Simulation, ThreadFederate,
};
use paceline_kernel::{Event, LpId, Model, Rng, Time};

/// A federate on a thread of its own: of any kind.
fn thread(mesh: &Mesh, rng: &mut Rng) -> (ThreadFederate<Mesh>, &'static str) {
    let (mesh, seed) = (mesh.clone(), rng.u64());
    match rng.below(4) {
        0 => (ThreadFederate::optimistic(mesh), "ahead"),
        1 | 2 => (ThreadFederate::optimistic_dawdling(mesh, seed), "ahead, dawdling"),
        _ => (ThreadFederate::dawdling(mesh, seed), "dawdling"),
    }
}

#[test]
fn whoever_is_outside_the_result_is_that_of_the_run_alone() {
    let first = setting("PACELINE_SEED", 0);
    let mut joined = 0;
    for seed in first..first + setting("PACELINE_CASES", 60) {
        let (mesh, mut rng) = (Mesh::draw(seed, false), Rng::new(seed, 0x6f75_7473));
        let run = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = sequential_facts(run());
        for protocol in protocols() {
            let federates = 1 + rng.below(u64::from(mesh.lps().min(8))) as u32;
            let mut run = run().protocol(protocol).federates(federates).threads(1 + rng.below(3) as u32);
            let speculation = speculation(&mut rng, mesh.lps(), STATE_BYTES);
            run = run.speculation(speculation.clone());
            let mut what =
                format!("case {seed}: {protocol:?}, {federates} federates, {speculation:?}, outside");
            for federate in 0..federates {
                if rng.chance(0.4) {
                    let (thread, kind) = thread(&mesh, &mut rng);
                    let mut outside = Outside::new(thread);
                    what += &format!(" {federate} ({kind})");
                    if rng.chance(0.3) {
                        let grain = mesh.grain().as_nanos();
                        let from = Time::nanos(grain * rng.below(30));
                        let until = Time::nanos(from.as_nanos() + grain * (1 + rng.below(100)));
                        outside = outside.from(from).until(until);
                        what += &format!(" from {from} until {until}");
                    }
                    run = run.outside(federate, outside);
                    joined += 1;
                }
            }
            if rng.chance(0.3) {
                let events = 1 + rng.below(30);
                run = run.leg_events(events);
                what += &format!(", legs of {events} events");
            }
            let report = run.run().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_same(&facts(report), &reference, &what);
        }
    }
    assert!(joined > 0, "somebody was outside");
}

/// What a stubborn federate answers to its first question: its next time, and messages.
type Reply = fn(&mut OutsideLps<Mesh>, Time) -> (Time, Vec<Event<Hop>>);

/// Answers from within the question, as it was asked to; then it has nothing to do any more.
struct Stubborn {
    reply: Reply,
    lps: Option<(OutsideLps<Mesh>, Door<Mesh>)>,
}

impl OutsideFederate<Mesh> for Stubborn {
    fn begin(&mut self, lps: OutsideLps<Mesh>, door: Door<Mesh>) -> Time {
        let reached = lps.reached;
        self.lps = Some((lps, door));
        reached
    }

    fn advance(&mut self, bound: Time, _events: Vec<Event<Hop>>) {
        let (lps, door) = self.lps.as_mut().expect("it has begun");
        let (next, events) = (self.reply)(lps, bound);
        door.done(next, events);
    }

    fn end(&mut self) {
        let (lps, door) = self.lps.take().expect("it has begun");
        door.ended(lps);
    }
}

fn several() -> Mesh {
    let mesh = (0..).map(|seed| Mesh::draw(seed, false)).find(|mesh| mesh.lps() > 3);
    mesh.expect("some meshes have several LPs")
}

/// The error of a run of two federates in which federate 1 is run like this.
pub fn refused(protocol: Protocol, outside: Outside<Mesh>) -> OutsideErrorKind {
    let run = Simulation::new(several()).until(Time::secs(1_000)).protocol(protocol).federates(2).threads(2);
    match run.outside(1, outside).run().expect_err("it breaks a rule") {
        RunError::Outside(OutsideError { federate: 1, kind, .. }) => kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_breaks_a_rule_is_named_with_what_was_allowed() {
    let stubborn = |reply: Reply| Outside::new(Stubborn { reply, lps: None });
    for protocol in protocols() {
        let kind = refused(protocol, stubborn(|_, _| (Time::ZERO, Vec::new())));
        assert!(matches!(kind, OutsideErrorKind::NotDone { next: Time::ZERO, .. }), "{protocol:?}: {kind:?}");
        let kind = refused(protocol, stubborn(|lps, _| (Time::MAX, vec![message(lps, 0, Time::ZERO)])));
        assert!(matches!(kind, OutsideErrorKind::TooEarly { at: Time::ZERO, .. }), "{protocol:?}: {kind:?}");
        let kind = refused(protocol, stubborn(|lps, bound| (Time::MAX, vec![message(lps, 1 << 30, bound)])));
        let is_unknown = matches!(kind, OutsideErrorKind::UnknownLp { to: LpId(0x4000_0000), .. });
        assert!(is_unknown, "{protocol:?}: {kind:?}");
        assert_eq!(refused(protocol, Outside::new(Gone)), OutsideErrorKind::Gone, "{protocol:?}");
        for runs_ahead in [false, true] {
            if runs_ahead && !matches!(protocol, Protocol::Optimistic | Protocol::Mixed) {
                continue;
            }
            let limit = Duration::from_millis(20);
            let kind = refused(protocol, silent(runs_ahead).limit(limit, IfLate::EndRun));
            assert_eq!(kind, OutsideErrorKind::Late(limit), "{protocol:?}, runs ahead: {runs_ahead}");
        }
    }
}

/// A message of the first LP of a federate.
pub fn message(lps: &mut OutsideLps<Mesh>, to: u32, at: Time) -> Event<Hop> {
    let from = lps.lps().next().expect("it has LPs");
    let OutsideLps { federate, partition, .. } = lps;
    federate.send_from(partition, from, LpId(to), at, Hop::outside(1))
}

/// Goes away as soon as it is there.
struct Gone;

impl OutsideFederate<Mesh> for Gone {
    fn begin(&mut self, lps: OutsideLps<Mesh>, _door: Door<Mesh>) -> Time {
        lps.reached
    }
    fn advance(&mut self, _bound: Time, _events: Vec<Event<Hop>>) {}
    fn end(&mut self) {}
}

/// Never answers. Its door is kept.
struct Silent {
    runs_ahead: bool,
    door: Option<Door<Mesh>>,
}

fn silent(runs_ahead: bool) -> Outside<Mesh> {
    Outside::new(Silent { runs_ahead, door: None })
}

impl OutsideFederate<Mesh> for Silent {
    fn begin(&mut self, lps: OutsideLps<Mesh>, door: Door<Mesh>) -> Time {
        self.door = Some(door);
        lps.reached
    }
    fn advance(&mut self, _bound: Time, _events: Vec<Event<Hop>>) {}
    fn end(&mut self) {}
    fn is_optimistic(&self) -> bool {
        self.runs_ahead
    }
}

#[test]
fn one_that_is_dropped_is_silent_and_the_others_go_on() {
    let ahead = [Protocol::Optimistic, Protocol::Mixed].map(|protocol| (protocol, true));
    for (protocol, runs_ahead) in protocols().map(|protocol| (protocol, false)).chain(ahead) {
        let mesh = several();
        let run = Simulation::new(mesh.clone()).until(Time::secs(1_000)).protocol(protocol).federates(2);
        let outside = silent(runs_ahead).limit(Duration::from_millis(20), IfLate::Drop);
        let report = run.threads(2).outside(1, outside).leg_events(5).run().expect("who is late is dropped");
        assert_eq!(report.dropped, [1], "{protocol:?}");
        let inside: Vec<u32> = mesh.partition(2).members(0).iter().map(|lp| lp.0).collect();
        let committed: Vec<u32> = report.outputs.iter().flatten().map(|(lp, ..)| lp.0).collect();
        assert!(!committed.is_empty() && committed.iter().all(|lp| inside.contains(lp)), "{protocol:?}");
    }
}

#[test]
fn what_cannot_be_done_with_outside_federates_is_refused_at_once() {
    let mesh = several();
    let base = || Simulation::new(mesh.clone()).federates(2).protocol(Protocol::Window);
    let outside = || Outside::new(ThreadFederate::new(mesh.clone()));
    let error = |run: Simulation<Mesh>| run.run().expect_err("it is refused").to_string();
    assert_eq!(
        error(base().outside(2, outside())),
        "outside federate 2: there is no such federate; allowed: numbers below 2"
    );
    assert_eq!(
        error(base().outside(1, outside()).outside(1, outside())),
        "outside federate 1: two outside federates have this number"
    );
    assert_eq!(
        error(base().protocol(Protocol::Sequential).outside(0, outside())),
        "outside federate 0: the sequential protocol cannot be used with outside federates"
    );
    let mut run = base().outside(1, silent(false)).start().expect("it can be started");
    let error = run.run_event().expect_err("nobody knows what it does at one event");
    assert_eq!(error.to_string(), "outside federate 1: single steps cannot be used with outside federates");
}
