//! What was measured: a line for each row, printed as Markdown tables and written as JSON lines.
//!
//! Every table is printed and written as soon as it is there, so that a run that is cut short leaves what it
//! has measured.

use std::fs::File;
use std::io::Write;

use comfy_table::{Table, presets};
use serde::{Deserialize, Serialize};

/// What came of one row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    pub group: String,
    pub case: String,
    pub way: String,
    pub rounds: usize,
    /// Committed events a second, the median of the rounds.
    pub rate: f64,
    /// That of the slowest round.
    pub slowest: f64,
    /// Half the distance between the quartiles, in per cent of the median.
    pub spread_percent: f64,
    /// The rate by that of the row it is compared with.
    pub ratio: f64,
    /// Events of one run; of the round with the median rate, as all below.
    pub events: u64,
    /// Committed by handled events.
    pub efficiency: Option<f64>,
    /// Handled events that were final at once, by all handled.
    pub safe: Option<f64>,
    pub rollbacks: Option<u64>,
    pub gvt_rounds: Option<u64>,
    /// Of the run that all rows of the case have in common.
    pub digest: Option<String>,
}

impl Line {
    /// Rollbacks for a thousand committed events.
    fn rollbacks_per_thousand(&self) -> Option<f64> {
        self.rollbacks.map(|rollbacks| 1e3 * rollbacks as f64 / self.events.max(1) as f64)
    }

    fn gvt_rounds_per_second(&self) -> Option<f64> {
        self.gvt_rounds.map(|rounds| rounds as f64 * self.rate / self.events.max(1) as f64)
    }

    /// The columns of a table, `per` being what the ratio is of.
    pub fn columns(per: &str) -> [String; 9] {
        let columns = [
            "",
            "M events/s",
            "slowest",
            "spread %",
            per,
            "efficiency %",
            "safe %",
            "rollbacks/1000",
            "GVT rounds/s",
        ];
        columns.map(str::to_owned)
    }

    pub fn cells(&self) -> [String; 9] {
        let or_dash = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        [
            self.way.clone(),
            format!("{:.3}", self.rate / 1e6),
            format!("{:.3}", self.slowest / 1e6),
            format!("{:.1}", self.spread_percent),
            format!("{:.3}", self.ratio),
            or_dash(self.efficiency.map(|share| 100.0 * share), 1),
            or_dash(self.safe.map(|share| 100.0 * share), 0),
            or_dash(self.rollbacks_per_thousand(), 3),
            or_dash(self.gvt_rounds_per_second(), 0),
        ]
    }
}

/// Where lines go.
pub struct Results(Option<File>);

impl Results {
    /// Opens the file that `PACELINE_RESULTS` names, if it names one.
    pub fn open() -> Result<Self, String> {
        let Some(path) = std::env::var_os("PACELINE_RESULTS") else { return Ok(Self(None)) };
        let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(Some(file)))
    }

    /// Prints and writes the lines of one table.
    pub fn take(&mut self, lines: &[Line], per: &str) -> Result<(), String> {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header(Line::columns(per));
        for line in lines {
            table.add_row(line.cells());
        }
        let title = lines.first().map_or("", |line| &line.case);
        println!("\n{title}\n\n{table}");
        let mut digests = lines.iter().filter_map(|line| line.digest.as_ref());
        if let Some(first) = digests.next()
            && digests.any(|digest| digest != first)
        {
            println!("\nThe digests of these rows differ.");
        }
        let Some(file) = &mut self.0 else { return Ok(()) };
        for line in lines {
            let text = serde_json::to_string(line).map_err(|error| error.to_string())?;
            writeln!(file, "{text}").map_err(|error| format!("PACELINE_RESULTS: {error}"))?;
        }
        Ok(())
    }
}
