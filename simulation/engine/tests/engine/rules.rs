//! What the engine refuses, and how it ends.

use std::time::Duration;

use paceline_engine::{CheckpointFile, Checkpoints, EndedBy, Monitor, Protocol, RunError, Simulation};
use paceline_kernel::{Context, LpId, RuleErrorKind, Time};

use crate::channels::CONSERVATIVE;
use crate::script::{Play, Script, run_of, script};

/// Two LPs that toss a ball; LP 0 breaks a rule at the fifth catch if asked to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Keep,
    Past,
    Lookahead,
    Unknown,
    Beyond,
    Endless,
    Panic,
}

struct Toss {
    rule: Rule,
    lookahead: Time,
}

impl Play for Toss {
    fn lps(&self) -> u32 {
        2
    }
    fn lookahead(&self) -> Time {
        self.lookahead
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        if lp == LpId(0) {
            cx.schedule(Time::secs(1), 7);
        }
        0
    }
    fn handle(&self, caught: &mut u64, ball: u64, cx: &mut Context<Script>) {
        *caught += 1;
        let other = LpId(1 - cx.lp().0);
        let breaks = cx.lp() == LpId(0) && *caught >= 5;
        match self.rule {
            Rule::Past if breaks => cx.send_at(other, Time::millis(10), ball),
            Rule::Lookahead if breaks => cx.send(other, Time::millis(999), ball),
            Rule::Unknown if breaks => cx.send(LpId(9), Time::secs(1), ball),
            Rule::Beyond if breaks => cx.send(other, Time::MAX, ball),
            Rule::Endless if breaks => cx.send(cx.lp(), Time::ZERO, ball),
            Rule::Panic if breaks => panic!("the model gave up"),
            _ => cx.send(other, Time::secs(1), ball),
        }
    }
}

fn toss(rule: Rule) -> Simulation<Script> {
    run_of(Toss { rule, lookahead: Time::secs(1) }).federates(2).threads(2).until(Time::secs(100))
}

#[test]
fn a_broken_rule_names_the_lp_both_times_and_the_event() {
    for protocol in CONSERVATIVE {
        for (rule, kind, at) in [
            (Rule::Past, RuleErrorKind::Past, Time::millis(10)),
            (Rule::Lookahead, RuleErrorKind::Lookahead { lookahead: Time::secs(1) }, Time::millis(9_999)),
            (Rule::Unknown, RuleErrorKind::UnknownLp { lps: 2 }, Time::secs(10)),
            (Rule::Beyond, RuleErrorKind::BeyondClock, Time::MAX),
            (Rule::Endless, RuleErrorKind::EndlessInstant, Time::secs(9)),
        ] {
            let Err(RunError::Rule(fault)) = toss(rule).protocol(protocol).run() else {
                panic!("{protocol:?}: {rule:?} was not noticed")
            };
            assert_eq!(
                (fault.kind, fault.from, fault.now, fault.at),
                (kind, LpId(0), Time::secs(9), at),
                "{protocol:?}"
            );
            assert_eq!(fault.event, "7", "{protocol:?}: the event is named");
        }
    }
}

#[test]
fn a_panic_or_a_broken_rule_leaves_the_last_checkpoint() {
    let cases = CONSERVATIVE.iter().flat_map(|protocol| [1, 2].map(|threads| (*protocol, threads)));
    for (protocol, threads) in cases {
        for rule in [Rule::Panic, Rule::Past] {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let path = folder.path().join("toss.checkpoint");
            let checkpoints = Checkpoints { path: path.clone(), every: Duration::ZERO, header: Vec::new() };
            let run = toss(rule).protocol(protocol).threads(threads).leg_events(1).checkpoint(checkpoints);
            let error = run.run().expect_err("it breaks a rule, or panics");
            assert!(
                matches!(error, RunError::Rule(_) | RunError::Event(_)),
                "{protocol:?}, {rule:?}: {error}"
            );
            let file = CheckpointFile::open(&path).expect("the last checkpoint stays");
            let kept = script(Toss { rule: Rule::Keep, lookahead: Time::secs(1) });
            let world = file.world(&kept).expect("it is this model's");
            // The ninth catch is the one that fails. A leg is of one event a thread at most: each may have
            // begun its turn before it could see that another has reached the pause.
            let events = world.events();
            assert!(
                (9 - u64::from(threads)..=8).contains(&events),
                "{protocol:?}, {threads} threads, {rule:?}: {events}"
            );
            let resumed =
                toss(Rule::Keep).protocol(protocol).resume(world).run().expect("the rule is kept now");
            assert_eq!(resumed.digest, toss(Rule::Keep).run().expect("the rule is kept").digest);
        }
    }
}

