//! The points of a study: which levels of the factors go together.
//!
//! Invariant: points are a pure function of factors, kind and seed, and all different.

use paceline_kernel::Rng;

use crate::levels::{Level, Levels};
use crate::settings::{Factor, Kind};

/// The stream of random numbers that a sample is drawn from; replications have others.
const STREAM: u64 = 0x5354_5544_5900_0000;

/// A point: a level of each factor, in their order. Without factors there is one point without levels.
pub type Point = Vec<Level>;

/// How many points there are before equal ones are dropped.
pub fn count(factors: &[Factor], kind: Kind) -> u128 {
    let levels = |factor: &Factor| match &factor.levels {
        Levels::List(levels) => levels.len() as u128,
        Levels::Span(_) => 1,
    };
    match kind {
        Kind::Grid => factors.iter().map(levels).fold(1, u128::saturating_mul),
        Kind::LatinHypercube(points) | Kind::Sobol(points) => points.into(),
    }
}

/// The points of these factors; the last factor varies fastest in a grid. `seed` is that of a sample.
pub fn points(factors: &[Factor], kind: Kind, seed: u64) -> Vec<Point> {
    let mut points = match kind {
        Kind::Grid => grid(factors),
        Kind::LatinHypercube(count) => latin_hypercube(factors, count, seed),
        Kind::Sobol(count) => sobol(factors, count, seed),
    };
    let mut seen = std::collections::BTreeSet::new();
    // A sample of few levels may hit one twice.
    points.retain(|point| seen.insert(point.iter().map(|level| level.written.clone()).collect::<Vec<_>>()));
    points
}

fn grid(factors: &[Factor]) -> Vec<Point> {
    let mut points = vec![Point::new()];
    for factor in factors {
        let Levels::List(levels) = &factor.levels else { continue };
        let with = |point: &Point| {
            let point = point.clone();
            levels
                .iter()
                .map(move |level| point.iter().chain([level]).cloned().collect())
                .collect::<Vec<Point>>()
        };
        points = points.iter().flat_map(with).collect();
    }
    points
}

/// The level at this part of the way, from 0 to below 1.
fn at(factor: &Factor, part: f64) -> Level {
    match &factor.levels {
        Levels::Span(span) => span.at(part),
        Levels::List(levels) => {
            levels[((part * levels.len() as f64) as usize).min(levels.len().saturating_sub(1))].clone()
        }
    }
}

fn latin_hypercube(factors: &[Factor], count: u32, seed: u64) -> Vec<Point> {
    let mut points = vec![Point::new(); count as usize];
    for (place, factor) in factors.iter().enumerate() {
        let mut rng = Rng::new(seed, STREAM + place as u64);
        let mut parts: Vec<u32> = (0..count).collect();
        rng.shuffle(&mut parts);
        for (point, part) in points.iter_mut().zip(parts) {
            point.push(at(factor, (f64::from(part) + rng.unit()) / f64::from(count)));
        }
    }
    points
}

fn sobol(factors: &[Factor], count: u32, seed: u64) -> Vec<Point> {
    let scramble = Rng::new(seed, STREAM).u64() as u32;
    let point = |index: u32| {
        let part = |place: usize| f64::from(sobol_burley::sample(index, place as u32, scramble));
        factors.iter().enumerate().map(|(place, factor)| at(factor, part(place))).collect()
    };
    (0..count).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;
    use paceline_scenario::Scenario;
    use std::collections::BTreeSet;

    /// The points of a study with these lines.
    fn points_of(study: &str, factors: &str, seed: u64) -> Vec<Point> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), "").unwrap();
        let text = format!("[study]\nscenario = \"a.toml\"\n{study}\n[factors]\n{factors}\n");
        let study = Study::read(Scenario::parse("s.toml", &text, folder.path(), &[]).unwrap()).unwrap();
        points(&study.factors, study.kind, seed)
    }

    fn shown(points: &[Point]) -> Vec<String> {
        let words =
            |point: &Point| point.iter().map(|level| level.shown.as_str()).collect::<Vec<_>>().join(" ");
        points.iter().map(words).collect()
    }

    #[test]
    fn a_grid_has_all_combinations_and_ranges_are_what_people_would_write() {
        let factors =
            "model.cycle = { from = \"30s\", to = \"1min\", step = \"15s\" }\n\"model.a\" = [true, \"x y\"]";
        let found = shown(&points_of("", factors, 1));
        assert_eq!(found, ["true 30s", "true 45s", "true 60s", "x y 30s", "x y 45s", "x y 60s"]);
        let one = |factor: &str| shown(&points_of("", &format!("m.x = {factor}"), 1));
        assert_eq!(one("{ from = 0.1, to = 0.5, step = 0.1 }"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(one("{ from = -2, to = 7, step = 4 }"), ["-2", "2", "6"]);
        assert_eq!(one("{ from = 1, to = 2.0, count = 3 }"), ["1.0", "1.5", "2.0"]);
        assert_eq!(one("{ from = \"1s\", to = \"2s\", count = 3 }"), ["1s", "1500ms", "2s"]);
        assert_eq!(shown(&points_of("", "", 1)), [""], "without factors there is one point");
    }

    #[test]
    fn a_sample_has_one_point_in_each_part_of_each_factor() {
        let factors = "m.x = { from = 0.0, to = 1.0 }\nm.y = { from = 0, to = 31 }\nm.z = { from = \"0s\", to = \"10s\" }";
        for design in ["latin-hypercube", "sobol"] {
            let count = 32;
            let study = format!("design = \"{design}\"\npoints = {count}");
            let found = points_of(&study, factors, 7);
            assert_eq!((found.len(), &found), (count, &points_of(&study, factors, 7)), "equal seeds");
            assert_ne!(found, points_of(&study, factors, 8));
            for (factor, length) in [(0, 1.0), (1, 32.0), (2, 10.0)] {
                let part = |point: &Point| (point[factor].number.unwrap() / length * count as f64) as usize;
                let parts: BTreeSet<usize> = found.iter().map(part).collect();
                assert_eq!(parts.len(), count, "{design}, factor {factor}: {:?}", shown(&found));
            }
        }
        let few = points_of("design = \"sobol\"\npoints = 16", factors, 7);
        let more = points_of("design = \"sobol\"\npoints = 32", factors, 7);
        assert_eq!(few[..], more[..16], "more points leave the first as they are");
    }

    #[test]
    fn equal_points_of_a_sample_count_once() {
        let found = shown(&points_of("design = \"latin-hypercube\"\npoints = 64", "m.x = [1, 2, 3]", 7));
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
        assert_eq!(found.len(), 3);
    }
}
