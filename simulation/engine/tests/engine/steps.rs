//! A run that is cut into steps in any way, with events from outside at fixed places and any of its federates
//! run outside, gives the result of the sequential run that is cut at these places only.
//!
//! `PACELINE_CASES` sets the number of random models (default 60 in each test), `PACELINE_SEED` the first.

use crate::facts::{Facts, assert_same, facts, setting};
use crate::mesh::{Hop, Mesh};
use crate::script::{Play, Script, run_of};
use paceline_engine::{
    CheckpointFile, Checkpoints, EndedBy, Outside, Protocol, Reached, Run, RunError, SendError, Simulation,
    ThreadFederate,
};
use paceline_kernel::{Context, LpId, Model, Rng, TieBreak, Time};

/// Events that come from outside once the run has reached `when`.
#[derive(Clone, Debug)]
struct Place {
    when: Time,
    events: Vec<(LpId, Time, Hop)>,
}

/// A random model, places for events from outside, and the result of the reference.
struct Case {
    seed: u64,
    mesh: Mesh,
    ties: TieBreak,
    places: Vec<Place>,
    rng: Rng,
    reference: Facts,
}

impl Case {
    fn draw(seed: u64) -> Self {
        let (mesh, mut rng) = (Mesh::draw(seed, seed % 4 == 3), Rng::new(seed, 0x7374_6570));
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(seed) };
        // Times of real events and times between them.
        let plain = Simulation::new(mesh.clone()).until(mesh.until()).seed(seed).ties(ties);
        let mut times = Vec::new();
        let mut run = plain.protocol(Protocol::Sequential).start().expect("the model keeps the rules");
        while let Some(stepped) = run.run_event().expect("the model keeps the rules") {
            times.push(stepped.time);
        }
        let mut whens: Vec<Time> = (0..rng.below(4))
            .filter(|_| !times.is_empty())
            .map(|_| {
                let time = times[rng.below(times.len() as u64) as usize];
                Time::nanos(time.as_nanos() + rng.below(3))
            })
            .collect();
        whens.sort_unstable();
        let places = whens.into_iter().map(|when| {
            let events = (0..1 + rng.below(3)).map(|_| {
                let later = Time::nanos(mesh.grain().as_nanos() * rng.below(6));
                let lp = LpId(rng.below(u64::from(mesh.lps())) as u32);
                (lp, when + later, Hop::outside(rng.u64()))
            });
            Place { when, events: events.collect() }
        });
        let places = places.filter(|place| place.when < mesh.until()).collect();
        let mut case = Self { seed, mesh, ties, places, rng, reference: Facts::default() };
        let mut run = case.simulation().protocol(Protocol::Sequential).start().expect("as before");
        for place in &case.places {
            run.run_until(place.when).expect("as before");
            inject(&mut run, place);
        }
        run.run_until(Time::MAX).expect("as before");
        case.reference = facts(run.finish().expect("as before"));
        case
    }

    fn simulation(&self) -> Simulation<Mesh> {
        Simulation::new(self.mesh.clone()).until(self.mesh.until()).seed(self.seed).ties(self.ties)
    }

    /// A run under `protocol` and otherwise any settings, with a description.
    fn run(&mut self, protocol: Protocol) -> (Simulation<Mesh>, String) {
        let federates = 1 + self.rng.below(u64::from(self.mesh.lps())) as u32;
        let threads = [1, 2, 8][self.rng.below(3) as usize];
        let run = self.simulation().protocol(protocol).federates(federates).threads(threads);
        let run = match self.rng.below(6) {
            0 | 1 => run.shuffle_lps(self.seed),
            2..=4 if protocol != Protocol::Sequential && self.mesh.lookahead() > Time::ZERO => {
                self.put_outside(run, federates)
            }
            _ => run,
        };
        let run = if self.rng.chance(0.3) { run.leg_events(1 + self.rng.below(20)) } else { run };
        let what = format!("{federates} federates, {threads} threads");
        (run.draw_protocols(self.seed), format!("case {}: {protocol:?}, {what}", self.seed))
    }

    /// Has any of the federates run on threads of their own.
    fn put_outside(&mut self, run: Simulation<Mesh>, federates: u32) -> Simulation<Mesh> {
        (0..federates).fold(run, |run, federate| {
            if self.rng.chance(0.5) {
                return run;
            }
            let (mesh, seed) = (self.mesh.clone(), self.rng.u64());
            let ahead = [ThreadFederate::dawdling, ThreadFederate::optimistic_dawdling];
            let thread = ahead[self.rng.below(2) as usize](mesh, seed);
            run.outside(federate, Outside::new(thread))
        })
    }

    /// Whether a protocol can run the model.
    fn allows(&self, protocol: Protocol) -> bool {
        self.mesh.lookahead() > Time::ZERO
            || matches!(protocol, Protocol::Auto | Protocol::Sequential | Protocol::Optimistic)
    }
}

