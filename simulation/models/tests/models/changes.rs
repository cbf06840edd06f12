//! Parameters that change while a run goes on: one result in every mode of the engine, whether a change was
//! known from the start or was made wherever a run stood still.

use paceline_engine::{Monitor, Protocol, Reached, RunError, Simulation};
use paceline_kernel::{Change, ChangeError, Model, ParameterValue, Time};
use paceline_models::phold::{Destination, Phold};
use paceline_models::queueing::Queueing;
use paceline_models::traffic::Traffic;
use paceline_results::Results;

use crate::built;
use crate::modes::{all_agree, outcome, outcome_of};
use crate::queueing::MIXED;

const JAM: &str = "grid = 6\nrate = 150\nlights = true\nstorage = true\nblock = 0.1\noffset = \"1.3s\"";

fn jam() -> Traffic {
    built(JAM, |section| Traffic::from_section(section, 1))
}

fn workshop() -> Queueing {
    built(MIXED, Queueing::from_section)
}

fn change(at_s: u64, set: &str, to: ParameterValue) -> Change {
    Change { at: Time::secs(at_s), set: set.into(), to }
}

fn secs(secs: u64) -> ParameterValue {
    ParameterValue::Time(Time::secs(secs))
}

fn changed<M: Model>(mut model: M, changes: &[Change]) -> M {
    changes.iter().for_each(|change| change.make(&mut model).expect("it is declared"));
    model
}

fn sequential<M: Model>(model: M, until: Time) -> Simulation<M> {
    Simulation::new(model).protocol(Protocol::Sequential).until(until)
}

#[test]
fn changes_that_are_known_from_the_start_give_one_result_in_every_mode() {
    let until = Time::secs(600);
    let half = ParameterValue::Number(0.5);
    let of_traffic = [
        change(0, "model.demand", half),
        change(100, "model.cycle", secs(20)),
        change(200, "model.demand", ParameterValue::Number(1.0)),
        change(333, "model.cycle", ParameterValue::Time(Time::millis(7_700))),
    ];
    all_agree(|| changed(jam(), &of_traffic), until);
    let of_queues = [
        change(0, "model.classes.orders.between_arrivals", secs(3)),
        change(90, "model.stations.bench.service", secs(5)),
        change(200, "model.classes.orders.between_arrivals", secs(1)),
    ];
    all_agree(|| changed(workshop(), &of_queues), until);
    // Each of them matters.
    let digest = |changes: &[Change]| outcome(sequential(changed(jam(), changes), until)).0;
    let mut digests: Vec<String> = (0..=of_traffic.len()).map(|count| digest(&of_traffic[..count])).collect();
    digests.dedup();
    assert_eq!(digests.len(), of_traffic.len() + 1, "{digests:?}");
}

/// Runs the model in all modes, has the parameters set wherever the run stands still, and compares it with a
/// sequential run that had the same changes from the start.
fn made_live<M: Model + Results>(model: impl Fn() -> M, settings: &[(&str, ParameterValue)], until: Time) {
    for (protocol, ..) in Protocol::ALL {
        for (federates, threads) in [(1, 1), (7, 2)] {
            let monitor = Monitor::new();
            let simulation = Simulation::new(model()).protocol(protocol).federates(federates);
            let simulation = simulation.threads(threads).until(until).leg_events(700).monitor(&monitor);
            let mut run = simulation.start().expect("good settings");
            for (number, (set, to)) in (0..).zip(settings) {
                // Before the first event, and then wherever the workers leave the federates that far.
                let so_far = until.as_ticks() / (settings.len() as u64 + 1) * number;
                for _ in 0..2 * number {
                    monitor.ask_back();
                    run.run_until(Time::ticks(so_far)).expect("the model keeps the rules");
                }
                // Now, or some time later.
                let at = run.earliest_change().saturating_add(Time::secs(10 * (number % 2)));
                run.change(Change { at, set: (*set).into(), to: *to }).expect("it is allowed");
            }
            assert_eq!(run.run_until(Time::MAX).expect("as above"), Reached::End);
            let changes = run.changes().to_vec();
            assert_eq!(changes.len(), settings.len());
            let (report, left) = run.finish_keeping_model().expect("as above");
            assert_eq!(report.changes, changes);
            let expected = outcome(sequential(changed(model(), &changes), until));
            assert_eq!(
                outcome_of(report, &left),
                expected,
                "{protocol:?}, {federates} federates: {changes:?}"
            );
        }
    }
}

