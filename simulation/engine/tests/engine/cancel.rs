//! Events that LPs cancel: under every protocol, however the run is divided, paused, resumed, stepped or
//! rolled back, exactly the others happen, and every LP was answered the same. And what is committed comes
//! with the state right after it.
//!
//! `PACELINE_CASES` sets the number of random models (default 120 in each test), `PACELINE_SEED` the first.

mod json;
mod timers;

use crate::facts::setting;
use crate::way::speculation;
use paceline_engine::determinism::{self, Comparison, Difference};
use paceline_engine::{CheckpointFile, Checkpoints, Outside, Protocol, Report, Simulation, ThreadFederate};
use paceline_kernel::{
    Context, EventId, Federate, Finished, LpId, Model, Outbox, Partition, Progress, Rng, Settings, TieBreak,
    Time,
};
use timers::{Cancels, Ignores, Memory, Message, Output, Timers};

/// Everything that a run computes.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    ended: String,
    committed: Vec<(LpId, Time, Message)>,
    left_over: Vec<(LpId, Time, Message)>,
    states: Vec<(LpId, Time, u64, u32)>,
    remembered: Vec<(LpId, u64, u32)>,
}

fn facts(report: Report<Output>) -> Facts {
    let Report { digest, events, ended_by, end_time, outputs, .. } = report;
    let mut all = Output::default();
    for output in outputs {
        all.committed.extend(output.committed);
        all.left_over.extend(output.left_over);
        all.states.extend(output.states);
        all.remembered.extend(output.remembered);
    }
    // What an LP has committed is in order from part to part.
    all.committed.sort_by_key(|(lp, at, _)| (*lp, *at));
    all.states.sort_by_key(|(lp, at, ..)| (*lp, *at));
    all.left_over.sort_by_key(|(lp, at, payload)| (*lp, *at, format!("{payload:?}")));
    all.remembered.sort_unstable();
    let Output { committed, left_over, states, remembered } = all;
    let ended = format!("{events} events, digest {digest}, {ended_by:?} at {end_time}");
    Facts { ended, committed, left_over, states, remembered }
}

#[track_caller]
fn assert_same(run: &Facts, reference: &Facts, what: &str) {
    let first = run.committed.iter().zip(&reference.committed).find(|(run, reference)| run != reference);
    assert_eq!(first, None, "{what}: the first committed event that differs");
    let first = run.states.iter().zip(&reference.states).find(|(run, reference)| run != reference);
    assert_eq!(first, None, "{what}: the first state after an event that differs");
    assert_eq!(run.states.len(), run.committed.len(), "{what}: each event was committed with a state");
    assert_eq!(run.remembered, reference.remembered, "{what}");
    assert_eq!(run.left_over, reference.left_over, "{what}");
    assert_eq!(run.ended, reference.ended, "{what}");
}

/// A random model with the result of the reference, and settings to draw.
struct Case {
    model: Timers<Cancels>,
    ties: TieBreak,
    rng: Rng,
    reference: Facts,
    events: u64,
}