fn inject(run: &mut Run<Mesh>, place: &Place) {
    for (lp, at, hop) in &place.events {
        run.send(*lp, *at, hop.clone()).expect("the time is not over");
    }
}

/// Comes to `time` by random steps.
fn stroll(run: &mut Run<Mesh>, time: Time, rng: &mut Rng, what: &str) {
    let fail = |error: RunError| -> ! { panic!("{what}: {error}") };
    for _ in 0..rng.below(6) {
        let Some(next) = run.next_time().filter(|next| *next < time) else { break };
        match rng.below(6) {
            0 => {
                let between = next.as_nanos() + rng.below(2 + (time - next).as_nanos().min(1 << 32));
                run.run_until(Time::nanos(between).min(time)).unwrap_or_else(|error| fail(error));
            }
            1 if next + run.model().lookahead().max(Time::nanos(1)) <= time => {
                run.run_window().unwrap_or_else(|error| fail(error));
            }
            2 => run.set_threads(1 + rng.below(4) as u32).expect("the number is allowed"),
            3 => {
                let happened = run.events();
                run.monitor().ask_back();
                let reached = run.run_until(time).unwrap_or_else(|error| fail(error));
                assert_ne!(reached, Reached::Stopped, "{what}");
                assert!(run.events() >= happened && run.time() <= time, "{what}: it has not gone too far");
            }
            _ => {
                let (waiting, happened) = (run.pending(), run.events());
                let peeked = run.next_event().map(|(_, at)| at);
                assert_eq!(peeked, run.can_step().then_some(next), "{what}");
                assert_eq!(run.pending(), waiting, "{what}: to look takes nothing out");
                let stepped = run.run_event().unwrap_or_else(|error| fail(error));
                let stepped = stepped.expect("there is an event");
                assert_eq!((stepped.time, run.time()), (next, next), "{what}");
                let most = waiting - 1 + stepped.sent.len();
                let pending = run.pending();
                assert!(pending == most || pending < most && run.model().cancels(), "{what}");
                assert_eq!(run.events(), happened + 1, "{what}");
            }
        }
    }
    assert_ne!(run.run_until(time).unwrap_or_else(|error| fail(error)), Reached::Stopped, "{what}");
    let mut least = Time::MAX;
    let mut count = 0;
    run.look_at_pending(|_, at, _| (least, count) = (least.min(at), count + 1));
    assert!(count == run.pending() && least >= time.min(run.model().until()), "{what}: {least}");
}

fn cases() -> impl Iterator<Item = Case> {
    let first = setting("PACELINE_SEED", 0);
    (first..first + setting("PACELINE_CASES", 60)).map(Case::draw)
}

#[test]
fn cuts_and_events_from_outside_change_nothing() {
    let mut injected = 0;
    for mut case in cases() {
        let protocols = Protocol::ALL.map(|(protocol, ..)| protocol);
        for protocol in protocols.into_iter().filter(|protocol| case.allows(*protocol)).collect::<Vec<_>>() {
            let (simulation, what) = case.run(protocol);
            let mut run = simulation.start().unwrap_or_else(|error| panic!("{what}: {error}"));
            for place in case.places.clone() {
                stroll(&mut run, place.when, &mut case.rng, &what);
                inject(&mut run, &place);
                injected += place.events.len();
            }
            stroll(&mut run, Time::MAX, &mut case.rng, &what);
            assert_same(&facts(run.finish().expect("it is at its end")), &case.reference, &what);
        }
    }
    assert!(injected > 0, "some events have come from outside");
}

#[test]
fn event_by_event_is_the_total_order_however_lps_are_dealt() {
    for mut case in cases() {
        let mut order = Vec::new();
        let mut run =
            case.simulation().protocol(Protocol::Sequential).start().expect("the model keeps the rules");
        while let Some(stepped) = run.run_event().expect("the model keeps the rules") {
            order.push((stepped.lp, stepped.time, stepped.event));
        }
        let report = run.finish().expect("it is at its end");
        assert_eq!(report.outputs.concat(), order, "case {}: what is reported is what happens", case.seed);
        let protocol = if case.allows(Protocol::Window) { Protocol::Window } else { Protocol::Optimistic };
        let (simulation, what) = case.run(protocol);
        let mut run = simulation.start().unwrap_or_else(|error| panic!("{what}: {error}"));
        for expected in &order {
            let stepped = run.run_event().unwrap_or_else(|error| panic!("{what}: {error}"));
            let stepped = stepped.unwrap_or_else(|| panic!("{what}: there is an event"));
            assert_eq!(&(stepped.lp, stepped.time, stepped.event), expected, "{what}");
        }
        assert_eq!(run.run_event().expect("nothing is left"), None, "{what}");
        assert_eq!(run.finish().expect("it is at its end").digest, report.digest, "{what}");
    }
}

