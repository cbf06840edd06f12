//! A whole scenario: the file's sections, with the overrides applied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Place, Text};
use crate::section::{Entries, Entry, first, nearest};
use crate::value::Raw;
use crate::{ScenarioError, Section, overrides};

/// What the top level of the file holds under one name.
#[derive(Debug)]
pub(crate) struct Group {
    header: Place,
    pub content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// A section with its keys.
    Table(Entries),
    /// Sections of the same name, each with its place.
    List(Vec<(Place, Entries)>),
    /// A key outside of all sections, which is a mistake.
    Value,
}

/// A scenario file with its overrides, ready to be read section by section.
#[derive(Debug)]
pub struct Scenario {
    folder: PathBuf,
    start: Place,
    pub(crate) groups: BTreeMap<String, Group>,
}

impl Scenario {
    /// Reads a file. Each override is "section.key=value" and replaces the file's value: in all sections of
    /// that name, in one of them with "section.NAME.key=value", or in a table within a section, or all of a
    /// list of tables, with "section.table.key=value".
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let content = std::fs::read(path).map_err(|reason| ScenarioError::unreadable(path, &reason))?;
        let text = Self::decode(path, content)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&path.display().to_string(), &text, folder, overrides)
    }

    /// The text of a file with this content: UTF-8, with or without a byte order mark.
    pub fn decode(path: &Path, content: Vec<u8>) -> Result<String, ScenarioError> {
        if [&[0xff, 0xfe], &[0xfe, 0xff]].iter().any(|mark| content.starts_with(*mark)) {
            let problem = "begins with the byte order mark of UTF-16";
            return Err(ScenarioError::whole_file(path, problem, "a text file in UTF-8"));
        }
        String::from_utf8(content).map_err(|error| {
            let (before, error) = (error.utf8_error().valid_up_to(), error);
            let line = 1 + error.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count();
            let problem = format!("is not UTF-8: line {line} holds a byte that is no character");
            ScenarioError::whole_file(path, problem, "a text file in UTF-8")
        })
    }

    /// Reads a text, whose byte order mark, if it has one, does not count. `name` is its name in messages;
    /// `folder` is where the files that it names are.
    pub fn parse(name: &str, text: &str, folder: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
            scenario.put_over(overrides::parse(argument)?)?;
        }
        Ok(scenario)
    }

    fn put_over(&mut self, new: overrides::Override) -> Result<(), ScenarioError> {
        let overrides::Override { section, within, key, entry } = new;
        let header = entry.key.clone();
        let group = self.groups.entry(section.clone());
        let group = group.or_insert_with(|| Group { header, content: Content::Table(Entries::new()) });
        match &mut group.content {
            // That key stands in no section, which is reported when sections are read.
            Content::Value => Ok(()),
            Content::Table(entries) => put_into(entries, &section, &within, &key, &entry),
            Content::List(list) => {
                let Some((name, inner)) = within.split_first() else {
                    for (_, entries) in list {
                        entries.insert(key.clone(), entry.clone());
                    }
                    return Ok(());
                };
                let names: Vec<_> = list.iter().filter_map(|(_, entries)| name_of(entries)).collect();
                let known = || names.iter().map(String::as_str);
                if !names.contains(name) {
                    let hint = nearest(name, known())
                        .map_or(String::new(), |hint| format!("; did you mean {hint:?}?"));
                    let problem = format!("there is no [[{section}]] with the name {name:?}{hint}");
                    return Err(ScenarioError::at(
                        &entry.key,
                        problem,
                        known().collect::<Vec<_>>().join(", "),
                    ));
                }
                let path = format!("{section}.{name}");
                for (_, entries) in
                    list.iter_mut().filter(|(_, entries)| name_of(entries).as_ref() == Some(name))
                {
                    put_into(entries, &path, inner, &key, &entry)?;
                }
                Ok(())
            }
        }
    }

    /// Takes a section out. A missing section is empty; if the name belongs to something else than a section,
    /// it is an error.
    pub fn section(&mut self, name: &str) -> Result<Section, ScenarioError> {
        let Some(group) = self.groups.remove(name) else {
            return Ok(self.dress(name, self.start.clone(), Entries::new()));
        };
        match group.content {
            Content::Table(entries) => Ok(self.dress(name, group.header, entries)),
            Content::List(_) | Content::Value => {
                let problem = format!("`{name}` is not a section");
                Err(ScenarioError::at(&group.header, problem, format!("a line `[{name}]`, then its keys")))
            }
        }
    }

    /// Takes out all sections of one name, in the order of the file: `[name]` gives one, `[[name]]` one of
    /// several.
    ///
    /// ```
    /// use paceline_scenario::Scenario;
    /// let text = "[[link]]\nto = \"a\"\n[[link]]\nto = \"b\"\n";
    /// let mut links = Scenario::parse("demo.toml", text, ".".as_ref(), &[])?.sections("link")?;
    /// assert_eq!(links.len(), 2);
    /// assert_eq!(links[1].required::<String>("to")?, "b");
    /// # Ok::<(), paceline_scenario::ScenarioError>(())
    /// ```
    pub fn sections(&mut self, name: &str) -> Result<Vec<Section>, ScenarioError> {
        let Some(group) = self.groups.remove(name) else {
            return Ok(Vec::new());
        };
        match group.content {
            Content::Table(entries) => Ok(vec![self.dress(name, group.header, entries)]),
            Content::List(list) => {
                let name = format!("[{name}]");
                Ok(list.into_iter().map(|(header, entries)| self.dress(&name, header, entries)).collect())
            }
            Content::Value => {
                let problem = format!("`{name}` is not a section");
                let allowed = format!("lines `[[{name}]]`, each followed by its keys");
                Err(ScenarioError::at(&group.header, problem, allowed))
            }
        }
    }

    /// Whether there is at least one section of this name.
    pub fn has(&self, name: &str) -> bool {
        self.groups.contains_key(name)
    }

    fn dress(&self, name: &str, header: Place, entries: Entries) -> Section {
        Section {
            name: name.to_owned(),
            folder: self.folder.clone(),
            header,
            entries,
            asked: BTreeSet::new(),
        }
    }

    /// Ends the reading. A section that is not among `allowed` is an error.
    pub fn finish(self, allowed: &[&str]) -> Result<(), ScenarioError> {
        self.check_sections(allowed)
    }

    /// The same before the reading, for who would miss a section whose name is misspelt.
    ///
    /// # Errors
    ///
    /// A section has another name, or a key is in none.
    pub fn check_sections(&self, allowed: &[&str]) -> Result<(), ScenarioError> {
        let unknown = self.groups.iter().filter(|(name, _)| !allowed.contains(&name.as_str()));
        let Some((name, group)) = first(unknown, |group| &group.header) else {
            return Ok(());
        };
        let list = allowed.iter().map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
        let problem = match group.content {
            Content::Value => format!("the key `{name}` is in no section"),
            Content::Table(_) | Content::List(_) => {
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
    let content = match value.get_ref() {
        DeValue::Table(table) => Content::Table(Entry::all(table, place)),
        DeValue::Array(values) if !values.is_empty() => {
            let table = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
                DeValue::Table(table) => Some((place(value.span()), Entry::all(table, place))),
                _ => None,
            };
            values.iter().map(table).collect::<Option<_>>().map_or(Content::Value, Content::List)
        }
        _ => Content::Value,
    };
    (key.get_ref().to_string(), Group { header: place(key.span()), content })
}

/// Puts `entry` at `key` into the table that `within` leads to from `entries`, which is called `path`; where
/// there is a list of tables on the way, into each of them. A table that is not there is made.
fn put_into(
    entries: &mut Entries,
    path: &str,
    within: &[String],
    key: &str,
    entry: &Entry,
) -> Result<(), ScenarioError> {
    let Some((table, inner)) = within.split_first() else {
        entries.insert(key.to_owned(), entry.clone());
        return Ok(());
    };
    let empty = || Entry {
        raw: Raw::Other("a table"),
        key: entry.key.clone(),
        value: entry.value.clone(),
        inner: Some(Entries::new()),
        items: Vec::new(),
    };
    let deeper = format!("{path}.{table}");
    let found = entries.entry(table.clone()).or_insert_with(empty);
    if let Some(entries) = &mut found.inner {
        return put_into(entries, &deeper, inner, key, entry);
    }
    // Neither a table nor a list of nothing but tables.
    if found.items.is_empty() || found.items.iter().any(|item| item.inner.is_none()) {
        let problem = format!("`{table}` in [{path}] is {}, not a table", found.raw);
        return Err(ScenarioError::at(&entry.key, problem, "section.key=value"));
    }
    for item in found.items.iter_mut().filter_map(|item| item.inner.as_mut()) {
        put_into(item, &deeper, inner, key, entry)?;
    }
    Ok(())
}

/// The value of the section's key `name`.
fn name_of(entries: &Entries) -> Option<String> {
    match &entries.get("name")?.raw {
        Raw::String(name) => Some(name.clone()),
        _ => None,
    }
}
