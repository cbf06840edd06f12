//! The end of a run: its summary is printed, then its files are written.
//!
//! `run.rs` and `processes.rs` call it; what is said comes from `summary.rs`.
//!
//! Invariant: the summary comes first. Where the disk is full it is all that is left of the run.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_results::ResultFile;
use serde_json::Value;

use crate::args::ResultArguments;
use crate::failure::CommandError;
use crate::log::EventLog;
use crate::output::{Output, REPORT, deliver};
use crate::run_report::{self, Origin, Recorded};
use crate::stdout;
use crate::summary::Finished;

/// What is written of a run that has ended, besides its summary.
#[derive(Debug, Default)]
pub struct Written {
    /// The output folder, if results go into one.
    pub output: Option<Output>,
    /// The files of the model.
    pub files: Vec<ResultFile>,
    /// The log of events, if there is one.
    pub log: Option<Arc<EventLog>>,
    /// What was sampled for the report, and what the run was made from.
    pub(crate) sampled: Option<(Recorded, Origin)>,
}

/// Prints the summary of a run and writes its files, as `results` ask for it. `traced` is what came of its
/// trace.
pub fn finish(
    finished: &Finished,
    Written { output, files, log, sampled }: Written,
    traced: Result<(), CommandError>,
    results: &ResultArguments,
) -> Result<(), CommandError> {
    let summary = match (results.json, results.quiet) {
        (true, _) => format!("{:#}\n", finished.everything()),
        (false, true) => finished.line(),
        (false, false) => finished.page(),
    };
    let page = || finished.page();
    let page = results.quiet.then_some(&page as &dyn Fn() -> String);
    deliver(&summary, !results.json && !results.quiet, || {
        let report = sampled.map(|(recorded, origin)| run_report::html(finished, origin, &recorded));
        let written =
            output.map(|output| write(output, &finished.results(), files, report, page)).transpose();
        // Where results find no room, the log may.
        let logged = log.map(|log| log.finish().map(|()| log.path().to_owned())).transpose();
        let trace = results.trace.clone().filter(|_| traced.is_ok());
        Ok(written?.into_iter().flatten().chain(trace).chain(logged?).collect())
    })?;
    traced?;
    if finished.is_interrupted() { Err(CommandError::Interrupted) } else { Ok(()) }
}

/// Writes all files, with these results as the summary and this report, and gives back which they are.
/// `page`, where it is given, is printed if there is no room for the summary: the results would be lost
/// otherwise.
pub fn write(
    mut output: Output,
    results: &Value,
    files: Vec<ResultFile>,
    report: Option<String>,
    page: Option<&dyn Fn() -> String>,
) -> Result<Vec<PathBuf>, CommandError> {
    let format = output.tables;
    output.write_summary(results, files.iter().map(|file| format.name(file)));
    for file in files {
        output.write(&format.name(&file), |to| format.write(file, to));
    }
    // Last, since it is no result: where the disk is full, results have the room.
    if let Some(report) = report {
        output.write(REPORT, |to| to.write_all(report.as_bytes()));
    }
    if let Some(page) = page.filter(|_| output.lacks_summary()) {
        stdout::print(&page())?;
    }
    output.finish()
}
