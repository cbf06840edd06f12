//! Draws a [`Figure`] as SVG.
//!
//! The plotting library places and draws the frame: grid, axes, ticks and labels. Its colours are fixed, so
//! it gets two that the page's style sheet maps to those of the theme. The marks are written as elements with
//! classes, so that they follow the theme, dashes and all, and so that each has a title to be shown by the
//! pointer.
//!
//! Coordinates are tenths of a CSS pixel at the natural size: the library's are whole numbers.

mod frame;
mod marks;
mod span;
mod thin;

use maud::{Markup, html};

use crate::figure::{Figure, FigureError, Kind, Series};

use frame::Frame;

pub use frame::{GRID, INK};
pub use marks::swatch;

/// From so many series of ours on, colours run along a scale instead of differing, and only first and last
/// are named.
const MANY: usize = 9;
/// The colours there are for a few series, and along the scale for many.
pub const COLOURS: usize = 8;
/// The most characters shown of a category's name.
const NAME_CHARS: usize = 24;

/// A figure as an `<svg>` element. Its colours come from the style sheet of [`page()`](crate::page()); `id`
/// is the start of the ids it uses, which must be its own on its page.
///
/// # Errors
///
/// If a point has no place: see [`Figure::check`].
pub fn svg(figure: &Figure, id: &str) -> Result<String, FigureError> {
    Ok(drawn(figure, id)?.into_string())
}

/// The figure as part of a page.
pub fn drawn(figure: &Figure, id: &str) -> Result<Markup, FigureError> {
    figure.check()?;
    let frame = Frame::of(figure);
    let (width, height) = frame.size();
    let (title, about) = (format!("{id}-title"), format!("{id}-about"));
    let marks = marks::of(figure, &frame);
    Ok(html! {
        svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox=(format!("0 0 {width} {height}"))
            role="img" aria-labelledby=(format!("{title} {about}")) {
            title id=(title) { (printable(&figure.title)) }
            desc id=(about) { (printable(&description(figure))) }
            (frame.drawing())
            (marks)
        }
    })
}

/// Whether a figure's colours run along a scale.
pub fn is_many(figure: &Figure) -> bool {
    figure.series.iter().filter(|series| !series.published).count() >= MANY
}

/// The colour classes of a figure's series, in their order: different ones for a few, a scale for many. A
/// published series has the colour of the series of ours with the same name.
pub fn colours(figure: &Figure) -> Vec<String> {
    let ours: Vec<&str> =
        figure.series.iter().filter(|series| !series.published).map(|series| series.name.as_str()).collect();
    let class = |series: &Series| match ours.iter().position(|name| *name == series.name) {
        None => "other".to_owned(),
        Some(place) if is_many(figure) => format!("scale{}", place * COLOURS / ours.len()),
        Some(place) => format!("series{place}"),
    };
    figure.series.iter().map(class).collect()
}

/// What is on a figure, in words.
fn description(figure: &Figure) -> String {
    let mut text = format!("{} over {}.", figure.y.name(), figure.x.name());
    for series in figure.series.iter().take(MANY) {
        let kind = match series.kind {
            Kind::Lines => "a line",
            Kind::Bars => "bars",
            Kind::Points => "points",
            Kind::Steps => "steps",
            Kind::Intervals => "ends of intervals",
        };
        text += &format!(" {}: {kind}, {} points.", series.full_name(), series.points.len());
    }
    match figure.series.len().saturating_sub(MANY) {
        0 => {}
        more => text += &format!(" And {more} more series."),
    }
    text
}

/// The text with control characters, which XML forbids, made visible.
pub fn printable(text: &str) -> String {
    let forbidden = |one: char| one.is_control() || matches!(one, '\u{fffe}' | '\u{ffff}');
    text.replace(forbidden, "\u{fffd}")
}

/// As much of a category's name as there is room for beside an axis.
pub fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => printable(&name[..end]) + "…",
        None => printable(name),
    }
}
