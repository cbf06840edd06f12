//! What an experiment found: the claims it checks, and what there is to look at.
//!
//! Invariant: as JSON a finding is `{"name", "ran_on", "verdict", "checks": [{"what", "must", "published",
//! "ours", "verdict"}], "sweeps": [..], "wall_seconds"}` and nothing else, but `"parameters"` where these are
//! not the built-in ones, and `"fit": {"vector": {NAME: VALUE}, "vectors_tried", "rows": [{"what", "half",
//! "published", "ours", "error"}], "unserved": [..]}` where a vector was fitted: figures and tables are for
//! the page alone. A sweep is `{"check", "quantity", "unit", "ours", "measured", "measured_unit", "curves":
//! [{"name", "points", "wanted"}], "sentence"}`.
//!
//! To add a column to the table of checks, change `check_table`. What must be true and what follows from it
//! is in `criterion`; the sign of a verdict on the page is in `result` of `page/parts.rs`.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::criterion::{Criterion, Ours};
use crate::figure::Figure;
use crate::fit::Fit;
use crate::number::number;
use crate::sweep::Sweep;
use crate::table::Table;

/// What a comparison says, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The number is within its tolerance; where none is published, the claim is true.
    Reproduced,
    /// The number is not, but signs, orders and crossings are as published.
    SameOrder,
    /// An interval of ours contains the bound, or nothing was compared.
    Undecided,
    /// Neither is as published.
    Differs,
}

impl Verdict {
    /// All of them, from the best to the worst.
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::SameOrder, Self::Undecided, Self::Differs];

    /// The verdict in words, the same everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::SameOrder => "same order",
            Self::Undecided => "undecided",
            Self::Differs => "differs",
        }
    }

    /// How many of each there are among `verdicts`: `3 reproduced, 1 same order, 0 undecided, 2 differs`.
    pub fn counts(verdicts: impl IntoIterator<Item = Self>) -> String {
        let mut counts = [0; Self::ALL.len()];
        verdicts.into_iter().for_each(|verdict| counts[verdict as usize] += 1);
        let named =
            Self::ALL.iter().zip(counts).map(|(verdict, count)| format!("{count} {}", verdict.name()));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// What an experiment ran on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RanOn {
    /// A simulation of hosts, CPUs, networks and their costs.
    #[default]
    SimulatedMachine,
    /// Xen in an emulator.
    EmulatedHypervisor,
    /// Threads of the machine that made the report.
    RealThreads,
    /// Programs of others, each in a process.
    RealProcesses,
}

impl RanOn {
    /// What it was, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SimulatedMachine => "simulated machine",
            Self::EmulatedHypervisor => "emulated hypervisor",
            Self::RealThreads => "real threads",
            Self::RealProcesses => "real processes",
        }
    }

    /// What a reader must know of the numbers, in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::SimulatedMachine => {
                "Ran on a simulated machine: hosts, CPUs, links and run times are those of a model, not of hardware."
            }
            Self::EmulatedHypervisor => {
                "Ran on an emulated hypervisor: Xen and its guests, with times of the emulator, not of hardware."
            }
            Self::RealThreads => {
                "Ran on real threads of this machine: times are measured and differ from run to run."
            }
            Self::RealProcesses => {
                "Ran on real processes: unmodified programs; the text says which of their times are simulated."
            }
        }
    }
}

/// One comparison. Its words and its verdict follow from the numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What is compared: `gain at 64 domains`.
    pub what: String,
    /// What must be true of ours.
    pub criterion: Criterion,
    /// What was found.
    pub ours: Ours,
}

impl Check {
    /// Of a run that gave no result, for this reason.
    pub fn failed(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), criterion: Criterion::Failed(reason.into()), ours: Ours::default() }
    }

    /// What the comparison says.
    pub fn verdict(&self) -> Verdict {
        self.criterion.verdict(&self.ours.values)
    }

    /// What the source states, with its unit; empty where it states nothing.
    pub fn published(&self) -> String {
        self.criterion.published_text(&self.ours.unit)
    }

    /// What must be true of ours.
    pub fn must(&self) -> String {
        self.criterion.must_text(&self.ours.unit)
    }

    /// What the source states for the one at `place` of ours, and that one.
    pub fn place(&self, place: usize) -> (String, String) {
        let published = match &self.criterion {
            Criterion::Number { published, words, .. } => {
                let number = published.get(place).or(published.last()).map(|one| number(*one));
                let number = format!("{} {}", number.unwrap_or_default(), self.ours.unit);
                let number = number.trim_end();
                if words.is_empty() { number.to_owned() } else { format!("{number} ({words})") }
            }
            _ => self.published(),
        };
        let one = self.ours.values.get(place).copied();
        (
            published,
            Ours { values: one.into_iter().collect(), detail: String::new(), ..self.ours.clone() }.text(),
        )
    }

    /// What was found, with its unit, or why nothing was.
    pub fn ours(&self) -> String {
        match &self.criterion {
            Criterion::Failed(reason) => reason.clone(),
            _ => self.ours.text(),
        }
    }
}

