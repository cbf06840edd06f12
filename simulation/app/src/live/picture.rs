//! A model's picture, as it is sent: places and loads as small whole numbers, in lists. What has more points
//! than a screen can show is sent as a grid of mean loads.

use paceline_results::Picture;
use serde_json::{Value, json};

use crate::sampling::picture::{CELLS, Extent, grid, is_crowd};

/// The places along each axis.
const PLACES: f64 = 4000.0;
/// The steps of a load.
const STEPS: f64 = 100.0;
fn step(load: f64) -> u8 {
    // A load that is no number is none.
    (load.clamp(0.0, 1.0) * STEPS).round() as u8
}

/// What stays while nothing moves, and what changes.
pub(super) fn texts(picture: &Picture) -> (String, String) {
    named_texts(picture, &[])
}

/// The same of points that have names.
pub(super) fn named_texts(picture: &Picture, names: &[String]) -> (String, String) {
    let Picture { title, load, points, edges, fields, .. } = picture;
    let extent = Extent::of(points);
    let about = |kind: &str| json!({ "kind": kind, "title": title, "load": load, "ratio": extent.ratio() });
    if is_crowd(picture) {
        let cells = grid(points, &extent);
        // A cell that has any point is never empty.
        let counts = cells.iter().map(|(density, _)| if *density > 0.0 { step(*density).max(1) } else { 0 });
        let counts: Vec<u8> = counts.collect();
        let loads: Vec<u8> = cells.iter().map(|(_, load)| step(*load)).collect();
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
    if !names.is_empty() {
        layout["names"] = names.into();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_results::{Edge, Point};

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
