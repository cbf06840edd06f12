//! Simulations in guests of a whole machine: whatever the scheduler, the waiting and the reductions, the
//! results are those of the engine. Schedulers change when, never what.

use std::sync::Arc;

use paceline_engine::Simulation;
use paceline_kernel::{
    Context, EventErrorKind, LpId, Model, Optimism, Partition, Rng, RuleErrorKind, Saving, Settings,
    TieBreak, Time,
};
use paceline_machine::guests::federate::{
    FederatesError, GuestSettings, Outcome, OutcomeError, Protocol, Reduction, Reported, collect, federates,
};
use paceline_machine::guests::hog::Hog;
use paceline_machine::{DomainSpec, HostSpec, LinkSpec, MachineSpec, ProcessId, Report, Wait, run};
use paceline_models::phold::{Destination, Phold};

const SEED: u64 = 7;

fn phold(lps: u32, groups: u32, locality: f64) -> Phold {
    Phold {
        lps,
        messages_per_lp: 1.5,
        lookahead: Time::secs(1),
        mean: Time::secs(1),
        work_ns: 0,
        destination: Destination::Group { groups, locality },
    }
}

fn settings() -> Settings {
    Settings { seed: SEED, ties: TieBreak::Fixed, window: Time::secs(1) }
}

/// Federates of `model`, dealt to domains of `together` each, on hosts of these policies.
fn machine<M: Model + 'static>(
    model: &Arc<M>,
    partition: Partition,
    guests: GuestSettings,
    together: usize,
    policies: &[&str],
) -> MachineSpec {
    let programs = federates(Arc::clone(model), Arc::new(partition), settings(), guests, ProcessId(0));
    let mut programs = programs.expect("the settings are right").into_iter().peekable();
    let mut spec = MachineSpec { until_ns: Some(600_000_000_000), ..MachineSpec::default() };
    for (number, policy) in policies.iter().enumerate() {
        spec.hosts.push(HostSpec::new(format!("host {number}"), 2, *policy));
        spec.links.extend((0..number).map(|other| LinkSpec {
            from: other as u32,
            to: number as u32,
            latency_ns: 50_000,
            bits_per_second: 1_000_000_000,
        }));
    }
    while programs.peek().is_some() {
        let processes = programs.by_ref().take(together).collect();
        let number = spec.domains.len();
        spec.domains.push(DomainSpec::new(
            format!("DOM{}", number + 1),
            (number % policies.len()) as u32,
            processes,
        ));
    }
    spec
}

fn outcome<M: Model + 'static>(spec: MachineSpec) -> (Outcome<M::Output>, Report) {
    let ran = run(spec).unwrap_or_else(|error| panic!("{error}"));
    (collect::<M>(ran.programs).unwrap_or_else(|error| panic!("{error}")), ran.report)
}

#[test]
fn whatever_the_machine_the_results_are_those_of_the_engine() {
    let mut times = std::collections::BTreeSet::new();
    let mut rng = Rng::new(1, 1);
    for case in 0..60 {
        let count = 1 + rng.below(9) as u32;
        let model = phold(count * (1 + rng.below(6) as u32), count, [0.5, 0.9, 1.0][case % 3]);
        let until = Time::secs(5 + rng.below(20));
        let simulation = Simulation::new(model.clone()).protocol(paceline_engine::Protocol::Sequential);
        let engine = simulation.seed(SEED).until(until).run().expect("it runs");
        let wait = [Wait::Poll, Wait::PollThenYield(20_000), Wait::PollThenBlock(50_000), Wait::Block];
        let reductions =
            [Reduction::Tree { fan_in: 1 + rng.below(4) as u32 }, Reduction::Butterfly, Reduction::Central];
        let savings = [Saving::Copy, Saving::Periodic, Saving::Undo];
        let optimism = Optimism { saving: savings[rng.below(3) as usize], ..Optimism::default() };
        let sync = if rng.chance(0.5) { Protocol::Conservative } else { Protocol::Optimistic(optimism) };
        let guests = GuestSettings {
            sync,
            until,
            wait: wait[rng.below(4) as usize],
            batch: 1 + rng.below(40) as u32,
            per_packet: 1 + rng.below(4) as u32,
            reduction: reductions[rng.below(3) as usize],
            gvt_period: 1 + rng.below(200) as u32,
            reports: rng.chance(0.7),
            reported: if rng.chance(0.5) { Reported::Processable } else { Reported::Committable },
            reports_per_lookahead: 1 + rng.below(10) as u32,
            flags_waiting: rng.chance(0.3),
            ..GuestSettings::default()
        };
        let hosts: &[&str] = match rng.below(5) {
            0 => &["round-robin"],
            1 => &["credit"],
            2 => &["psx"],
            3 => &["credit", "psx"],
            _ => &["round-robin", "credit", "psx"],
        };
        let what = format!("case {case}: {count} federates, {guests:?}, {hosts:?}");
        let together = 1 + rng.below(3) as usize;
        let model = Arc::new(model);
        let partition = model.partition(count);
        let spec = machine(&model, partition, guests, together, hosts);
        let (outcome, report) = outcome::<Phold>(spec);
        assert_eq!((outcome.digest, outcome.events), (engine.digest, engine.events), "{what}");
        for series in &outcome.series {
            assert!(series.samples().is_sorted(), "{what}: samples are in order, events only grow");
            assert!(series.samples().iter().all(|(at_ns, _)| *at_ns <= report.at_ns), "{what}");
        }
        let last = outcome.series.iter().filter_map(|series| series.samples().last());
        assert_eq!(last.map(|(_, events)| events).sum::<u64>(), engine.events, "{what}");
        times.insert(report.at_ns);
    }
    assert!(times.len() > 50, "the machines do differ");
}

