//! The results of a finished run: lines for the summary, files for users that ask for them, and the
//! [`statistics`] that models gather for both. And the [`Picture`] of a model while it runs.
//!
//! Invariant: results depend on the model and its outputs only, so they are the same, byte for byte, under
//! every protocol, partition and number of threads. There is one output per federate; a model joins and sorts
//! them.
//!
//! A model adds lines and files to its [`Summary`] in [`Results::results`]; `simulation/app/src/summary.rs`
//! shows the lines, `simulation/app/src/output.rs` writes the files, `simulation/app/src/run_report.rs` draws
//! the charts.

#![forbid(unsafe_code)]

mod chart;
mod outputs;
mod picture;
pub mod statistics;
mod table;

use std::borrow::Cow;
use std::io::{self, Write};

use paceline_kernel::{LpId, Model, Time};
use serde_json::Value;

pub use chart::{Chart, ChartKind};
pub use outputs::{Note, Output, OutputError, Outputs};
pub use picture::{Edge, Picture, Point, arrange};
pub use table::{Column, Values};

/// What is known of every run besides the model's outputs, in every mode.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts {
    /// Events committed, in all processes of the run together.
    pub events: u64,
    /// The simulated time reached.
    pub end_time: Time,
}

/// A model that reports results at the end of a run.
///
/// ```
/// use paceline_results::{Results, RunFacts, Summary};
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// # struct Ring;
/// # impl Model for Ring {
/// #     type State = ();
/// #     type Event = ();
/// #     type Output = u64;
/// #     fn lps(&self) -> u32 { 1 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, _: LpId, _: &mut Context<Self>) {}
/// #     fn handle(&self, _: &mut (), _: &(), _: &mut Context<Self>) {}
/// # }
///
/// impl Results for Ring {
///     fn results(&self, laps: Vec<u64>, _: &RunFacts) -> Result<Summary, String> {
///         let laps: u64 = laps.iter().sum();
///         let mut summary = Summary::default();
///         summary.line("laps", laps);
///         summary.file("laps.csv", move |to| writeln!(to, "laps\n{laps}"));
///         Ok(summary)
///     }
/// }
/// ```
pub trait Results: Model {
    /// Joins the outputs of all federates. The error says which totals do not match, for example when
    /// vehicles are missing. A model that says nothing has no results beside those of every run.
    fn results(&self, outputs: Vec<Self::Output>, facts: &RunFacts) -> Result<Summary, String> {
        let _ = (outputs, facts);
        Ok(Summary::default())
    }

    /// Draws the model as it is at `at`, for the page of `--live`: `states` are those of all LPs, in the
    /// order of their numbers. Called some times a second while the run stands still, so it is to be quick;
    /// what it takes is measured, and it is called the less often the longer it takes. A model that says
    /// nothing is not drawn.
    fn picture(&self, at: Time, states: &mut dyn Iterator<Item = (LpId, &Self::State)>) -> Option<Picture> {
        let _ = (at, states);
        None
    }
}

/// A model's results, in the order in which they are displayed.
#[derive(Debug, Default)]
pub struct Summary {
    /// Names and values. A name is in snake_case with its unit last: `mean_travel_s`, `distance_km`.
    pub lines: Vec<(Cow<'static, str>, Value)>,
    /// Files for the output folder.
    pub files: Vec<ResultFile>,
    /// What is drawn in the report of the run.
    pub charts: Vec<Chart>,
}

impl Summary {
    /// Adds a line.
    pub fn line(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) {
        self.lines.push((name.into(), value.into()));
    }

    /// Adds a file; `write` fills it if the user wants it.
    pub fn file(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) {
        self.files.push(ResultFile { name: name.into(), columns: None, write: Box::new(write) });
    }

    /// Adds a chart to the report of the run. One without points is left out.
    pub fn chart(&mut self, chart: Chart) {
        if !chart.points.is_empty() {
            self.charts.push(chart);
        }
    }

    /// Adds a table, `NAME.csv`: `write` gives its rows, as lines of CSV (RFC 4180) without a header. Users
    /// may have it in another format.
    pub fn table(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        columns: &'static [Column],
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) {
        let with_header = move |to: &mut dyn Write| {
            let names: Vec<_> = columns.iter().map(|column| column.name).collect();
            writeln!(to, "{}", names.join(","))?;
            write(to)
        };
        self.files.push(ResultFile {
            name: name.into(),
            columns: Some(columns),
            write: Box::new(with_header),
        });
    }
}

/// Writes a file's content.
type Writer = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// A file that a model can write.
pub struct ResultFile {
    /// Its name in the output folder, such as `trips.csv`.
    pub name: Cow<'static, str>,
    columns: Option<&'static [Column]>,
    write: Writer,
}

impl ResultFile {
    /// The columns of a table.
    pub fn columns(&self) -> Option<&'static [Column]> {
        self.columns
    }

    /// Writes its content; `to` should be buffered.
    pub fn write(self, to: &mut dyn Write) -> io::Result<()> {
        (self.write)(to)
    }
}

impl std::fmt::Debug for ResultFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultFile").field("name", &self.name).finish_non_exhaustive()
    }
}
