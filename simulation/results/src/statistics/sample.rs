//! Means of repeated runs, with their intervals of confidence, and medians.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// The arithmetic mean of the values.
    pub mean: f64,
    /// The standard deviation of the values, that of a sample: divided by one less than their number.
    pub deviation: f64,
    /// Half the width of the interval that holds the true mean with a confidence of 95 %.
    pub half_width: f64,
}

/// The mean of `values`, its interval by Student's t; a single value has no deviation and no interval.
pub fn mean(values: &[f64]) -> Mean {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    if values.len() < 2 {
        return Mean { mean, ..Mean::default() };
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let quantile = StudentsT::new(0.0, 1.0, count - 1.0).map_or(0.0, |student| student.inverse_cdf(0.975));
    Mean { mean, deviation: variance.sqrt(), half_width: quantile * (variance / count).sqrt() }
}

/// The median of `values`, the mean of the middle two if their number is even; zero if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_and_no_outlier_moves_it() {
        assert_eq!(median(&[9e9, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9e9]), 3.0);
        assert_eq!((median(&[7.0]), median(&[])), (7.0, 0.0));
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // t(0.975, 4) = 2.776; the standard deviation of 1 to 5 is 1.5811.
        let Mean { mean, deviation, half_width } = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((mean - 3.0).abs() < 1e-12 && (deviation - 2.5_f64.sqrt()).abs() < 1e-12);
        assert!((half_width - 2.776 * 1.5811 / 5f64.sqrt()).abs() < 1e-3, "{half_width}");
    }
}
