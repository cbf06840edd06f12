//! `cargo bench -p paceline-engine --bench balance [TABLE ...]`: what it brings that LPs move while a run
//! goes on.
//!
//! - `work`, `rate`: the first tenth of the LPs has 20 times the load of others, by events that work longer
//!   or by more events, with loads evened out and without, beside the most that evening out can bring.
//! - `even`: the same where nothing is uneven.
//! - `groups`: LPs that talk are scattered over the federates, brought together and not.
//! - `scattered`: what a federate pays for LPs without consecutive numbers.
//!
//! The most that can be gained by moving LPs is the time that two threads need for the loads of the groups of
//! federates as they are dealt, each group on one thread at a time, by the time they need for the same sum
//! dealt evenly. It leaves out waits and messages. Everything in one table is measured in one go,
//! interleaved.

#[path = "common/mod.rs"]
mod common;

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use comfy_table::{Table, presets};
use common::{Candidate, interleave, rounds};
use paceline_engine::{Protocol, Report, Simulation};
use paceline_kernel::{Balance, Context, LpId, Model, Partition, Time, Undo, UndoFn, span, sums};

const LPS: u32 = 2_048;
const MESSAGES: u32 = 16;
const THREADS: u32 = 2;
const FEDERATES: u32 = 8;
/// LPs with more load: the first ones.
const HOT: u32 = LPS / 10;
/// What an event costs besides the model's work, about.
const EVENT_NS: u64 = 100;
/// The share of messages to the first tenth of the LPs, the others going anywhere, that gives these 20 times
/// the events.
const TWENTYFOLD: f64 = 1.9 / 2.9;

/// Where messages go.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// To any LP, all equally likely.
    Any,
    /// With this probability to the first tenth of the LPs, else anywhere.
    Tenth(f64),
    /// With this probability to the sender's group of 32 LPs, else anywhere.
    Group(f64),
}

/// PHOLD with a law of its own, its LPs in runs or scattered over the federates.
#[derive(Clone, Copy, Debug)]
struct Passing {
    law: Law,
    /// Steps of a multiplication chain in each event, about one nanosecond each: on the first tenth of the
    /// LPs, and on others.
    hot_ns: u64,
    work_ns: u64,
    scattered: bool,
}

