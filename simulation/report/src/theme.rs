//! Colours: one table for light and dark, and the style sheet made of it.
//!
//! Invariant: on both grounds text has a contrast of at least 4.5, marks of at least 3 (WCAG 2.2, 1.4.3 and
//! 1.4.11). Hues follow Okabe and Ito's set for the colour-blind, and viridis for the scale, darker or
//! lighter where contrast asks for it.

use std::fmt::Write;

use plotters::style::RGBColor;

use crate::plot::{COLOURS, GRID, INK};

/// A colour's name, and what it is on a light and on a dark ground.
type Ink = (&'static str, &'static str, &'static str);

/// What text is written with.
const TEXTS: [Ink; 5] = [
    ("text", "#1a1d21", "#e8eaed"),
    ("quiet", "#545b64", "#a9b1bb"),
    ("link", "#0b57a4", "#8ab8f5"),
    ("good", "#0a6b45", "#58d3a0"),
    ("bad", "#b3261e", "#ff9d94"),
];

/// What it is written on.
const GROUNDS: [Ink; 2] = [("ground", "#ffffff", "#14171a"), ("panel", "#f5f6f8", "#1d2125")];

/// Lines that only guide the eye.
const GUIDES: [Ink; 2] = [("rule", "#d5d9de", "#3a4149"), ("grid", "#dfe3e7", "#30363d")];

/// What series are drawn with.
const SERIES: [Ink; COLOURS] = [
    ("series0", "#0072b2", "#5fb4ec"),
    ("series1", "#d55e00", "#ff8f45"),
    ("series2", "#00805e", "#35c79c"),
    ("series3", "#b0478f", "#e79acb"),
    ("series4", "#8a6d00", "#e5c64a"),
    ("series5", "#5b4bb5", "#aea0f7"),
    ("series6", "#1d7f93", "#86dbe8"),
    ("series7", "#6e6259", "#c2b5a9"),
];

/// The scale that many series are drawn with.
const SCALE: [Ink; COLOURS] = [
    ("scale0", "#440154", "#b592ef"),
    ("scale1", "#46327e", "#939df5"),
    ("scale2", "#365c8d", "#70b2f0"),
    ("scale3", "#277f8e", "#4fc6dd"),
    ("scale4", "#14806a", "#45d3ab"),
    ("scale5", "#3d8b37", "#72d971"),
    ("scale6", "#6b8500", "#b9da4e"),
    ("scale7", "#927a00", "#f2de4a"),
];

/// Layout, and what colours are for.
const LAYOUT: &str = include_str!("page/page.css");

/// The style sheet of a page, light and dark, which figures ([`svg`](crate::svg)) take their colours from.
pub fn style_sheet() -> String {
    let all = || TEXTS.iter().chain(&GROUNDS).chain(&GUIDES).chain(&SERIES).chain(&SCALE);
    let (mut light, mut dark, mut classes) = (String::new(), String::new(), String::new());
    for (name, on_light, on_dark) in all() {
        // Writing to a string cannot fail.
        let _ = write!(light, "--{name}:{on_light};");
        let _ = write!(dark, "--{name}:{on_dark};");
    }
    for (name, ..) in SERIES.iter().chain(&SCALE) {
        let _ = write!(classes, ".{name}{{--mark:var(--{name})}}");
    }
    let hex = |RGBColor(red, green, blue): RGBColor| format!("#{red:02X}{green:02X}{blue:02X}");
    for (colour, name) in [(INK, "currentColor"), (GRID, "var(--grid)")] {
        for property in ["fill", "stroke"] {
            let _ = write!(classes, ".plot [{property}=\"{}\"]{{{property}:{name}}}", hex(colour));
        }
    }
    format!(
        ":root{{color-scheme:light dark;{light}}}\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         {LAYOUT}{classes}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, WCAG 2.2.
    fn luminance(colour: &str) -> f64 {
        let part = |from: usize| {
            let part = u8::from_str_radix(&colour[from..from + 2], 16).expect("two hexadecimal digits");
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn contrast_is_known() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((contrast("#767676", "#ffffff") - 4.54).abs() < 0.01);
    }

    #[test]
    fn text_and_marks_stand_out_from_every_ground() {
        let texts = TEXTS.iter().map(|ink| (ink, 4.5));
        let marks = SERIES.iter().chain(&SCALE).map(|ink| (ink, 3.0));
        for ((name, on_light, on_dark), least) in texts.chain(marks) {
            for (ground, light, dark) in GROUNDS {
                for (ink, paper) in [(on_light, light), (on_dark, dark)] {
                    let found = contrast(ink, paper);
                    assert!(found >= least, "{name} {ink} on {ground} {paper}: {found:.2}");
                }
            }
        }
    }
}
