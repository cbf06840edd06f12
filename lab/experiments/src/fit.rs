//! Calibrate, then predict: a source leaves quantities open (how long a federate polls, what an event costs).
//! One vector of them is fitted for all experiments and all policies of a source, on half of its numbers; the
//! other half is predicted.
//!
//! Which numbers are in which half is a rule ([`halves`]); what is open is data, a file a source
//! ([`vectors`](crate::vectors)); the search is coordinate descent on its grid ([`descent`]). The fitted
//! values are those of [`Calibration::default`], so that every run of the source's experiments has them.
//! Reports say of each number whether it was fitted or predicted, with its error.
//!
//! Invariant: the search sees the fitted half only.

mod descent;

use std::collections::BTreeMap;

use paceline_report::{Appendix, Finding, Half, Table, half_sentence};
use paceline_scenario::ScenarioError;
use thiserror::Error;

use crate::batch::Setup;
use crate::reproduce::{Progress, reproduce};
use crate::vectors::halves::{self, mean_error, rows};
use crate::vectors::{self, Open, Recorded};
use crate::{Calibration, Experiment};
use descent::descend;

/// Rounds over all quantities, at most: a search seldom needs a third.
const ROUNDS: usize = 4;

/// Why nothing was fitted.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// The source has no file.
    #[error("nothing of {0:?} is open: choose one of {1}")]
    Closed(String, String),
    /// A mistake in parameters.
    #[error(transparent)]
    Parameters(#[from] ScenarioError),
    /// No number of the source is in the fitted half.
    #[error("no number of {0:?} chooses a vector")]
    NoNumbers(String),
}

