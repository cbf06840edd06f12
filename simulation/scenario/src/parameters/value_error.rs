//! Why a value cannot be read into its type, and where: the error that serde gets to see.
//!
//! Invariant: the path leads from the section to the value, through tables and lists; the text is made once
//! the place is known.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Into the table, to this key.
    Key(String),
    /// Into the list, to the item at this place, counted from 0.
    Item(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Item(place) => write!(f, "[{place}]"),
        }
    }
}

/// A path as it is written: `stations[2].mean`.
pub(super) fn name(path: &[Step]) -> String {
    let mut name = String::new();
    for step in path {
        if matches!(step, Step::Key(_)) && !name.is_empty() {
            name.push('.');
        }
        name += &step.to_string();
    }
    name
}

/// Why a value cannot be read, and the path to it.
#[derive(Debug)]
pub(super) struct ValueError {
    pub path: Vec<Step>,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A value of another kind; `found` is what it holds, where not all of it is wrong.
    Unfit {
        allowed: String,
        found: Option<String>,
    },
    /// The keys that are `known` are no misspellings of it.
    Missing {
        known: &'static [&'static str],
    },
    Unknown {
        allowed: &'static [&'static str],
    },
    /// What the type or the model's author says.
    Other {
        problem: String,
        allowed: Option<String>,
    },
}

impl ValueError {
    pub fn new(what: What) -> Self {
        Self { path: Vec::new(), what }
    }

    /// A value of another kind.
    pub fn unfit(allowed: impl Into<String>) -> Self {
        Self::new(What::Unfit { allowed: allowed.into(), found: None })
    }

    pub fn under(mut self, key: &str) -> Self {
        self.path.insert(0, Step::Key(key.to_owned()));
        self
    }

    pub fn at(mut self, item: usize) -> Self {
        self.path.insert(0, Step::Item(item));
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", name(&self.path), self.what)
    }
}

impl std::error::Error for ValueError {}

impl Error for ValueError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        let text = problem.to_string();
        let (problem, allowed) = match text.split_once("; allowed: ") {
            Some((problem, allowed)) => (problem.to_owned(), Some(allowed.to_owned())),
            None => (text, None),
        };
        Self::new(What::Other { problem, allowed })
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unfit(in_words(&expected.to_string()))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unfit(in_words(&expected.to_string()))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(What::Unfit { allowed: expected.to_string(), found: Some(values(length)) })
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::unfit(variants(expected))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(What::Unknown { allowed: expected }).under(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::Missing { known: &[] }).under(field)
    }
}

/// So many values of a list.
pub(super) fn values(count: usize) -> String {
    if count == 1 { "one value".to_owned() } else { format!("{count} values") }
}

/// The names of an enum's variants.
pub(super) fn variants(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
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