#[test]
fn null_messages_of_a_resumed_run_start_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("toss.checkpoint");
    let checkpoints = Checkpoints { path: path.clone(), every: Duration::ZERO, header: Vec::new() };
    // 99 events; the one pause is behind the ninetieth.
    toss(Rule::Keep).leg_events(90).checkpoint(checkpoints).run().expect("the rule is kept");
    let file = CheckpointFile::open(&path).expect("it is complete");
    let world =
        file.world(&script(Toss { rule: Rule::Keep, lookahead: Time::secs(1) })).expect("it is this model's");
    let run = toss(Rule::Keep).protocol(Protocol::NullMessage).threads(1).resume(world);
    let messages = run.run().expect("the rule is kept").null_messages;
    assert!(messages < 10, "{messages} null messages, while nearly every promise goes with the ball");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let none = || run_of(Toss { rule: Rule::Keep, lookahead: Time::ZERO });
    for protocol in &CONSERVATIVE[1..] {
        assert_eq!(
            none().protocol(*protocol).run().err(),
            Some(RunError::NoLookahead { protocol: protocol.name() })
        );
    }
    assert_eq!(
        toss(Rule::Keep).federates(3).run().err(),
        Some(RunError::TooManyFederates { federates: 3, lps: 2 })
    );
    assert!(matches!(toss(Rule::Keep).threads(0).run(), Err(RunError::Zero { .. })));
    assert!(matches!(toss(Rule::Keep).threads(4097).run(), Err(RunError::TooManyThreads(_))));
    assert!(matches!(toss(Rule::Keep).federates(0).run(), Err(RunError::Zero { .. })));
    let stepped = |step| toss(Rule::Keep).protocol(Protocol::TimeStep).step(step).run();
    assert!(matches!(stepped(Time::millis(1001)), Err(RunError::Step { .. })));
    assert!(matches!(stepped(Time::ZERO), Err(RunError::Step { .. })));
    assert!(stepped(Time::millis(300)).is_ok());
}

#[test]
fn a_run_says_why_it_ended_and_can_be_stopped() {
    for protocol in CONSERVATIVE {
        let report = toss(Rule::Keep).protocol(protocol).run().expect("the model keeps the rules");
        assert_eq!(
            (report.ended_by, report.end_time, report.events),
            (EndedBy::Horizon, Time::secs(100), 99)
        );
        let nothing = toss(Rule::Keep).until(Time::ZERO).protocol(protocol).run().expect("no time is a time");
        assert_eq!((nothing.events, nothing.end_time), (0, Time::ZERO));
        let monitor = Monitor::new();
        monitor.stop();
        let stopped =
            toss(Rule::Keep).monitor(&monitor).protocol(protocol).run().expect("stopping is no failure");
        assert_eq!(stopped.ended_by, EndedBy::Interrupted, "{protocol:?}");
    }
}

#[test]
fn two_simulations_run_side_by_side() {
    let alone = toss(Rule::Keep).run().expect("runs").digest;
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..4).map(|_| scope.spawn(|| toss(Rule::Keep).run().expect("runs").digest)).collect();
        runs.into_iter().for_each(|run| assert_eq!(run.join().expect("does not panic"), alone));
    });
}
