//! Reads a whole section into a struct that declares its keys with serde: the parameters of a user's own model.
//!
//! Invariant: a mistake is reported as everywhere in a scenario, with the place of the key or value, whether serde, the type or the
//! model's author detects it. Keys that the struct does not have are mistakes.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::section::{Entries, Entry};
use crate::value::Raw;
use crate::{ScenarioError, Section};

impl Section {
    /// Reads all keys that have not been requested yet into a struct. Durations of simulated time are read with `#[serde(with =
    /// "paceline_scenario::time")]`.
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
    pub fn parameters<T: DeserializeOwned>(mut self) -> Result<T, ScenarioError> {
        let asked = std::mem::take(&mut self.asked);
        self.entries.retain(|key, _| !asked.contains(key));
        T::deserialize(Table { entries: &self.entries }).map_err(|misfit| self.told(misfit))
    }

    fn told(&self, misfit: Misfit) -> ScenarioError {
        let Misfit { path, what } = misfit;
        let name = path.join(".");
        // The innermost existing table around the mistake, and the entry there.
        let (mut entries, mut entry) = (Some(&self.entries), None);
        for key in &path {
            entry = entries.and_then(|entries| entries.get(key)).or(entry);
            entries = entry.and_then(|entry: &Entry| entry.inner.as_ref());
        }
        let value = entry.map_or(&self.header, |entry| &entry.value);
        match what {
            What::Unfit { allowed, found } => {
                let verb = if found.is_some() { "hold" } else { "be" };
                let found = found.or(entry.map(|entry| entry.raw.to_string())).unwrap_or_default();
                let problem = format!("`{name}` in [{}] cannot {verb} {found}", self.name);
                ScenarioError::at(value, problem, allowed)
            }
            What::Missing => {
                let problem = format!("missing key `{name}` in [{}]", self.name);
                ScenarioError::at(value, problem, format!("`{name}` must be there"))
            }
            What::Unknown { allowed } => {
                let last = path.last().map_or("", String::as_str);
                let hint = crate::nearest(last, allowed.iter().copied());
                let hint = hint.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let key = entry.map_or(&self.header, |entry| &entry.key);
                let problem = format!("unknown key `{name}` in [{}]{hint}", self.name);
                ScenarioError::at(key, problem, allowed.join(", "))
            }
            What::Other { problem } => {
                let of = if name.is_empty() { String::new() } else { format!("`{name}` in ") };
                ScenarioError::at(
                    value,
                    format!("{of}[{}]: {problem}", self.name),
                    "what the model's author says",
                )
            }
        }
    }
}

/// Why a value cannot be read, and the path of keys to it.
#[derive(Debug)]
struct Misfit {
    path: Vec<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// If the key holds an array, `found` is the wrong value in it.
    Unfit {
        allowed: String,
        found: Option<String>,
    },
    Missing,
    Unknown {
        allowed: &'static [&'static str],
    },
    Other {
        problem: String,
    },
}

impl Misfit {
    fn new(what: What) -> Self {
        Self { path: Vec::new(), what }
    }

    fn under(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.path.join("."), self.what)
    }
}

impl std::error::Error for Misfit {}

impl serde::de::Error for Misfit {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(What::Other { problem: problem.to_string() })
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(What::Unfit { allowed: in_words(&expected.to_string()), found: None })
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(What::Unfit { allowed: in_words(&expected.to_string()), found: None })
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let names: Vec<_> = expected.iter().map(|name| format!("{name:?}")).collect();
        Self::new(What::Unfit { allowed: names.join(", "), found: None })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::Missing).under(field)
    }
}

/// Translates serde's names of expected types into the words used for scenarios.
fn in_words(expected: &str) -> String {
    let whole = |least: i128, most: i128| format!("a whole number from {least} to {most}");
    match expected {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" | "usize" => whole(0, u64::MAX.into()),
        "i8" => whole(i8::MIN.into(), i8::MAX.into()),
        "i16" => whole(i16::MIN.into(), i16::MAX.into()),
        "i32" => whole(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" => whole(i64::MIN.into(), i64::MAX.into()),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    }
}

/// The keys of a section or table.
struct Table<'s> {
    entries: &'s Entries,
}

impl<'de> Deserializer<'de> for Table<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_map(Keys { left: self.entries.iter(), value: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.entries.keys().find(|key| !fields.contains(&key.as_str())) {
            Some(key) => Err(Misfit::new(What::Unknown { allowed: fields }).under(key)),
            None => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Hands serde the keys of a table one by one.
struct Keys<'s> {
    left: std::collections::btree_map::Iter<'s, String, Entry>,
    value: Option<(&'s str, &'s Entry)>,
}

impl<'de> MapAccess<'de> for Keys<'_> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        let Some((key, entry)) = self.left.next() else { return Ok(None) };
        self.value = Some((key, entry));
        seed.deserialize(StrDeserializer::new(key)).map(Some).map_err(|misfit: Misfit| misfit.under(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (key, entry) = self.value.take().expect("serde asks for a key before its value");
        let held = Held { raw: &entry.raw, inner: entry.inner.as_ref() };
        seed.deserialize(held).map_err(|misfit| misfit.under(key))
    }
}

/// The value of a key, or an array.
struct Held<'s> {
    raw: &'s Raw,
    inner: Option<&'s Entries>,
}

impl<'de> Deserializer<'de> for Held<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if let Some(entries) = self.inner {
            return Table { entries }.deserialize_any(visitor);
        }
        match self.raw {
            Raw::Bool(value) => visitor.visit_bool(*value),
            Raw::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => visitor.visit_i128(*number),
            },
            Raw::Float(number) => visitor.visit_f64(*number),
            Raw::String(text) => visitor.visit_str(text),
            Raw::Array(values) => visitor.visit_seq(Values(values.iter())),
            Raw::Other(what) => Err(serde::de::Error::invalid_type(Unexpected::Other(what), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.inner {
            Some(entries) => Table { entries }.deserialize_struct(name, fields, visitor),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match (self.raw, self.inner) {
            (Raw::String(text), _) => visitor.visit_enum(StrDeserializer::new(text)),
            (_, Some(entries)) => {
                visitor.visit_enum(MapAccessDeserializer::new(Keys { left: entries.iter(), value: None }))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

/// Hands serde the values of an array one by one.
struct Values<'s>(std::slice::Iter<'s, Raw>);

impl<'de> SeqAccess<'de> for Values<'_> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some(raw) = self.0.next() else { return Ok(None) };
        let told = |mut misfit: Misfit| {
            if let What::Unfit { found: found @ None, .. } = &mut misfit.what {
                *found = Some(raw.to_string());
            }
            misfit
        };
        seed.deserialize(Held { raw, inner: None }).map(Some).map_err(told)
    }
}
