//! The marks of a figure: lines, bars, points; and the swatches of its legend.
//!
//! Ours are full and drawn through, published ones hollow and dashed. Series differ by colour and by shape,
//! so that they can be distinguished without colours.

use maud::{Markup, html};

use crate::figure::{Figure, Kind, Series};

use super::frame::Frame;
use super::thin::thin;
use super::{colours, is_many, printable};

/// A line with more points than this has no shapes on it.
const SHAPES: usize = 40;
const BAR_MAX: i32 = 500;
/// The share of the room between places that bars take.
const BARS: f64 = 0.8;
/// Half the size of a shape.
const SHAPE: i32 = 45;

/// All marks of a figure, the published ones on top.
pub fn of(figure: &Figure, frame: &Frame) -> Markup {
    let bars = Bars::of(figure, frame);
    let many = is_many(figure);
    let mut series: Vec<_> = figure.series.iter().zip(colours(figure)).enumerate().collect();
    series.sort_by_key(|(_, (series, _))| series.published);
    let nothing = !figure.series.iter().flat_map(|series| &series.points).any(|point| figure.shows(point));
    let (x, y) = frame.middle();
    html! {
        @for (place, (series, colour)) in series {
            @let points: Vec<_> = series.points.iter().filter(|point| figure.shows(point)).copied().collect();
            @if !points.is_empty() {
                g class=(classes(series, &colour, many)) {
                    title { (printable(&series.full_name())) }
                    @match series.kind {
                        Kind::Bars => (bars.drawing(place, &points, series, figure, frame)),
                        Kind::Intervals => (intervals(series, figure, frame)),
                        kind => (drawing(&points, kind, shape_of(&colour), many, series, figure, frame)),
                    }
                }
            }
        }
        @if nothing {
            text class="nothing" x=(x) y=(y) text-anchor="middle" font-size="160" fill="currentColor" { "no points" }
        }
    }
}

fn classes(series: &Series, colour: &str, many: bool) -> String {
    let side = if series.published { "published" } else { "ours" };
    let weight = if many && !series.published { " many" } else { "" };
    format!("{side} {colour}{weight}")
}

/// Line, steps or points.
fn drawing(
    points: &[(f64, f64)],
    kind: Kind,
    shape: usize,
    many: bool,
    series: &Series,
    figure: &Figure,
    frame: &Frame,
) -> Markup {
    let places: Vec<_> = points.iter().map(|&(x, y)| frame.place(x, y)).collect();
    let shapes =
        kind == Kind::Points || points.len() == 1 || points.len() <= SHAPES && !many && kind == Kind::Lines;
    html! {
        @if kind != Kind::Points {
            polyline points=(path(&thin(&if kind == Kind::Steps { steps(&places) } else { places.clone() }))) {}
        }
        @if shapes {
            @for (point, place) in points.iter().zip(&places) {
                (mark(shape, *place, series.published, &label(series, *point, figure)))
            }
        }
    }
}

/// A line from end to end of each interval of which both ends have a place, with a short one across each end.
fn intervals(series: &Series, figure: &Figure, frame: &Frame) -> Markup {
    let place = |point: &(f64, f64)| figure.shows(point).then(|| frame.place(point.0, point.1));
    let ends = series.points.chunks_exact(2).filter_map(|pair| Some((place(&pair[0])?, place(&pair[1])?)));
    html! {
        @for ((x, low), (_, high)) in ends {
            @let across = |y: i32| [(x - SHAPE, y), (x + SHAPE, y)];
            polyline points=(path(&[across(low).as_slice(), &[(x, low), (x, high)], &across(high)].concat())) {}
        }
    }
}

/// The corners of steps through `places`.
fn steps(places: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let corners = places.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    places.first().copied().into_iter().chain(corners).collect()
}

fn path(points: &[(i32, i32)]) -> String {
    points.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
}

/// What the pointer shows of a point.
fn label(series: &Series, (x, y): (f64, f64), figure: &Figure) -> String {
    printable(&format!("{}: {}, {}", series.full_name(), figure.x.text(x), figure.y.text(y)))
}

