//! Runs repeated with other values of a quantity that the source does not state, for a check that is not
//! reproduced: they show what would have to be true for what was published.
//!
//! An experiment that has such a check
//! 1. makes an [`Over`] in its plan: a constant of the table ([`Over::constant`]) or a parameter of its own
//!    ([`Over::parameter`]), and the values to try;
//! 2. adds its [`cells`](Over::cells) to those of the plan: only the runs that the check needs, and that
//!    depend on the quantity;
//! 3. when it judges, draws a [`curve`](Over::curve) for each number that the check compares, by the same
//!    code that judges its own runs, and puts [`sweep`](Over::sweep) of these into
//!    [`Finding::sweeps`](paceline_report::Finding::sweeps).
//!
//! The report then draws ours over the quantity beside what is wanted, and says in a sentence with which
//! values the check is reproduced; `paceline reproduce` prints the sentence. See
//! `lab/experiments/src/artis/threading.rs` for an example.
//!
//! Invariants: only the one quantity differs between the runs of a sweep. The runs with our own value are
//! those of the experiment itself. Which values are tried is a matter of the experiment's parameters; where
//! sweeps are left out ([`Setup::without_sweeps`](crate::Setup::without_sweeps)), only our own is left.

use paceline_report::{Axis, Curve, Finding, Sweep, Verdict, Wanted};

use crate::batch::Setup;
use crate::plan::{Cell, CellError, Results};

/// A quantity, and the values with which runs are repeated.
#[derive(Clone, Debug)]
pub struct Over {
    name: String,
    quantity: Axis,
    /// Ascending; our own is among them.
    values: Vec<u64>,
    ours: u64,
    /// The one to change, if the quantity is a constant.
    constant: Option<&'static str>,
}

impl Over {
    /// Over a constant of the table. Its unit is that of `quantity`.
    pub fn constant(constant: &'static str, quantity: Axis, values: &[u64], setup: &Setup) -> Self {
        let ours = setup.calibration.get(constant);
        Self { constant: Some(constant), ..Self::parameter(constant, quantity, values, ours, setup) }
    }

    /// Over a parameter `name` of the experiment, which itself has the value `ours`.
    pub fn parameter(
        name: impl Into<String>,
        quantity: Axis,
        values: &[u64],
        ours: u64,
        setup: &Setup,
    ) -> Self {
        let mut values = [values, &[ours]].concat();
        values.sort_unstable();
        values.dedup();
        if setup.without_sweeps {
            values = vec![ours];
        }
        Self { name: name.into(), quantity, values, ours, constant: None }
    }

    /// The runs with all values but our own: for each value those that `plan` gives for it.
    pub fn cells<C: IntoIterator<Item = Cell>>(
        &self,
        setup: &Setup,
        plan: impl Fn(u64, &Setup) -> C,
    ) -> Vec<Cell> {
        let others = self.values.iter().filter(|value| **value != self.ours);
        let cells = others.flat_map(|value| {
            let calibration = match self.constant {
                Some(constant) => setup.calibration.with(constant, *value),
                None => setup.calibration.clone(),
            };
            let cells = plan(*value, &Setup { calibration, ..setup.clone() });
            let suffix = self.suffix(*value);
            cells.into_iter().map(move |cell| Cell { key: format!("{}{suffix}", cell.key), ..cell })
        });
        cells.collect()
    }

    /// What `measure` makes of the results with each value. It gets those of the experiment, in which the
    /// runs with this value have taken the places of those with our own.
    pub fn curve(
        &self,
        name: impl Into<String>,
        wanted: Wanted,
        results: &Results,
        measure: impl Fn(&Results) -> Result<f64, CellError>,
    ) -> Result<Curve, CellError> {
        let point = |value: &u64| {
            let measured = match *value == self.ours {
                true => measure(results)?,
                false => measure(&results.with(&self.suffix(*value))?)?,
            };
            Ok((*value as f64, measured))
        };
        let points = self.values.iter().map(point).collect::<Result<_, CellError>>()?;
        Ok(Curve { name: name.into(), points, wanted })
    }

    /// The sweep of `curves`, which decide the check whose `what` is `check`. `reason` says why this
    /// quantity.
    pub fn sweep(&self, check: &str, measured: Axis, curves: Vec<Curve>, reason: &str) -> Sweep {
        Sweep {
            check: check.into(),
            quantity: self.quantity.clone(),
            ours: self.ours as f64,
            measured,
            curves,
            reason: reason.into(),
            spoilt: Vec::new(),
        }
    }

    /// The other checks that are reproduced with our own value and not with another one, and with which ones:
    /// for [`Sweep::spoilt`]. `judge` judges the experiment by the runs that the sweep repeats, as
    /// [`Over::curve`] has them.
    pub fn spoilt(
        &self,
        results: &Results,
        judge: impl Fn(&Results) -> Result<Finding, CellError>,
    ) -> Result<Vec<(String, Vec<f64>)>, CellError> {
        let checks =
            judge(results)?.checks.into_iter().filter(|check| check.verdict() == Verdict::Reproduced);
        let mut spoilt: Vec<_> = checks.map(|check| (check.what, Vec::new())).collect();
        for value in self.values.iter().filter(|value| **value != self.ours) {
            let there = judge(&results.with(&self.suffix(*value))?)?;
            for (what, values) in &mut spoilt {
                if there.misses(what) {
                    values.push(*value as f64);
                }
            }
        }
        spoilt.retain(|(_, values)| !values.is_empty());
        Ok(spoilt)
    }

