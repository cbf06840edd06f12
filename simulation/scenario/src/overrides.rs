//! Overrides from the command line: "section.key=value". The names of tables, or that of one of several
//! sections, may stand between section and key.
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
    /// Tables on the way to the key, outermost first. In one of several sections the first is its name.
    pub within: Vec<String>,
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
    let (section, within, key) = match &names[..] {
        [section, within @ .., key] => (*section, within, *key),
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
        within: within.iter().map(|name| (*name).to_owned()).collect(),
        key: key.to_owned(),
        entry,
    })
}