impl Case {
    fn draw(seed: u64) -> Self {
        let (model, mut rng) = (Timers::draw(seed), Rng::new(seed, 0x6361_6e63));
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(seed) };
        let mut case = Self { model, ties, rng, reference: Facts::default(), events: 0 };
        let run = case.simulation().protocol(Protocol::Sequential).run();
        let report = run.expect("the model keeps the rules");
        case.events = report.events;
        case.reference = facts(report);
        case
    }

    fn simulation(&self) -> Simulation<Timers<Cancels>> {
        Simulation::new(self.model).until(self.model.until()).seed(self.model.seed).ties(self.ties)
    }

    /// Every protocol that can run the model.
    fn protocols(&self) -> impl Iterator<Item = Protocol> + use<> {
        let zero = self.model.lookahead == Time::ZERO;
        let all = Protocol::ALL.into_iter().map(|(protocol, ..)| protocol);
        all.filter(move |protocol| {
            !zero || matches!(protocol, Protocol::Auto | Protocol::Sequential | Protocol::Optimistic)
        })
    }

    /// A run under `protocol` and otherwise any settings, with a description.
    fn run(&mut self, protocol: Protocol) -> (Simulation<Timers<Cancels>>, String) {
        let rng = &mut self.rng;
        let federates = 1 + rng.below(u64::from(self.model.lps.min(16))) as u32;
        let threads = [1, 2, 2, 8][rng.below(4) as usize];
        let speculation = speculation(rng, self.model.lps, size_of::<Memory>());
        let groups = if rng.chance(0.7) { u32::MAX } else { 1 + rng.below(4) as u32 };
        let seed = self.model.seed;
        let what = format!(
            "case {seed}: {protocol:?}, {federates} federates in at most {groups} groups, {threads} threads, \
             {:?}, {speculation:?}",
            self.ties
        );
        let run = self.simulation().protocol(protocol).federates(federates).groups(groups);
        (run.threads(threads).speculation(speculation).draw_protocols(seed), what)
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let first = setting("PACELINE_SEED", 0);
    (first..first + setting("PACELINE_CASES", 120)).map(Case::draw)
}

#[test]
fn every_way_to_run_gives_one_result() {
    let (mut undone, mut left_over) = (0, 0);
    for mut case in cases() {
        left_over += case.reference.left_over.len();
        for protocol in case.protocols() {
            let (run, what) = case.run(protocol);
            let mut report = run.run().unwrap_or_else(|error| panic!("{what}: {error}"));
            let speculates = matches!(protocol, Protocol::Optimistic | Protocol::Mixed);
            if let Some(rollbacks) = report.rollbacks.take().filter(|_| speculates) {
                assert_eq!(rollbacks.processed - rollbacks.undone, report.events, "{what}");
                undone += rollbacks.undone;
            }
            assert_same(&facts(report), &case.reference, &what);
        }
    }
    assert!(undone > 1_000 && left_over > 1_000, "{undone} events were undone, {left_over} are left over");
}

/// Without this a mistake in the kernel that is the same everywhere would go unnoticed.
#[test]
fn what_happens_is_what_a_model_wants_that_ignores_stale_timers() {
    let (mut ignored, mut all) = (0, 0);
    for case in cases() {
        let (ignores, one) = (case.model.other::<Ignores>(), Partition::runs(case.model.lps, 1));
        let settings = Settings { seed: ignores.seed, ties: case.ties, ..Settings::default() };
        let built = Federate::<Timers<Ignores>>::build(&ignores, &one, settings);
        let mut federate = built.expect("the model keeps the rules").remove(0);
        let progress = federate.step_on(&ignores, &one, ignores.until(), usize::MAX, &mut Outbox::new(1));
        assert_eq!(progress, Progress::Idle, "the model keeps the rules");
        let Finished { events, output, .. } = federate.finish(&ignores);
        let what = format!("case {}", case.model.seed);
        assert_eq!(output.remembered, case.reference.remembered, "{what}");
        let happened: u64 = case.reference.remembered.iter().map(|(.., happened)| u64::from(*happened)).sum();
        assert_eq!(case.events, happened, "{what}: what was cancelled is not counted");
        assert_eq!(case.reference.committed.len() as u64, happened, "{what}: nor committed");
        (ignored, all) = (ignored + events - case.events, all + events);
    }
    assert!(10 * ignored > all, "{ignored} of {all} events were cancelled");
}