    /// What the keys of the runs with a value end with.
    fn suffix(&self, value: u64) -> String {
        format!("/{}={value}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Calibration;

    use crate::claims::check;
    use crate::plan::Measure;
    use paceline_report::{Criterion, Ours, Shape};

    const VALUES: [u64; 4] = [500, 550, 650, 700];

    fn over(setup: &Setup) -> Over {
        Over::constant("artis.smt", Axis::linear("speed", "permille"), &VALUES, setup)
    }

    /// A run whose run time is the constant, and one that does not depend on it.
    fn cells(setup: &Setup) -> [Cell; 2] {
        let cell = |key: &str, seconds: u64| Cell {
            key: key.into(),
            weight: 1.0,
            alone: false,
            job: Box::new(move || Ok(Measure { seconds: seconds as f64, ..Measure::default() })),
        };
        [cell("own", setup.calibration.get("artis.smt")), cell("other", 1)]
    }

    fn results(setup: &Setup) -> Results {
        let [plain, other] = cells(setup);
        let swept = over(setup).cells(setup, |_, setup| cells(setup).into_iter().take(1));
        let all = [plain, other].into_iter().chain(swept);
        Results { measures: all.map(|cell| (cell.key, (cell.job)())).collect() }
    }

    #[test]
    fn a_curve_has_the_runs_with_each_value_and_our_own_of_those_that_do_not_differ() {
        for (without_sweeps, expected) in
            [(false, vec![500.0, 550.0, 600.0, 650.0, 700.0]), (true, vec![600.0])]
        {
            let setup = Setup { without_sweeps, ..Setup::default() };
            let sum = |results: &Results| Ok(results.seconds("own")? + results.seconds("other")?);
            let curve = over(&setup).curve("sum", Wanted::AtMost(600.0), &results(&setup), sum);
            let points = curve.expect("all runs have results").points;
            assert_eq!(points, expected.into_iter().map(|value| (value, value + 1.0)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn runs_with_our_own_value_are_not_repeated() {
        let setup = Setup::default();
        let keys: Vec<_> =
            over(&setup).cells(&setup, |_, setup| cells(setup)).into_iter().map(|cell| cell.key).collect();
        assert_eq!(keys.len(), 2 * VALUES.len());
        assert!(keys.iter().all(|key| !key.ends_with("=600")), "{keys:?}");
        assert_eq!(keys[0], "own/artis.smt=500");
    }

    #[test]
    fn nothing_is_repeated_where_sweeps_are_left_out() {
        let setup = Setup { without_sweeps: true, ..Setup::default() };
        assert!(over(&setup).cells(&setup, |_, setup| cells(setup)).is_empty());
        for experiment in crate::experiments() {
            let plan = experiment.plan(&setup).expect("built-in parameters are sound");
            let keys: Vec<_> = plan.cells.into_iter().map(|cell| cell.key).collect();
            assert!(keys.iter().all(|key| !key.contains('=')), "{}: {keys:?}", experiment.name);
        }
    }

    #[test]
    fn a_parameter_is_reported_to_the_plan_and_changes_no_constant() {
        let setup = Setup::default();
        let over = Over::parameter("rounds", Axis::linear("rounds", ""), &[1, 2], 3, &setup);
        let seen = std::cell::RefCell::new(Vec::new());
        over.cells(&setup, |value, changed| {
            assert_eq!(changed.calibration, Calibration::default());
            seen.borrow_mut().push(value);
            []
        });
        assert_eq!(seen.into_inner(), [1, 2]);
    }

    #[test]
    fn checks_that_are_reproduced_with_our_own_value_only_are_found() {
        let setup = Setup::default();
        let judge = |results: &Results| {
            let seconds = results.seconds("own")?;
            let check = |what: &str, shape| check(what, Criterion::goal(shape), Ours::one(seconds, "s"));
            let checks = vec![
                check("fast", Shape::Below(650.0)),
                check("slow", Shape::Above(650.0)),
                check("any", Shape::Above(0.0)),
            ];
            Ok(Finding { checks, ..Finding::default() })
        };
        let spoilt = over(&setup).spoilt(&results(&setup), judge).expect("all runs have results");
        assert_eq!(spoilt, [("fast".to_owned(), vec![650.0, 700.0])]);
    }

    #[test]
    fn a_run_that_is_missing_is_reported() {
        let setup = Setup::default();
        let only_ours = Results { measures: cells(&setup).map(|cell| (cell.key, (cell.job)())).into() };
        let of = |results: &Results| {
            over(&setup).curve("own", Wanted::AtMost(0.0), results, |results| results.seconds("own"))
        };
        assert!(of(&results(&setup)).is_ok() && of(&only_ours).is_err());
    }
}
