//! What is known of each stage: the distribution of the units that it has on order.

use super::SupplyChain;

/// Probabilities beyond this many units on order are not computed: a longer sum takes the square of it.
const UNITS_MAX: usize = 5000;

/// What theory says of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StageTheory {
    /// The share of units that are given at once.
    pub at_once: f64,
    pub mean_on_hand: f64,
    pub mean_owed: f64,
}

/// Of each stage, in their order; nothing where so many units are on order that it would take long.
pub(super) fn of(model: &SupplyChain) -> Option<Vec<StageTheory>> {
    let demands_per_s = 1.0 / model.between_demands.as_secs_f64();
    // The units that the stage above owes; a supplier owes nothing.
    let mut owed_above = vec![1.0];
    let mut all = Vec::new();
    for stage in model.stages.iter().rev() {
        let takes_s = stage.lead_time.as_secs_f64() + stage.order_delay.as_secs_f64();
        let on_order = convolved(&poisson(demands_per_s * takes_s)?, &owed_above);
        let base_stock = stage.base_stock as usize;
        let sum = |units: &mut dyn Iterator<Item = f64>| units.sum::<f64>();
        let at_once = sum(&mut on_order.iter().take(base_stock).copied());
        // What is beyond the last probability is nothing.
        let on_hand =
            (0..base_stock.min(on_order.len())).map(|units| (base_stock - units) as f64 * on_order[units]);
        let owed: Vec<f64> = match base_stock {
            0 => on_order.clone(),
            _ => std::iter::once(sum(&mut on_order.iter().take(base_stock + 1).copied()))
                .chain(on_order.iter().skip(base_stock + 1).copied())
                .collect(),
        };
        let mean_owed = owed.iter().enumerate().map(|(units, probability)| units as f64 * probability).sum();
        all.push(StageTheory { at_once, mean_on_hand: on_hand.sum(), mean_owed });
        if owed.len() > UNITS_MAX {
            return None;
        }
        owed_above = owed;
    }
    all.reverse();
    Some(all)
}

/// The probabilities of a Poisson number, as far as they count; nothing where those are too many.
fn poisson(mean: f64) -> Option<Vec<f64>> {
    let count = (mean + 12.0 * mean.sqrt() + 40.0) as usize;
    let log = |units: usize| units as f64 * libm::log(mean) - mean - libm::lgamma(units as f64 + 1.0);
    match mean {
        0.0 => Some(vec![1.0]),
        _ => (count <= UNITS_MAX).then(|| (0..count).map(|units| libm::exp(log(units))).collect()),
    }
}

fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; one.len() + other.len() - 1];
    for (place, factor) in one.iter().enumerate() {
        other.iter().zip(&mut sums[place..]).for_each(|(other, sum)| *sum += factor * other);
    }
    sums
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Time;

    use super::super::Stage;
    use super::*;

    fn chain(stages: &[(u32, u64, u64)]) -> SupplyChain {
        let stage = |(base_stock, lead_s, order_s): &(u32, u64, u64)| Stage {
            name: String::new(),
            base_stock: *base_stock,
            lead_time: Time::secs(*lead_s),
            order_delay: Time::secs(*order_s),
        };
        let stages = stages.iter().map(stage).collect();
        SupplyChain { stages, products: 1, between_demands: Time::secs(1), warm_up: Time::ZERO }
    }

    #[test]
    fn one_stage_has_a_poisson_number_on_order() {
        // Two units on order on average: P(0) = 0.1353, P(1) = P(2) = 0.2707.
        let [stage] = of(&chain(&[(2, 1, 1)])).expect("known")[..] else { panic!("one stage") };
        let p = (-2.0_f64).exp();
        assert!((stage.at_once - 3.0 * p).abs() < 1e-12, "{stage:?}");
        assert!((stage.mean_on_hand - 4.0 * p).abs() < 1e-12, "{stage:?}");
        // On hand less owed is the base stock less what is on order.
        assert!((stage.mean_on_hand - stage.mean_owed - (2.0 - 2.0)).abs() < 1e-9, "{stage:?}");
    }

    #[test]
    fn a_chain_whose_upper_stages_have_no_stock_is_one_stage() {
        let one = of(&chain(&[(7, 5, 2)])).expect("known")[0];
        let chained = of(&chain(&[(7, 1, 1), (0, 2, 0), (0, 2, 1)])).expect("known");
        assert!((one.at_once - chained[0].at_once).abs() < 1e-9, "{one:?} {chained:?}");
        assert!((one.mean_owed - chained[0].mean_owed).abs() < 1e-9, "{one:?} {chained:?}");
        assert_eq!(chained[2].at_once, 0.0);
        assert!(of(&chain(&[(7, 5000, 5000)])).is_none(), "too many to be computed");
    }
}