/// What one experiment found.
///
/// ```
/// use paceline_report::{Check, Criterion, Finding, Ours, Shape, Tolerance, Verdict};
///
/// let finding = Finding {
///     name: "psx-fig12".into(),
///     title: "Gain over the number of domains".into(),
///     checks: vec![Check {
///         what: "gain at 64 domains".into(),
///         criterion: Criterion::published(20.0, Tolerance::TIMES).or(Shape::Above(1.0)).saying("over"),
///         ours: Ours::one(33.0, "times"),
///     }],
///     wall_seconds: 4.5,
///     ..Finding::default()
/// };
/// assert_eq!(finding.verdict(), Verdict::SameOrder);
/// assert_eq!(
///     finding.json(),
///     concat!(
///         r#"{"name":"psx-fig12","ran_on":"simulated machine","verdict":"same order","checks":[{"#,
///         r#""what":"gain at 64 domains","must":"13.33 to 30 times (within a factor of 1.5); the order: above 1 times","#,
///         r#""published":"20 times (over)","ours":"33 times","verdict":"same order"}],"sweeps":[],"wall_seconds":4.5}"#
///     )
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// The experiment's name, unique on a page: `psx-fig12`.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// What its runs were.
    pub ran_on: RanOn,
    /// What is run and why, a paragraph each.
    pub about: Vec<String>,
    /// The claims checked.
    pub checks: Vec<Check>,
    /// What was fitted and what predicted, if its source leaves quantities open.
    pub fit: Option<Fit>,
    /// For checks that are not reproduced, what would have to be true.
    pub sweeps: Vec<Sweep>,
    /// The figures redrawn.
    pub figures: Vec<Figure>,
    /// Shown after the first one, in this order.
    pub tables: Vec<Table>,
    /// What a reader must know besides: why a row differs, what was assumed.
    pub notes: Vec<String>,
    /// Which parameters it had, in a sentence, if these are not the built-in ones; then it is among the
    /// notes too.
    pub parameters: String,
    /// How long the experiment took, in seconds of real time.
    pub wall_seconds: f64,
}

impl Finding {
    /// The worst verdict of its checks. Where nothing is checked, nothing is decided.
    pub fn verdict(&self) -> Verdict {
        self.checks.iter().map(Check::verdict).max().unwrap_or(Verdict::Undecided)
    }

    /// Whether it has a check of this name, its `what`, whose number is not as published: one for which a
    /// sweep is wanted.
    pub fn misses(&self, check: &str) -> bool {
        let is_missed = |verdict| matches!(verdict, Verdict::SameOrder | Verdict::Differs);
        self.checks.iter().any(|other| other.what == check && is_missed(other.verdict()))
    }

    /// The checks as a table: what, published, ours, must, verdict.
    pub fn check_table(&self) -> Table {
        let mut table = Table::new(&self.title, ["what", "published", "ours", "must be", "verdict"]);
        for check in &self.checks {
            let published = match check.published() {
                none if none.is_empty() => "-".to_owned(),
                published => published,
            };
            let verdict = check.verdict().name().to_owned();
            table.row([check.what.clone(), published, check.ours(), check.must(), verdict]);
        }
        table
    }

    /// The finding as one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are always JSON")
    }
}

/// Findings as one JSON array.
pub fn json(findings: &[Finding]) -> String {
    serde_json::to_string(findings).expect("strings and numbers are always JSON")
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Check", 5)?;
        object.serialize_field("what", &self.what)?;
        object.serialize_field("must", &self.must())?;
        object.serialize_field("published", &self.published())?;
        object.serialize_field("ours", &self.ours())?;
        object.serialize_field("verdict", self.verdict().name())?;
        object.end()
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let others = usize::from(!self.parameters.is_empty()) + usize::from(self.fit.is_some());
        let mut object = serializer.serialize_struct("Finding", 6 + others)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("ran_on", self.ran_on.name())?;
        object.serialize_field("verdict", self.verdict().name())?;
        object.serialize_field("checks", &self.checks)?;
        object.serialize_field("sweeps", &self.sweeps)?;
        if let Some(fit) = &self.fit {
            object.serialize_field("fit", fit)?;
        }
        if !self.parameters.is_empty() {
            object.serialize_field("parameters", &self.parameters)?;
        }
        object.serialize_field("wall_seconds", &self.wall_seconds)?;
        object.end()
    }
}
