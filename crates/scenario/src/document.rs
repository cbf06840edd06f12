//! A scenario as a whole: the file's sections, with the overrides put over them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Place, Text};
use crate::section::{Entry, nearest};
use crate::value::Raw;
use crate::{ScenarioError, Section, overrides};

/// What stands at the top level of the file under one name.
#[derive(Debug)]
struct Group {
    header: Place,
    /// The keys; `None` where it is no table.
    entries: Option<BTreeMap<String, Entry>>,
}

/// A scenario file with its overrides, ready to be read section by section.
#[derive(Debug)]
pub struct Scenario {
    folder: PathBuf,
    start: Place,
    groups: BTreeMap<String, Group>,
}

impl Scenario {
    /// Reads a file. Each override is "section.key=value" and replaces what the file says.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let text =
            std::fs::read_to_string(path).map_err(|reason| ScenarioError::unreadable(path, &reason))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&path.display().to_string(), &text, folder, overrides)
    }

    /// Reads a text: `name` stands for it in messages, `folder` is where files it names are.
    pub fn parse(name: &str, text: &str, folder: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let source = Text::file(name, text);
        let place = |span| Place { text: Arc::clone(&source), span };
        let table = DeTable::parse(text).map_err(|error| {
            let problem = error.message().lines().collect::<Vec<_>>().join(", ");
            let place = place(error.span().unwrap_or(0..text.len().min(1)));
            ScenarioError::at(
                &place,
                format!("not valid TOML: {problem}"),
                "[sections] with lines `key = value`",
            )
        })?;
        let groups = table.get_ref().iter().map(|(key, value)| group(key, value, &place)).collect();
        let mut scenario = Self { folder: folder.to_owned(), start: place(0..0), groups };
        for argument in overrides {
            scenario.put_over(overrides::parse(argument)?);
        }
        Ok(scenario)
    }

    fn put_over(&mut self, new: overrides::Override) {
        let header = new.entry.key.clone();
        let group = self.groups.entry(new.section);
        let group = group.or_insert_with(|| Group { header, entries: Some(BTreeMap::new()) });
        if let Some(entries) = &mut group.entries {
            entries.insert(new.key, new.entry);
        }
    }

    /// Takes a section out. One that is not there is empty; what is no section is an error.
    pub fn section(&mut self, name: &str) -> Result<Section, ScenarioError> {
        let group = self.groups.remove(name);
        let group =
            group.unwrap_or_else(|| Group { header: self.start.clone(), entries: Some(BTreeMap::new()) });
        let Some(entries) = group.entries else {
            let problem = format!("`{name}` is not a section");
            return Err(ScenarioError::at(
                &group.header,
                problem,
                format!("a line `[{name}]`, then its keys"),
            ));
        };
        let (name, folder, header) = (name.to_owned(), self.folder.clone(), group.header);
        Ok(Section { name, folder, header, entries, asked: BTreeSet::new() })
    }

    /// Ends the reading. A section that is not among `allowed` is an error.
    pub fn finish(self, allowed: &[&str]) -> Result<(), ScenarioError> {
        let unknown = self.groups.iter().filter(|(name, _)| !allowed.contains(&name.as_str()));
        let Some((name, group)) = first(unknown, |group| &group.header) else {
            return Ok(());
        };
        let list = allowed.iter().map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
        let problem = match group.entries {
            None => format!("the key `{name}` is in no section"),
            Some(_) => {
                let hint = nearest(name, allowed.iter().copied());
                format!(
                    "unknown section [{name}]{}",
                    hint.map_or(String::new(), |hint| format!("; did you mean [{hint}]?"))
                )
            }
        };
        Err(ScenarioError::at(&group.header, problem, list))
    }
}

fn group(
    key: &Spanned<toml::de::DeString<'_>>,
    value: &Spanned<DeValue<'_>>,
    place: &impl Fn(std::ops::Range<usize>) -> Place,
) -> (String, Group) {
    let entry = |(key, value): (&Spanned<toml::de::DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let entry =
            Entry { raw: Raw::new(value.get_ref()), key: place(key.span()), value: place(value.span()) };
        (key.get_ref().to_string(), entry)
    };
    let entries = match value.get_ref() {
        DeValue::Table(table) => Some(table.iter().map(entry).collect()),
        _ => None,
    };
    (key.get_ref().to_string(), Group { header: place(key.span()), entries })
}

/// The one that stands first in the file; overrides come after the file.
pub(crate) fn first<'a, T>(
    found: impl Iterator<Item = (&'a String, &'a T)>,
    place: impl Fn(&T) -> &Place,
) -> Option<(&'a String, &'a T)> {
    let rank = |thing: &T| {
        let place = place(thing);
        (matches!(*place.text, Text::Override(_)), place.span.start)
    };
    found.min_by_key(|(_, thing)| rank(thing))
}