#[test]
fn a_checkpoint_of_a_run_in_steps_holds_what_came_from_outside() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("run.checkpoint");
    let every = std::time::Duration::from_secs(3600);
    let checkpoints = Checkpoints { path: path.clone(), every, header: Vec::new() };
    let mut resumed = 0;
    for mut case in cases().filter(|case| !case.places.is_empty()) {
        let protocol = if case.allows(Protocol::Window) { Protocol::Window } else { Protocol::Sequential };
        let (simulation, what) = case.run(protocol);
        let mut run = simulation.checkpoint(checkpoints.clone()).start().expect("as before");
        for (number, place) in case.places.clone().into_iter().enumerate() {
            stroll(&mut run, place.when, &mut case.rng, &what);
            inject(&mut run, &place);
            if number == 0 {
                assert_eq!(run.checkpoint(), Ok(true), "{what}");
                drop(run);
                let world = CheckpointFile::open(&path).expect("it is complete").world(&case.mesh);
                let (simulation, _) = case.run(protocol);
                run = simulation.resume(world.expect("it is its model")).start().expect("as before");
                resumed += 1;
            }
        }
        run.run_until(Time::MAX).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same(&facts(run.finish().expect("it is at its end")), &case.reference, &what);
    }
    assert!(resumed > 0, "some of the runs were resumed");
}

/// A clock that breaks the rules at a given tick.
struct Clock {
    breaks_at: u64,
}

impl Play for Clock {
    fn lps(&self) -> u32 {
        3
    }

    fn init(&self, _: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::secs(1), 0);
        0
    }

    fn handle(&self, ticks: &mut u64, _: u64, cx: &mut Context<Script>) {
        *ticks += 1;
        if *ticks == self.breaks_at {
            cx.send(LpId((cx.lp().0 + 1) % 3), Time::ZERO, 0);
        }
        cx.schedule(Time::secs(1), 0);
    }
}

fn clock() -> Simulation<Script> {
    run_of(Clock { breaks_at: 0 }).protocol(Protocol::Window).federates(3).threads(2)
}

#[test]
fn a_run_says_where_it_is() {
    let mut run = clock().until(Time::secs(10)).start().expect("it is sound");
    assert_eq!((run.time(), run.next_time(), run.pending()), (Time::ZERO, Some(Time::secs(1)), 3));
    assert_eq!(run.run_window(), Ok(Reached::Time));
    assert_eq!((run.time(), run.events(), run.next_time()), (Time::secs(2), 3, Some(Time::secs(2))));
    assert_eq!(run.run_until(Time::millis(4500)), Ok(Reached::Time));
    assert_eq!(run.states().map(|(_, ticks)| *ticks).collect::<Vec<_>>(), [4, 4, 4]);
    // What is over does not come back.
    assert_eq!(run.run_until(Time::secs(3)), Ok(Reached::Time));
    assert_eq!(run.time(), Time::millis(4500));
    assert_eq!(run.run_until(Time::secs(99)), Ok(Reached::End));
    assert_eq!((run.time(), run.next_time(), run.run_event()), (Time::secs(10), None, Ok(None)));
    let report = run.finish().expect("it is at its end");
    assert_eq!((report.ended_by, report.end_time, report.events), (EndedBy::Horizon, Time::secs(10), 27));
}

#[test]
fn a_run_ends_where_its_owner_ends_it() {
    let mut run = clock().start().expect("it is sound");
    run.run_until(Time::millis(2500)).expect("it keeps the rules");
    let report = run.finish().expect("it may end anywhere");
    let expected = (EndedBy::Interrupted, Time::millis(2500), 6);
    assert_eq!((report.ended_by, report.end_time, report.events), expected);
    let whole = clock().until(Time::millis(2500)).run().expect("it keeps the rules");
    assert_eq!(report.digest, whole.digest);
}

