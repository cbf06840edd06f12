//! Fewer points for the same line.
//!
//! Within each column of a figure, a pixel wide, a line is seen by where it comes in, its lowest and highest
//! point, and where it goes out. Other points do not change the picture, only the size of the page.

/// The width of a column.
const COLUMN: i32 = 10;
/// Lines with no more points are left as they are.
const FEW: usize = 400;

/// The points of a line that are seen, in their order.
pub fn thin(points: &[(i32, i32)]) -> Vec<(i32, i32)> {
    if points.len() <= FEW {
        return points.to_vec();
    }
    let mut seen = Vec::new();
    for column in points.chunk_by(|one, next| one.0.div_euclid(COLUMN) == next.0.div_euclid(COLUMN)) {
        let height = |place: &usize| column[*place].1;
        let low = (0..column.len()).min_by_key(height).unwrap_or(0);
        let high = (0..column.len()).max_by_key(height).unwrap_or(0);
        let mut places = [0, low.min(high), low.max(high), column.len() - 1].to_vec();
        places.dedup();
        seen.extend(places.into_iter().map(|place| column[place]));
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Of each column: lowest and highest point.
    fn outline(points: &[(i32, i32)]) -> BTreeMap<i32, (i32, i32)> {
        let mut columns = BTreeMap::new();
        for &(x, y) in points {
            let column = columns.entry(x.div_euclid(COLUMN)).or_insert((y, y));
            *column = (column.0.min(y), column.1.max(y));
        }
        columns
    }

    proptest! {
        #[test]
        fn the_outline_stays_and_the_ends(mut points in proptest::collection::vec((0..7000, 0..4000), 1..3000)) {
            points.sort_unstable();
            let seen = thin(&points);
            prop_assert_eq!(outline(&seen), outline(&points));
            prop_assert_eq!((seen.first(), seen.last()), (points.first(), points.last()));
            prop_assert!(seen.len() <= FEW.max(4 * outline(&points).len()));
        }
    }
}
