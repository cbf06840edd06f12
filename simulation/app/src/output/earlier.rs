//! The results that an output folder holds before a run: of the same run, or of another one.
//!
//! Two runs are the same if program, model, parameters, input files, horizon and seed are the same: they have
//! the same results, and whoever repeats a run wants to replace them. The results of another run are replaced
//! too, but not without a word.
//!
//! Invariant: only files that a summary of Paceline names in `files` are removed, and the report beside it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::REPORT;

/// The most bytes of a summary that is looked at.
const MOST_BYTES: u64 = 64 << 20;

/// What distinguishes the results of a run from those of others: for each of some places in its summary (a
/// JSON pointer) a name and the value.
#[derive(Clone, Debug, Default)]
pub struct Identity(Vec<(&'static str, String, Value)>);

impl Identity {
    /// Of these names, places and values.
    pub fn new(parts: impl IntoIterator<Item = (&'static str, &'static str, Value)>) -> Self {
        // As it would be read again.
        let read = |value: Value| serde_json::from_str(&value.to_string()).unwrap_or(value);
        Self(parts.into_iter().map(|(name, place, value)| (name, place.to_owned(), read(value))).collect())
    }

    /// The same where the summary holds all that at another place.
    pub fn under(mut self, place: &str) -> Self {
        self.0.iter_mut().for_each(|(_, pointer, _)| pointer.insert_str(0, place));
        self
    }

    /// With one part more.
    pub fn and(mut self, name: &'static str, place: &str, value: Value) -> Self {
        self.0.push((name, place.to_owned(), value));
        self
    }

    /// The first part in which a summary differs: its name, the value there, and the value here.
    fn differs<'v>(&'v self, summary: &'v Value) -> Option<(&'static str, &'v Value, &'v Value)> {
        let value = |place: &str| summary.pointer(place).unwrap_or(&Value::Null);
        self.0
            .iter()
            .map(|(name, place, here)| (*name, value(place), here))
            .find(|(_, there, here)| there != here)
    }
}

/// What is in the folder.
#[derive(Debug)]
pub(super) enum Earlier {
    /// Nothing, or results of the same run.
    Same,
    /// Something else, how it differs, and its files.
    Other(String, Vec<String>),
}

impl Earlier {
    pub(super) fn find(folder: &Path, summary: &str, run: &Identity) -> Self {
        let path = folder.join(summary);
        // A device or a FIFO holds no results.
        if !path.is_file() {
            return Self::Same;
        }
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
        let found = read.ok().and_then(|_| serde_json::from_str::<Value>(&text).ok());
        let Some(found) = found.filter(|found| found.get("scenario").is_some()) else {
            return Self::Other(format!("a {summary} that no run has written"), Vec::new());
        };
        let files = found.get("files").and_then(Value::as_array).into_iter().flatten();
        let files = files.filter_map(|name| Some(name.as_str()?.to_owned())).filter(|name| is_plain(name));
        // No summary names it: that is the same with and without a report.
        let files = files.chain([REPORT.to_owned()]).collect();
        match run.differs(&found) {
            None => Self::Same,
            Some((name, there, here)) => {
                let scenario = found["scenario"].as_str().unwrap_or("another");
                let shown = |value: &Value| shortened(value);
                let what = format!(
                    "the results of another run, of {scenario} ({name} {}, here {})",
                    shown(there),
                    shown(here)
                );
                Self::Other(what, files)
            }
        }
    }

    /// What is said before the run, if anything is to be.
    pub(super) fn warning(&self, folder: &Path) -> Option<String> {
        let Self::Other(what, _) = self else { return None };
        Some(format!("{} holds {what}; this run replaces them when it ends", folder.display()))
    }

    /// Removes a file of another run, which could not be replaced: it would stand beside the summary of this
    /// one.
    pub(super) fn remove_other(&self, path: &Path) {
        let Self::Other(_, files) = self else { return };
        if files.iter().any(|file| path.ends_with(file)) && path.is_file() {
            // If it cannot be removed, the failure to write it is the one that is reported.
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the files of another run but those that have been replaced.
    pub(super) fn remove_others(&self, folder: &Path, written: &[PathBuf]) {
        let Self::Other(_, files) = self else { return };
        files
            .iter()
            .map(|name| folder.join(name))
            .filter(|path| !written.contains(path))
            .for_each(|path| self.remove_other(&path));
    }
}

/// Whether a name is one of a file in the folder or below it.
fn is_plain(name: &str) -> bool {
    !name.contains('\\') && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// A value in a message of one line.
fn shortened(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    let head: String = text.chars().take(MOST).collect();
    if head.len() < text.len() { head + "..." } else { head }
}
