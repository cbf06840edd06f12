//! A model's picture, as it is sent: places and loads as small whole numbers, in lists. What has more points
//! than a screen can show is sent as a grid of mean loads.

use paceline_results::{Picture, Point};
use serde_json::{Value, json};

/// The places along each axis.
const PLACES: f64 = 4000.0;
/// The steps of a load.
const STEPS: f64 = 100.0;
/// Points, and edges, that are drawn one by one.
const POINTS_MAX: usize = 20_000;
const EDGES_MAX: usize = 40_000;
/// Cells along each side of a grid of densities.
const CELLS: usize = 96;

/// The frame that all points are in: least coordinates, and the lengths of the sides.
struct Extent {
    least: (f64, f64),
    size: (f64, f64),
}

impl Extent {
    fn of(points: &[Point]) -> Self {
        let span = |of: fn(&Point) -> f64| {
            let values = points.iter().map(of).filter(|value| value.is_finite());
            let (least, most) =
                values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
            if least > most { (0.0, 0.0) } else { (least, most - least) }
        };
        let ((x, width), (y, height)) = (span(|point| point.x), span(|point| point.y));
        Self { least: (x, y), size: (width, height) }
    }

    /// A coordinate as a part of the longer side, from 0 to 1.
    fn part(&self, point: &Point) -> (f64, f64) {
        let longer = self.size.0.max(self.size.1).max(f64::MIN_POSITIVE);
        let part = |value: f64, least: f64| ((value - least) / longer).clamp(0.0, 1.0);
        (part(point.x, self.least.0), part(point.y, self.least.1))
    }
}

fn step(load: f64) -> u8 {
    // A load that is no number is none.
    (load.clamp(0.0, 1.0) * STEPS).round() as u8
}

/// What stays while nothing moves, and what changes.
pub(super) fn texts(picture: &Picture) -> (String, String) {
    let Picture { title, load, points, edges, fields, .. } = picture;
    let extent = Extent::of(points);
    let ratio = extent.size.1 / extent.size.0.max(f64::MIN_POSITIVE);
    let about =
        |kind: &str| json!({ "kind": kind, "title": title, "load": load, "ratio": ratio.clamp(0.2, 1.0) });
    if points.len() > POINTS_MAX || edges.len() > EDGES_MAX {
        let (counts, loads) = grid(points, &extent);
        let mut layout = about("grid");
        layout["cells"] = json!(CELLS);
        layout["points"] = json!(points.len());
        return (
            layout.to_string(),
            json!({ "points": loads, "counts": counts, "fields": fields }).to_string(),
        );
    }
    let place = |part: f64| (part * PLACES) as u32;
    let places = points.iter().flat_map(|point| {
        let (x, y) = extent.part(point);
        [place(x), place(y)]
    });
    let mut layout = about("points");
    layout["points"] = places.collect::<Vec<_>>().into();
    let known = |edge: &&paceline_results::Edge| (edge.from.max(edge.to) as usize) < points.len();
    layout["edges"] =
        edges.iter().filter(known).flat_map(|edge| [edge.from, edge.to]).collect::<Vec<_>>().into();
    let loads = |loads: Vec<u8>| Value::from(loads);
    let changes = json!({
        "points": loads(points.iter().map(|point| step(point.load)).collect()),
        "edges": loads(edges.iter().filter(known).map(|edge| step(edge.load)).collect()),
        "fields": fields,
    });
    (layout.to_string(), changes.to_string())
}

/// How many points are in each cell, relative to the fullest, and their mean load; row by row from below.
fn grid(points: &[Point], extent: &Extent) -> (Vec<u8>, Vec<u8>) {
    let mut cells = vec![(0_u32, 0.0); CELLS * CELLS];
    for point in points {
        let (x, y) = extent.part(point);
        let cell = |part: f64| ((part * CELLS as f64) as usize).min(CELLS - 1);
        let (count, sum) = &mut cells[cell(y) * CELLS + cell(x)];
        *count += 1;
        *sum += point.load.clamp(0.0, 1.0);
    }
    let most = f64::from(cells.iter().map(|(count, _)| *count).max().unwrap_or(1).max(1));
    let mean = |(count, sum): &(u32, f64)| step(sum / f64::from((*count).max(1)));
    // The root, so that thin places are seen beside dense ones; a cell that has any point is never empty.
    let density = |(count, _): &(u32, f64)| match count {
        0 => 0,
        count => step((f64::from(*count) / most).sqrt()).max(1),
    };
    (cells.iter().map(density).collect(), cells.iter().map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_results::Edge;

    fn line(points: u32) -> Picture {
        let point = |number: u32| Point { x: f64::from(number), y: 1.0, load: f64::from(number % 2) };
        let edges = vec![Edge { from: 0, to: 1, load: 2.0 }, Edge { from: 0, to: points, load: 0.5 }];
        Picture { points: (0..points).map(point).collect(), edges, ..Picture::default() }
    }

    fn read(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn points_are_placed_in_the_frame_and_wrong_edges_are_left_out() {
        let (layout, loads) = texts(&line(5));
        let (layout, loads) = (read(&layout), read(&loads));
        assert_eq!(layout["points"], json!([0, 0, 1000, 0, 2000, 0, 3000, 0, 4000, 0]));
        assert_eq!(layout["edges"], json!([0, 1]));
        assert_eq!((&loads["points"], &loads["edges"]), (&json!([0, 100, 0, 100, 0]), &json!([100])));
    }

    #[test]
    fn a_million_points_are_a_grid_of_bounded_size() {
        let (layout, loads) = texts(&line(1_000_000));
        assert_eq!(read(&layout)["kind"], "grid");
        assert!(layout.len() + loads.len() < 80_000, "{}", loads.len());
        let first = &read(&loads);
        assert_eq!((&first["counts"][0], &first["points"][0]), (&json!(100), &json!(50)));
    }

    #[test]
    fn strange_numbers_have_a_place() {
        let strange = Point { x: f64::NAN, y: f64::INFINITY, load: f64::NAN };
        let (layout, _) = texts(&Picture { points: vec![strange, strange], ..Picture::default() });
        assert_eq!(read(&layout)["kind"], "points");
    }
}
