//! Policies side by side: what each made of each workload.
//!
//! To add a column, add a field to [`Outcome`] and show it in [`matrix`]; `cells` in `command/src/compare.rs`
//! fills it.

use std::collections::BTreeMap;

use crate::number::number;
use crate::table::Table;

/// What a policy made of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The policy's name.
    pub policy: String,
    /// The workload's name.
    pub workload: String,
    /// How long the workload took, in simulated seconds; none if it did not finish.
    pub run_time_s: Option<f64>,
    /// How far the VCPUs' shares of time are from what they are entitled to: 0 is fair.
    pub unfairness: f64,
    /// The share of time that VCPUs were runnable and did not run, 0 to 1.
    pub waiting_share: f64,
    /// How often a PCPU went from one VCPU to another.
    pub context_switches: u64,
}

/// The matrix policy x workload: the policies of one workload below each other, both in the order they first
/// come in. The column `of the first` is the run time as a multiple of that of the workload's first policy.
pub fn matrix(outcomes: &[Outcome]) -> Table {
    let columns =
        ["workload", "policy", "run time, s", "of the first", "unfairness", "waiting, %", "context switches"];
    let mut table = Table::new("Policies and workloads", columns);
    let mut places = BTreeMap::new();
    for outcome in outcomes {
        let next = places.len();
        places.entry(outcome.workload.as_str()).or_insert(next);
    }
    let mut ordered: Vec<&Outcome> = outcomes.iter().collect();
    ordered.sort_by_key(|outcome| places[outcome.workload.as_str()]);
    for of_one in ordered.chunk_by(|one, next| one.workload == next.workload) {
        let first = of_one[0].run_time_s;
        for outcome in of_one {
            let run_time = outcome.run_time_s;
            let multiple = run_time.zip(first).filter(|&(_, first)| first > 0.0);
            table.row([
                outcome.workload.clone(),
                outcome.policy.clone(),
                run_time.map_or("not finished".to_owned(), number),
                multiple.map_or("-".to_owned(), |(run_time, first)| format!("{:.2}", run_time / first)),
                number(outcome.unfairness),
                format!("{:.1}", outcome.waiting_share * 100.0),
                number(outcome.context_switches as f64),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(policy: &str, workload: &str, run_time_s: Option<f64>) -> Outcome {
        let (policy, workload) = (policy.to_owned(), workload.to_owned());
        Outcome { policy, workload, run_time_s, unfairness: 0.0, waiting_share: 0.25, context_switches: 1234 }
    }

    #[test]
    fn workloads_stay_together_and_are_compared_with_their_own_first_policy() {
        let table = matrix(&[
            outcome("credit", "lu", Some(8.0)),
            outcome("credit", "ep", Some(2.0)),
            outcome("psx", "lu", Some(2.0)),
            outcome("psx", "ep", None),
        ]);
        let column = |place: usize| table.rows().iter().map(|row| row[place].as_str()).collect::<Vec<_>>();
        assert_eq!(column(0), ["lu", "lu", "ep", "ep"]);
        assert_eq!(column(1), ["credit", "psx", "credit", "psx"]);
        assert_eq!(column(3), ["1.00", "0.25", "1.00", "-"]);
        assert_eq!(column(2)[3], "not finished");
        assert_eq!(column(6)[0], "1,234");
    }
}
