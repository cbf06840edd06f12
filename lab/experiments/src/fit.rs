//! Calibrate, then predict: a source leaves quantities open (how long a federate polls, what an event costs).
//! One vector of them is fitted for all experiments and all policies of a source, on half of its numbers; the
//! other half is predicted.
//!
//! Which numbers are in which half is a rule ([`halves`]); what is open is data, a file a source
//! ([`vectors`](crate::vectors)); the search is coordinate descent on its grid ([`descent`]). Runs that do
//! not read the constant that changes are not done again ([`memory`](crate::memory)). The fitted values are
//! those of [`Calibration::default`], so that every run of the source's experiments has them. Reports say of
//! each number whether it was fitted or predicted, with its error.
//!
//! Invariant: the search sees the fitted half only.

mod descent;

use std::collections::BTreeMap;

use paceline_report::{Appendix, Finding, Half, Table, half_sentence};
use paceline_scenario::ScenarioError;
use thiserror::Error;

use crate::batch::Setup;
use crate::memory::Memory;
use crate::reproduce::{Progress, reproduce_again};
use crate::vectors::halves::{self, MOST, rows};
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

/// A vector that the search has tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// How many it has tried with this one.
    pub number: usize,
    /// The constants in which it is not the vector that the search began with.
    pub changed: String,
    /// Its mean error; none if it was given up as soon as it could not be the least any more.
    pub error: Option<f64>,
    /// The experiments that were run for it, of so many.
    pub experiments: (usize, usize),
}

