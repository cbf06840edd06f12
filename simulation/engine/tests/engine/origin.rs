//! A checkpoint is resumed by the run that it is of, and by no other: another model, other parameters,
//! another layout, seed or order of ties are refused, and the error says which it is.

use std::path::Path;
use std::time::Duration;

use paceline_engine::{CheckpointError, CheckpointFile, Checkpoints, Protocol, RunError, Simulation};
use paceline_kernel::{Context, LpId, Model, TieBreak, Time};

use crate::script::{Play, Script, run_of, script};

/// Shops in a row. A customer walks from one to the next.
#[derive(Clone, Debug)]
struct Row {
    shops: u32,
    walk: Time,
    /// Goods that each shop has at first.
    stock: u64,
    /// Which customers buy two.
    greedy: u64,
    /// From when on shops close. No shop knows before.
    closes: Time,
    /// Whether [`Play::parameters`] says all that.
    says: bool,
}

const ROW: Row =
    Row { shops: 6, walk: Time::secs(1), stock: 1_000, greedy: 7, closes: Time::secs(4_000), says: false };

impl Play for Row {
    fn parameters(&self) -> String {
        if self.says { format!("{self:?}") } else { String::new() }
    }
    fn lps(&self) -> u32 {
        self.shops
    }
    fn lookahead(&self) -> Time {
        self.walk
    }
    fn init(&self, shop: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::millis(shop.0.into()), shop.0.into());
        self.stock
    }
    fn handle(&self, goods: &mut u64, customer: u64, cx: &mut Context<Script>) {
        if cx.now() < self.closes {
            *goods = goods.saturating_sub(if customer.is_multiple_of(self.greedy) { 2 } else { 1 });
        }
        let next = LpId((cx.lp().0 + 1) % self.shops);
        let looks = Time::nanos(cx.rng().below(1_000_000));
        cx.send(next, self.walk + looks, customer + 1);
    }
}

/// The same under another name.
#[derive(Clone, Debug)]
struct Street(Row);

impl Model for Street {
    type State = u64;
    type Event = u64;
    type Output = ();

    fn lps(&self) -> u32 {
        self.0.lps()
    }
    fn lookahead(&self) -> Time {
        self.0.lookahead()
    }
    fn init(&self, shop: LpId, cx: &mut Context<Self>) -> u64 {
        cx.schedule(Time::millis(shop.0.into()), shop.0.into());
        self.0.stock
    }
    fn handle(&self, _goods: &mut u64, _customer: &u64, _cx: &mut Context<Self>) {}
}

fn simulation(row: Row) -> Simulation<Script> {
    run_of(row).until(Time::secs(200)).seed(3).protocol(Protocol::Window).threads(1).federates(2)
}

/// A checkpoint of a run of `row` half-way.
fn checkpoint(row: &Row, path: &Path) -> CheckpointFile {
    let checkpoints = Checkpoints { path: path.to_owned(), every: Duration::MAX, header: Vec::new() };
    let mut run = simulation(row.clone()).checkpoint(checkpoints).start().expect("it can start");
    run.run_until(Time::secs(100)).expect("the rules are kept");
    assert!(run.checkpoint().expect("it can be written"));
    // It is under its name once the run has ended.
    drop(run);
    CheckpointFile::open(path).expect("it is complete")
}

/// What a checkpoint says to another model.
fn refusal<M: Model<State = u64, Event = u64, Output = ()>>(file: &CheckpointFile, model: &M) -> String {
    match file.world(model).err() {
        Some(CheckpointError::Model { what, .. }) => what,
        other => panic!("it is another model, and not {other:?}"),
    }
}

#[test]
fn a_checkpoint_is_refused_by_any_other_model() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = checkpoint(&ROW, &folder.path().join("row.checkpoint"));
    for (other, what) in [
        (Row { shops: 7, ..ROW }, "it holds 6 LPs, the model has 7"),
        (Row { walk: Time::millis(999), ..ROW }, "its lookahead is 1s, that of the model 0.999s"),
        (Row { stock: 999, ..ROW }, "its LPs began in other states"),
        // In no state, and in no message, of the start.
        (Row { greedy: 5, ..ROW }, "did something else in the first 599 events"),
        (Row { closes: Time::secs(3), ..ROW }, "did something else in the first 599 events"),
    ] {
        let message = refusal(&file, &script(other.clone()));
        assert!(message.contains(what), "{other:?}: {message}");
    }
    assert_eq!(refusal(&file, &Street(ROW)), "it is of the model `Script`, not of `Street`");
    assert!(file.world(&script(ROW)).is_ok());
}

#[test]
fn parameters_that_matter_later_are_reported_by_the_model() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let row = Row { says: true, ..ROW };
    let file = checkpoint(&row, &folder.path().join("row.checkpoint"));
    let message = refusal(&file, &script(Row { closes: Time::secs(150), ..row.clone() }));
    assert!(message.contains("closes: 4000s, says") && message.contains("closes: 150s, says"), "{message}");
    assert!(file.world(&script(row)).is_ok());
}

#[test]
fn a_run_with_another_seed_model_or_order_of_ties_does_not_resume_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = checkpoint(&ROW, &folder.path().join("row.checkpoint"));
    let resumed = |simulation: Simulation<Script>| {
        let world = file.world(&script(ROW)).expect("it is this model's");
        simulation.protocol(Protocol::Optimistic).resume(world).run()
    };
    let whole = simulation(ROW).run().expect("the rules are kept").digest;
    assert_eq!(resumed(simulation(ROW)).expect("it is this run").digest, whole);
    for (other, what) in [
        (simulation(ROW).seed(4), "its seed is 3, not 4"),
        (simulation(ROW).ties(TieBreak::Random(1)), "its order of ties is Fixed, not Random(1)"),
        (simulation(Row { greedy: 5, ..ROW }), "did something else"),
    ] {
        match resumed(other).expect_err("it is another run") {
            RunError::OtherRun { what: message } => assert!(message.contains(what), "{message}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn every_checkpoint_of_a_run_is_resumed_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("row.checkpoint");
    let whole = simulation(ROW).run().expect("the rules are kept").digest;
    // Early ones know little of the run, and a resumed run goes on writing.
    let checkpoints = || Checkpoints { path: path.clone(), every: Duration::MAX, header: Vec::new() };
    let mut run = simulation(ROW).checkpoint(checkpoints()).start().expect("it can start");
    for until in [Time::ZERO, Time::millis(2), Time::secs(7), Time::secs(199)] {
        run.run_until(until).expect("the rules are kept");
        run.checkpoint().expect("it can be written");
        drop(run);
        let world =
            CheckpointFile::open(&path).and_then(|file| file.world(&script(ROW))).expect("it is its own");
        run = simulation(ROW).checkpoint(checkpoints()).resume(world).start().expect("it is its own");
    }
    run.run_until(Time::MAX).expect("the rules are kept");
    assert_eq!(run.finish().expect("the rules are kept").digest, whole);
}

#[test]
fn a_checkpoint_of_an_older_format_is_refused_with_both_formats() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("row.checkpoint");
    checkpoint(&ROW, &path);
    let mut bytes = std::fs::read(&path).expect("it is there");
    bytes[8] -= 1;
    std::fs::write(&path, bytes).expect("it can be written");
    let message = CheckpointFile::open(&path).expect_err("its format is older").to_string();
    assert!(
        message.contains(
            "is a checkpoint of format 5, of an older version of the program; this one reads format 6"
        ),
        "{message}"
    );
}
