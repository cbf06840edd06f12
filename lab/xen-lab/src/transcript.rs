//! What was printed in a boot, read into numbers by part, by who has said it, and by name.
//!
//! Lines of interest are those of guests (`guest NAME: paceline: key=value ...`), of the scheduler
//! (`(XEN) paceline-sched: key=value ...`) and of dom0 (`lab: key=value ...`). Marks divide them into parts;
//! what stands before the first mark is in the part "".
//!
//! Invariant: lines stay in the order in which they were printed.

mod read;

use std::collections::BTreeMap;

use thiserror::Error;

pub(crate) use read::Reader;

/// The origin of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A guest, by its name.
    Guest(String),
    /// The scheduler in the hypervisor, by Xen's console.
    Scheduler,
    /// The script that dom0 runs.
    Dom0,
}

/// A line with values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The mark before it.
    pub part: String,
    /// Who has said it.
    pub source: Source,
    /// What it says, by name.
    pub values: BTreeMap<String, String>,
}

/// What was printed in a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Lines with values.
    pub entries: Vec<Entry>,
    /// Lines in which hypervisor or kernel complain.
    pub complaints: Vec<String>,
    /// Why the boot did not get to its end, if it did not.
    pub failure: Option<String>,
}

/// What was printed in the boots of an experiment, by their keys.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub(crate) boots: BTreeMap<String, Transcript>,
}

/// What stands between two marks.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    boot: &'a str,
    name: &'a str,
    transcript: &'a Transcript,
}

/// Why there is no such number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum TranscriptError {
    /// No boot has this key.
    #[error("there is no boot {0:?}")]
    NoBoot(String),
    /// The boot did not get to its end.
    #[error("boot {boot:?}: {reason}")]
    Failed { boot: String, reason: String },
    /// What is to stand beside it could not be predicted.
    #[error("the simulated machine: {0}")]
    Predicted(#[from] paceline_machine::MachineError),
    /// Nobody has said it.
    #[error("boot {boot:?}, part {part:?}: {who} has not printed {key:?}")]
    Missing { boot: String, part: String, who: String, key: String },
    /// What was said is no number.
    #[error("boot {boot:?}, part {part:?}: {key}={value} is not a number")]
    NoNumber { boot: String, part: String, key: String, value: String },
}

impl Results {
    /// What was printed in a boot, whether or not it got to its end.
    pub fn transcript(&self, boot: &str) -> Result<&Transcript, TranscriptError> {
        self.boots.get(boot).ok_or_else(|| TranscriptError::NoBoot(boot.into()))
    }

    /// The part of a boot that the mark `name` opens; the boot must have got to its end.
    pub fn part<'a>(&'a self, boot: &'a str, name: &'a str) -> Result<Part<'a>, TranscriptError> {
        let transcript = self.transcript(boot)?;
        match &transcript.failure {
            Some(reason) => Err(TranscriptError::Failed { boot: boot.into(), reason: reason.clone() }),
            None => Ok(Part { boot, name, transcript }),
        }
    }
}

impl<'a> Part<'a> {
    /// What `source` has said in this part, line by line.
    pub fn lines(&self, source: &Source) -> Vec<&'a BTreeMap<String, String>> {
        let said = self.transcript.entries.iter();
        let said = said.filter(|entry| entry.part == self.name && entry.source == *source);
        said.map(|entry| &entry.values).collect()
    }

    /// All values of this name that `source` has said in this part.
    pub fn numbers(&self, source: &Source, key: &str) -> Result<Vec<f64>, TranscriptError> {
        let said = self.lines(source).into_iter().filter_map(|values| values.get(key));
        said.map(|value| value.parse().map_err(|_| self.no_number(key, value))).collect()
    }

    /// The last value of this name that `source` has said in this part.
    pub fn number(&self, source: &Source, key: &str) -> Result<f64, TranscriptError> {
        self.numbers(source, key)?.last().copied().ok_or_else(|| TranscriptError::Missing {
            boot: self.boot.into(),
            part: self.name.into(),
            who: match source {
                Source::Guest(name) => format!("guest {name}"),
                Source::Scheduler => "the scheduler".into(),
                Source::Dom0 => "dom0".into(),
            },
            key: key.into(),
        })
    }

    /// The last value of this name that a guest has said in this part.
    pub fn guest(&self, name: &str, key: &str) -> Result<f64, TranscriptError> {
        self.number(&Source::Guest(name.into()), key)
    }

    /// How long the part lasted, in seconds of the machine's time.
    pub fn seconds(&self) -> Result<f64, TranscriptError> {
        Ok(self.number(&Source::Dom0, "part_ms")? / 1000.0)
    }

    fn no_number(&self, key: &str, value: &str) -> TranscriptError {
        TranscriptError::NoNumber {
            boot: self.boot.into(),
            part: self.name.into(),
            key: key.into(),
            value: value.into(),
        }
    }
}
