//! Replications as a sample: of each quantity the mean, the standard deviation and the interval that holds
//! the true mean with a confidence of 95 %.
//!
//! Invariant: only replications that came to their end count.

use paceline_results::statistics::sample::{Mean, mean};
use serde_json::{Value, json};

use crate::summary::Outcome;

/// A quantity, with its value in each replication that has one.
#[derive(Debug)]
pub struct Quantity {
    /// Its name in `snake_case`, with the unit last.
    pub name: String,
    /// The values, in the order in which they were given.
    pub values: Vec<f64>,
}

impl Quantity {
    /// With these values, one at least.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values }
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The arithmetic mean of the values.
    pub fn mean(&self) -> f64 {
        mean(&self.values).mean
    }

    /// The standard deviation of the sample; a single value has none.
    pub fn deviation(&self) -> Option<f64> {
        (self.values.len() > 1).then(|| mean(&self.values).deviation)
    }

    /// The ends of the interval by Student's t; a single value has none.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let Mean { mean, half_width, .. } = mean(&self.values);
        (self.values.len() > 1).then_some((mean - half_width, mean + half_width))
    }

    /// All of it, for programs.
    pub fn json(&self) -> Value {
        json!({
            "replications": self.count(),
            "mean": self.mean(),
            "standard_deviation": self.deviation(),
            "confidence_95_low": self.interval().map(|(low, _)| low),
            "confidence_95_high": self.interval().map(|(_, high)| high),
        })
    }
}

/// The quantities that are numbers in every result, in the order of the results; `of_run` are those of the
/// run beside the model's. Also the names of all other results.
pub fn quantities(outcomes: &[&Outcome], of_run: &[OfRun]) -> (Vec<Quantity>, Vec<String>) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in outcomes.iter().flat_map(|outcome| &outcome.lines) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let (mut quantities, mut others) = (Vec::new(), Vec::new());
    for name in names {
        let values = outcomes.iter().flat_map(|outcome| &outcome.lines).filter(|(other, _)| *other == name);
        // Where a result is null, there is none.
        let values = values.filter(|(_, value)| !value.is_null()).map(|(_, value)| value.as_f64());
        match values.collect::<Option<Vec<f64>>>() {
            Some(values) if values.is_empty() => {}
            Some(values) => quantities.push(Quantity::new(name, values)),
            None => others.push(name.to_owned()),
        }
    }
    if !outcomes.is_empty() {
        let quantity = |(name, value): &OfRun| {
            Quantity::new(*name, outcomes.iter().map(|outcome| value(outcome)).collect())
        };
        quantities.extend(of_run.iter().map(quantity));
    }
    (quantities, others)
}

/// A quantity of the run beside the model's results.
pub type OfRun = (&'static str, fn(&Outcome) -> f64);

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_engine::EndedBy;
    use paceline_kernel::Time;
    use std::time::Duration;

    fn outcome(lines: Vec<(&'static str, Value)>) -> Outcome {
        Outcome {
            work: 4,
            wall: Duration::from_secs(2),
            digest: String::new(),
            end_time: Time::ZERO,
            ended_by: EndedBy::Horizon,
            lines: lines.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            results: Value::Null,
            everything: Value::Null,
        }
    }

    #[test]
    fn numbers_are_compared_and_other_results_are_named() {
        let outcomes = [
            outcome(vec![("hops", 1.into()), ("histogram", json!([1, 2])), ("late_s", Value::Null)]),
            outcome(vec![("hops", 2.5.into()), ("histogram", json!([3])), ("late_s", 7.into())]),
        ];
        let of_run: [OfRun; 1] = [("speed", Outcome::per_second)];
        let (found, others) = quantities(&outcomes.iter().collect::<Vec<_>>(), &of_run);
        let of: Vec<_> = found
            .iter()
            .map(|quantity| (quantity.name.as_str(), quantity.count(), quantity.mean()))
            .collect();
        assert_eq!(
            (of, others),
            (vec![("hops", 2, 1.75), ("late_s", 1, 7.0), ("speed", 2, 2.0)], vec!["histogram".to_owned()])
        );
        assert_eq!((found[1].deviation(), found[1].interval()), (None, None));
        // t(0.975, 1) = 12.706; the standard deviation is 1.5 / sqrt(2).
        let (low, high) = found[0].interval().unwrap();
        let half = 12.706 * 0.75;
        assert!((low - 1.75 + half).abs() < 1e-3 && (high - 1.75 - half).abs() < 1e-3, "{low} {high}");
        assert_eq!(quantities(&[], &of_run).0.len(), 0);
    }
}
