//! How far numbers are from what was published, in tolerances: 1 is as far as a reproduced number may be.
//!
//! Invariant: a number is reproduced by itself if, and only if, its distance is at most 1.

use super::{Criterion, Ours, Statement, Tolerance};

/// The distance of what is not so at all: a statement that is not true, a number that must be exact, one of
/// which nothing is known.
const MISSED: f64 = 2.0;

impl Tolerance {
    /// How far `ours` is from `published`.
    ///
    /// ```
    /// use paceline_report::Tolerance;
    /// assert_eq!(Tolerance::Points(5.0).distance(4.0, 14.0), 2.0);
    /// assert!((Tolerance::Factor(1.5).distance(20.0, 45.0) - 2.0).abs() < 1e-9);
    /// ```
    pub fn distance(self, published: f64, ours: f64) -> f64 {
        let whole = match self {
            // Logarithms: half of it is as far off as twice of it.
            Self::Factor(factor) => match ours / published {
                ratio if ratio > 0.0 => return ratio.ln().abs() / factor.ln(),
                _ => return f64::INFINITY,
            },
            Self::Points(points) => points,
            Self::Percent(percent) => (published * percent / 100.0).abs(),
            Self::Spread(least, most) => {
                let half = (most - least) / 2.0;
                return parts((ours - least - half).abs(), half);
            }
            Self::Exact => 0.0,
        };
        parts((ours - published).abs(), whole)
    }
}

/// How many times `whole` is in `off`.
fn parts(off: f64, whole: f64) -> f64 {
    match (off == 0.0, whole > 0.0) {
        (true, _) => 0.0,
        (false, true) => off / whole,
        (false, false) => MISSED,
    }
}

impl Criterion {
    /// How far each of `ours` is from what its source prints, in tolerances; of a statement of the source one
    /// distance, 0 or 2, and of what no source says none. A number that nothing was measured for is
    /// infinitely far.
    pub fn distances(&self, ours: &Ours) -> Vec<f64> {
        match self {
            Self::Number { published, tolerance, .. } => {
                let each = ours.values.iter().enumerate().map(|(place, one)| {
                    let stated = published.get(place).or(published.last());
                    let distance = stated.map(|stated| tolerance.distance(*stated, one.value));
                    distance.filter(|distance| !distance.is_nan()).unwrap_or(f64::INFINITY)
                });
                each.collect()
            }
            Self::Stated { statement: Statement::Invariant | Statement::Goal, .. } => Vec::new(),
            Self::Stated { shape, .. } => {
                vec![if shape.is_met(&ours.values) == Some(false) { MISSED } else { 0.0 }]
            }
            Self::Failed(_) => Vec::new(),
        }
    }
}
