//! What an experiment found: the claims it checks, and what there is to look at.
//!
//! Invariant: as JSON a finding is `{"name", "holds", "checks": [{"what", "published", "ours", "holds"}],
//! "sweeps": [..], "wall_seconds"}` and nothing else, but `"parameters"` where these are not the built-in
//! ones: figures and tables are for the page alone. A sweep is `{"check", "quantity", "unit", "ours",
//! "measured", "measured_unit", "curves": [{"name", "points", "wanted"}], "sentence"}`.
//!
//! To add a column to the table of checks, change `check_table`; a new field of [`Check`] is set wherever a
//! finding is judged. Words of a result are in `verdict`, its sign on the page in `result` of
//! `page/parts.rs`.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::figure::Figure;
use crate::sweep::Sweep;
use crate::table::Table;

/// One claim, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is compared: `gain at 64 domains`.
    pub what: String,
    /// What the source states of it, with its unit; empty where it states no number.
    pub published: String,
    /// What was found here, with its unit.
    pub ours: String,
    /// What must be true of ours: `at least 15`.
    #[serde(skip)]
    pub must: String,
    /// Whether it is true.
    pub holds: bool,
}

/// What one experiment found.
///
/// ```
/// use paceline_report::{Check, Finding};
///
/// let finding = Finding {
///     name: "psx-fig12".into(),
///     title: "Gain over the number of domains".into(),
///     checks: vec![Check {
///         what: "gain at 64 domains".into(),
///         published: "over 20".into(),
///         ours: "18.2".into(),
///         must: "at least 15".into(),
///         holds: true,
///     }],
///     wall_seconds: 4.5,
///     ..Finding::default()
/// };
/// assert!(finding.holds());
/// assert_eq!(
///     finding.json(),
///     r#"{"name":"psx-fig12","holds":true,"checks":[{"what":"gain at 64 domains","published":"over 20","ours":"18.2","holds":true}],"sweeps":[],"wall_seconds":4.5}"#
/// );
/// for row in finding.check_table().rows() {
///     assert_eq!(row.join(" | "), "gain at 64 domains | over 20 | 18.2 | at least 15 | holds");
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// The experiment's name, unique on a page: `psx-fig12`.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// What is run and why, a paragraph each.
    pub about: Vec<String>,
    /// The claims checked.
    pub checks: Vec<Check>,
    /// For checks that do not hold, what would have to be true.
    pub sweeps: Vec<Sweep>,
    /// The figures redrawn.
    pub figures: Vec<Figure>,
    /// Shown after the first one, in this order.
    pub tables: Vec<Table>,
    /// What a reader must know besides: why a row does not hold, what was assumed.
    pub notes: Vec<String>,
    /// Which parameters it had, in a sentence, if these are not the built-in ones; then it is among the
    /// notes too.
    pub parameters: String,
    /// How long the experiment took, in seconds of real time.
    pub wall_seconds: f64,
}

impl Finding {
    /// Whether every check holds. Where nothing is checked, nothing is shown: it does not hold.
    pub fn holds(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.holds)
    }

    /// Whether it has a check of this name, its `what`, that does not hold: one for which a sweep is wanted.
    pub fn fails(&self, check: &str) -> bool {
        self.checks.iter().any(|other| other.what == check && !other.holds)
    }

    /// How many checks hold.
    pub fn held(&self) -> usize {
        self.checks.iter().filter(|check| check.holds).count()
    }

    /// The checks as a table: what, published, ours, must hold, holds or not.
    pub fn check_table(&self) -> Table {
        let mut table = Table::new(&self.title, ["what", "published", "ours", "must hold", "result"]);
        for Check { what, published, ours, must, holds } in &self.checks {
            let published = if published.is_empty() { "-" } else { published };
            table.row([what, published, ours, must, verdict(*holds)]);
        }
        table
    }

    /// The finding as one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings, booleans and numbers are always JSON")
    }
}

/// Findings as one JSON array.
pub fn json(findings: &[Finding]) -> String {
    serde_json::to_string(findings).expect("strings, booleans and numbers are always JSON")
}

/// A verdict in words, the same everywhere.
pub(crate) fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "does not hold" }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let others = usize::from(!self.parameters.is_empty());
        let mut object = serializer.serialize_struct("Finding", 5 + others)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("holds", &self.holds())?;
        object.serialize_field("checks", &self.checks)?;
        object.serialize_field("sweeps", &self.sweeps)?;
        if others > 0 {
            object.serialize_field("parameters", &self.parameters)?;
        }
        object.serialize_field("wall_seconds", &self.wall_seconds)?;
        object.end()
    }
}
