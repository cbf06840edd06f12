//! Overrides from the command line: "section.key=value".
//!
//! The value is read as TOML, and where it is none, as a bare string: `run.until=300s` needs no quotes.

use std::sync::Arc;

use toml::de::DeValue;

use crate::ScenarioError;
use crate::error::{Place, Text};
use crate::section::Entry;
use crate::value::Raw;

/// One override taken apart.
pub(crate) struct Override {
    pub section: String,
    pub key: String,
    pub entry: Entry,
}

/// Takes an override apart.
pub(crate) fn parse(argument: &str) -> Result<Override, ScenarioError> {
    let text = Text::over(argument);
    let place = |span| Place { text: Arc::clone(&text), span };
    let whole = place(0..argument.len());
    let allowed = "section.key=value, such as run.threads=2 or run.until=300s";
    let Some((path, value)) = argument.split_once('=') else {
        return Err(ScenarioError::at(&whole, "an override without `=`", allowed));
    };
    let names: Vec<&str> = path.split('.').map(str::trim).collect();
    let [section, key] = names[..] else {
        let problem = format!("an override of `{}`, which is not a section and a key", path.trim());
        return Err(ScenarioError::at(&whole, problem, allowed));
    };
    if section.is_empty() || key.is_empty() {
        return Err(ScenarioError::at(&whole, "an override with an empty name", allowed));
    }
    let raw = match DeValue::parse(value.trim()) {
        Ok(parsed) => Raw::new(parsed.get_ref()),
        Err(_) => Raw::String(value.trim().to_owned()),
    };
    let value = place(path.len() + 1..argument.len());
    let entry = Entry { raw, key: place(0..path.len()), value };
    Ok(Override { section: section.to_owned(), key: key.to_owned(), entry })
}
