//! A map: points and lines between them, coloured by load, as one SVG; or, of a great many, a grid of cells.
//!
//! Invariants: a load is shown by width as well as by colour; the size of a map is bounded by its points and
//! lines, each of which takes some ten bytes.

use std::fmt::Write;

use maud::{Markup, html};

use crate::plot::{COLOURS, printable};

/// The length of the longer side, in tenths of a CSS pixel, and the margin around.
const SIDE: f64 = 10_000.0;
const MARGIN: f64 = 200.0;
/// By how much lines in opposite directions are apart.
const APART: f64 = 14.0;
/// The width of a line without load, and of one with the full load; the same of a point.
const LINE: (f64, f64) = (10.0, 60.0);
const POINT: (f64, f64) = (50.0, 150.0);

/// Points, lines and their loads, with what is said of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// What it shows, in one line.
    pub title: String,
    /// What a reader should see in it.
    pub caption: String,
    /// What a load of 1 means, in a few words.
    pub load: String,
    /// The length of the upright side as a part of the other, from 0 to 1.
    pub ratio: f64,
    /// What is drawn.
    pub marks: MapMarks,
}

/// What a [`Map`] is made of. Places are from 0 to 1 on both axes, to the right and upwards, in parts of the
/// longer side; loads are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub enum MapMarks {
    /// Single points, and lines from point to point.
    Points {
        /// Place and load of each.
        points: Vec<([f64; 2], f64)>,
        /// Where each line begins and ends, and its load. A line from or to no point is left out.
        lines: Vec<(u32, u32, f64)>,
    },
    /// A square of cells, row by row from below.
    Cells {
        /// How many cells are along each side.
        side: usize,
        /// How much is in each cell, relative to the fullest, and its load.
        cells: Vec<(f64, f64)>,
    },
}

impl Default for MapMarks {
    fn default() -> Self {
        Self::Points { points: Vec::new(), lines: Vec::new() }
    }
}

/// The map as part of a page: title, drawing, scale and caption.
pub fn drawn(map: &Map, id: &str) -> Markup {
    let (width, height) = (SIDE + 2.0 * MARGIN, SIDE * map.ratio.clamp(0.05, 1.0) + 2.0 * MARGIN);
    let (title, about) = (format!("{id}-title"), format!("{id}-about"));
    html! {
        figure {
            figcaption { strong { (printable(&map.title)) } }
            ul class="legend" {
                li {
                    span { "no load" }
                    span class="ramp" aria-hidden="true" {
                        @for place in 0..COLOURS { i class=(format!("scale{place}")) {} }
                    }
                    span { (printable(&map.load)) }
                }
            }
            svg xmlns="http://www.w3.org/2000/svg" class="plot map" viewBox=(format!("0 0 {width:.0} {height:.0}"))
                role="img" aria-labelledby=(format!("{title} {about}")) {
                title id=(title) { (printable(&map.title)) }
                desc id=(about) { (printable(&description(map))) }
                @match &map.marks {
                    MapMarks::Points { points, lines } => (of_points(points, lines, height)),
                    MapMarks::Cells { side, cells } => (of_cells(*side, cells, height)),
                }
            }
            @if !map.caption.is_empty() { p class="quiet" { (printable(&map.caption)) } }
        }
    }
}

/// What is on a map, in words.
fn description(map: &Map) -> String {
    let (what, loads): (String, Vec<f64>) = match &map.marks {
        MapMarks::Points { points, lines } if lines.is_empty() => {
            (format!("{} points", points.len()), points.iter().map(|point| point.1).collect())
        }
        MapMarks::Points { points, lines } => {
            let what = format!("{} points and {} lines", points.len(), lines.len());
            (what, lines.iter().map(|line| line.2).collect())
        }
        MapMarks::Cells { cells, .. } => {
            let filled = cells.iter().filter(|cell| cell.0 > 0.0);
            (format!("{} cells", filled.clone().count()), filled.map(|cell| cell.1).collect())
        }
    };
    let loaded = loads.iter().filter(|load| **load >= 0.5).count();
    format!("{what}; {loaded} with at least half of the full load, which is: {}.", map.load)
}

/// The class of colour for a load.
fn shade(load: f64) -> usize {
    // A load that is no number is none.
    ((load.clamp(0.0, 1.0) * COLOURS as f64) as usize).min(COLOURS - 1)
}

/// The width for a shade.
fn width((least, most): (f64, f64), shade: usize) -> f64 {
    least + (most - least) * shade as f64 / (COLOURS - 1) as f64
}

