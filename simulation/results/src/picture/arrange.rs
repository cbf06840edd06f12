//! Places for the points of a graph that has none: near in the graph, near in the picture.
//!
//! Classical scaling to the distances from some pivots (Brandes and Pich, "Eigensolver Methods for
//! Progressive Multidimensional Scaling of Large Data", GD 2006): a shortest-path tree for each pivot, then
//! the two main axes of what the distances span. Deterministic, and quick for a hundred thousand points.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Shortest-path trees.
const PIVOTS: usize = 24;
/// Rounds in which an axis is found.
const ROUNDS: usize = 60;
/// Distances in whole numbers have this many steps in the longest edge.
const STEPS: f64 = 1000.0;
/// Points at one place are put on a circle of this part of the picture.
const FAN: f64 = 0.025;

type Distances = [f64; PIVOTS];

/// Places for `points` points that `edges` join: two points, and a length above zero. Points that no edge
/// joins to the first one are beyond all others.
///
/// ```
/// let line = paceline_results::arrange(3, &[(0, 1, 1.0), (1, 2, 3.0)]);
/// let apart = |one: usize, other: usize| (line[one].0 - line[other].0).hypot(line[one].1 - line[other].1);
/// assert!((apart(1, 2) / apart(0, 1) - 3.0).abs() < 0.1);
/// ```
pub fn arrange(points: u32, edges: &[(u32, u32, f64)]) -> Vec<(f64, f64)> {
    let points = points as usize;
    if points == 0 {
        return Vec::new();
    }
    let mut centred = distances(points, edges);
    centre(&mut centred);
    let first = axis(&centred, None);
    let second = axis(&centred, Some(&first));
    let along =
        |row: &Distances, axis: &Distances| row.iter().zip(axis).map(|(one, other)| one * other).sum();
    let mut places: Vec<(f64, f64)> =
        centred.iter().map(|row| (along(row, &first), along(row, &second))).collect();
    fan_out(&mut places);
    places
}

/// The distance of each point from each pivot; each pivot is as far as can be from those before it.
fn distances(points: usize, edges: &[(u32, u32, f64)]) -> Vec<Distances> {
    let is_known = |(from, to, length): &&(u32, u32, f64)| {
        (*from.max(to) as usize) < points && length.is_finite() && *length > 0.0
    };
    let known = || edges.iter().filter(is_known);
    let longest = known().map(|edge| edge.2).fold(f64::MIN_POSITIVE, f64::max);
    let mut neighbours = vec![Vec::new(); points];
    for (from, to, length) in known() {
        let steps = ((length / longest * STEPS) as u64).max(1);
        neighbours[*from as usize].push((*to as usize, steps));
        neighbours[*to as usize].push((*from as usize, steps));
    }
    let mut trees: Vec<Vec<u64>> = Vec::with_capacity(PIVOTS);
    let (mut pivot, mut nearest) = (0, vec![u64::MAX; points]);
    while trees.len() < PIVOTS {
        let mut tree = shortest(&neighbours, pivot);
        let most = tree.iter().copied().filter(|steps| *steps < u64::MAX).max().unwrap_or(0).max(1);
        for (steps, nearest) in tree.iter_mut().zip(&mut nearest) {
            // What cannot be reached is put a little beyond the farthest.
            *steps = (*steps).min(most + most / 5);
            *nearest = (*nearest).min(*steps);
        }
        trees.push(tree);
        let far = nearest.iter().enumerate().max_by_key(|(point, steps)| (**steps, Reverse(*point)));
        pivot = far.map_or(0, |(point, _)| point);
    }
    (0..points).map(|point| std::array::from_fn(|number| trees[number][point] as f64)).collect()
}

/// The distances from one point (Dijkstra).
fn shortest(neighbours: &[Vec<(usize, u64)>], from: usize) -> Vec<u64> {
    let mut found = vec![u64::MAX; neighbours.len()];
    let mut next = BinaryHeap::from([Reverse((0, from))]);
    found[from] = 0;
    while let Some(Reverse((steps, point))) = next.pop() {
        if steps > found[point] {
            continue;
        }
        for (neighbour, length) in &neighbours[point] {
            let there = steps + length;
            if there < found[*neighbour] {
                found[*neighbour] = there;
                next.push(Reverse((there, *neighbour)));
            }
        }
    }
    found
}

