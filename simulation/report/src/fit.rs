//! What of a finding was fitted, and what was predicted: the vector of quantities that a source leaves open,
//! and the source's numbers by the half that they belong to.
//!
//! Invariant: a number of the predicted half had no part in the choice of the vector.

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::number::number;
use crate::table::Table;

/// A quantity that a source leaves open, and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    /// Its name: `psx.poll`.
    pub name: String,
    /// Its value with its unit: `3000 us`.
    pub value: String,
    /// What it is, without a full stop.
    pub meaning: String,
}

/// Which half of a source's numbers one belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The vector was chosen by it.
    Fitted,
    /// The vector was chosen without it.
    Predicted,
}

impl Half {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Predicted => "predicted",
        }
    }
}

/// A number or a statement of a source, and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRow {
    /// What is compared.
    pub what: String,
    /// What the source states.
    pub published: String,
    /// What was found with the vector.
    pub ours: String,
    /// How far ours is from it, in tolerances.
    pub error: f64,
    /// Its half.
    pub half: Half,
}

impl FitRow {
    /// Whether it is as near as a reproduced number.
    pub fn is_near(&self) -> bool {
        self.error <= 1.0
    }
}

/// The vector of a source, and what it makes of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// What the source leaves open: the same values in all of its experiments.
    pub vector: Vec<Quantity>,
    /// By which rule its numbers are divided, in a sentence.
    pub rule: String,
    /// Those of this experiment.
    pub rows: Vec<FitRow>,
    /// Those of them that no vector comes near, of all that the search tried.
    pub unserved: Vec<String>,
    /// How many vectors the search tried; none if nothing was fitted yet.
    pub vectors: u64,
}

impl Fit {
    /// The vector, in a sentence.
    pub fn vector_sentence(&self) -> String {
        let named = self.vector.iter().map(|one| format!("{} = {} ({})", one.name, one.value, one.meaning));
        let named = named.collect::<Vec<_>>().join("; ");
        if self.vectors == 0 {
            return format!(
                "Not fitted yet: one vector of what the source leaves open, the same for all of its experiments and all policies, as it was \
                 chosen by hand: {named}. {}",
                self.rule
            );
        }
        format!(
            "Fitted: one vector of what the source leaves open, the same for all of its experiments and all policies, the best of {} that were tried: {}. {}",
            number(self.vectors as f64),
            named,
            self.rule
        )
    }

    /// How near the halves of this experiment are, and what no vector serves, in sentences.
    pub fn error_sentence(&self) -> String {
        let halves = [Half::Fitted, Half::Predicted].map(|half| half_sentence(half, &self.rows));
        let unserved = match &self.unserved[..] {
            [] => String::new(),
            some => format!(" No vector that was tried comes near: {}.", some.join("; ")),
        };
        format!(
            "{}; {}. Errors are in tolerances: 1 is the most of a reproduced number.{unserved}",
            halves[0], halves[1]
        )
    }

    /// Its rows: what, half, published, ours, error.
    pub fn table(&self) -> Table {
        let columns = ["fitted and predicted", "half", "published", "ours", "error in tolerances"];
        let mut table = Table::new("Which numbers chose the vector, and which it predicts", columns);
        for row in &self.rows {
            let error = error_text(row.error);
            let half = row.half.name().to_owned();
            table.row([row.what.clone(), half, row.published.clone(), row.ours.clone(), error]);
        }
        table
    }
}

/// An error in tolerances, as tables print it.
fn error_text(error: f64) -> String {
    if error.is_finite() { format!("{error:.2}") } else { "no number".into() }
}

/// How many rows of a half there are, how many are near, and their median error, in words.
pub fn half_sentence(half: Half, rows: &[FitRow]) -> String {
    let mut errors: Vec<f64> = rows.iter().filter(|row| row.half == half).map(|row| row.error).collect();
    errors.sort_by(f64::total_cmp);
    let Some(median) = errors.get(errors.len() / 2) else { return format!("{}: none here", half.name()) };
    let near = errors.iter().filter(|error| **error <= 1.0).count();
    format!("{}: {near} of {} reproduced, median error {}", half.name(), errors.len(), error_text(*median))
}

impl Serialize for FitRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("FitRow", 5)?;
        object.serialize_field("what", &self.what)?;
        object.serialize_field("half", self.half.name())?;
        object.serialize_field("published", &self.published)?;
        object.serialize_field("ours", &self.ours)?;
        // JSON has no infinity: what has no number has no error.
        object.serialize_field("error", &Some(self.error).filter(|error| error.is_finite()))?;
        object.end()
    }
}

/// The vector as an object of values by name.
struct Vector<'v>(&'v [Quantity]);

impl Serialize for Vector<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.0.len()))?;
        for one in self.0 {
            object.serialize_entry(&one.name, &one.value)?;
        }
        object.end()
    }
}

impl Serialize for Fit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Fit", 4)?;
        object.serialize_field("vector", &Vector(&self.vector))?;
        object.serialize_field("vectors_tried", &self.vectors)?;
        object.serialize_field("rows", &self.rows)?;
        object.serialize_field("unserved", &self.unserved)?;
        object.end()
    }
}
