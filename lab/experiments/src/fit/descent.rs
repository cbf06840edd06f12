//! The search for a vector: coordinate descent on a grid.
//!
//! Pure: the caller says how far off a vector is. Equal answers give an equal search. Of vectors that are
//! equally far off the one that was met first stays, so that a quantity that decides nothing keeps the value
//! it began with.

use std::collections::BTreeMap;

/// A vector, by the places of its values on their grids.
pub type Point = Vec<usize>;

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    /// The best vector of all that were tried.
    pub best: Point,
    /// How far off it is.
    pub off: f64,
    /// How many vectors were tried.
    pub tried: usize,
}

/// Begins at `start` and tries for one quantity after the other all its values, of which there are
/// `sizes[quantity]`, keeps the best, and ends when a whole round over the quantities has changed nothing, or
/// after `rounds`. `off` says how far off a vector is; it is asked once for each, and may fail. It gets what
/// is the least so far, and may answer with infinity as soon as it knows that the vector is no nearer.
///
/// # Errors
/// That of `off`.
pub fn descend<E>(
    sizes: &[usize],
    start: Point,
    rounds: usize,
    mut off: impl FnMut(&[usize], f64) -> Result<f64, E>,
) -> Result<Descent, E> {
    let mut known: BTreeMap<Point, f64> = BTreeMap::new();
    let mut ask = |point: &Point, least: f64| -> Result<f64, E> {
        if let Some(answer) = known.get(point) {
            return Ok(*answer);
        }
        let answer = off(point, least)?;
        known.insert(point.clone(), answer);
        Ok(answer)
    };
    let (mut best, mut least) = (start.clone(), ask(&start, f64::INFINITY)?);
    for _ in 0..rounds {
        let before = best.clone();
        for (quantity, size) in sizes.iter().enumerate() {
            for value in 0..*size {
                let mut point = best.clone();
                point[quantity] = value;
                let answer = ask(&point, least)?;
                // What cannot be compared (NaN) is never better.
                if answer < least {
                    (best, least) = (point, answer);
                }
            }
        }
        if best == before {
            break;
        }
    }
    Ok(Descent { best, off: least, tried: known.len() })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn search(sizes: &[usize], start: Point, off: impl Fn(&[usize]) -> f64) -> (Descent, Vec<Point>) {
        let mut asked = Vec::new();
        let found = descend::<Infallible>(sizes, start, 9, |point, least| {
            asked.push(point.to_vec());
            let answer = off(point);
            // What is rejected early changes nothing of what is found.
            Ok(if answer >= least { f64::INFINITY } else { answer })
        });
        let Ok(found) = found;
        (found, asked)
    }

    #[test]
    fn the_least_of_a_bowl_is_found_from_everywhere() {
        let sizes = [4, 5, 3];
        let bowl = |point: &[usize]| {
            let away = |place: usize, least: f64| (point[place] as f64 - least).powi(2);
            // Coordinates that pull on each other: one round is not enough.
            away(0, 2.0) + away(1, 3.0) + away(2, 1.0) + 0.5 * away(0, 2.0).sqrt() * away(1, 3.0).sqrt()
        };
        for start in (0..60).map(|number| vec![number % 4, (number / 4) % 5, number / 20]) {
            let (found, asked) = search(&sizes, start, bowl);
            assert_eq!((found.best, found.off), (vec![2, 3, 1], 0.0));
            let mut once = asked.clone();
            once.sort();
            once.dedup();
            assert_eq!((once.len(), found.tried), (asked.len(), asked.len()), "no vector is asked for twice");
        }
    }

    #[test]
    fn what_decides_nothing_keeps_the_value_it_began_with() {
        let (found, _) = search(&[3, 4], vec![1, 2], |point| if point[0] == 2 { 0.5 } else { f64::NAN });
        assert_eq!(found.best, [1, 2], "nothing is known of the start, so that nothing is better");
        let (found, _) = search(&[3, 4], vec![1, 2], |point| if point[0] == 2 { 0.5 } else { 1.0 });
        assert_eq!(found.best, [2, 2]);
    }

    #[test]
    fn a_failure_ends_the_search() {
        let failed = descend(&[3], vec![0], 9, |point, _| if point[0] < 2 { Ok(1.0) } else { Err("no") });
        assert_eq!(failed, Err("no"));
    }
}
