//! Rows of a table: what is run, for how long, and what came of it.
//!
//! The rows of a case differ in speed by up to a thousand times. A row therefore first runs to a short
//! horizon that is the same for all rows of its case, which shows that they compute the same result (equal
//! digests); then its own horizon grows until a run takes about [`row_seconds`].

use std::cell::RefCell;
use std::time::Instant;

use paceline_engine::{Protocol, Report, Simulation, Speculation};
use paceline_kernel::{Balance, Model, Rollbacks, Time};

use crate::busy::Busy;
use crate::common::{self, Candidate, interleave};
use crate::results::Line;

/// What a run came to besides its time.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub events: u64,
    /// None for what is no simulation of ours.
    pub digest: Option<String>,
    pub efficiency: Option<f64>,
    pub safe: Option<f64>,
    pub rollbacks: Option<u64>,
    pub gvt_rounds: Option<u64>,
}

impl Facts {
    fn of<O>(report: &Report<O>) -> Self {
        let rollbacks = report.rollbacks.as_ref();
        Self {
            events: report.events,
            digest: Some(report.digest.to_string()),
            efficiency: rollbacks.map(paceline_kernel::Rollbacks::efficiency),
            safe: rollbacks.map(Rollbacks::safe_share),
            rollbacks: rollbacks.map(|rollbacks| rollbacks.primary + rollbacks.secondary),
            gvt_rounds: rollbacks.map(|_| report.gvt_rounds),
        }
    }
}

/// How a simulation is run.
#[derive(Clone, Debug)]
pub struct Way {
    protocol: Protocol,
    federates: u32,
    threads: u32,
    speculation: Speculation,
    balance: Balance,
    /// The most groups that federates are merged into; the engine's choice unless said.
    groups: Option<u32>,
    busy: bool,
    /// Its name in place of protocol, federates and threads.
    name: Option<String>,
    /// What distinguishes it from the same run without.
    more: &'static str,
}

impl Way {
    pub fn new(protocol: Protocol, federates: u32, threads: u32) -> Self {
        let (speculation, balance) = (Speculation::default(), Balance::Off);
        Self {
            protocol,
            federates,
            threads,
            speculation,
            balance,
            groups: None,
            busy: false,
            name: None,
            more: "",
        }
    }

    pub fn sequential() -> Self {
        Self::new(Protocol::Sequential, 1, 1)
    }

    /// This many federates, optimistic on two threads.
    pub fn optimistic(federates: u32) -> Self {
        Self::new(Protocol::Optimistic, federates, 2)
    }

    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    pub fn speculating(self, speculation: Speculation) -> Self {
        Self { speculation, ..self }
    }

    pub fn balanced(self) -> Self {
        Self { more: ", balance", balance: Balance::Load, ..self }
    }

    /// Every federate is worked off by itself.
    pub fn unmerged(self) -> Self {
        Self { more: ", not merged", groups: Some(self.federates), ..self }
    }

    pub fn beside_busy(self) -> Self {
        Self { more: ", beside a busy process", busy: true, ..self }
    }

    fn name(&self) -> String {
        let plural =
            |number: u32, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let (federates, threads) = (plural(self.federates, "federate"), plural(self.threads, "thread"));
        match (&self.name, self.protocol) {
            (Some(name), _) => name.clone(),
            (None, Protocol::Sequential) => "sequential".into(),
            (None, protocol) => format!("{}, {federates}, {threads}{}", protocol.name(), self.more),
        }
    }

    /// A row that runs `model` in this way.
    pub fn row<M: Model + Clone + 'static>(self, model: &M) -> Row {
        let (name, model) = (self.name(), model.clone());
        Row::new(name, move |until_s| {
            let _busy = self.busy.then(Busy::start);
            let run =
                Simulation::new(model.clone()).until(Time::from_secs_f64(until_s)).protocol(self.protocol);
            let run = run.federates(self.federates).threads(self.threads).balance(self.balance);
            let run = run.speculation(self.speculation.clone());
            let report = match self.groups {
                Some(groups) => run.groups(groups).run(),
                None => run.run(),
            };
            Facts::of(&report.expect("the model keeps the rules"))
        })
    }
}

/// A row: its name, its run up to a simulated time, and the row of its case that it is compared with.
pub struct Row {
    way: String,
    run: Box<dyn FnMut(f64) -> Facts>,
    reference: usize,
}

