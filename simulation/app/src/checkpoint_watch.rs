//! Whether the checkpoints of a run are written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use paceline_engine::CheckpointError;

use crate::progress;

/// Warns that a checkpoint could not be written and which one is there instead; not again until there is
/// another reason. `kept` is the checkpoint that the run began from, if it would be replaced.
pub fn warn(written: Written, kept: Option<PathBuf>) -> impl Fn(&CheckpointError) + Send + Sync {
    let last = Mutex::new(None);
    move |error| {
        let before = last.lock().unwrap_or_else(PoisonError::into_inner).replace(error.clone());
        if before.as_ref() == Some(error) {
            return;
        }
        let there = match written.clone().file().or_else(|| kept.clone()) {
            Some(_) => "the last complete one stays, and the run goes on",
            None => "there is none of this run yet, and it goes on",
        };
        progress::warn(&format!("{error}; {there}"));
    }
}

/// Watches whether a run writes a checkpoint.
#[derive(Clone)]
pub struct Written {
    path: PathBuf,
    before: Option<SystemTime>,
}

impl Written {
    /// At this path.
    pub fn new(path: PathBuf) -> Self {
        let before = modified(&path);
        Self { path, before }
    }

    /// The checkpoint, if there is a new one.
    pub fn file(self) -> Option<PathBuf> {
        let now = modified(&self.path);
        Some(self.path).filter(|_| now.is_some() && now != self.before)
    }
}

/// When a file was last written; `None` where there is none.
fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}
