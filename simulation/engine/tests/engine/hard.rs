//! The hard models of the bench `limits` under strict settings: memory budgets hold, and an `undo` that is
//! wrong once is found there.

#[path = "../../benches/limits/hard.rs"]
mod limits;

use limits::{Hard, Kind};
use paceline_engine::{Protocol, RunError, Simulation, Speculation};
use paceline_kernel::{Cancellation, Context, EventErrorKind, Kept, LpId, Model, Saving, Time, Undo, UndoFn};

/// By how much what is kept may exceed a budget.
const MOST_OVER: f64 = 1.1;

/// All kinds, and how far they run: some ten thousand events.
fn models() -> impl Iterator<Item = (Hard, Time)> {
    let hundredth = Time::millis(10);
    [
        (Kind::Burst, Time::secs(1), 2_100),
        (Kind::Burst, Time::ZERO, 2_100),
        (Kind::Chains, Time::ZERO, 150),
        (Kind::Tenth, hundredth, 1_500),
        (Kind::AllToAll, hundredth, 1_500),
        (Kind::RareZero, Time::ZERO, 2_500),
        (Kind::Heavy, hundredth, 1_000),
    ]
    .into_iter()
    .map(|(kind, lookahead, until_ms)| (Hard { kind, lookahead }, Time::millis(until_ms)))
}

#[test]
fn budgets_hold_and_change_nothing() {
    let mut full = 0;
    for (model, until) in models() {
        // Without lookahead nothing of an instant is final before all of it was run: its events must fit.
        if (model.kind, model.lookahead) == (Kind::Burst, Time::ZERO) {
            continue;
        }
        let reference = Simulation::new(model).until(until).protocol(Protocol::Sequential).run();
        let reference = reference.expect("the model keeps the rules").digest;
        for (saving, bytes) in
            [(Saving::Copy, 64 << 10), (Saving::Periodic, 128 << 10), (Saving::Undo, 256 << 10)]
        {
            for (federates, cancellation) in [(2, Cancellation::Aggressive), (8, Cancellation::Lazy)] {
                let what = format!("{model:?}, {saving:?}, {bytes} bytes, {federates} federates");
                let speculation =
                    Speculation { saving, cancellation, memory_bytes: Some(bytes), ..Speculation::default() };
                let run = Simulation::new(model)
                    .until(until)
                    .protocol(Protocol::Optimistic)
                    .speculation(speculation);
                let report = run.federates(federates).groups(federates).threads(2).run();
                let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(report.digest, reference, "{what}");
                let most = report.rollbacks.expect("it ran ahead").most_log_bytes as f64;
                assert!(most <= MOST_OVER * bytes as f64, "{what}: {most} bytes were kept");
                full += u32::from(most > 0.9 * bytes as f64);
            }
        }
    }
    assert!(full > 10, "the budget was reached in {full} runs only");
}

/// A hard model whose `undo` does nothing for one event: the fifth of one LP.
#[derive(Clone, Copy, Debug)]
struct Forgetful {
    model: Hard,
    lp: Option<LpId>,
}

const FIFTH: u64 = 5;

impl Model for Forgetful {
    type State = (LpId, u64);
    type Event = u8;
    type Output = ();

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        crate::groups::LPS
    }
    fn lookahead(&self) -> Time {
        self.model.lookahead
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> (LpId, u64) {
        self.model.start(cx);
        (lp, 0)
    }
    fn handle(&self, (_, received): &mut (LpId, u64), left: &u8, cx: &mut Context<Self>) {
        self.model.pass_on(received, *left, cx);
    }
}

impl Undo for Forgetful {
    fn undo(&self, (lp, received): &mut (LpId, u64), _: &u8, _: &mut Kept<'_>) {
        if (Some(*lp), *received) != (self.lp, FIFTH) {
            *received -= 1;
        }
    }
}

fn checked(model: Forgetful, until: Time, federates: u32) -> Result<(), RunError> {
    let speculation = Speculation { saving: Saving::Undo, check_rollback: true, ..Speculation::default() };
    let run = Simulation::new(model).until(until).protocol(Protocol::Optimistic).speculation(speculation);
    run.federates(federates).groups(federates).threads(2).run().map(drop)
}

#[test]
fn an_undo_that_is_wrong_once_is_found_there() {
    for (model, until) in models() {
        for federates in [1, 8] {
            let what = format!("{model:?}, {federates} federates");
            assert_eq!(
                checked(Forgetful { model, lp: None }, until, federates),
                Ok(()),
                "{what}: all is right"
            );
            let lp = LpId(7);
            let Err(RunError::Event(trouble)) = checked(Forgetful { model, lp: Some(lp) }, until, federates)
            else {
                panic!("{what}: it was not noticed")
            };
            assert_eq!(trouble.lp, lp, "{what}");
            let EventErrorKind::Irreversible { what: message, before, after } = trouble.kind else {
                panic!("{what}: {:?}", trouble.kind)
            };
            assert!(message.contains("`undo` does not bring back"), "{what}: {message}");
            assert_eq!(
                (before.as_str(), after.as_str()),
                ("4,", "5,"),
                "{what}: the first event that it is wrong for"
            );
        }
    }
}