#[test]
fn a_change_made_while_a_run_goes_on_gives_what_the_same_schedule_gives() {
    let number = ParameterValue::Number;
    let of_traffic = [
        ("model.demand", number(0.4)),
        ("model.cycle", secs(30)),
        ("model.cycle", ParameterValue::Time(Time::millis(6_100))),
        ("model.demand", number(0.9)),
        ("model.demand", number(0.0)),
    ];
    made_live(jam, &of_traffic, Time::secs(600));
    let of_queues = [
        ("model.classes.orders.between_arrivals", secs(3)),
        ("model.stations.bench.service", secs(4)),
        ("model.stations.store.service", ParameterValue::Time(Time::millis(500))),
        ("model.classes.orders.between_arrivals", secs(1)),
    ];
    made_live(workshop, &of_queues, Time::secs(600));
}

#[test]
fn what_cannot_be_changed_is_refused_and_the_run_goes_on() {
    let until = Time::secs(300);
    let mut run = sequential(jam(), until).start().expect("good settings");
    run.run_until(Time::secs(100)).expect("the model keeps the rules");
    let earliest = run.earliest_change();
    let at = Time::secs(200);
    let refusals = [
        (
            at,
            "model.offset",
            secs(1),
            "model.offset cannot be changed while the run goes on; allowed: model.cycle, model.demand",
        ),
        (
            at,
            "model.cycle",
            secs(90_000),
            "model.cycle cannot be 90000s; allowed: a duration from 0.1s to 86400s",
        ),
        (at, "model.cycle", ParameterValue::Number(60.0), "model.cycle cannot be 60; allowed: a duration"),
        (
            at,
            "model.demand",
            ParameterValue::Number(1.5),
            "model.demand cannot be 1.5; allowed: a number from 0 to 1",
        ),
        (
            at,
            "model.demand",
            ParameterValue::Number(f64::NAN),
            "model.demand cannot be NaN; allowed: a number",
        ),
        (Time::secs(99), "model.cycle", secs(60), "model.cycle cannot change at 99s; allowed: "),
        (until, "model.cycle", secs(60), "model.cycle cannot change at 300s; allowed: before the end"),
    ];
    for (at, set, to, text) in refusals {
        let refused = run.change(Change { at, set: set.into(), to }).expect_err(text);
        let RunError::Change(error) = &refused else { panic!("{refused}") };
        assert!(error.to_string().starts_with(text), "{error}");
        assert_eq!(
            matches!(error, ChangeError::TooEarly { earliest: said, .. } if *said == earliest),
            at < earliest
        );
    }
    run.run_until(Time::MAX).expect("it can go on");
    assert!(run.changes().is_empty());
    let report = run.finish().expect("as above");
    assert_eq!(report.digest, sequential(jam(), until).run().expect("as above").digest);
}

#[test]
fn models_that_declare_nothing_say_so() {
    let destination = Destination::Any { remote: 0.4 };
    let (lookahead, mean) = (Time::millis(300), Time::secs(1));
    let phold = Phold { lps: 10, messages_per_lp: 1.0, lookahead, mean, work_ns: 0, destination };
    let mut run = sequential(phold, Time::secs(9)).start().expect("good settings");
    assert!(run.parameters().expect("it does not panic").is_empty());
    let refused = run.change(change(1, "model.mean", secs(1))).expect_err("it is not declared");
    assert!(refused.to_string().contains("none: the model declares no such parameter"), "{refused}");
}
