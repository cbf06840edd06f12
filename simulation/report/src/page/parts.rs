//! What pages consist of: tables, figures with their legends and numbers, verdicts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure::{Axis, Figure, Kind, Series};
use crate::findings::Verdict;
use crate::number::number;
use crate::plot::{COLOURS, colours, drawn, is_many, printable, swatch};
use crate::table::Table;
use crate::theme::style_sheet;

/// Figures with no more series and no more places show all their numbers; others only what their series span.
const SERIES_MAX: usize = 12;
const PLACES_MAX: usize = 60;

/// A whole page: `head` below its title, then `main`.
pub fn html_page(title: &str, head: &Markup, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (printable(title)) }
                // An empty picture: browsers ask for none from elsewhere.
                link rel="icon" href="data:,";
                style { (PreEscaped(style_sheet())) }
            }
            body {
                header id="top" {
                    h1 { (printable(title)) }
                    (head)
                }
                main { (main) }
            }
        }
    };
    page.into_string()
}

/// The ids of sections with these names: the names, with a number where two would be the same.
pub fn ids<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for name in names {
        let plain = |one: char| if one.is_ascii_alphanumeric() || "-_.".contains(one) { one } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let mut id = name.clone();
        for number in 2.. {
            // The page's own ids, and those of figures, which end in numbers after a colon, are taken.
            if !id.is_empty() && id != "top" && id != "appendix" && !ids.contains(&id) {
                break;
            }
            id = format!("{name}-{number}");
        }
        ids.push(id);
    }
    ids
}

/// A verdict: a sign, words and a colour.
pub fn result(verdict: Verdict) -> Markup {
    let (class, sign) = match verdict {
        Verdict::Reproduced => ("good", "✓"),
        Verdict::SameOrder => ("quiet", "≈"),
        Verdict::Undecided => ("quiet", "?"),
        Verdict::Differs => ("bad", "✗"),
    };
    html! { span class=(class) { span aria-hidden="true" { (sign) } " " (verdict.name()) } }
}

/// More characters than this in a cell are a text.
const LONG: usize = 40;

/// A table with its title; columns of numbers are aligned to the right.
pub fn table(shown: &Table) -> Markup {
    // A text that begins with a number is wrapped: in one line it would push all numbers out of a narrow
    // screen.
    let is_text = |column: usize| shown.rows().iter().any(|row| row[column].chars().count() > LONG);
    let class = |column: usize| (shown.is_numeric(column) && !is_text(column)).then_some("number");
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(printable(shown.title())) {
            table {
                caption { (printable(shown.title())) }
                thead {
                    tr {
                        @for (place, column) in shown.columns().iter().enumerate() {
                            th scope="col" class=[class(place)] { (printable(column)) }
                        }
                    }
                }
                tbody {
                    @for row in shown.rows() {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 {
                                    th scope="row" class=[class(place)] { (printable(cell)) }
                                } @else {
                                    td class=[class(place)] { (printable(cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A figure with title, legend, caption and its numbers; or why it cannot be drawn.
pub fn figure(shown: &Figure, id: &str) -> Markup {
    let left_out = shown.left_out();
    html! {
        figure {
            figcaption { strong { (printable(&shown.title)) } }
            @match drawn(shown, id) {
                Ok(drawing) => {
                    (legend(shown))
                    div class="scroll" tabindex="0" role="region" aria-label=(printable(&shown.title)) { (drawing) }
                }
                Err(reason) => p class="bad" { "This figure cannot be drawn: " (printable(&reason.to_string())) "." },
            }
            @if !shown.caption.is_empty() { p class="quiet" { (printable(&shown.caption)) } }
            @if left_out > 0 {
                p class="quiet" {
                    "Left out, for they are not above zero, and an axis is logarithmic: "
                    (left_out) @if left_out == 1 { " point." } @else { " points." }
                }
            }
            details {
                summary { "Numbers of this figure" }
                (table(&numbers(shown)))
            }
        }
    }
}

/// Which series is drawn how. Of many, first and last, and the scale of colours between them.
fn legend(shown: &Figure) -> Markup {
    let many = is_many(shown);
    let colours = colours(shown);
    let ours = || shown.series.iter().filter(|series| !series.published && series.kind != Kind::Intervals);
    let is_named = |series: &Series| series.kind != Kind::Intervals && (!many || series.published);
    let named = shown.series.iter().zip(&colours).filter(|(series, _)| is_named(series));
    html! {
        ul class="legend" {
            @if many {
                li {
                    span { (name(ours().next())) }
                    span class="ramp" aria-hidden="true" {
                        @for place in 0..COLOURS { i class=(format!("scale{place}")) {} }
                    }
                    span { (name(ours().next_back())) " (" (ours().count()) " series)" }
                }
            }
            @for (series, colour) in named {
                li { (swatch(series, colour, many)) span { (printable(&series.full_name())) } }
            }
        }
    }
}

fn name(series: Option<&Series>) -> String {
    series.map(|series| printable(&series.name)).unwrap_or_default()
}

/// The numbers of a figure: a column for each series, or where that is too much, what each spans.
fn numbers(shown: &Figure) -> Table {
    let mut places: Vec<f64> =
        shown.series.iter().flat_map(|series| &series.points).map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if shown.series.len() > SERIES_MAX || places.len() > PLACES_MAX {
        return spans(shown);
    }
    let columns = std::iter::once(shown.x.name()).chain(shown.series.iter().map(Series::full_name));
    let mut table = Table::new(shown.y.name(), columns);
    for place in places {
        let at = |series: &Series| {
            let values = series.points.iter().filter(|point| point.0 == place);
            let values: Vec<String> = values.map(|point| of_axis(&shown.y, point.1)).collect();
            if values.is_empty() { "-".to_owned() } else { values.join("; ") }
        };
        table.row(std::iter::once(of_axis(&shown.x, place)).chain(shown.series.iter().map(at)));
    }
    table
}

/// A category's name, or the number without its unit, which stands in the heading.
fn of_axis(axis: &Axis, value: f64) -> String {
    if axis.names().is_empty() { number(value) } else { axis.text(value) }
}

fn spans(shown: &Figure) -> Table {
    let columns = ["series", "points", "least", "greatest", "first", "last"];
    let mut table = Table::new(shown.y.name(), columns);
    for series in &shown.series {
        let values = || series.points.iter().map(|point| point.1);
        let text = |value: Option<f64>| value.map_or("-".to_owned(), |value| of_axis(&shown.y, value));
        table.row([
            series.full_name(),
            number(series.points.len() as f64),
            text(values().min_by(f64::total_cmp)),
            text(values().max_by(f64::total_cmp)),
            text(values().next()),
            text(values().next_back()),
        ]);
    }
    table
}