/// Fits the vector of the source `paper`, whose experiments are among `all`, beginning with the constants of
/// the table, and returns its file.
/// `progress` is called as runs end; how many there will be is not known before the end.
///
/// # Errors
/// The source is none, or has nothing to fit.
pub fn calibrate(
    paper: &str,
    all: &[Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<String, CalibrateError> {
    let closed = || {
        let known: Vec<_> = vectors::all().iter().map(|open| open.paper).collect();
        CalibrateError::Closed(paper.into(), known.join(", "))
    };
    let open = vectors::all().iter().find(|open| open.paper == paper).ok_or_else(closed)?;
    let of_paper = |name: &String| all.iter().find(|experiment| experiment.name == *name);
    let chosen: Vec<&Experiment> = open.experiments.iter().filter_map(of_paper).collect();
    let sizes: Vec<usize> = open.quantities.iter().map(|tried| tried.values.len()).collect();
    let begins = open
        .quantities
        .iter()
        .map(|tried| tried.values.iter().position(|value| *value == tried.constant.value).unwrap_or(0));
    let begins: Vec<usize> = begins.collect();
    let mut known: BTreeMap<Vec<usize>, Vec<Row>> = BTreeMap::new();
    let found = descend(&sizes, begins.clone(), ROUNDS, &mut |point| {
        let calibration = at(open, point);
        let setup = Setup { calibration, without_sweeps: true, ..setup.clone() };
        let vector = known.len() + 1;
        let findings = reproduce(&chosen, &setup, workers, &mut |now| {
            progress(Progress { last: format!("vector {vector}: {}", now.last), ..now });
        })?;
        let each = |(place, finding): (usize, &Finding)| {
            let of = |row| (finding.name.clone(), row);
            rows(finding, place).into_iter().map(of).collect::<Vec<_>>()
        };
        let rows: Vec<Row> = findings.iter().enumerate().flat_map(each).collect();
        let off = mean_error(rows.iter().map(|(_, row)| row), Half::Fitted);
        known.insert(point.to_vec(), rows);
        off.ok_or_else(|| CalibrateError::NoNumbers(paper.into()))
    })?;
    let mut fitted = open.clone();
    for (tried, place) in fitted.quantities.iter_mut().zip(&found.best) {
        tried.fitted = tried.values[*place];
    }
    fitted.vectors = found.tried as u64;
    fitted.form = if setup.quick { "quick" } else { "full" }.into();
    fitted.rows = record(&known, &begins, &found.best);
    Ok(fitted.text())
}

/// The experiment of a number, and the number.
type Row = (String, paceline_report::FitRow);

/// The constants with the values at these places of the grid.
fn at(open: &Open, point: &[usize]) -> Calibration {
    let table = Calibration::of_the_table();
    let values = open.quantities.iter().zip(point);
    values.fold(table, |calibration, (tried, place)| {
        calibration.with(tried.constant.name, tried.values[*place])
    })
}

/// What the search says of each number, in the order of print.
fn record(known: &BTreeMap<Vec<usize>, Vec<Row>>, begins: &[usize], best: &[usize]) -> Vec<Recorded> {
    let name = |(experiment, row): &Row| format!("{experiment}: {}", row.what);
    let errors = |rows: &[Row]| rows.iter().map(|row| (name(row), row.1.error)).collect::<BTreeMap<_, _>>();
    let all: Vec<BTreeMap<String, f64>> = known.values().map(|rows| errors(rows)).collect();
    let before = known.get(begins).map(|rows| errors(rows)).unwrap_or_default();
    let rows = known.get(best).map_or(&[][..], |rows| rows);
    let recorded = rows.iter().map(|row| {
        let what = name(row);
        let least = all.iter().filter_map(|errors| errors.get(&what)).copied().reduce(f64::min);
        // A file has no infinity.
        let finite = |error: Option<f64>| error.unwrap_or(f64::INFINITY).min(1e9);
        Recorded {
            half: row.1.half,
            before: finite(before.get(&what).copied()),
            error: finite(Some(row.1.error)),
            least: finite(least),
            what,
        }
    });
    recorded.collect()
}

/// For all findings together: of each source what ran, how near its fitted and its predicted numbers are, and
/// how many no vector serves. Nothing if none has a vector.
pub fn overview(findings: &[Finding]) -> Option<Appendix> {
    let columns = [
        "source",
        "ran on",
        "vector",
        "vectors tried",
        "fitted",
        "predicted",
        "numbers that no vector serves",
    ];
    let mut table = Table::new("What was fitted, and what was predicted", columns);
    for open in vectors::all() {
        let fits: Vec<_> = findings
            .iter()
            .filter(|finding| open.experiments.contains(&finding.name))
            .filter_map(|finding| Some((finding, finding.fit.as_ref()?)))
            .collect();
        let Some((first, fit)) = fits.first() else { continue };
        let rows: Vec<_> = fits.iter().flat_map(|(_, fit)| fit.rows.clone()).collect();
        let vector = fit.vector.iter().map(|one| format!("{} = {}", one.name, one.value));
        let of = |half: Half| {
            let sentence = half_sentence(half, &rows);
            sentence.split_once(": ").map_or(String::new(), |(_, rest)| rest.to_owned())
        };
        let unserved: usize = fits.iter().map(|(_, fit)| fit.unserved.len()).sum();
        table.row([
            open.paper.to_owned(),
            first.ran_on.name().to_owned(),
            vector.collect::<Vec<_>>().join(", "),
            if open.vectors == 0 { "not fitted yet".to_owned() } else { open.vectors.to_string() },
            of(Half::Fitted),
            of(Half::Predicted),
            unserved.to_string(),
        ]);
    }
    let about = vec![format!(
        "Each source leaves quantities open. One vector of them, the same for all of its experiments and all policies, is chosen by half \
         of its numbers and statements; the other half is predicted. Where nothing was fitted yet, the values are those \
         that were chosen by hand, with the published numbers in sight. {} Errors are in tolerances: 1 is the most of a reproduced number.",
        halves::RULE
    )];
    (!table.rows().is_empty()).then_some(Appendix { about, table, first: true })
}
