//! Known answers: what runs with ten seeds measure agrees with theory.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Model, Time};
use paceline_results::{Results, RunFacts};

/// Runs of a test.
const RUNS: u32 = 10;
/// Student's t for an interval of 99 % of so many runs.
const T: f64 = 3.2498;

/// A line of the results, its known value, and how wide its interval may be as a part of it.
pub struct Known<'n> {
    pub name: &'n str,
    pub value: f64,
    pub width: f64,
}

/// The numbers among the lines of the results of a run.
pub fn numbers<M: Model + Results>(model: M, seed: u64, until: Time) -> Vec<(String, f64)> {
    let simulation = Simulation::new(model).seed(seed).protocol(Protocol::Sequential).until(until);
    let (report, model) = simulation.run_keeping_model().expect("the model keeps the rules");
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).expect("nothing is lost");
    let number = |(name, value): (std::borrow::Cow<'static, str>, serde_json::Value)| {
        Some((name.into_owned(), value.as_f64()?))
    };
    summary.lines.into_iter().filter_map(number).collect()
}

pub fn number(lines: &[(String, f64)], name: &str) -> f64 {
    let line = lines.iter().find(|(line, _)| line == name);
    line.unwrap_or_else(|| panic!("no line {name}: {lines:?}")).1
}

/// Fails unless each value is within the interval of 99 % of what runs measure, and the interval is as narrow
/// as is said, so that another value would not be.
pub fn agrees<M: Model + Results>(model: impl Fn(u64) -> M, until: Time, known: &[Known<'_>]) {
    let runs: Vec<_> = (1..=u64::from(RUNS)).map(|seed| numbers(model(seed), seed, until)).collect();
    for Known { name, value, width } in known {
        let values: Vec<f64> = runs.iter().map(|lines| number(lines, name)).collect();
        let mean = values.iter().sum::<f64>() / f64::from(RUNS);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = T * (squares / f64::from(RUNS - 1) / f64::from(RUNS)).sqrt();
        assert!((mean - value).abs() <= half_width, "{name}: {mean} ± {half_width} instead of {value}");
        assert!(half_width <= width * value, "{name}: {mean} ± {half_width} says little of {value}");
    }
}

/// The same for lines beside which the results have what theory says.
pub fn agrees_with_theory<M: Model + Results>(
    model: impl Fn(u64) -> M,
    until: Time,
    names: &[(&str, &str, f64)],
) {
    let lines = numbers(model(1), 1, until);
    let known: Vec<Known<'_>> = names
        .iter()
        .map(|(name, theory, width)| Known { name, value: number(&lines, theory), width: *width })
        .collect();
    agrees(model, until, &known);
}