/// Fits the vector of the source `paper`, whose experiments are among `all`, beginning with the constants of
/// the table, and returns its file.
/// `progress` is called as runs end (how many there will be is not known before the end), `tried` after each
/// vector.
///
/// # Errors
/// The source is none, or has nothing to fit.
pub fn calibrate(
    paper: &str,
    all: &[Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
    tried: &mut dyn FnMut(&Tried),
) -> Result<String, CalibrateError> {
    let closed = || {
        let known: Vec<_> = vectors::all().iter().map(|open| open.paper).collect();
        CalibrateError::Closed(paper.into(), known.join(", "))
    };
    let open = vectors::all().iter().find(|open| open.paper == paper).ok_or_else(closed)?;
    let sizes: Vec<usize> = open.quantities.iter().map(|tried| tried.values.len()).collect();
    let begins = open
        .quantities
        .iter()
        .map(|tried| tried.values.iter().position(|value| *value == tried.constant.value).unwrap_or(0));
    let begins: Vec<usize> = begins.collect();
    let setup = Setup { calibration: at(open, &begins), without_sweeps: true, ..setup.clone() };
    let mut search = Search::new(open, all, setup)?;
    let found = descend(&sizes, begins.clone(), ROUNDS, |point, least| {
        let calibration = at(open, point);
        let number = search.known.len() + 1;
        let mut shown = |now: Progress| {
            progress(Progress { last: format!("vector {number}: {}", now.last), ..now });
        };
        let (error, experiments) = search.error(point, calibration, least, workers, &mut shown)?;
        tried(&Tried { number, changed: changed(open, &begins, point), error, experiments });
        if search.counts.values().sum::<usize>() == 0 {
            return Err(CalibrateError::NoNumbers(paper.into()));
        }
        Ok(error.unwrap_or(f64::INFINITY))
    })?;
    let mut fitted = open.clone();
    for (tried, place) in fitted.quantities.iter_mut().zip(&found.best) {
        tried.fitted = tried.values[*place];
    }
    fitted.vectors = found.tried as u64;
    fitted.form = if search.setup.quick { "quick" } else { "full" }.into();
    fitted.rows = record(&search.known, &begins, &found.best);
    Ok(fitted.text())
}

/// What a search knows.
struct Search<'a> {
    /// With their places in print, those with the fewest runs first: a vector is given up early then.
    experiments: Vec<(usize, &'a Experiment)>,
    setup: Setup,
    memory: Memory,
    /// Of each experiment the numbers of the fitted half, with the first vector.
    counts: BTreeMap<usize, usize>,
    /// Of each vector the numbers of the experiments that were run for it, in printed order.
    known: BTreeMap<Vec<usize>, Vec<Row>>,
}

impl<'a> Search<'a> {
    fn new(open: &'a Open, all: &'a [Experiment], setup: Setup) -> Result<Self, CalibrateError> {
        let mut experiments = Vec::new();
        for (place, name) in open.experiments.iter().enumerate() {
            if let Some(experiment) = all.iter().find(|experiment| experiment.name == *name) {
                let cells = experiment.plan(&setup)?.cells;
                let weight: f64 = cells.iter().map(|cell| cell.weight).sum();
                experiments.push((weight, place, experiment));
            }
        }
        experiments.sort_by(|one, other| one.0.total_cmp(&other.0));
        let experiments = experiments.into_iter().map(|(_, place, experiment)| (place, experiment)).collect();
        let (memory, counts, known) = (Memory::default(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { experiments, setup, memory, counts, known })
    }

    /// The mean error of the fitted half, and how many experiments of how many were run. Errors are never
    /// negative: as soon as those that are known make `least`, the vector is given up, and has none.
    fn error(
        &mut self,
        point: &[usize],
        calibration: Calibration,
        least: f64,
        workers: usize,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Option<f64>, (usize, usize)), CalibrateError> {
        let setup = Setup { calibration, ..self.setup.clone() };
        let (mut sum, mut found, mut run) = (0.0, BTreeMap::new(), 0);
        let is_first = self.known.is_empty();
        for (place, experiment) in &self.experiments {
            let total: usize = self.counts.values().sum();
            if !is_first && sum / total as f64 >= least {
                break;
            }
            let finding = reproduce_again(&[experiment], &setup, workers, &self.memory, progress)?.remove(0);
            let rows = rows(&finding, *place);
            let (errors, count) = halves::sum_of_errors(&rows, Half::Fitted);
            let expected = *self.counts.entry(*place).or_insert(count);
            // An experiment that lacks numbers could not be run: that is no way to be near.
            sum += if count == expected { errors } else { MOST * expected as f64 };
            found.insert(*place, (finding.name, rows));
            run += 1;
        }
        let named =
            found.into_values().flat_map(|(name, rows)| rows.into_iter().map(move |row| (name.clone(), row)));
        self.known.insert(point.to_vec(), named.collect());
        let total: usize = self.counts.values().sum();
        let error = sum / total.max(1) as f64;
        let all = self.experiments.len();
        Ok(((run == all && error < least).then_some(error), (run, all)))
    }
}

/// The constants in which the vector at `point` is not that at `begins`.
fn changed(open: &Open, begins: &[usize], point: &[usize]) -> String {
    let pairs = open.quantities.iter().zip(begins.iter().zip(point));
    let changed = pairs.filter(|(_, (begin, place))| begin != place).map(|(tried, (_, place))| {
        format!("{} = {} {}", tried.constant.name, tried.values[*place], tried.constant.unit)
    });
    let changed = changed.collect::<Vec<_>>().join(", ");
    if changed.is_empty() { "as in the table of constants".into() } else { changed }
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

#[cfg(test)]
mod tests {
    use paceline_report::{Criterion, Ours, RanOn, Shape, Statement, Tolerance};

    use super::*;
    use crate::claims::check;
    use crate::parameters::Parameters;
    use crate::plan::{Cell, Measure, Plan, Results};

    /// An experiment whose only run takes as long as the constant says, and should take 230 ns.
    fn taking(
        name: &'static str,
        parameters: &'static str,
        planner: crate::experiment::Planner,
    ) -> Experiment {
        Experiment { name, title: "", ran_on: RanOn::SimulatedMachine, parameters, planner }
    }

    fn plan_of(setup: &Setup, key: &'static str, constant: &'static str, weight: f64) -> Plan {
        let calibration = setup.calibration.of_run(key);
        let job = move || Ok(Measure { seconds: calibration.get(constant) as f64, ..Measure::default() });
        let cell = Cell { key: key.into(), weight, alone: false, job: Box::new(job) };
        Plan::new(vec![cell], move |results: &Results| {
            let seconds = results.seconds(key)?;
            let near = check("time", Criterion::published(230.0, Tolerance::TIMES), Ours::one(seconds, "ns"));
            let words = Criterion::stated(Statement::Order, "rises", Shape::Rises(0.0));
            let rises = check("order", words, Ours::all([230.0, seconds], "ns"));
            Ok(Finding { checks: vec![near, rises], ..Finding::default() })
        })
    }

    fn copies(setup: &Setup, _: &mut Parameters) -> Result<Plan, ScenarioError> {
        Ok(plan_of(setup, "copies", "artis.copy", 1.0))
    }

    fn pings(setup: &Setup, _: &mut Parameters) -> Result<Plan, ScenarioError> {
        Ok(plan_of(setup, "pings", "artis.ping", 9.0))
    }

    #[test]
    fn a_search_finds_the_nearest_vector_by_the_fitted_half_and_gives_up_early_what_is_no_nearer() {
        // The first and the third experiment of the source: the first number of each is fitted.
        let all = [
            taking("artis-fig1", "[experiment]\nname = \"artis-fig1\"\n", copies),
            taking("artis-fig3", "[experiment]\nname = \"artis-fig3\"\n", pings),
        ];
        let mut tried = Vec::new();
        let setup = Setup { quick: true, ..Setup::default() };
        let file = calibrate("artis", &all, &setup, 1, &mut |_| {}, &mut |one| tried.push(one.clone()))
            .expect("it fits");
        let open = Open::read("artis", &file).expect("it is a file");
        let value = |name: &str| {
            let found = open.quantities.iter().find(|one| one.constant.name == name);
            found.map(|one| one.fitted)
        };
        // The second number of each, of the predicted half, would have more; the search may not see it.
        let fitted = ["artis.host", "artis.ping", "artis.copy"].map(value);
        assert_eq!(fitted, [Some(2_000), Some(500), Some(200)]);
        assert_eq!((open.vectors, open.rows.len()), (tried.len() as u64, 4));
        assert_eq!((tried[0].error.is_some(), tried[0].experiments), (true, (2, 2)));
        let better = tried.iter().filter(|one| one.error.is_some()).count();
        assert_eq!(better, 3, "the first, and one for each of two constants: {tried:?}");
        // With 1,000 ns the first experiment alone is further off than both of the best vector so far.
        assert!(tried.iter().any(|one| one.experiments == (1, 2)), "{tried:?}");
        assert!(open.rows[0].error < open.rows[0].before && open.rows[0].least == open.rows[0].error);
    }
}
