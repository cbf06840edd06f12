//! The results of Xen and the predictions of the simulated machine, side by side.
//!
//! Invariant: schedulers of a comparison are named in the same order everywhere.

use paceline_report::{Check, Criterion, Ours, Shape, Table};

/// Two results that differ by less than this, in per cent, count as equal in an order.
const TIE: f64 = 10.0;
/// How far a predicted ratio of two schedulers may be from Xen's. The model has one cost for all packets,
/// connections and system calls; the emulator gives its clock to the PCPUs in turns, not evenly; and the
/// phase of ticks and messages decides who waits.
pub const FACTOR_MOST: f64 = 2.0;

/// The results of one scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The scheduler, as tables name it.
    pub what: String,
    /// The result in Xen.
    pub xen: f64,
    /// The prediction of the simulated machine.
    pub predicted: f64,
}

/// The greater divided by the smaller.
pub fn factor(one: f64, other: f64) -> f64 {
    if one == other { 1.0 } else { (one / other).max(other / one) }
}

/// How many pairs that differ clearly in Xen have the opposite order in the prediction.
pub fn reversed(pairs: &[Pair]) -> usize {
    let clear = |one: f64, other: f64| one > other * (1.0 + TIE / 100.0);
    let is_reversed =
        |one: &Pair, other: &Pair| clear(one.xen, other.xen) && clear(other.predicted, one.predicted);
    pairs.iter().map(|one| pairs.iter().filter(|other| is_reversed(one, other)).count()).sum()
}

/// The worst factor between ratios to the first scheduler in Xen and in the prediction.
pub fn worst_factor(pairs: &[Pair]) -> f64 {
    let Some(first) = pairs.first() else { return 1.0 };
    let ratio = |pair: &Pair| factor(pair.xen / first.xen, pair.predicted / first.predicted);
    pairs.iter().map(ratio).fold(1.0, f64::max)
}

/// A table of both, and what must be true: the order, and the ratios to the first.
pub fn beside(title: &str, pairs: &[Pair]) -> (Table, Vec<Check>) {
    let columns = ["scheduler", "Xen", "ratio", "simulated", "ratio", "factor of times", "factor of ratios"];
    let mut table = Table::new(title, columns);
    for pair in pairs {
        let Pair { what, xen, predicted } = pair;
        let [gain, predicted_gain] = [xen / pairs[0].xen, predicted / pairs[0].predicted];
        let numbers =
            [*xen, gain, *predicted, predicted_gain, factor(*xen, *predicted), factor(gain, predicted_gain)];
        let row = std::iter::once(what.clone()).chain(numbers.map(|number| format!("{number:.3}")));
        table.row(row);
    }
    let names = |of: fn(&Pair) -> f64| {
        let mut sorted: Vec<_> = pairs.iter().collect();
        sorted.sort_by(|one, other| of(one).total_cmp(&of(other)));
        sorted.iter().map(|pair| pair.what.as_str()).collect::<Vec<_>>().join(" < ")
    };
    let orders = format!("Xen {}; simulated {}", names(|pair| pair.xen), names(|pair| pair.predicted));
    let checks = vec![
        Check {
            what: format!(
                "{title}: pairs that differ by more than {TIE} % in Xen and the other way simulated"
            ),
            criterion: Criterion::invariant(Shape::exactly(0.0)),
            ours: Ours::one(reversed(pairs) as f64, "").with(orders),
        },
        Check {
            what: format!("{title}: the worst factor between ratios, simulated and Xen"),
            criterion: Criterion::goal(Shape::within(1.0, FACTOR_MOST)),
            ours: Ours::one(worst_factor(pairs), "times"),
        },
    ];
    (table, checks)
}

#[cfg(test)]
mod tests {
    use paceline_report::Verdict;

    use super::*;

    fn pairs(numbers: &[(f64, f64)]) -> Vec<Pair> {
        let pair =
            |(xen, predicted): &(f64, f64)| Pair { what: "x".into(), xen: *xen, predicted: *predicted };
        numbers.iter().map(pair).collect()
    }

    #[test]
    fn order_counts_where_both_differ_clearly() {
        assert_eq!(reversed(&pairs(&[(1.0, 10.0), (2.0, 30.0), (1.05, 9.9)])), 0);
        assert_eq!(reversed(&pairs(&[(1.0, 10.5), (2.0, 10.0)])), 0, "nearly equal is no other order");
        assert_eq!(reversed(&pairs(&[(1.0, 12.0), (2.0, 10.0)])), 1);
    }

    #[test]
    fn factors_are_of_ratios_to_the_first() {
        assert_eq!(worst_factor(&pairs(&[(1.0, 10.0), (2.0, 20.0), (4.0, 20.0)])), 2.0);
        assert_eq!(worst_factor(&pairs(&[(1.0, 10.0), (0.5, 10.0)])), 2.0);
        assert_eq!(worst_factor(&[]), 1.0);
        assert_eq!(factor(0.0, 0.0), 1.0);
    }

    #[test]
    fn what_is_too_far_off_differs() {
        let (table, checks) = beside("time", &pairs(&[(1.0, 1.0), (9.0, 3.0)]));
        assert_eq!(table.rows().len(), 2);
        let verdicts: Vec<_> = checks.iter().map(Check::verdict).collect();
        assert_eq!(verdicts, [Verdict::Reproduced, Verdict::Differs]);
    }
}