/// Which shape goes with a colour; published ones that are compared with nothing have one of their own.
fn shape_of(colour: &str) -> usize {
    colour.strip_prefix("series").and_then(|place| place.parse().ok()).unwrap_or(0)
}

fn mark(shape: usize, (x, y): (i32, i32), published: bool, label: &str) -> Markup {
    let size = if published { SHAPE + 20 } else { SHAPE };
    let corners: &[(i32, i32)] = match shape % 6 {
        1 => &[(-1, -1), (1, -1), (1, 1), (-1, 1)],
        2 => &[(0, -1), (1, 1), (-1, 1)],
        3 => &[(0, 1), (1, -1), (-1, -1)],
        4 => &[(0, -1), (1, 0), (0, 1), (-1, 0)],
        5 => &[(-1, 0), (1, -1), (1, 1)],
        _ => &[],
    };
    let title = html! { @if !label.is_empty() { title { (label) } } };
    html! {
        @if corners.is_empty() {
            circle class="mark" cx=(x) cy=(y) r=(size) { (title) }
        } @else {
            @let corners: Vec<_> = corners.iter().map(|(right, down)| (x + right * size, y + down * size)).collect();
            polygon class="mark" points=(path(&corners)) { (title) }
        }
    }
}

/// Where bars are beside each other.
struct Bars {
    /// Which series are bars, by their place in the figure.
    series: Vec<usize>,
    width: i32,
}

impl Bars {
    fn of(figure: &Figure, frame: &Frame) -> Self {
        let all = || figure.series.iter().enumerate().filter(|(_, series)| series.kind == Kind::Bars);
        let points = all().flat_map(|(_, series)| &series.points).filter(|point| figure.shows(point));
        let mut places: Vec<i32> = points.map(|&(x, y)| frame.place(x, y).0).collect();
        places.sort_unstable();
        places.dedup();
        let (left, right) = frame.sides();
        let gap = match figure.x.names().len() {
            0 => places.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(right - left),
            categories => (right - left) / categories as i32,
        };
        let series: Vec<usize> = all().map(|(place, _)| place).collect();
        let width = (f64::from(gap) * BARS / series.len().max(1) as f64) as i32;
        Self { series, width: width.clamp(4, BAR_MAX) }
    }

    fn drawing(
        &self,
        place: usize,
        points: &[(f64, f64)],
        series: &Series,
        figure: &Figure,
        frame: &Frame,
    ) -> Markup {
        let rank =
            self.series.iter().position(|one| *one == place).expect("the series is one of bars") as i32;
        let offset = rank * self.width - self.series.len() as i32 * self.width / 2;
        // Between bars side by side a line of the ground shows.
        let inset = (self.width / 12).clamp(1, 15);
        html! {
            @for &(x, y) in points {
                @let (middle, end) = frame.place(x, y);
                @let (top, bottom) = (end.min(frame.foot()), end.max(frame.foot()));
                rect class="bar" x=(middle + offset + inset) y=(top) width=(self.width - 2 * inset)
                    height=((bottom - top).max(1)) { title { (label(series, (x, y), figure)) } }
            }
        }
    }
}

/// A small picture of how a series is drawn, for a legend.
pub fn swatch(series: &Series, colour: &str, many: bool) -> Markup {
    let shape = shape_of(colour);
    let flat = series.points.windows(2).all(|pair| pair[0].1 == pair[1].1);
    html! {
        svg class="plot swatch" viewBox="0 0 400 160" aria-hidden="true" {
            g class=(classes(series, colour, many)) {
                @match series.kind {
                    Kind::Bars => rect class="bar" x="80" y="20" width="240" height="120" {},
                    Kind::Points => (mark(shape, (200, 80), series.published, "")),
                    Kind::Steps if flat => polyline points="20,80 380,80" {},
                    Kind::Steps => polyline points="20,120 200,120 200,40 380,40" {},
                    Kind::Intervals => polyline points="170,20 230,20 200,20 200,140 170,140 230,140" {},
                    Kind::Lines => {
                        polyline points="20,80 380,80" {}
                        @if !many { (mark(shape, (200, 80), series.published, "")) }
                    }
                }
            }
        }
    }
}
