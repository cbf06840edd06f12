//! `cargo bench -p paceline-engine --bench warp`: Time Warp on PHOLD 2048 x 16 against the yardstick and
//! against windows: with a lookahead of 1 and of 0.01, on one thread and two, with too many federates, beside
//! a busy process, with each way to save states.
//!
//! Everything in one table is measured in one go, interleaved.

#[path = "common/busy.rs"]
mod busy;
#[path = "common/mod.rs"]
mod common;
#[path = "phold/yardstick.rs"]
mod yardstick;

use std::cell::RefCell;
use std::rc::Rc;

use busy::Busy;
use comfy_table::{Table, presets};
use common::{Candidate, Measured, interleave, rounds};
use paceline_engine::{Protocol, Report, Simulation, Speculation};
use paceline_kernel::{Cancellation, Saving, Time};
use paceline_models::phold::Phold;

const LPS: u32 = 2_048;
const MESSAGES: u32 = 16;

/// What an optimistic run came to besides its speed.
#[derive(Clone, Debug, Default)]
struct Notes(Rc<RefCell<String>>);

impl Notes {
    fn take(&self, report: &Report<()>) {
        let Some(rollbacks) = &report.rollbacks else { return };
        *self.0.borrow_mut() = format!(
            "efficiency {:.1} %, safe {:.0} %, mean copies/LP {:.2}",
            100.0 * rollbacks.efficiency(),
            100.0 * rollbacks.safe as f64 / rollbacks.processed.max(1) as f64,
            rollbacks.mean_copies() * f64::from(report.groups) / f64::from(LPS),
        );
    }
}

fn simulation(lookahead: Time, until_s: u64) -> Simulation<Phold> {
    Simulation::new(yardstick::model(LPS, MESSAGES, lookahead)).until(Time::secs(until_s))
}

/// A run that is measured, what it is measured with, and where its notes go.
struct Case {
    name: String,
    lookahead: Time,
    until_s: u64,
    protocol: Protocol,
    federates: u32,
    threads: u32,
    speculation: Speculation,
    busy: bool,
    notes: Notes,
}

impl Case {
    fn new(protocol: Protocol, lookahead: Time, until_s: u64, federates: u32, threads: u32) -> Self {
        let name = format!("{}, {federates} federates on {threads} threads", protocol.name());
        let (speculation, notes) = (Speculation::default(), Notes::default());
        Self { name, lookahead, until_s, protocol, federates, threads, speculation, busy: false, notes }
    }

    fn with(self, what: &str, speculation: Speculation) -> Self {
        Self { name: format!("{}, {what}", self.name), speculation, ..self }
    }

    fn beside_busy(self) -> Self {
        Self { name: format!("{}, beside a busy process", self.name), busy: true, ..self }
    }

    fn candidate(self) -> Candidate<'static> {
        let name = self.name.clone();
        let run = move || {
            let _busy = self.busy.then(Busy::start);
            let run =
                simulation(self.lookahead, self.until_s).protocol(self.protocol).federates(self.federates);
            let run = run.threads(self.threads).speculation(self.speculation.clone()).run();
            let report = run.expect("PHOLD keeps the rules");
            self.notes.take(&report);
            report.events
        };
        Candidate { name, run: Box::new(run) }
    }
}

fn table(title: &str, cases: Vec<Case>, yardstick_s: Option<u64>) -> Vec<Measured> {
    let mut notes: Vec<Notes> = cases.iter().map(|case| case.notes.clone()).collect();
    let mut candidates: Vec<Candidate> = cases.into_iter().map(Case::candidate).collect();
    if let Some(until_s) = yardstick_s {
        let run = move || yardstick::run(LPS, MESSAGES, until_s);
        candidates.insert(0, Candidate { name: "yardstick: hand-written loop".into(), run: Box::new(run) });
        notes.insert(0, Notes::default());
    }
    let measured = interleave(candidates, rounds());
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["", "M events/s", "spread %", "of the first", "came to"]);
    for (row, notes) in measured.iter().zip(&notes) {
        let ratio = row.median() / measured[0].median();
        table.add_row([
            row.name.clone(),
            format!("{:.2}", row.median() / 1e6),
            format!("{:.1}", row.spread_percent()),
            format!("{ratio:.2}"),
            notes.0.borrow().clone(),
        ]);
    }
    println!("\n{title}\n\n{table}");
    measured
}

fn main() {
    if busy::asked_for() {
        busy::work();
    }
    let (one, hundredth) = (Time::secs(1), Time::millis(10));
    let all = |lookahead, until_s| {
        vec![
            Case::new(Protocol::Window, lookahead, until_s, 2, 2),
            Case::new(Protocol::Optimistic, lookahead, until_s, 1, 1),
            Case::new(Protocol::Optimistic, lookahead, until_s, 2, 2),
            Case::new(Protocol::Optimistic, lookahead, until_s, 8, 2),
            Case::new(Protocol::Optimistic, lookahead, until_s, 64, 2),
            Case::new(Protocol::Mixed, lookahead, until_s, 8, 2),
        ]
    };
    table("PHOLD 2048 x 16, lookahead 1", all(one, 600), Some(600));
    table("PHOLD 2048 x 16, lookahead 0.01", all(hundredth, 200), None);
    table("PHOLD 2048 x 16, lookahead 0.001", all(Time::millis(1), 60), None);
    let saving = |saving, cancellation| Speculation { saving, cancellation, ..Speculation::default() };
    let ways = [
        ("copy", saving(Saving::Copy, Cancellation::Aggressive)),
        ("periodic", saving(Saving::Periodic, Cancellation::Aggressive)),
        ("periodic, lazy", saving(Saving::Periodic, Cancellation::Lazy)),
        ("undo", saving(Saving::Undo, Cancellation::Aggressive)),
    ];
    let cases = ways.map(|(name, way)| Case::new(Protocol::Optimistic, hundredth, 200, 8, 2).with(name, way));
    table("Ways to save states, lookahead 0.01", cases.into(), None);
    let disturbed = [2, 8, 64].into_iter().flat_map(|federates| {
        let case = || Case::new(Protocol::Optimistic, one, 600, federates, 2);
        [case(), case().beside_busy()]
    });
    let measured = table("Beside one busy process on the same two cores", disturbed.collect(), None);
    for pair in measured.chunks(2) {
        println!("{}: {:.2} times the undisturbed time", pair[1].name, pair[0].median() / pair[1].median());
    }
}