#[test]
fn pauses_and_checkpoints_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("run.checkpoint");
    let checkpoints = Checkpoints { path, every: std::time::Duration::ZERO, header: Vec::new() };
    let mut resumed = 0;
    for mut case in cases() {
        let protocols: Vec<_> = case.protocols().collect();
        // A run that ends well leaves its last checkpoint, from which the next one goes on.
        for _ in 0..4 {
            let protocol = protocols[case.rng.below(protocols.len() as u64) as usize];
            let (mut run, what) = case.run(protocol);
            if checkpoints.path.exists() {
                let world =
                    CheckpointFile::open(&checkpoints.path).expect("it is complete").world(&case.model);
                run = run.resume(world.unwrap_or_else(|error| panic!("{what}: {error}")));
                resumed += 1;
            }
            let events = 1 + case.rng.below(1 + case.events / 3);
            let report = run.leg_events(events).checkpoint(checkpoints.clone()).run();
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_same(&facts(report), &case.reference, &what);
        }
        if checkpoints.path.exists() {
            std::fs::remove_file(&checkpoints.path).expect("it can be removed");
        }
    }
    assert!(resumed > 100, "{resumed} runs were resumed");
}

#[test]
fn steps_and_lists_of_what_is_pending_do_not_show_what_was_cancelled() {
    for mut case in cases() {
        let protocol = case.protocols().last().expect("there are some");
        let (simulation, what) = case.run(protocol);
        let mut run = simulation.start().unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut steps = 0;
        while case.rng.chance(0.99) {
            let next = run.next_time();
            let (mut waiting, mut least) = (0, Time::MAX);
            run.look_at_pending(|_, at, _| (waiting, least) = (waiting + 1, least.min(at)));
            assert_eq!(run.pending(), waiting, "{what}");
            assert_eq!(next, Some(least).filter(|least| *least < case.model.until()), "{what}");
            let stepped = run.run_event().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(stepped.as_ref().map(|stepped| stepped.time), next, "{what}");
            if stepped.is_none() {
                break;
            }
            steps += 1;
        }
        assert_eq!(run.events(), steps, "{what}");
        run.run_until(Time::MAX).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same(&facts(run.finish().expect("it is at its end")), &case.reference, &what);
    }
}

#[test]
fn federates_outside_cancel_as_well() {
    for mut case in cases().filter(|case| case.model.lookahead > Time::ZERO) {
        for protocol in case.protocols().filter(|protocol| *protocol != Protocol::Sequential) {
            let (run, what) = case.run(protocol);
            let (seed, model) = (case.rng.u64(), case.model);
            let kinds = [ThreadFederate::dawdling, ThreadFederate::optimistic_dawdling];
            let thread = kinds[case.rng.below(2) as usize](model, seed);
            let report = run.outside(0, Outside::new(thread)).run();
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_same(&facts(report), &case.reference, &what);
        }
    }
}

#[test]
fn two_runs_side_by_side_are_the_same() {
    for case in cases() {
        let how = Comparison {
            until: case.model.until(),
            seed: case.model.seed,
            ties: case.ties,
            ..Comparison::default()
        };
        let same = determinism::compare(&case.model, &case.model, &how).expect("they are the same");
        assert_eq!(same.events, case.events, "case {}: what was cancelled is not compared", case.model.seed);
    }
}

/// An LP with two timers, of which it cancels one or the other.
struct Picks(usize);

impl Model for Picks {
    type State = [EventId; 2];
    type Event = ();
    type Output = ();

    const CANCELS: bool = true;

    fn lps(&self) -> u32 {
        1
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> [EventId; 2] {
        cx.schedule(Time::secs(1), ());
        [5, 6].map(|second| cx.schedule_at(Time::secs(second), ()))
    }
    fn handle(&self, timers: &mut [EventId; 2], (): &(), cx: &mut Context<Self>) {
        cx.cancel(timers[self.0]);
    }
}

#[test]
fn two_runs_that_cancel_different_events_differ() {
    let different = determinism::compare(&Picks(0), &Picks(1), &Comparison::default()).expect_err("they do");
    let (first, second) = ("what was due at 5s".to_owned(), "what was due at 6s".to_owned());
    assert_eq!((different.events, different.difference), (0, Difference::Cancelled(first, second)));
    assert!(determinism::compare(&Picks(1), &Picks(1), &Comparison::default()).is_ok());
}
