//! One section of a scenario: keys handed out one by one, with the place of each kept for messages.
//!
//! Invariant: [`Section::finish`] succeeds only if somebody asked for every key that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::error::Place;
use crate::value::{Raw, Unfit, Value};
use crate::{ScenarioError, document};

/// A key's value and the places of both.
#[derive(Debug)]
pub(crate) struct Entry {
    pub raw: Raw,
    pub key: Place,
    pub value: Place,
}

/// The keys of one section, to be read and then [finished](Section::finish).
#[derive(Debug)]
#[must_use = "finish() finds the keys that nobody reads"]
pub struct Section {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) header: Place,
    pub(crate) entries: BTreeMap<String, Entry>,
    pub(crate) asked: BTreeSet<String>,
}

impl Section {
    /// The value of `key`, if it is there.
    pub fn optional<T: Value>(&mut self, key: &str) -> Result<Option<T>, ScenarioError> {
        self.asked.insert(key.to_owned());
        let Some(entry) = self.entries.get(key) else {
            return Ok(None);
        };
        match T::read(&entry.raw) {
            Ok(value) => Ok(Some(value)),
            Err(unfit) => {
                let why = match unfit {
                    Unfit::Kind => String::new(),
                    Unfit::Content(why) => format!(": {why}"),
                };
                let problem = format!("`{key}` in [{}] cannot be {}{why}", self.name, entry.raw);
                Err(ScenarioError::at(&entry.value, problem, T::EXPECTED))
            }
        }
    }

    /// The value of `key`, which must be there.
    pub fn required<T: Value>(&mut self, key: &str) -> Result<T, ScenarioError> {
        match self.optional(key)? {
            Some(value) => Ok(value),
            None => Err(self.missing(key, T::EXPECTED)),
        }
    }

    /// The value of `key`, or `default` where it is not there.
    pub fn or<T: Value>(&mut self, key: &str, default: T) -> Result<T, ScenarioError> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// What the string at `key` stands for among `choices`. Without the key: `default`, or an error if there is none.
    pub fn choice<T: Copy>(
        &mut self,
        key: &str,
        choices: &[(&str, T)],
        default: Option<T>,
    ) -> Result<T, ScenarioError> {
        self.asked.insert(key.to_owned());
        let names = || choices.iter().map(|(name, _)| *name);
        let listed = || names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let Some(entry) = self.entries.get(key) else {
            return default.ok_or_else(|| self.missing(key, &listed()));
        };
        let Raw::String(text) = &entry.raw else {
            let problem = format!("`{key}` in [{}] cannot be {}", self.name, entry.raw);
            return Err(ScenarioError::at(&entry.value, problem, listed()));
        };
        match choices.iter().find(|(name, _)| name == text) {
            Some((_, choice)) => Ok(*choice),
            None => {
                let hint =
                    nearest(text, names()).map_or(String::new(), |name| format!("; did you mean {name:?}?"));
                let problem = format!("`{key}` in [{}] cannot be the string {text:?}{hint}", self.name);
                Err(ScenarioError::at(&entry.value, problem, listed()))
            }
        }
    }

    /// The file named by `key`, relative to the scenario's folder; it must exist.
    pub fn file(&mut self, key: &str) -> Result<Option<PathBuf>, ScenarioError> {
        let Some(name) = self.optional::<String>(key)? else {
            return Ok(None);
        };
        let path = self.folder.join(name);
        if path.is_file() {
            return Ok(Some(path));
        }
        let problem = format!("there is no file {}, named by `{key}` in [{}]", path.display(), self.name);
        Err(self.refuse(key, problem, "a file's path, seen from the scenario's folder"))
    }

    /// An error at the value of `key`, or at the section where the key is not there.
    pub fn refuse(&self, key: &str, problem: impl Into<String>, allowed: impl Into<String>) -> ScenarioError {
        let place = self.entries.get(key).map_or(&self.header, |entry| &entry.value);
        ScenarioError::at(place, problem, allowed)
    }

    /// Ends the reading. A key that nobody asked for is an error.
    pub fn finish(self) -> Result<(), ScenarioError> {
        let unread = self.entries.iter().filter(|(key, _)| !self.asked.contains(*key));
        let Some((key, entry)) = document::first(unread, |entry| &entry.key) else {
            return Ok(());
        };
        let asked = || self.asked.iter().map(String::as_str);
        let hint = nearest(key, asked()).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        let problem = format!("unknown key `{key}` in [{}]{hint}", self.name);
        Err(ScenarioError::at(&entry.key, problem, asked().collect::<Vec<_>>().join(", ")))
    }

    fn missing(&self, key: &str, expected: &str) -> ScenarioError {
        let problem = format!("missing key `{key}` in [{}]", self.name);
        let allowed = format!("`{key}` must be {expected}");
        // A key that nobody has asked for yet and that looks like it is probably a slip of the pen.
        let unread = self.entries.keys().filter(|other| !self.asked.contains(*other)).map(String::as_str);
        match nearest(key, unread) {
            Some(other) => {
                let problem = format!("{problem}; is `{other}` meant to be it?");
                ScenarioError::at(&self.entries[other].key, problem, allowed)
            }
            None => ScenarioError::at(&self.header, problem, allowed),
        }
    }
}

/// The name that `text` was probably meant to be.
pub(crate) fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Beyond any name's length the distance says nothing and costs its square.
    let close = |name: &str| text.len() < 64 && strsim::damerau_levenshtein(text, name) <= 1 + name.len() / 4;
    names.filter(|name| close(name)).min_by_key(|name| strsim::damerau_levenshtein(text, name))
}
