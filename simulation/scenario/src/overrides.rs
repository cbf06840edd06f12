//! Overrides from the command line: "section.key=value". The name of a table, or of one of several sections,
//! may stand between section and key.
//!
//! The value is read as TOML; if it is not valid TOML, it is a string: `run.until=300s` needs no quotes.

use std::ops::Range;
use std::sync::Arc;

use toml::de::DeValue;

use crate::ScenarioError;
use crate::error::{Place, Text};
use crate::section::Entry;
use crate::value::Raw;

pub(crate) struct Override {
    pub section: String,
    /// A table of the section, or the name of one of several sections.
    pub within: Option<String>,
    pub key: String,
    pub entry: Entry,
}

pub(crate) fn parse(argument: &str) -> Result<Override, ScenarioError> {
    let text = Text::over(argument);
    let place = |span| Place { text: Arc::clone(&text), span };
    let whole = place(0..argument.len());
    let allowed = "section.key=value, such as run.threads=2 or run.until=300s";
    let Some((path, value)) = argument.split_once('=') else {
        return Err(ScenarioError::at(&whole, "an override without `=`", allowed));
    };
    let names: Vec<&str> = path.split('.').map(str::trim).collect();
    let (section, within, key) = match names[..] {
        [section, key] => (section, None, key),
        [section, within, key] => (section, Some(within), key),
        _ => {
            let problem = format!("an override of `{}`, which is not a section and a key", path.trim());
            return Err(ScenarioError::at(&whole, problem, allowed));
        }
    };
    if names.contains(&"") {
        return Err(ScenarioError::at(&whole, "an override with an empty name", allowed));
    }
    let start = argument.len() - value.trim_start().len();
    let written = value.trim();
    let (key_place, value_place) = (place(0..path.len()), place(path.len() + 1..argument.len()));
    let entry = match DeValue::parse(written) {
        Ok(parsed) => {
            let shifted = |span: Range<usize>| place(span.start + start..span.end + start);
            Entry::new(key_place, value_place, parsed.get_ref(), &shifted)
        }
        Err(_) => {
            let raw = Raw::String(written.to_owned());
            Entry { raw, key: key_place, value: value_place, inner: None, items: Vec::new() }
        }
    };
    Ok(Override {
        section: section.to_owned(),
        within: within.map(str::to_owned),
        key: key.to_owned(),
        entry,
    })
}