#[test]
fn a_stopped_run_says_so_and_goes_no_further() {
    let mut run = clock().start().expect("it is sound");
    run.run_until(Time::secs(3)).expect("it keeps the rules");
    run.monitor().stop();
    assert_eq!(run.run_until(Time::secs(5)), Ok(Reached::Stopped));
    assert_eq!(run.time(), Time::secs(3));
}

#[test]
fn events_from_outside_that_cannot_be_are_refused_and_change_nothing() {
    let mut run = clock().start().expect("it is sound");
    run.run_until(Time::secs(5)).expect("it keeps the rules");
    let lp = LpId(3);
    assert_eq!(run.send(lp, Time::secs(9), 0), Err(SendError::UnknownLp { lp, lps: 3 }));
    let (lp, at, earliest) = (LpId(0), Time::millis(4999), Time::secs(5));
    assert_eq!(run.send(lp, at, 0), Err(SendError::TooEarly { lp, at, earliest }));
    assert_eq!(run.send(lp, Time::MAX, 0), Err(SendError::BeyondClock { lp }));
    assert_eq!(run.pending(), 3);
    // Within an instant that has begun there is no place any more.
    run.run_event().expect("it keeps the rules");
    let (at, earliest) = (Time::secs(5), Time::nanos(5_000_000_001));
    assert_eq!(run.send(lp, at, 0), Err(SendError::TooEarly { lp, at, earliest }));
    assert_eq!(run.send(lp, earliest, 0), Ok(()));
}

#[test]
fn after_a_fault_nothing_goes_on() {
    for by_event in [false, true] {
        let faulty = run_of(Clock { breaks_at: 3 }).protocol(Protocol::Window).federates(3).threads(2);
        let mut run = faulty.start().expect("it is sound");
        assert_eq!(run.run_until(Time::secs(3)), Ok(Reached::Time));
        let error = if by_event { run.run_event().err() } else { run.run_until(Time::secs(9)).err() };
        assert!(matches!(error, Some(RunError::Rule(_))), "{error:?}");
        assert_eq!(run.run_until(Time::secs(10)), Err(RunError::Failed));
        assert_eq!(run.run_event(), Err(RunError::Failed));
        assert_eq!(run.finish().err(), Some(RunError::Failed));
    }
}

#[test]
fn a_run_in_real_time_is_never_early_and_says_how_late_it_is() {
    // 300 instants, 1 ms of real time apart: the clock decides when, and nothing else changes.
    let plain = clock().until(Time::secs(300)).run().expect("it keeps the rules");
    let mut run = clock().until(Time::secs(300)).pace(1000.0).start().expect("it is sound");
    let start = std::time::Instant::now();
    for second in [50, 51, 200] {
        run.run_until(Time::secs(second)).expect("it keeps the rules");
        assert!(start.elapsed().as_micros() >= u128::from(second) * 1000, "at {second} s");
    }
    run.run_until(Time::MAX).expect("it keeps the rules");
    let report = run.finish().expect("it is at its end");
    let lateness = report.lateness.expect("it was tied to real time");
    assert!(lateness.looks > 0 && lateness.most >= lateness.last, "{lateness:?}");
    assert_eq!((report.digest, report.events), (plain.digest, plain.events));
    assert!(matches!(clock().pace(0.0).start().err(), Some(RunError::Pace { .. })));
}

#[test]
fn other_threads_send_into_a_run_that_waits_for_the_clock() {
    /// Keeps the numbers that come from outside, as digits, and does nothing by itself.
    struct Bell;
    impl Play for Bell {
        fn lps(&self) -> u32 {
            1
        }
        fn init(&self, _: LpId, _: &mut Context<Script>) -> u64 {
            0
        }
        fn handle(&self, rung: &mut u64, by: u64, cx: &mut Context<Script>) {
            assert!(cx.now() > Time::ZERO, "the run has begun");
            *rung = *rung * 10 + by;
        }
    }
    let hour = Time::secs(3600);
    let mut run = run_of(Bell).until(hour).pace(1.0).start().expect("it is sound");
    let (sender, monitor) = (run.sender(), run.monitor());
    assert!(matches!(sender.send(LpId(1), None, 0), Err(SendError::UnknownLp { .. })));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..4 {
                let rung = monitor.events();
                sender.send(LpId(0), None, number).expect("there is an LP 0");
                while monitor.events() == rung {
                    std::thread::yield_now();
                }
            }
            monitor.stop();
        });
        assert_eq!(run.run_until(hour), Ok(Reached::Stopped));
    });
    assert_eq!(*run.state(LpId(0)), 123, "in the order in which they were sent");
}
