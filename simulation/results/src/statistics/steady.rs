//! What one long run says of a steady state: an interval of confidence by batch means, and how long the run
//! took to come near that state, by MSER.
//!
//! Values of one run depend on those before: the interval for independent values would be too narrow. Means
//! of long batches hardly depend on each other, and 10 to 30 of them are best, however long the run is
//! (Schmeiser, 1982).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Batches into which a run is divided, unless it is said otherwise.
pub const BATCHES: usize = 20;

/// What comes in a part of a run: the sum of values with their number, or of a level over time with the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The sum.
    pub sum: f64,
    /// What the sum is divided by for the mean.
    pub weight: f64,
}

/// A mean in the steady state, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of the batches, each by its weight.
    pub mean: f64,
    /// Half the width of the interval that holds the mean of the steady state with a confidence of 95 %.
    pub half_width: f64,
    /// Of how many batches.
    pub batches: usize,
    /// How much the means of batches depend on those of the batches before, from -1 to 1. Above about 0.4 the
    /// run is too short for its interval.
    pub correlation: f64,
}

/// The mean of the steady state and its interval by the means of so many batches (two at least), each of
/// equally many of these parts; those that are left over, at the start, do not count. Where parts have
/// different weights, the mean is a ratio of sums, and its variance that of the residues. Nothing where there
/// are fewer parts than batches, or a batch in which nothing came.
///
/// ```
/// use paceline_results::statistics::{Part, batch_means};
///
/// let parts: Vec<Part> = (0..100).map(|n| Part { sum: f64::from(n % 5), weight: 1.0 }).collect();
/// let estimate = batch_means(&parts, 20).expect("there are enough");
/// assert_eq!((estimate.mean, estimate.half_width, estimate.batches), (2.0, 0.0, 20));
/// assert_eq!(batch_means(&parts[..19], 20), None);
/// ```
pub fn batch_means(parts: &[Part], batches: usize) -> Option<Estimate> {
    let size = parts.len().checked_div(batches).filter(|size| *size > 0 && batches > 1)?;
    let used = &parts[parts.len() - size * batches..];
    let batches: Vec<Part> = used.chunks_exact(size).map(together).collect();
    if batches.iter().any(|batch| batch.weight <= 0.0) {
        return None;
    }
    let (count, all) = (batches.len() as f64, together(&batches));
    let mean = all.sum / all.weight;
    let residues: Vec<f64> = batches.iter().map(|batch| batch.sum - mean * batch.weight).collect();
    let squares: f64 = residues.iter().map(|residue| residue * residue).sum();
    let deviation = (squares * count / (count - 1.0)).sqrt() / all.weight;
    let neighbours: f64 = residues.iter().zip(&residues[1..]).map(|(one, next)| one * next).sum();
    let correlation = if squares > 0.0 { neighbours / squares } else { 0.0 };
    let student = StudentsT::new(0.0, 1.0, count - 1.0).map_or(0.0, |student| student.inverse_cdf(0.975));
    Some(Estimate { mean, half_width: student * deviation, batches: batches.len(), correlation })
}

fn together(parts: &[Part]) -> Part {
    parts
        .iter()
        .fold(Part::default(), |all, part| Part { sum: all.sum + part.sum, weight: all.weight + part.weight })
}

/// How many of these values, which are means of equal parts of a run, are to be cut at its start so that the
/// mean of the others has the least standard error: the marginal standard error rule (White, 1997). With
/// values that are means of five it is MSER-5 (White, Cobb and Spratt, 2000). At most half of them; where
/// that is the answer, the run is too short to say.
///
/// ```
/// use paceline_results::statistics::mser;
///
/// let values: Vec<f64> = (0..100).map(|n| if n < 10 { 50.0 } else { f64::from(n % 2) }).collect();
/// assert_eq!(mser(&values), 10);
/// assert_eq!(mser(&[]), 0);
/// ```
pub fn mser(values: &[f64]) -> usize {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (place, value) in values.iter().enumerate().rev() {
        count += 1.0;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        let error = squares / (count * count);
        // Of equal ones the one that cuts least.
        if place <= values.len() / 2 && error <= best.0 {
            best = (error, place);
        }
    }
    best.1
}
