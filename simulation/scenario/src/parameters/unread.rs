//! Keys that nothing reads, where serde does not say so.
//!
//! Serde gathers the keys of some types before it knows which of them it needs (enums with the tag inside,
//! untagged enums, flattened fields), and drops what is left over. So each such key is spoilt once, and the
//! type read again: if that fails, or gives something else, somebody reads the key.
//!
//! Invariant: tables that look alike (the same path but for the places in lists, the same keys, the same
//! texts read as such) are tried once, so that a list of a thousand tables costs no more than one of two.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::de::DeserializeOwned;

use super::table::{Reading, Table};
use super::value_error::Step;
use crate::section::rank;
use crate::section::{Entries, Entry};
use crate::value::Raw;

/// The first key in the file of those that nothing reads, of a section that gave `read`.
pub(super) fn find<'s, T: DeserializeOwned + Debug>(
    entries: &'s Entries,
    reading: Reading<'s>,
    read: &T,
) -> Option<&'s Entry> {
    let (taken, mut unread) = (reading.taken.into_inner(), reading.passed.into_inner());
    let shown = if taken.is_empty() { String::new() } else { format!("{read:?}") };
    let mut tried: BTreeSet<String> = BTreeSet::new();
    let paths = taken.iter().filter_map(|entry| Some((*entry, path_to(entries, entry)?)));
    for (entry, path) in paths {
        let is_new = tried.insert(alike(entries, &path, &taken));
        let reading = Reading { spoilt: Some(entry), ..Reading::default() };
        let same =
            || T::deserialize(Table::new(entries, &reading)).is_ok_and(|again| format!("{again:?}") == shown);
        if is_new && same() {
            unread.push(entry);
        }
    }
    unread.into_iter().min_by_key(|entry| rank(&entry.key))
}

/// The path to `wanted`, which is one of the entries below.
pub(super) fn path_to(entries: &Entries, wanted: &Entry) -> Option<Vec<Step>> {
    entries.iter().find_map(|(key, entry)| {
        let mut path = below(entry, wanted)?;
        path.insert(0, Step::Key(key.clone()));
        Some(path)
    })
}

fn below(entry: &Entry, wanted: &Entry) -> Option<Vec<Step>> {
    if std::ptr::eq(entry, wanted) {
        return Some(Vec::new());
    }
    let in_table = || path_to(entry.inner.as_ref()?, wanted);
    let in_list = || {
        entry.items.iter().enumerate().find_map(|(place, item)| {
            let mut path = below(item, wanted)?;
            path.insert(0, Step::Item(place));
            Some(path)
        })
    };
    in_table().or_else(in_list)
}

/// The table that the key at the end of `path` is in.
fn around<'e>(entries: &'e Entries, path: &[Step]) -> Option<&'e Entries> {
    let (mut table, mut entry): (Option<&Entries>, Option<&Entry>) = (Some(entries), None);
    for step in &path[..path.len().saturating_sub(1)] {
        entry = match step {
            Step::Key(key) => table?.get(key),
            Step::Item(place) => entry?.items.get(*place),
        };
        table = entry?.inner.as_ref();
    }
    table
}

/// The other keys of the table that the key at the end of `path` is in.
pub(super) fn siblings(entries: &Entries, path: &[Step]) -> Vec<String> {
    let last = path.last().map_or(String::new(), Step::to_string);
    let keys = around(entries, path).into_iter().flat_map(|table| table.keys());
    keys.filter(|key| **key != last).map(|key| format!("`{key}`")).collect()
}

/// What is the same of keys that need not be tried both.
fn alike(entries: &Entries, path: &[Step], taken: &[&Entry]) -> String {
    let is_taken = |entry: &Entry| taken.iter().any(|other| std::ptr::eq(*other, entry));
    let mut text: String = path
        .iter()
        .map(|step| match step {
            Step::Key(key) => format!("{key:?}."),
            Step::Item(_) => "[].".to_owned(),
        })
        .collect();
    for (key, entry) in around(entries, path).into_iter().flatten() {
        text += &match &entry.raw {
            // A tag is read as a text at once.
            Raw::String(tag) if !is_taken(entry) => format!(" {key:?}={tag:?}"),
            _ => format!(" {key:?}"),
        };
    }
    text
}
