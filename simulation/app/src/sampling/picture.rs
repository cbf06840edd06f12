//! Where the points of a model's picture are in their frame; and, of more points than a screen can show, a
//! grid of mean loads.

use paceline_results::{Picture, Point};

/// Points, and edges, that are drawn one by one.
pub(crate) const POINTS_MAX: usize = 20_000;
pub(crate) const EDGES_MAX: usize = 40_000;
/// Cells along each side of a grid of densities.
pub(crate) const CELLS: usize = 96;

/// The frame that all points are in: least coordinates, and the lengths of the sides.
pub(crate) struct Extent {
    least: (f64, f64),
    size: (f64, f64),
}

impl Extent {
    pub(crate) fn of(points: &[Point]) -> Self {
        let span = |of: fn(&Point) -> f64| {
            let values = points.iter().map(of).filter(|value| value.is_finite());
            let (least, most) =
                values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
            if least > most { (0.0, 0.0) } else { (least, most - least) }
        };
        let ((x, width), (y, height)) = (span(|point| point.x), span(|point| point.y));
        Self { least: (x, y), size: (width, height) }
    }

    /// The ratio of the upright side to the other, at most 1.
    pub(crate) fn ratio(&self) -> f64 {
        (self.size.1 / self.size.0.max(f64::MIN_POSITIVE)).clamp(0.2, 1.0)
    }

    /// A coordinate as a part of the longer side, from 0 to 1.
    pub(crate) fn part(&self, point: &Point) -> (f64, f64) {
        let longer = self.size.0.max(self.size.1).max(f64::MIN_POSITIVE);
        let part = |value: f64, least: f64| ((value - least) / longer).clamp(0.0, 1.0);
        (part(point.x, self.least.0), part(point.y, self.least.1))
    }
}

/// Whether there is more than a screen can show point by point.
pub(crate) fn is_crowd(picture: &Picture) -> bool {
    picture.points.len() > POINTS_MAX || picture.edges.len() > EDGES_MAX
}

/// How full each cell is relative to the fullest, and its mean load, both from 0 to 1; row by row from below.
pub(crate) fn grid(points: &[Point], extent: &Extent) -> Vec<(f64, f64)> {
    let mut cells = vec![(0_u32, 0.0); CELLS * CELLS];
    for point in points {
        let (x, y) = extent.part(point);
        let cell = |part: f64| ((part * CELLS as f64) as usize).min(CELLS - 1);
        let (count, sum) = &mut cells[cell(y) * CELLS + cell(x)];
        *count += 1;
        // A load that is no number is none.
        *sum += point.load.clamp(0.0, 1.0).max(0.0);
    }
    let most = f64::from(cells.iter().map(|(count, _)| *count).max().unwrap_or(1).max(1));
    // The root, so that thin places are seen beside dense ones.
    let density = |count: u32| (f64::from(count) / most).sqrt();
    cells.iter().map(|&(count, sum)| (density(count), sum / f64::from(count.max(1)))).collect()
}