/// Squares the distances, and takes the means of rows and columns out of them.
fn centre(all: &mut [Distances]) {
    all.iter_mut().flatten().for_each(|distance| *distance *= *distance);
    let mut columns = [0.0; PIVOTS];
    for row in &*all {
        for (sum, square) in columns.iter_mut().zip(row) {
            *sum += square / all.len() as f64;
        }
    }
    let whole = columns.iter().sum::<f64>() / PIVOTS as f64;
    for row in all {
        let mean = row.iter().sum::<f64>() / PIVOTS as f64;
        for (square, column) in row.iter_mut().zip(&columns) {
            *square = -0.5 * (*square - mean - column + whole);
        }
    }
}

/// The main axis of the rows, at right angles to `other`: the power iteration.
fn axis(rows: &[Distances], other: Option<&Distances>) -> Distances {
    let mut axis: Distances = std::array::from_fn(|number| 1.0 / (number as f64 + 1.5));
    for _ in 0..ROUNDS {
        let mut next = [0.0; PIVOTS];
        for row in rows {
            let along: f64 = row.iter().zip(&axis).map(|(one, other)| one * other).sum();
            next.iter_mut().zip(row).for_each(|(sum, one)| *sum += along * one);
        }
        if let Some(other) = other {
            let along: f64 = next.iter().zip(other).map(|(one, other)| one * other).sum();
            next.iter_mut().zip(other).for_each(|(one, other)| *one -= along * other);
        }
        let length = next.iter().map(|one| one * one).sum::<f64>().sqrt();
        if length < f64::MIN_POSITIVE {
            // All points are on a line, or at one place.
            return [0.0; PIVOTS];
        }
        axis = next.map(|one| one / length);
    }
    axis
}

/// Puts points that are at one place on a circle about it.
fn fan_out(places: &mut [(f64, f64)]) {
    let span = |of: fn(&(f64, f64)) -> f64| {
        let (least, most) = places
            .iter()
            .map(of)
            .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
        most - least
    };
    let width = span(|place| place.0).max(span(|place| place.1)).max(1e-9);
    let cell = |value: f64| (value / width * 1000.0).round() as i64;
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|point| (cell(places[*point].0), cell(places[*point].1), *point));
    let same = |one: &usize, other: &usize| {
        let [one, other] = [*one, *other].map(|point| (cell(places[point].0), cell(places[point].1)));
        one == other
    };
    let groups: Vec<Vec<usize>> =
        order.chunk_by(same).filter(|group| group.len() > 1).map(<[_]>::to_vec).collect();
    for group in groups {
        for (number, point) in group.iter().enumerate() {
            let angle = std::f64::consts::TAU * number as f64 / group.len() as f64;
            places[*point].0 += FAN * width * angle.cos();
            places[*point].1 += FAN * width * angle.sin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_drawn_as_one() {
        let side = 12_u32;
        let at = |row, column| row * side + column;
        let steps = (0..side).flat_map(|row| (1..side).map(move |column| (row, column)));
        let edges: Vec<_> = steps
            .flat_map(|(row, column)| {
                [(at(row, column - 1), at(row, column), 1.0), (at(column - 1, row), at(column, row), 1.0)]
            })
            .collect();
        let places = arrange(side * side, &edges);
        let apart = |one: u32, other: u32| {
            let [one, other] = [one, other].map(|point| places[point as usize]);
            (one.0 - other.0).hypot(one.1 - other.1)
        };
        let (near, far) = (apart(at(5, 5), at(5, 6)), apart(at(0, 0), at(side - 1, side - 1)));
        assert!(far > 8.0 * near, "{far} {near}");
        let other = apart(at(0, side - 1), at(side - 1, 0));
        assert!((0.7..1.4).contains(&(far / other)), "both diagonals are alike: {far} {other}");
    }

    #[test]
    fn no_two_points_of_a_star_are_at_one_place() {
        let edges: Vec<_> = (1..40).map(|point| (0, point, 1.0)).collect();
        let mut places = arrange(40, &edges);
        places.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        assert!(places.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn strange_graphs_have_places() {
        for (points, edges) in
            [(1, vec![]), (5, vec![]), (3, vec![(0, 9, 1.0), (1, 1, f64::NAN), (0, 1, 0.0)])]
        {
            let places = arrange(points, &edges);
            assert!(
                places.len() == points as usize
                    && places.iter().all(|one| one.0.is_finite() && one.1.is_finite())
            );
        }
    }
}