#[test]
fn the_same_machine_runs_the_same_twice() {
    for sync in [Protocol::Conservative, Protocol::Optimistic(Optimism::default())] {
        let reports = [(); 2].map(|()| {
            let model = Arc::new(phold(60, 6, 0.8));
            let guests =
                GuestSettings { sync: sync.clone(), until: Time::secs(20), ..GuestSettings::default() };
            outcome::<Phold>(machine(&model, model.partition(6), guests, 1, &["credit"])).1
        });
        assert_eq!(reports[0], reports[1], "{sync:?}");
    }
}

/// Two LPs that pass a token to and fro, until one sends it too early.
struct Breaks;

impl Model for Breaks {
    type State = u32;
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        4
    }

    fn lookahead(&self) -> Time {
        Time::secs(1)
    }

    fn init(&self, _lp: LpId, cx: &mut Context<Self>) -> u32 {
        cx.schedule(Time::ZERO, ());
        0
    }

    fn handle(&self, seen: &mut u32, _token: &(), cx: &mut Context<Self>) {
        *seen += 1;
        let early = *seen == 10 && cx.lp() == LpId(2);
        cx.send(LpId((cx.lp().0 + 1) % 4), if early { Time::millis(1) } else { Time::secs(1) }, ());
    }
}

#[test]
fn a_model_that_breaks_a_rule_ends_the_run_with_what_it_did() {
    for sync in [Protocol::Conservative, Protocol::Optimistic(Optimism::default())] {
        for reduction in [Reduction::Tree { fan_in: 2 }, Reduction::Butterfly, Reduction::Central] {
            let guests = GuestSettings { sync: sync.clone(), reduction, ..GuestSettings::default() };
            let spec = machine(&Arc::new(Breaks), Partition::runs(4, 4), guests, 1, &["credit"]);
            let ran = run(spec).unwrap_or_else(|error| panic!("all stop: {error}"));
            let error = collect::<Breaks>(ran.programs).expect_err("it broke a rule");
            let OutcomeError::Event(trouble) = error else { panic!("{error}") };
            let EventErrorKind::Rule(fault) = trouble.kind else { panic!("{trouble}") };
            assert_eq!((fault.from, fault.now), (LpId(2), Time::secs(9)), "{sync:?}, {reduction:?}");
            assert!(matches!(fault.kind, RuleErrorKind::Lookahead { .. }), "{fault}");
        }
    }
}

#[test]
fn what_is_not_done_or_is_no_federate_is_reported() {
    let model = Arc::new(phold(8, 4, 0.5));
    let guests = GuestSettings::default();
    let mut spec = machine(&model, model.partition(4), guests, 1, &["credit"]);
    spec.until_ns = Some(10_000_000);
    let ran = run(spec).expect("it runs");
    let error = collect::<Phold>(ran.programs).expect_err("it has no horizon");
    let OutcomeError::Unfinished { waits_for, .. } = error else { panic!("{error}") };
    assert!(waits_for.contains("round"), "{waits_for}");

    let hog: Box<dyn paceline_machine::Program> = Box::new(Hog::new(1_000, 0));
    assert_eq!(collect::<Phold>([hog]).expect_err("a hog is no federate"), OutcomeError::Foreign(0));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |model: Phold, partition: Partition, guests| {
        federates(Arc::new(model), Arc::new(partition), settings(), guests, ProcessId(0))
            .expect_err("it cannot work")
    };
    let plain = GuestSettings::default;
    let zero = Phold { lookahead: Time::ZERO, ..phold(8, 4, 0.5) };
    assert_eq!(refused(zero, Partition::runs(8, 4), plain()), FederatesError::NoLookahead);
    let partition = FederatesError::Partition { partition: 9, model: 8 };
    assert_eq!(refused(phold(8, 4, 0.5), Partition::runs(9, 4), plain()), partition);
    let numbers = [
        ("batch", GuestSettings { batch: 0, ..plain() }),
        ("per_packet", GuestSettings { per_packet: 0, ..plain() }),
        ("fan_in", GuestSettings { reduction: Reduction::Tree { fan_in: 0 }, ..plain() }),
    ];
    for (what, guests) in numbers {
        assert_eq!(refused(phold(8, 4, 0.5), Partition::runs(8, 4), guests), FederatesError::Zero { what });
    }
    let table = Protocol::Optimistic(Optimism { optimistic: Some(vec![true; 7]), ..Optimism::default() });
    let guests = GuestSettings { sync: table, ..plain() };
    let table = FederatesError::Table { table: 7, model: 8 };
    assert_eq!(refused(phold(8, 4, 0.5), Partition::runs(8, 4), guests), table);
    let undo = Protocol::Optimistic(Optimism { saving: Saving::Undo, ..Optimism::default() });
    let guests = GuestSettings { sync: undo, ..plain() };
    let refused =
        federates(Arc::new(Breaks), Arc::new(Partition::runs(4, 2)), settings(), guests, ProcessId(0));
    assert_eq!(refused.expect_err("it has no undo"), FederatesError::NoUndo);
}