/// Paths, one for each shade, so that colour and width stand once for all that have them. Full ones are on
/// top.
fn paths(marks: &[String; COLOURS], widths: (f64, f64), class: &str) -> Markup {
    html! {
        g class=(class) {
            @for (place, path) in marks.iter().enumerate() {
                @if !path.is_empty() {
                    path class=(format!("scale{place}")) d=(path) stroke-width=(format!("{:.0}", width(widths, place))) {}
                }
            }
        }
    }
}

fn of_points(points: &[([f64; 2], f64)], lines: &[(u32, u32, f64)], height: f64) -> Markup {
    // A coordinate that is no number is zero: `clamp` keeps it, `max` does not.
    let inside = |part: f64| part.clamp(0.0, 1.0).max(0.0) * SIDE;
    let place = |[x, y]: [f64; 2]| (MARGIN + inside(x), height - MARGIN - inside(y));
    let (mut strokes, mut dots): ([String; COLOURS], [String; COLOURS]) = Default::default();
    for (from, to, load) in lines {
        let (Some(from), Some(to)) = (points.get(*from as usize), points.get(*to as usize)) else { continue };
        let ((x, y), (to_x, to_y)) = (place(from.0), place(to.0));
        let (across, down) = (to_x - x, to_y - y);
        let length = across.hypot(down);
        if length < 1.0 {
            continue;
        }
        // To the right of its direction, so that both directions are seen.
        let (aside_x, aside_y) = (-down / length * APART, across / length * APART);
        // Writing to a string cannot fail.
        let _ = write!(strokes[shade(*load)], "M{:.0} {:.0}l{across:.0} {down:.0}", x + aside_x, y + aside_y);
    }
    for (at, load) in points {
        let (x, y) = place(*at);
        let _ = write!(dots[shade(*load)], "M{x:.0} {y:.0}h0");
    }
    // Many points are small ones.
    let small = (2000.0 / (points.len() as f64 + 1.0)).sqrt().clamp(0.15, 1.0);
    html! {
        (paths(&strokes, LINE, "lines"))
        (paths(&dots, (POINT.0 * small, POINT.1 * small), "dots"))
    }
}

fn of_cells(side: usize, cells: &[(f64, f64)], height: f64) -> Markup {
    let length = SIDE / side.max(1) as f64;
    let mut squares: [String; COLOURS] = Default::default();
    for (number, (density, load)) in cells.iter().enumerate().filter(|(_, (density, _))| *density > 0.0) {
        let (x, y) = (MARGIN + (number % side) as f64 * length, (number / side) as f64 * length + MARGIN);
        let edge = length * (0.25 + 0.75 * density.clamp(0.0, 1.0));
        let inset = (length - edge) / 2.0;
        let _ = write!(
            squares[shade(*load)],
            "M{:.0} {:.0}h{edge:.0}v-{edge:.0}h-{edge:.0}z",
            x + inset,
            height - y - inset
        );
    }
    html! {
        g class="cells" {
            @for (place, path) in squares.iter().enumerate() {
                @if !path.is_empty() { path class=(format!("scale{place}")) d=(path) {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(marks: MapMarks) -> String {
        let map = Map { title: "A & B".into(), load: "full".into(), ratio: 0.5, marks, ..Map::default() };
        drawn(&map, "map").into_string()
    }

    #[test]
    fn lines_of_one_load_are_one_path_and_wrong_ones_are_left_out() {
        let points = vec![([0.0, 0.0], 0.0), ([1.0, 0.5], 0.0)];
        let lines = vec![(0, 1, 1.0), (1, 0, 0.9), (0, 2, 1.0), (0, 0, 1.0)];
        let text = text(MapMarks::Points { points, lines });
        assert_eq!(text.matches("<path").count(), 2, "one of lines, one of points: {text}");
        assert_eq!(text.matches("l10000 -5000").count() + text.matches("l-10000 5000").count(), 2, "{text}");
        assert!(text.contains("A &amp; B") && text.contains("2 points and 4 lines; 4 with"), "{text}");
    }

    #[test]
    fn strange_numbers_have_a_place_and_empty_cells_none() {
        let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let points = strange.map(|number| ([number, number], number)).to_vec();
        assert!(text(MapMarks::Points { points, lines: Vec::new() }).contains("no load"));
        let cells = vec![(0.0, 1.0), (1.0, 0.5), (0.2, 1.0), (f64::NAN, 0.0)];
        assert_eq!(text(MapMarks::Cells { side: 2, cells }).matches('z').count(), 2);
    }
}
