//! What runs read of the constants.
//!
//! Invariant: of a constant that a run reads more than once, the first value counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Constants with the values that a run has read of them.
pub type Values = BTreeMap<&'static str, u64>;

/// What runs have read, by their keys.
#[derive(Clone, Debug, Default)]
pub struct Reads(Arc<Mutex<BTreeMap<String, Values>>>);

impl Reads {
    /// Notes that the run with this key has read a constant. If the run changes the constant for itself and
    /// reads it again, what counts is what it was given.
    pub fn note(&self, key: &str, name: &'static str, value: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_run) = all.get_mut(key) {
            of_run.entry(name).or_insert(value);
        } else {
            all.insert(key.to_owned(), Values::from([(name, value)]));
        }
    }

    /// What the run with this key has read so far; it begins anew then.
    pub fn take(&self, key: &str) -> Values {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key).unwrap_or_default()
    }
}
