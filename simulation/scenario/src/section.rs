//! One section of a scenario: hands out keys one by one, and keeps the place of each for messages. A key that
//! takes one of several names is read by [`Section::choice`]; [`nearest`] finds the name that a misspelt one
//! is close to.
//!
//! Invariant: [`Section::finish`] succeeds only if every key in the section was requested.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use crate::ScenarioError;
use crate::error::{Place, Text};
use crate::keys::{self, Key, Missing};
use crate::value::{Raw, Unfit, Value};

/// What a key that names a file may hold.
const FILE: &str = "a file's path, seen from the scenario's folder";

/// The keys of a section or table.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// A key's value and the places of both.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub raw: Raw,
    pub key: Place,
    pub value: Place,
    /// The keys of a table.
    pub inner: Option<Entries>,
    /// The items of a list, each with its own place.
    pub items: Vec<Self>,
}

impl Entry {
    pub fn new(
        key: Place,
        value_place: Place,
        value: &DeValue<'_>,
        place: &impl Fn(Range<usize>) -> Place,
    ) -> Self {
        let inner = match value {
            DeValue::Table(table) => Some(Self::all(table, place)),
            _ => None,
        };
        let items = match value {
            DeValue::Array(values) => {
                let item = |value: &toml::Spanned<DeValue<'_>>| {
                    Self::new(place(value.span()), place(value.span()), value.get_ref(), place)
                };
                values.iter().map(item).collect()
            }
            _ => Vec::new(),
        };
        Self { raw: Raw::new(value), key, value: value_place, inner, items }
    }

    /// The keys of a table.
    pub fn all(table: &DeTable<'_>, place: &impl Fn(Range<usize>) -> Place) -> Entries {
        let entry = |(key, value): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| {
            let entry = Self::new(place(key.span()), place(value.span()), value.get_ref(), place);
            (key.get_ref().to_string(), entry)
        };
        table.iter().map(entry).collect()
    }
}

/// The keys of one section, to be read and then [finished](Section::finish).
///
/// A section can be cloned and read more than once, for keys that mean different things to different readers.
#[derive(Clone, Debug)]
#[must_use = "finish() finds the keys that nobody reads"]
pub struct Section {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) header: Place,
    pub(crate) entries: Entries,
    pub(crate) asked: BTreeSet<String>,
}

impl Section {
    /// Its name in messages: `model`, `model.flows`, or `[model.flows]` for one of several.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of `key`, if the key exists.
    pub fn optional<T: Value>(&mut self, key: &str) -> Result<Option<T>, ScenarioError> {
        self.optional_within(key, T::EXPECTED)
    }

