//! Sizes of requests and responses, and times between them.

use std::sync::Arc;

use paceline_packets::Span;
use paceline_packets::application::{LogNormal, Pareto, Sizes};
use paceline_packets::files::Cdf;
use paceline_scenario::{Picoseconds, ScenarioError, Section, Size};

use crate::packets::files::Text;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    File,
    Pareto,
    LogNormal,
}

const KINDS: [(&str, Kind); 3] =
    [("file", Kind::File), ("pareto", Kind::Pareto), ("log-normal", Kind::LogNormal)];

/// Reads a size, or a table with a distribution; without the key `default`, if there is one.
pub fn read(entry: &mut Section, key: &str, default: Option<Sizes>) -> Result<Sizes, ScenarioError> {
    if !entry.is_table(key) {
        return match default {
            None => Ok(Sizes::Fixed(entry.required::<Size>(key)?.bytes as u64)),
            Some(default) => {
                Ok(entry.optional::<Size>(key)?.map_or(default, |size| Sizes::Fixed(size.bytes as u64)))
            }
        };
    }
    let mut table = entry.table(key)?;
    let sizes = read_table(&mut table)?;
    table.finish()?;
    Ok(sizes)
}

/// Reads `kind`: "file" with `path`; "pareto" with `shape`, "log-normal" with `mean` and `deviation`, both
/// with `least` and `most`.
fn read_table(table: &mut Section) -> Result<Sizes, ScenarioError> {
    let kind = table.choice("kind", &KINDS, None)?;
    if kind == Kind::File {
        let Some(path) = table.file("path")? else {
            return Err(table.refuse("path", "a distribution without a file", "`path`, a file of sizes"));
        };
        let text = Text::load(&path)?;
        let cdf = Cdf::read(&text.name, &text.text).map_err(|error| text.mistake(error))?;
        return Ok(Sizes::Cdf(Arc::new(cdf)));
    }
    let least = table.or("least", Size { bytes: 1 })?.bytes as u64;
    let most: Size = table.required("most")?;
    let most = most.bytes as u64;
    if least > most {
        let problem = format!("sizes from {least} to {most}");
        return Err(table.refuse("most", problem, "a size that is not below `least`"));
    }
    if kind == Kind::Pareto {
        return Ok(Sizes::Pareto(Pareto { least, shape: above_zero(table, "shape")?, most }));
    }
    let (mean, deviation): (Size, Size) = (table.required("mean")?, table.required("deviation")?);
    let (mean, deviation) = (mean.bytes as f64, deviation.bytes as f64);
    Ok(Sizes::LogNormal(LogNormal { mean, deviation, least, most }))
}

fn above_zero(table: &mut Section, key: &str) -> Result<f64, ScenarioError> {
    let value: f64 = table.required(key)?;
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(table.refuse(key, format!("a {key} of {value}"), "a number above 0"))
}

/// The size of a request.
pub fn request(entry: &mut Section, default: Option<u64>) -> Result<u64, ScenarioError> {
    let size = match default {
        None => entry.required::<Size>("request")?,
        Some(bytes) => entry.or("request", Size { bytes: bytes as usize })?,
    };
    Ok(size.bytes as u64)
}

/// How times are spread.
#[derive(Clone, Copy)]
pub struct Spans {
    is_fixed: bool,
}

impl Spans {
    /// Reads `spans` ("exponential", or "fixed").
    pub fn read(entry: &mut Section) -> Result<Self, ScenarioError> {
        let is_fixed = entry.choice("spans", &[("exponential", false), ("fixed", true)], Some(false))?;
        Ok(Self { is_fixed })
    }

    /// The time at `key`: its mean.
    pub fn time(self, entry: &mut Section, key: &str, default: Picoseconds) -> Result<Span, ScenarioError> {
        let mean = entry.or(key, default)?;
        Ok(if self.is_fixed || mean.ps == 0 { Span::Fixed(mean.ps) } else { Span::Exponential(mean.ps) })
    }
}
