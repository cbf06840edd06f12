//! The two halves of a source's numbers: by which the vector is chosen, and which it predicts.
//!
//! Invariant: the half of a number follows from its place in print alone, not from what was measured.

use paceline_report::{Finding, FitRow, Half};

/// The rule, as reports print it. It was written before anything was fitted.
pub const RULE: &str = "By rule, of each four numbers in printed order the first and the fourth choose the vector, the second and the third \
    are predicted; in every second experiment the other way round.";

/// A single number counts for the fit up to so many tolerances, so that one that no vector serves does not
/// choose it alone.
pub const MOST: f64 = 5.0;

/// The half of the number at `row` of the experiment at `experiment`, both from 0.
fn half(experiment: usize, row: usize) -> Half {
    let is_outer = matches!(row % 4, 0 | 3);
    if is_outer == experiment.is_multiple_of(2) { Half::Fitted } else { Half::Predicted }
}

/// The numbers and statements of a finding, the source's `experiment`th.
pub fn rows(finding: &Finding, experiment: usize) -> Vec<FitRow> {
    let mut rows = Vec::new();
    for check in &finding.checks {
        let errors = check.criterion.distances(&check.ours);
        let is_of_each = errors.len() == check.ours.values.len() && errors.len() > 1;
        for (place, error) in errors.iter().enumerate() {
            let what =
                if is_of_each { format!("{} [{}]", check.what, place + 1) } else { check.what.clone() };
            let (published, ours) = match is_of_each {
                true => check.place(place),
                false => (check.published(), check.ours()),
            };
            rows.push(FitRow { what, published, ours, error: *error, half: half(experiment, rows.len()) });
        }
    }
    rows
}

/// The sum of the errors of a half, each counted up to [`MOST`], and how many there are.
pub fn sum_of_errors<'r>(rows: impl IntoIterator<Item = &'r FitRow>, half: Half) -> (f64, usize) {
    let errors: Vec<f64> =
        rows.into_iter().filter(|row| row.half == half).map(|row| row.error.min(MOST)).collect();
    (errors.iter().sum(), errors.len())
}

#[cfg(test)]
mod tests {
    use paceline_report::{Criterion, Ours, Shape, Statement, Tolerance};

    use super::*;
    use crate::claims::check;

    #[test]
    fn halves_follow_from_places_and_statements_count_once() {
        let gains = check(
            "gains",
            Criterion::published(6.0, Tolerance::TIMES).or(Shape::Above(1.0)),
            Ours::all([6.0, 9.0, 13.5], "times"),
        );
        let order = check(
            "order",
            Criterion::stated(Statement::Order, "rises", Shape::Rises(0.0)),
            Ours::all([2.0, 1.0], "s"),
        );
        let digests = check("digests", Criterion::invariant(Shape::exactly(0.0)), Ours::one(1.0, ""));
        let finding = Finding { checks: vec![gains, order, digests], ..Finding::default() };
        let of = |experiment| {
            let each = rows(&finding, experiment).into_iter();
            each.map(|row| (row.what, row.half.name(), (row.error * 100.0).round() / 100.0))
                .collect::<Vec<_>>()
        };
        let named = |halves: [&'static str; 4]| {
            let rows = [("gains [1]", 0.0), ("gains [2]", 1.0), ("gains [3]", 2.0), ("order", 2.0)];
            let each = rows.into_iter().zip(halves);
            each.map(|((what, error), half)| (what.to_owned(), half, error)).collect::<Vec<_>>()
        };
        assert_eq!(of(0), named(["fitted", "predicted", "predicted", "fitted"]));
        assert_eq!(of(1), named(["predicted", "fitted", "fitted", "predicted"]));
        let rows = rows(&finding, 0);
        assert_eq!(sum_of_errors(&rows, Half::Fitted), (2.0, 2));
        assert_eq!(sum_of_errors(&[], Half::Fitted), (0.0, 0));
    }
}