    /// The same for a key that takes less than its type holds: `allowed` says what, where the value is of
    /// another type. The caller [refuses](Section::refuse) values of the type that are not allowed.
    pub fn optional_within<T: Value>(
        &mut self,
        key: &str,
        allowed: &str,
    ) -> Result<Option<T>, ScenarioError> {
        self.ask(key, || (allowed.to_owned(), Missing::Open));
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
                Err(ScenarioError::at(&entry.value, problem, allowed))
            }
        }
    }

    /// The value of `key`, which is required.
    pub fn required<T: Value>(&mut self, key: &str) -> Result<T, ScenarioError> {
        self.required_within(key, T::EXPECTED)
    }

    /// The same for a key that takes less than its type holds, as
    /// [`optional_within`](Section::optional_within).
    pub fn required_within<T: Value>(&mut self, key: &str, allowed: &str) -> Result<T, ScenarioError> {
        self.ask(key, || (allowed.to_owned(), Missing::Refused));
        match self.optional_within(key, allowed)? {
            Some(value) => Ok(value),
            None => Err(self.missing(key, allowed)),
        }
    }

    /// The value of `key`, or `default` if the key is missing.
    pub fn or<T: Value + fmt::Display>(&mut self, key: &str, default: T) -> Result<T, ScenarioError> {
        self.ask(key, || (T::EXPECTED.to_owned(), Missing::default(&default)));
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// The same, refused where the value does not fit; `allowed` says which values do.
    pub fn or_where<T: Value + fmt::Display + Copy>(
        &mut self,
        key: &str,
        default: T,
        fits: impl FnOnce(T) -> bool,
        allowed: impl Into<String>,
    ) -> Result<T, ScenarioError> {
        let value = self.or(key, default)?;
        if fits(value) { Ok(value) } else { Err(self.refuse(key, format!("`{key}` is {value}"), allowed)) }
    }

    /// The choice among `choices` that the string at `key` names. If the key is missing: `default`, or an
    /// error without a default.
    pub fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &str,
        choices: &[(&str, T)],
        default: Option<T>,
    ) -> Result<T, ScenarioError> {
        let names = || choices.iter().map(|(name, _)| *name);
        let listed = || names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        self.ask(key, || {
            let name = choices.iter().find(|(_, choice)| Some(*choice) == default);
            let missing = if default.is_none() { Missing::Refused } else { Missing::Open };
            (listed(), name.map_or(missing, |(name, _)| Missing::Default(format!("{name:?}"))))
        });
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
        self.ask(key, || (FILE.to_owned(), Missing::Open));
        let Some(name) = self.optional::<String>(key)? else {
            return Ok(None);
        };
        let path = self.folder.join(name);
        if path.is_file() {
            return Ok(Some(path));
        }
        let problem = format!("there is no file {}, named by `{key}` in [{}]", path.display(), self.name);
        Err(self.refuse(key, problem, FILE))
    }

    /// The same for a key without which the caller [refuses](Section::refuse) the scenario, in words of its
    /// own.
    pub fn needed_file(&mut self, key: &str) -> Result<Option<PathBuf>, ScenarioError> {
        self.ask(key, || (FILE.to_owned(), Missing::Refused));
        self.file(key)
    }

    /// The table at `key`, to be read like a section; a missing table is empty.
    ///
    /// ```
    /// use paceline_scenario::Scenario;
    /// let text = "[domain]\nsettings = { weight = 512 }\n";
    /// let mut domain = Scenario::parse("demo.toml", text, ".".as_ref(), &[])?.section("domain")?;
    /// let mut settings = domain.table("settings")?;
    /// assert_eq!(settings.required::<u32>("weight")?, 512);
    /// # Ok::<(), paceline_scenario::ScenarioError>(())
    /// ```
    pub fn table(&mut self, key: &str) -> Result<Self, ScenarioError> {
        self.ask(key, || ("a table".to_owned(), Missing::Open));
        let (header, entries) = match self.entries.get(key) {
            None => (self.header.clone(), Entries::new()),
            Some(Entry { inner: Some(inner), key, .. }) => (key.clone(), inner.clone()),
            Some(entry) => {
                let problem = format!("`{key}` in [{}] cannot be {}", self.name, entry.raw);
                return Err(ScenarioError::at(&entry.value, problem, "a table, such as { key = 1 }"));
            }
        };
        let name = format!("{}.{key}", self.name.trim_matches(['[', ']']));
        Ok(Self { name, folder: self.folder.clone(), header, entries, asked: BTreeSet::new() })
    }

    /// The tables at `key`, each to be read like a section: `[[section.key]]` gives one of several. A missing
    /// key is none.
    ///
    /// ```
    /// use paceline_scenario::Scenario;
    /// let text = "[model]\n[[model.flows]]\nto = \"a\"\n[[model.flows]]\nto = \"b\"\n";
    /// let mut model = Scenario::parse("demo.toml", text, ".".as_ref(), &[])?.section("model")?;
    /// let mut flows = model.tables("flows")?;
    /// assert_eq!(flows[1].required::<String>("to")?, "b");
    /// # Ok::<(), paceline_scenario::ScenarioError>(())
    /// ```
    pub fn tables(&mut self, key: &str) -> Result<Vec<Self>, ScenarioError> {
        // A single [section.key] is one of them.
        if self.is_table(key) {
            return Ok(vec![self.table(key)?]);
        }
        self.ask(key, || ("tables".to_owned(), Missing::Open));
        let name = format!("[{}.{key}]", self.name.trim_matches(['[', ']']));
        let Some(entry) = self.entries.get(key) else { return Ok(Vec::new()) };
        let table = |item: &Entry| {
            let entries = item.inner.clone()?;
            let (name, folder, header) = (name.clone(), self.folder.clone(), item.key.clone());
            Some(Self { name, folder, header, entries, asked: BTreeSet::new() })
        };
        let tables: Option<Vec<Self>> = entry.items.iter().map(table).collect();
        tables.filter(|tables| !tables.is_empty()).ok_or_else(|| {
            let problem = format!("`{key}` in [{}] cannot be {}", self.name, entry.raw);
            ScenarioError::at(&entry.value, problem, format!("lines `[{name}]`, each followed by its keys"))
        })
    }

    /// Whether `key` exists and holds a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.inner.is_some())
    }

    /// The keys that were requested so far, in the order of the alphabet.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().map(String::as_str)
    }

    /// Whether `key` exists.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// All keys that have not been requested yet, with their values: for a reader that learns elsewhere which
    /// keys are allowed. It reports those it cannot use with [`refuse`](Section::refuse) or
    /// [`unknown`](Section::unknown).
    pub fn rest(&mut self) -> Vec<(String, Raw)> {
        let rest: Vec<_> = self
            .entries
            .iter()
            .filter(|(key, _)| !self.asked.contains(*key))
            .map(|(key, entry)| (key.clone(), entry.raw.clone()))
            .collect();
        self.asked.extend(rest.iter().map(|(key, _)| key.clone()));
        rest
    }

    /// An error at `key`, which is not one of the allowed keys.
    pub fn unknown(&self, key: &str, problem: impl Into<String>, allowed: &[&str]) -> ScenarioError {
        let hint = nearest(key, allowed.iter().copied());
        let hint = hint.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        let place = self.entries.get(key).map_or(&self.header, |entry| &entry.key);
        ScenarioError::at(place, format!("{}{hint}", problem.into()), allowed.join(", "))
    }

    /// An error at the value of `key`, or at the section if the key is missing.
    pub fn refuse(&self, key: &str, problem: impl Into<String>, allowed: impl Into<String>) -> ScenarioError {
        let place = self.entries.get(key).map_or(&self.header, |entry| &entry.value);
        ScenarioError::at(place, problem, allowed)
    }

    /// Ends the reading. A key that was never requested is an error.
    pub fn finish(self) -> Result<(), ScenarioError> {
        let unread = self.entries.iter().filter(|(key, _)| !self.asked.contains(*key));
        let Some((key, _)) = first(unread, |entry| &entry.key) else {
            return Ok(());
        };
        let asked: Vec<_> = self.asked.iter().map(String::as_str).collect();
        Err(self.unknown(key, format!("unknown key `{key}` in [{}]", self.name), &asked))
    }

    /// Notes that `key` is one of the section's; `facts` are what it may hold and what holds without it.
    fn ask(&mut self, key: &str, facts: impl FnOnce() -> (String, Missing)) {
        self.asked.insert(key.to_owned());
        keys::note(|| {
            let (allowed, missing) = facts();
            let section = self.name.trim_matches(['[', ']']).to_owned();
            Key { section, name: key.to_owned(), allowed, missing }
        });
    }

    fn missing(&self, key: &str, expected: &str) -> ScenarioError {
        let problem = format!("missing key `{key}` in [{}]", self.name);
        let allowed = format!("`{key}` must be {expected}");
        // An unread key with a similar name is probably a misspelling.
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

/// The item that comes first in the file; overrides come after the file.
pub(crate) fn first<'a, T>(
    found: impl Iterator<Item = (&'a String, &'a T)>,
    place: impl Fn(&T) -> &Place,
) -> Option<(&'a String, &'a T)> {
    found.min_by_key(|(_, thing)| rank(place(thing)))
}

/// What places are ordered by: where they are in the file; overrides come after the file.
pub(crate) fn rank(place: &Place) -> (bool, usize) {
    (matches!(*place.text, Text::Override(_)), place.span.start)
}

/// The name that `text` probably misspells.
///
/// ```
/// use paceline_scenario::nearest;
/// assert_eq!(nearest("credti", ["bvt", "credit"].into_iter()), Some("credit"));
/// assert_eq!(nearest("train", ["bvt", "credit"].into_iter()), None);
/// ```
pub fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer texts are no misspelling of a name, and the distance takes quadratic time.
    let close = |name: &str| text.len() < 64 && strsim::damerau_levenshtein(text, name) <= 1 + name.len() / 4;
    names.filter(|name| close(name)).min_by_key(|name| strsim::damerau_levenshtein(text, name))
}