impl Model for Passing {
    type State = u64;
    type Event = ();
    type Output = ();

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        LPS
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn partition(&self, federates: u32) -> Partition {
        if !self.scattered {
            return Partition::runs(LPS, federates);
        }
        Partition::table(&(0..LPS).map(|lp| lp % federates).collect::<Vec<u32>>())
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
        for _ in 0..MESSAGES {
            let delay = Time::from_secs_f64(1.0 + cx.rng().exponential(1.0));
            cx.schedule(delay, ());
        }
        0
    }
    #[inline(always)]
    fn handle(&self, received: &mut u64, (): &(), cx: &mut Context<Self>) {
        *received += 1;
        let mut chain = *received;
        for _ in 0..if cx.lp().0 < HOT { self.hot_ns } else { self.work_ns } {
            chain = black_box(chain.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        let (first, size) = match self.law {
            Law::Tenth(share) if cx.rng().chance(share) => (0, HOT),
            Law::Group(share) if cx.rng().chance(share) => (cx.lp().0 / 32 * 32, 32),
            _ => (0, LPS),
        };
        let to = LpId(first + cx.rng().below(u64::from(size)) as u32);
        let delay = Time::from_secs_f64(1.0 + cx.rng().exponential(1.0));
        cx.send(to, delay, ());
    }
}

impl Undo for Passing {
    fn undo(&self, received: &mut u64, (): &(), _: &mut paceline_kernel::Kept<'_>) {
        *received -= 1;
    }
}

/// What a run came to besides its speed.
fn notes(report: &Report<()>) -> String {
    let Some(found) = report.balancing else { return String::new() };
    let percent = |share: Option<f64>| share.map_or("?".into(), |share| format!("{:.0} %", 100.0 * share));
    format!(
        "{} looks, {} LPs in {} moves, {} undone, {:.0} ms; largest {:.2} to {:.2} of the mean; remote {} to {}",
        found.looks,
        found.moved,
        found.moves,
        found.undone,
        1e3 * found.wall.as_secs_f64(),
        found.imbalance_before,
        found.imbalance_after,
        percent(found.remote_before),
        percent(found.remote_after),
    )
}

/// A row: a model and how it is run.
#[derive(Clone, Copy)]
struct Row {
    what: &'static str,
    model: Passing,
    protocol: Protocol,
    balance: Balance,
    federates: u32,
    /// The most groups that federates are merged into; the engine's choice unless said.
    groups: Option<u32>,
}

impl Row {
    fn new(what: &'static str, model: Passing, protocol: Protocol, federates: u32) -> Self {
        Self { what, model, protocol, balance: Balance::Off, federates, groups: None }
    }

    fn with(self, what: &'static str, balance: Balance) -> Self {
        Self { what, balance, ..self }
    }

    fn name(&self) -> String {
        let groups = self.groups.map_or(String::new(), |groups| format!(" in {groups} groups"));
        format!("{}, {} federates{groups}, {}", self.protocol.name(), self.federates, self.what)
    }

    /// The time for the loads as they are dealt to `groups`, by that for the same evened out.
    fn most_gained(&self, groups: u32) -> f64 {
        let model = &self.model;
        let partition = model.partition(self.federates).merged(groups);
        let load = |lp: u32| match model.law {
            Law::Tenth(share) => {
                let hot = if lp < HOT { share * f64::from(LPS) / f64::from(HOT) } else { 0.0 };
                ((hot + 1.0 - share) * 1e6) as u64
            }
            _ => EVENT_NS + if lp < HOT { model.hot_ns } else { model.work_ns },
        };
        let loads: Vec<u64> = (0..LPS).map(load).collect();
        let dealt = sums(&partition.owners(), partition.federates(), &loads);
        span(&dealt, THREADS) as f64 * f64::from(THREADS) / loads.iter().sum::<u64>() as f64
    }
}

/// Measures rows; of every `per_reference` rows, the first is what the others are compared with.
fn table(title: &str, rows: &[Row], until_s: u64, per_reference: usize) {
    let mut came_to = Vec::new();
    let mut candidates = Vec::new();
    for row in rows.iter().copied() {
        let note = Rc::new(RefCell::new((String::new(), 1)));
        came_to.push(Rc::clone(&note));
        let run = move || {
            let Row { model, protocol, balance, federates, groups, .. } = row;
            let run = Simulation::new(model).protocol(protocol).federates(federates).threads(THREADS);
            let run = run.balance(balance).until(Time::secs(until_s));
            let run = if let Some(groups) = groups { run.groups(groups) } else { run };
            let report = run.run().expect("the model keeps the rules");
            *note.borrow_mut() = (notes(&report), report.groups);
            report.events
        };
        candidates.push(Candidate { name: row.name(), run: Box::new(run) });
    }
    let measured = interleave(candidates, rounds());
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["", "M events/s", "spread %", "of the first", "most to gain", "came to"]);
    for (place, (row, note)) in measured.iter().zip(&came_to).enumerate() {
        let reference = &measured[place / per_reference * per_reference];
        let (notes, groups) = note.borrow().clone();
        table.add_row([
            row.name.clone(),
            format!("{:.2}", row.median() / 1e6),
            format!("{:.1}", row.spread_percent()),
            format!("{:.3}", row.median() / reference.median()),
            format!("{:.2}", rows[place].most_gained(groups)),
            notes,
        ]);
    }
    println!("\n{title}\n\n{table}");
}

const EVEN: Passing = Passing { law: Law::Any, hot_ns: 0, work_ns: 0, scattered: false };

fn worked(hot_ns: u64, work_ns: u64) -> Passing {
    Passing { hot_ns, work_ns, ..EVEN }
}

fn work() {
    loads(&[
        ("Work: 20,000 ns for an event of the first tenth, 1,000 ns for others", worked(20_000, 1_000), 300),
        ("Work: 2,000 ns for an event of the first tenth, 100 ns for others", worked(2_000, 100), 1_200),
    ]);
}

fn rate() {
    let often = |work_ns| Passing { law: Law::Tenth(TWENTYFOLD), ..worked(work_ns, work_ns) };
    loads(&[
        ("Rate: 20 times the events on the first tenth, each with 500 ns of work", often(500), 900),
        ("Rate: 20 times the events on the first tenth, without work", often(0), 3_000),
    ]);
}

fn even() {
    loads(&[("Nothing uneven, without work", EVEN, 3_000)]);
}

/// Each model in windows and run ahead, with loads evened out and without.
fn loads(cases: &[(&str, Passing, u64)]) {
    for &(title, model, until_s) in cases {
        let ways = [
            (Protocol::Window, None),
            (Protocol::Window, Some(THREADS)),
            (Protocol::Optimistic, None),
            (Protocol::Optimistic, Some(FEDERATES)),
        ];
        let rows = ways.into_iter().flat_map(|(protocol, groups)| {
            let off = Row { groups, ..Row::new("off", model, protocol, FEDERATES) };
            [off, off.with("load", Balance::Load)]
        });
        table(title, &rows.collect::<Vec<_>>(), until_s, 2);
    }
}

/// Protocols with federates: 2 and 8 in windows, 2 that run ahead.
fn modes(rows: impl Fn(Protocol, u32) -> Vec<Row>) -> Vec<Row> {
    let modes = [(Protocol::Window, 2), (Protocol::Window, 8), (Protocol::Optimistic, 2)];
    modes.into_iter().flat_map(|(protocol, federates)| rows(protocol, federates)).collect()
}

fn groups() {
    let model = Passing { law: Law::Group(0.9), ..EVEN };
    let rows = modes(|protocol, federates| {
        let scattered = Row::new("off", Passing { scattered: true, ..model }, protocol, federates);
        let gathered = scattered.with("load+communication", Balance::LoadAndCommunication);
        vec![scattered, gathered, Row::new("in runs from the start", model, protocol, federates)]
    });
    table("Groups of 32 LPs scattered over the federates", &rows, 1_200, 3);
}

fn scattered() {
    let rows = modes(|protocol, federates| {
        let of = |what, scattered| Row::new(what, Passing { scattered, ..EVEN }, protocol, federates);
        vec![of("runs", false), of("scattered", true)]
    });
    table("LPs with and without consecutive numbers", &rows, 1_000, 2);
}

fn main() {
    let tables: [(&str, fn()); 5] =
        [("work", work), ("rate", rate), ("even", even), ("groups", groups), ("scattered", scattered)];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    for (name, measure) in tables {
        if wanted.is_empty() || wanted.iter().any(|other| other == name) {
            measure();
        }
    }
}
