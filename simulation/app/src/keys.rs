//! `check --keys`: the keys that a scenario may have, as its readers ask for them.

use paceline_scenario::keys::{Key, Missing, recorded};

use crate::failure::CommandError;
use crate::stdout;
use crate::text::{self, Row};

/// Calls `check`, which reads a scenario; then lists its keys, if they are `wanted`.
pub fn listed(wanted: bool, check: impl FnOnce() -> Result<(), CommandError>) -> Result<(), CommandError> {
    if !wanted {
        return check();
    }
    let (checked, keys) = recorded(check);
    checked?;
    stdout::print(&format!("\n{}", text::groups(&groups(&keys))))
}

/// The keys, section by section, in the order in which the sections were read first.
fn groups(keys: &[Key]) -> Vec<(&str, Vec<Row>)> {
    let mut groups: Vec<(&str, Vec<Row>)> = Vec::new();
    for key in keys {
        let row = (key.name.clone(), line(key));
        match groups.iter_mut().find(|(section, _)| *section == key.section) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((&key.section, vec![row])),
        }
    }
    groups
}

/// What a key may hold, and what holds without it.
fn line(key: &Key) -> String {
    match &key.missing {
        Missing::Refused => format!("{}; required", key.allowed),
        Missing::Default(default) => format!("{}; default {default}", key.allowed),
        Missing::Open => key.allowed.clone(),
    }
}
