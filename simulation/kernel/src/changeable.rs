//! Parameters of a model that change while a run goes on, each at a simulated time.
//!
//! A model keeps such a parameter in a [`Changing`], from which every LP reads what holds at the time of the
//! event that it handles. So a change is a part of the model, like its other parameters: whether it was known
//! before the run began or was made while it went on, and under whatever protocol, partition and number of
//! threads, the result is the same.
//!
//! Invariant: a change that is made while a run goes on is for a time at which nothing has happened yet. Who
//! drives the run keeps it; [`Change::make`] (`change.rs`) checks the rest.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Time;

/// A value over simulated time: the first one, and what it changes to.
///
/// ```
/// use paceline_kernel::{Changing, Time};
///
/// let mut cycle = Changing::new(60);
/// cycle.set(Time::secs(300), 90);
/// assert_eq!([299, 300, 301].map(|second| *cycle.at(Time::secs(second))), [60, 90, 90]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Changing<T> {
    first: T,
    /// Sorted by time, without repetition.
    later: Vec<(Time, T)>,
}

impl<T> Changing<T> {
    /// A value that stays until it is set.
    pub const fn new(first: T) -> Self {
        Self { first, later: Vec::new() }
    }

    /// What holds at `time`: in an event, the time of the event, and never a later one. A change that is made
    /// while the run goes on is not known to events before it.
    #[inline]
    pub fn at(&self, time: Time) -> &T {
        // In most runs nothing ever changes.
        if self.later.is_empty() { &self.first } else { self.look_up(time) }
    }

    fn look_up(&self, time: Time) -> &T {
        match self.later.partition_point(|(from, _)| *from <= time) {
            0 => &self.first,
            count => &self.later[count - 1].1,
        }
    }

    /// The value before any change.
    pub const fn first(&self) -> &T {
        &self.first
    }

    /// Whether it changes at any time.
    pub const fn changes(&self) -> bool {
        !self.later.is_empty()
    }

    /// From `time` on it is `value`, up to the next change that there is. One at the same time is replaced.
    pub fn set(&mut self, time: Time, value: T) {
        match self.later.binary_search_by_key(&time, |(from, _)| *from) {
            Ok(place) => self.later[place].1 = value,
            Err(place) => self.later.insert(place, (time, value)),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Changing<T> {
    /// As the value itself, where it never changes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.later.is_empty() {
            return self.first.fmt(f);
        }
        f.debug_struct("Changing").field("first", &self.first).field("later", &self.later).finish()
    }
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum ParameterValue {
    /// A duration.
    Time(Time),
    /// A number, in the unit of its parameter.
    Number(f64),
}

impl ParameterValue {
    /// The duration; none of a number.
    pub const fn time(self) -> Option<Time> {
        match self {
            Self::Time(time) => Some(time),
            Self::Number(_) => None,
        }
    }

    /// The number; none of a duration.
    pub const fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Time(_) => None,
        }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// A parameter that can be changed while a run goes on, as its model declares it
/// ([`Model::changeable`](crate::Model::changeable)).
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as the scenario gives it: `model.` and the key.
    pub name: String,
    /// What a number counts; empty where it is a share, a factor or a duration.
    pub unit: &'static str,
    /// The least value allowed.
    pub least: ParameterValue,
    /// The greatest value allowed; of the same kind.
    pub most: ParameterValue,
    /// The value that holds at the time asked for; of the same kind.
    pub value: ParameterValue,
}

impl Parameter {
    /// The values that are allowed, in words.
    pub fn allowed(&self) -> String {
        let Self { unit, least, most, .. } = self;
        let kind = if least.time().is_some() { "a duration" } else { "a number" };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        format!("{kind} from {least} to {most}{unit}")
    }

    /// Whether it can have this value.
    pub(crate) fn admits(&self, value: ParameterValue) -> bool {
        let is_of_kind = value.time().is_some() == self.least.time().is_some();
        is_of_kind && self.least <= value && value <= self.most
    }
}

/// A parameter's value from a simulated time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When it takes effect: for events at this time and later.
    pub at: Time,
    /// The name of the parameter.
    pub set: String,
    /// What it changes to.
    pub to: ParameterValue,
}

/// Why a parameter is not changed.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum ChangeError {
    /// The model does not declare it.
    #[error("{name} cannot be changed while the run goes on; allowed: {allowed}")]
    Unknown { name: String, allowed: String },
    /// It is of another kind, or out of its range.
    #[error("{name} cannot be {value}; allowed: {allowed}")]
    Value { name: String, value: String, allowed: String },
    /// What happens then is over.
    #[error("{name} cannot change at {at}; allowed: {earliest} or later")]
    TooEarly { name: String, at: Time, earliest: Time },
    /// Nothing would come of it.
    #[error("{name} cannot change at {at}; allowed: before the end of the run, {until}")]
    TooLate { name: String, at: Time, until: Time },
    /// They are kept for the whole run.
    #[error("{most} changes have been made; allowed: {most} while a run goes on, more in its scenario")]
    TooMany { most: usize },
    /// Others have the model too, and would not know.
    #[error(
        "{name} cannot be changed while {what} take part in the run; allowed: [[run.change]] in the scenario"
    )]
    Elsewhere { name: String, what: &'static str },
}

crate::debug_tells!(ChangeError);

impl ChangeError {
    /// Of a name that is not among the parameters declared.
    pub fn unknown(name: &str, declared: &[Parameter]) -> Self {
        let names: Vec<&str> = declared.iter().map(|parameter| parameter.name.as_str()).collect();
        let allowed = if names.is_empty() {
            "none: the model declares no such parameter".into()
        } else {
            names.join(", ")
        };
        Self::Unknown { name: name.to_owned(), allowed }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_latest_change_up_to_a_time_holds() {
        // Set in any order, as of a list that is filled from several sides, and compared with its definition.
        let changes = [(5, 'c'), (1, 'a'), (9, 'd'), (3, 'b'), (5, 'e')];
        let mut value = Changing::new('-');
        for (second, letter) in changes {
            value.set(Time::secs(second), letter);
        }
        for second in 0..12 {
            let last = changes.iter().rev().filter(|(from, _)| *from <= second).max_by_key(|(from, _)| *from);
            // Of two at the same time the one that was set last.
            let last = last.map(|(from, _)| changes.iter().rev().find(|(other, _)| other == from));
            let expected = last.flatten().map_or('-', |(_, letter)| *letter);
            assert_eq!(*value.at(Time::secs(second)), expected, "at {second} s");
        }
    }
}
