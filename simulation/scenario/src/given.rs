//! What a scenario gives, overrides included, as values that can be written in another format.
//!
//! A section is a map of its keys, sections of one name are a list of maps. Invariant: everything in the file
//! is there, whether anybody reads it or not; an integer beyond 64 bits and what no key accepts are texts.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::Scenario;
use crate::document::Content;
use crate::section::{Entries, Entry};
use crate::value::Raw;

/// The sections and keys of a scenario that nobody has read yet ([`Scenario::given`]).
#[derive(Clone, Copy, Debug)]
pub struct Given<'s>(&'s Scenario);

impl Scenario {
    /// All sections that have not been taken out yet.
    ///
    /// ```
    /// use paceline_scenario::Scenario;
    /// let text = "[model]\nlps = 4\n[[domain]]\nname = \"a\"\nsettings = { weight = 0.5 }\n";
    /// let scenario = Scenario::parse("demo.toml", text, ".".as_ref(), &["model.lps=8".into()])?;
    /// let json = serde_json::to_string(&scenario.given()).unwrap();
    /// assert_eq!(json, r#"{"domain":[{"name":"a","settings":{"weight":0.5}}],"model":{"lps":8}}"#);
    /// # Ok::<(), paceline_scenario::ScenarioError>(())
    /// ```
    pub fn given(&self) -> Given<'_> {
        Given(self)
    }
}

impl Serialize for Given<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.groups.iter().map(|(name, group)| (name, &group.content)))
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Table(entries) => Section(entries).serialize(to),
            Self::List(list) => to.collect_seq(list.iter().map(|(_, entries)| Section(entries))),
            Self::Value => to.serialize_unit(),
        }
    }
}

/// The keys of a section or table.
struct Section<'e>(&'e Entries);

impl Serialize for Section<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let entries: &BTreeMap<String, Entry> = self.0;
        to.collect_map(entries)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.inner {
            Some(inner) => Section(inner).serialize(to),
            None if !self.items.is_empty() => to.collect_seq(&self.items),
            None => self.raw.serialize(to),
        }
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => to.serialize_i64(number),
                (_, Ok(number)) => to.serialize_u64(number),
                _ => to.collect_str(number),
            },
            Self::Float(number) => to.serialize_f64(*number),
            Self::String(text) => to.serialize_str(text),
            Self::Array(values) => to.collect_seq(values),
            Self::Other(what) => to.serialize_str(what),
        }
    }
}
