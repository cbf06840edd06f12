//! The keys that readers of a scenario ask for, with what each may hold and what holds where it is missing.
//!
//! [`recorded`] collects them, so that a program can list the keys of a scenario and the manual can be
//! compared with the code. The record belongs to the thread, as that of [`inputs`](crate::inputs) does.
//! Invariant: a key that is asked for twice is recorded once. The first question counts, since a reader that
//! needs a key asks for it before it narrows the values; but a later one that says what holds without the key
//! counts more than one that leaves it open, as readers do that only look which kind of scenario it is.

use std::cell::RefCell;

use crate::value::Value;

/// What holds where a key is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The scenario is refused.
    Refused,
    /// This value, as a scenario would give it.
    Default(String),
    /// Whatever the reader decides: nothing, or a value that depends on others.
    Open,
}

/// A key that a reader has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The section, such as `run`; of a table within one, `domain.wait`.
    pub section: String,
    /// The name of the key.
    pub name: String,
    /// The values that it may have, as error messages say it.
    pub allowed: String,
    /// What holds without it.
    pub missing: Missing,
}

thread_local! {
    static RECORDS: RefCell<Vec<Vec<Key>>> = const { RefCell::new(Vec::new()) };
}

/// Removes the innermost record, also where reading panics.
struct Recording;

impl Drop for Recording {
    fn drop(&mut self) {
        RECORDS.with_borrow_mut(|records| drop(records.pop()));
    }
}

/// Calls `read`, which reads a scenario on this thread, and gives the keys that it asked for, in that order
/// and each once.
pub fn recorded<R>(read: impl FnOnce() -> R) -> (R, Vec<Key>) {
    RECORDS.with_borrow_mut(|records| records.push(Vec::new()));
    let recording = Recording;
    let result = read();
    let keys = RECORDS.with_borrow_mut(|records| records.last_mut().map(std::mem::take));
    drop(recording);
    (result, keys.unwrap_or_default())
}

/// Records a key, where somebody records.
pub fn note(key: impl FnOnce() -> Key) {
    RECORDS.with_borrow_mut(|records| {
        let Some(keys) = records.last_mut() else { return };
        let key = key();
        match keys.iter_mut().find(|known| known.section == key.section && known.name == key.name) {
            None => keys.push(key),
            Some(known) if known.missing == Missing::Open && key.missing != Missing::Open => *known = key,
            Some(_) => {}
        }
    });
}

impl Missing {
    /// `value` as the default of a key.
    pub(crate) fn default<T: Value + std::fmt::Display>(value: &T) -> Self {
        let text = value.written();
        Self::Default(if T::IS_TEXT { format!("{text:?}") } else { text })
    }
}