impl Row {
    pub fn new(way: impl Into<String>, run: impl FnMut(f64) -> Facts + 'static) -> Self {
        Self { way: way.into(), run: Box::new(run), reference: 0 }
    }

    pub fn compared_with(self, reference: usize) -> Self {
        Self { reference, ..self }
    }

    /// Runs to `until_s` and gives back the seconds it took.
    fn time(&mut self, until_s: f64) -> (f64, Facts) {
        let start = Instant::now();
        let facts = (self.run)(until_s);
        (start.elapsed().as_secs_f64(), facts)
    }
}

/// How far the rows of a case run, in simulated seconds.
#[derive(Clone, Copy, Debug)]
pub enum Horizon {
    /// All to the same.
    Fixed(f64),
    /// All to this first; then as far as takes so many times [`row_seconds`].
    Fitted { first_s: f64, times: f64 },
}

impl Horizon {
    /// The horizon of `row`, and the digest of its first run.
    fn fit(self, row: &mut Row) -> (f64, Option<String>) {
        let (first_s, wanted_s) = match self {
            Self::Fixed(until_s) => return ((until_s * row_seconds() / ROW_SECONDS).ceil(), None),
            Self::Fitted { first_s, times } => (first_s, times * row_seconds()),
        };
        let (mut until_s, (mut took_s, facts)) = (first_s, row.time(first_s));
        while took_s < 0.7 * wanted_s {
            until_s *= (wanted_s / took_s).clamp(1.2, 16.0);
            took_s = row.time(until_s).0;
        }
        (until_s, facts.digest)
    }
}

/// One table: rows that run the same.
pub struct Case {
    pub name: String,
    pub horizon: Horizon,
    pub rows: Vec<Row>,
}

impl Case {
    /// Measures all rows, interleaved.
    pub fn measure(self, group: &str) -> Vec<Line> {
        let (horizon, mut rows) = (self.horizon, self.rows);
        let fitted: Vec<(f64, Option<String>)> = rows.iter_mut().map(|row| horizon.fit(row)).collect();
        let found: Vec<RefCell<Vec<(f64, Facts)>>> = rows.iter().map(|_| RefCell::default()).collect();
        let candidates = rows.iter_mut().zip(&fitted).zip(&found).map(|((row, (until_s, _)), found)| {
            let name = row.way.clone();
            let run = move || {
                let (took_s, facts) = row.time(*until_s);
                let events = facts.events;
                found.borrow_mut().push((events as f64 / took_s, facts));
                events
            };
            Candidate { name, run: Box::new(run) }
        });
        let measured = interleave(candidates.collect(), rounds());
        let line = |(place, row): (usize, &Row)| {
            let (mut runs, row_rates) = (found[place].take(), &measured[place]);
            runs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let slowest = runs[0].0;
            let (_, facts) = runs.swap_remove(runs.len() / 2);
            Line {
                group: group.into(),
                case: self.name.clone(),
                way: row_rates.name.clone(),
                rounds: rounds(),
                rate: row_rates.median(),
                slowest,
                spread_percent: row_rates.spread_percent(),
                ratio: row_rates.median() / measured[row.reference].median(),
                events: facts.events,
                efficiency: facts.efficiency,
                safe: facts.safe,
                rollbacks: facts.rollbacks,
                gvt_rounds: facts.gvt_rounds,
                digest: fitted[place].1.clone().or(facts.digest),
            }
        };
        rows.iter().enumerate().map(line).collect()
    }
}

/// How many rounds: `PACELINE_ROUNDS`, or 5.
pub fn rounds() -> usize {
    if std::env::var_os("PACELINE_ROUNDS").is_some() { common::rounds().max(1) } else { 5 }
}

/// Seconds that a row takes unless the environment says more.
const ROW_SECONDS: f64 = 0.5;

/// The number that the environment gives `name`, if it gives a positive one.
pub fn setting(name: &str, default: f64) -> f64 {
    let value = std::env::var(name).ok().and_then(|value| value.parse().ok());
    value.filter(|value: &f64| *value > 0.0 && value.is_finite()).unwrap_or(default)
}

/// Seconds that a row takes.
pub fn row_seconds() -> f64 {
    setting("PACELINE_ROW_SECONDS", ROW_SECONDS)
}
