//! What experiments have shown, wherever they ran: on standard output, and as a page in a folder.

use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::Path;
use std::thread;
use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table as Grid};
use paceline_app::failure::CommandError;
use paceline_app::output::{Identity, Output};
use paceline_app::progress::warn;
use paceline_app::{stdout, text};
use paceline_report::{Appendix, Check, Finding, Table, Verdict, json, page};
use serde_json::Value;

/// The file with the findings for programs.
const REPORT: &str = "report.json";

/// How findings are printed.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Tables and sentences for people.
    Text,
    /// As a JSON object if there is one finding, else as an array.
    Json,
    /// As a JSON array however many there are.
    JsonArray,
}

impl Form {
    /// The form that is asked for by `--json`, and by `--all` or names.
    pub fn new(json: bool, all: bool) -> Self {
        match (json, all) {
            (false, _) => Self::Text,
            (true, false) => Self::Json,
            (true, true) => Self::JsonArray,
        }
    }
}

/// Lists experiments, each with its name and what it shows.
pub fn list<'a>(all: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Result<(), CommandError> {
    let width = all.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, title)| format!("{name:width$}  {title}\n");
    stdout::print(&all.map(line).collect::<String>())
}

/// Prints findings; for people `before`, and then what they say.
pub fn print(findings: &[Finding], form: Form, before: &str) -> Result<(), CommandError> {
    let text = match (form, findings) {
        (Form::Text, findings) => format!("{before}{}", in_words(findings)),
        (Form::Json, [only]) => format!("{}\n", only.json()),
        (Form::Json | Form::JsonArray, findings) => format!("{}\n", json(findings)),
    };
    stdout::print(&text)
}

/// The folder for findings of the experiments of these names, before they run. Says so where it holds others.
pub fn open(folder: &Path, names: &[&str]) -> Result<Output, CommandError> {
    let output = Output::open(folder, &Identity::default())?;
    let path = folder.join(REPORT);
    let there = path.is_file().then(|| fs::read(&path).ok()).flatten();
    let there = there.map(|content| serde_json::from_slice::<Vec<Value>>(&content).unwrap_or_default());
    let there = there.map(|all| {
        all.iter().filter_map(|one| Some(one.get("name")?.as_str()?.to_owned())).collect::<Vec<_>>()
    });
    if there.is_some_and(|there| there != names) {
        let (folder, path) = (folder.display(), path.display());
        warn(&format!(
            "{folder} holds another report, {path}; this one replaces it when the experiments end"
        ));
    }
    Ok(output)
}

/// Writes findings into the folder, as a page for people and as JSON; the page begins with `form`, and with
/// program, day and machine.
pub fn write(
    mut output: Output,
    title: &str,
    form: &str,
    findings: &[Finding],
    appendices: &[Appendix],
) -> Result<(), CommandError> {
    let html = page(title, &[form.into(), made()], findings, appendices);
    for (name, text) in [(REPORT, format!("{}\n", json(findings))), ("report.html", html)] {
        output.write(name, |file| file.write_all(text.as_bytes()));
    }
    output.finish().map(drop)
}

/// Which program made a page, when and where.
fn made() -> String {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    format!(
        "Made by paceline {} on {} (UTC), on {} {} with {cores} {}.",
        env!("CARGO_PKG_VERSION"),
        time::OffsetDateTime::now_utc().date(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        if cores == 1 { "core" } else { "cores" },
    )
}

/// The form of the experiments, in a sentence.
pub fn form(quick: bool) -> &'static str {
    match quick {
        true => {
            "The quick form: smaller sizes, shorter runs and fewer repetitions than in the full one. Where numbers matter, run the full form."
        }
        false => "The full form.",
    }
}

/// What findings say, for people.
fn in_words(findings: &[Finding]) -> String {
    let mut printed = String::new();
    for finding in findings {
        let wall = text::decimal(Duration::from_secs_f64(finding.wall_seconds).as_secs_f64());
        printed +=
            &format!("{}: {} ({wall} s)\n  {}\n", finding.name, finding.title, finding.ran_on.sentence());
        printed += &format!("  Verdict: {}\n{}\n", finding.verdict().name(), grid(&finding.check_table()));
        if let Some(fit) = &finding.fit {
            let (vector, error) = (fit.vector_sentence(), fit.error_sentence());
            printed += &format!("  {vector}\n  {error}\n{}\n", grid(&fit.table()));
        }
        for sweep in &finding.sweeps {
            printed += &format!("  {}\n", sweep.sentence());
        }
        for note in &finding.notes {
            printed += &format!("  {note}\n");
        }
        printed.push('\n');
    }
    let checks = findings.iter().flat_map(|finding| &finding.checks).map(Check::verdict);
    printed
        + &format!(
            "experiments: {}\nchecks: {}\n",
            Verdict::counts(findings.iter().map(Finding::verdict)),
            Verdict::counts(checks)
        )
}

/// A table for a terminal, or for a file where there is none.
pub fn grid(table: &Table) -> String {
    let mut grid = Grid::new();
    grid.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !io::stdout().is_terminal() {
        grid.set_width(160);
    }
    grid.set_header(table.columns());
    for row in table.rows() {
        grid.add_row(row);
    }
    grid.trim_fmt()
}

#[cfg(test)]
mod tests {
    use paceline_report::{Criterion, Ours, Shape, Tolerance};

    use super::*;

    #[test]
    fn findings_begin_with_what_ran_and_end_with_the_counts_of_verdicts() {
        let check = |gain: f64| Check {
            what: "gain".into(),
            criterion: Criterion::published(20.0, Tolerance::TIMES).or(Shape::Above(1.0)),
            ours: Ours::one(gain, "times"),
        };
        let finding =
            |checks| Finding { name: "one".into(), title: "shows".into(), checks, ..Finding::default() };
        let printed = in_words(&[
            finding(vec![check(18.0)]),
            finding(vec![check(18.0), check(91.0), check(0.5)]),
            finding(vec![]),
        ]);
        let begins = "one: shows (0 s)\n  Ran on a simulated machine: ";
        assert!(printed.starts_with(begins) && printed.contains("\n  Verdict: reproduced\n"), "{printed}");
        let ends = "experiments: 1 reproduced, 0 same order, 1 undecided, 1 differs\n\
                    checks: 2 reproduced, 1 same order, 0 undecided, 1 differs\n";
        assert!(printed.ends_with(ends), "{printed}");
    }
}
