//! Reads a whole section into a struct that declares its keys with serde: the parameters of a user's own
//! model.
//!
//! Invariants: a mistake is reported as everywhere in a scenario, with the place of the key or value, whether
//! serde, the type or the model's author detects it; whatever shape serde gives to a type (structs, enums
//! tagged in any way, flattened fields, options, lists and maps of them), a key that nothing reads is a
//! mistake, and so is a number that its type cannot hold.

mod numbers;
mod table;
mod unread;
mod value_error;

use std::fmt::Debug;

use serde::de::DeserializeOwned;

use crate::section::{Entries, Entry};
use crate::{ScenarioError, Section, inputs};

use table::{Reading, Table};
use value_error::{Step, ValueError, What};

impl Section {
    /// Reads all keys that have not been requested yet into a struct. Durations of simulated time are read
    /// with `#[serde(with = "paceline_scenario::time")]`, files with the type
    /// [`InputFile`](crate::InputFile).
    ///
    /// Errors: a value that its type does not take, a key that is missing, and a key that nothing reads.
    /// Serde does not say which keys of enums with a tag inside, of untagged enums and of flattened
    /// fields it passes over. So, where there are any, `T` is read once more for each such key, with
    /// something there that no type takes: a key with which that changes nothing in `Debug` is one that
    /// nothing reads. An error of the author's own (`serde::de::Error::custom`, or that of `try_from`) may
    /// end with `; allowed: ` and what is allowed.
    ///
    /// ```
    /// use paceline_kernel::Time;
    /// use paceline_scenario::Scenario;
    /// use serde::Deserialize;
    ///
    /// #[derive(Debug, Deserialize, PartialEq)]
    /// struct Disease {
    ///     people: u32,
    ///     #[serde(default = "one")]
    ///     contacts: f64,
    ///     #[serde(with = "paceline_scenario::time")]
    ///     infectious: Time,
    /// }
    ///
    /// fn one() -> f64 {
    ///     1.0
    /// }
    ///
    /// let read = |text: &str| {
    ///     let mut scenario = Scenario::parse("flu.toml", text, ".".as_ref(), &[])?;
    ///     scenario.section("model")?.parameters::<Disease>()
    /// };
    /// let flu = read("[model]\npeople = 500\ninfectious = \"36h\"\n")?;
    /// assert_eq!(flu, Disease { people: 500, contacts: 1.0, infectious: Time::secs(36 * 3600) });
    /// let mistake = read("[model]\npeople = -5\ninfectious = \"36h\"\n").unwrap_err();
    /// assert_eq!(
    ///     mistake.one_line(),
    ///     "flu.toml:2:10: `people` in [model] cannot be the integer -5; allowed: a whole number from 0 to 4294967295"
    /// );
    /// # Ok::<(), paceline_scenario::ScenarioError>(())
    /// ```
    pub fn parameters<T: DeserializeOwned + Debug>(mut self) -> Result<T, ScenarioError> {
        let asked = std::mem::take(&mut self.asked);
        self.entries.retain(|key, _| !asked.contains(key));
        // Keys that nothing reads are found by reading again: input files are seen from the same folder then.
        inputs::seen_from(&self.folder, || {
            let reading = Reading::default();
            let read = T::deserialize(Table::new(&self.entries, &reading))
                .map_err(|error| self.place_error(error))?;
            match unread::find(&self.entries, reading, &read) {
                Some(entry) => Err(self.unread(entry)),
                None => Ok(read),
            }
        })
    }

    /// The mistake of a key that nothing reads.
    fn unread(&self, entry: &Entry) -> ScenarioError {
        let path = unread::path_to(&self.entries, entry).unwrap_or_default();
        let siblings = unread::siblings(&self.entries, &path);
        let allowed = if siblings.is_empty() {
            "no such key".to_owned()
        } else {
            format!("the keys that its type has; {} may stay", siblings.join(", "))
        };
        let problem =
            format!("unknown key `{}` in [{}], which nothing reads", value_error::name(&path), self.name);
        ScenarioError::at(&entry.key, problem, allowed)
    }

    /// Adds to the error where the value stands, and what stands there.
    fn place_error(&self, error: ValueError) -> ScenarioError {
        let ValueError { path, what } = error;
        let name = value_error::name(&path);
        let (table, entry) = self.innermost(&path);
        let value = entry.map_or(&self.header, |entry| &entry.value);
        match what {
            What::Unfit { allowed, found } => {
                let verb = if found.is_some() { "hold" } else { "be" };
                let found = found.or(entry.map(|entry| entry.raw.to_string())).unwrap_or_default();
                let problem = format!("`{name}` in [{}] cannot {verb} {found}", self.name);
                ScenarioError::at(value, problem, allowed)
            }
            What::Missing { known } => {
                let problem = format!("missing key `{name}` in [{}]", self.name);
                let allowed = format!("`{name}` must be there");
                let last = path.last().map_or(String::new(), Step::to_string);
                // A key that is there under a similar name is probably a misspelling.
                let near = table.and_then(|table| {
                    let strangers = table.keys().map(String::as_str).filter(|key| !known.contains(key));
                    crate::nearest(&last, strangers).map(|near| &table[near].key)
                });
                match near {
                    Some(key) => {
                        let written = key.text.excerpt(&key.span);
                        let problem = format!("{problem}; is `{written}` meant to be it?");
                        ScenarioError::at(key, problem, allowed)
                    }
                    None => ScenarioError::at(value, problem, allowed),
                }
            }
            What::Unknown { allowed } => {
                let last = path.last().map_or(String::new(), Step::to_string);
                let hint = crate::nearest(&last, allowed.iter().copied());
                let hint = hint.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let key = entry.map_or(&self.header, |entry| &entry.key);
                let problem = format!("unknown key `{name}` in [{}]{hint}", self.name);
                ScenarioError::at(key, problem, allowed.join(", "))
            }
            What::Other { problem, allowed } => {
                let of = if name.is_empty() { String::new() } else { format!("`{name}` in ") };
                let allowed = allowed.unwrap_or_else(|| "what the model's author says".to_owned());
                ScenarioError::at(value, format!("{of}[{}]: {problem}", self.name), allowed)
            }
        }
    }

    /// The innermost table on the way along `path` that is there, and the innermost entry.
    fn innermost(&self, path: &[Step]) -> (Option<&Entries>, Option<&Entry>) {
        let (mut table, mut entry): (Option<&Entries>, Option<&Entry>) = (Some(&self.entries), None);
        for step in path {
            let next = match step {
                Step::Key(key) => entry
                    .map_or(Some(&self.entries), |entry| entry.inner.as_ref())
                    .and_then(|keys| keys.get(key)),
                Step::Item(place) => entry.and_then(|entry| entry.items.get(*place)),
            };
            let Some(next) = next else { break };
            entry = Some(next);
            table = next.inner.as_ref().or(table);
        }
        (table, entry)
    }
}
