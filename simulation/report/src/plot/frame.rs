//! The frame of a figure: grid, axes, ticks and labels, drawn by the plotting library; and where points are
//! within it.

use maud::{Markup, PreEscaped, html};
use plotters::chart::ChartBuilder;
use plotters::coord::CoordTranslate;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::IntoDrawingArea;
use plotters::prelude::SVGBackend;
use plotters::style::{Color, IntoFont, RGBColor};

use crate::figure::{Axis, Figure, Kind, Scale};

use super::span::Span;
use super::{printable, short};

/// What the library draws axes and text with: mapped to the text's colour.
pub const INK: RGBColor = RGBColor(0, 0, 0);
/// What it draws the grid with.
pub const GRID: RGBColor = RGBColor(0xCC, 0xCC, 0xCC);

const WIDTH: u32 = 7200;
/// Height of what is between the axes.
const HEIGHT: u32 = 3300;
/// The margin around everything.
const MARGIN: u32 = 120;
/// Size of text.
const TEXT: u32 = 125;
/// About the width of a character.
const CHAR: u32 = 68;
/// Height below the x axis: tick labels and the axis' name.
const X_LABELS: u32 = 430;
/// Axes begin at zero where the least value is below this share of the greatest.
const X_ZERO_FROM: f64 = 0.1;
const Y_ZERO_FROM: f64 = 0.5;
/// The library's sizes are this many times what it writes.
const LIBRARY_SIZE: f64 = 1.24;

/// A drawn frame.
pub struct Frame {
    size: (u32, u32),
    drawing: String,
    place: Cartesian2d<Span, Span>,
    foot: f64,
    names: Names,
}

impl Frame {
    /// The frame in which all of a figure's points have their place.
    pub fn of(figure: &Figure) -> Self {
        let points =
            || figure.series.iter().flat_map(|series| &series.points).filter(|point| figure.shows(point));
        let bars = figure.series.iter().any(|series| series.kind == Kind::Bars);
        let (xs, ys) = (points().map(|point| point.0), points().map(|point| point.1));
        let mut x = Span::of(&figure.x, xs.clone(), X_ZERO_FROM);
        if bars {
            x = x.with_room_for_bars(xs.clone());
        }
        x = x.with_ticks_at(xs);
        let y = Span::of(&figure.y, ys, if bars { 1.0 } else { Y_ZERO_FROM });
        let y_labels = 330 + CHAR * y.label_chars() as u32;
        let names = Names::of(&figure.x, WIDTH - y_labels - 2 * MARGIN);
        if !names.shown.is_empty() {
            x = x.silent();
        }
        let size = (WIDTH, HEIGHT + X_LABELS + names.height() + 2 * MARGIN);
        let foot = y.foot();
        let mut drawing = String::new();
        let place = draw(&mut drawing, size, (x, y), (X_LABELS + names.height(), y_labels), figure)
            .expect("drawing to a string cannot fail");
        let inner = drawing.find('>').map(|end| end + 1).zip(drawing.rfind("</svg>"));
        let (start, end) = inner.expect("the library writes one element");
        let drawing = drawing[start..end].to_owned();
        Self { size, drawing, place, foot, names }
    }

    /// Width and height.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// What the frame consists of.
    pub fn drawing(&self) -> Markup {
        let (left, right) = self.sides();
        let bottom = self.place.get_y_axis_pixel_range().end;
        html! {
            (PreEscaped(&self.drawing))
            (self.names.drawing(left, right, bottom))
        }
    }

    /// Where a point is that has a place.
    pub fn place(&self, x: f64, y: f64) -> (i32, i32) {
        self.place.translate(&(x, y))
    }

    /// The height at which bars stand.
    pub fn foot(&self) -> i32 {
        self.place(0.0, self.foot).1
    }

    /// The left and the right end.
    pub fn sides(&self) -> (i32, i32) {
        let range = self.place.get_x_axis_pixel_range();
        (range.start, range.end)
    }

    /// The middle, for a word where there is nothing else.
    pub fn middle(&self) -> (i32, i32) {
        let (left, right) = self.sides();
        let height = self.place.get_y_axis_pixel_range();
        (left.midpoint(right), height.start.midpoint(height.end))
    }
}

/// Has the library draw, and reports where things are.
fn draw(
    drawing: &mut String,
    size: (u32, u32),
    (x, y): (Span, Span),
    (x_labels, y_labels): (u32, u32),
    figure: &Figure,
) -> Result<Cartesian2d<Span, Span>, Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(drawing, size).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(MARGIN)
        .x_label_area_size(x_labels)
        .y_label_area_size(y_labels)
        .build_cartesian_2d(x, y)?;
    let text = ("sans-serif", f64::from(TEXT) * LIBRARY_SIZE).into_font().color(&INK);
    chart
        .configure_mesh()
        .axis_style(INK.stroke_width(10))
        .bold_line_style(GRID.stroke_width(8))
        .light_line_style(GRID.mix(0.5).stroke_width(5))
        .label_style(text.clone())
        .axis_desc_style(text)
        .set_all_tick_mark_size(40)
        .x_desc(printable(&figure.x.name()))
        .y_desc(printable(&figure.y.name()))
        .draw()?;
    let place = chart.as_coord_spec().clone();
    area.present()?;
    Ok(place)
}

/// The names below an axis with categories, slanted where they would run into each other.
struct Names {
    shown: Vec<String>,
    slanted: bool,
}

impl Names {
    /// The names of `axis`, none if it has no categories, below `width`.
    fn of(axis: &Axis, width: u32) -> Self {
        let Scale::Categories(names) = &axis.scale else { return Self { shown: Vec::new(), slanted: false } };
        let shown: Vec<String> = names.iter().map(|name| short(name)).collect();
        let slanted = (Self::chars(&shown) + 1) * CHAR * shown.len() as u32 > width;
        Self { shown, slanted }
    }

    fn chars(names: &[String]) -> u32 {
        names.iter().map(|name| name.chars().count() as u32).max().unwrap_or(0)
    }

    /// The height that slanted names need more.
    fn height(&self) -> u32 {
        if self.slanted { Self::chars(&self.shown) * CHAR * 2 / 3 } else { 0 }
    }

    fn drawing(&self, left: i32, right: i32, bottom: i32) -> Markup {
        let each = f64::from(right - left) / self.shown.len().max(1) as f64;
        let every = (f64::from(TEXT) * 1.2 / each).ceil().max(1.0) as usize;
        html! {
            @for (place, name) in self.shown.iter().enumerate().step_by(every) {
                @let x = f64::from(left) + each * (place as f64 + 0.5);
                @if self.slanted {
                    text text-anchor="end" font-size=(TEXT) fill="currentColor"
                        transform=(format!("translate({x:.0} {}) rotate(-40)", bottom + 130)) { (name) }
                } @else {
                    text text-anchor="middle" font-size=(TEXT) fill="currentColor"
                        x=(format!("{x:.0}")) y=(bottom + 170) { (name) }
                }
            }
        }
    }
}
