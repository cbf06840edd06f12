//! The words that the book has for keys: their units and meanings, as its tables say them.
//!
//! Invariant: a key for which the book has no words fails the test.

use std::fs;

use super::keys::{FileKind, Probe, canonical, kind_of, probes, value};
use crate::book::project;

/// A row of a table of the book: of keys with the same names, that of a scenario of the same kind comes
/// first.
#[derive(Debug)]
struct Row {
    kinds: Vec<String>,
    path: String,
    name: String,
    unit: String,
    meaning: String,
}

/// What the book says of keys.
pub struct Book(Vec<Row>);

impl Book {
    pub fn read() -> Self {
        let kind = |probe: Probe| (kind_of(&value(&probe.name, &probe.text)), probe.name);
        let kinds: Vec<(String, String)> = probes().into_iter().map(kind).collect();
        let mut rows = Vec::new();
        let (mut path, mut of) = (String::new(), Vec::new());
        for line in pages().iter().flat_map(|page| page.lines()) {
            if let Some(marker) = line.strip_prefix("<!-- ") {
                let (what, named) = marker.split_once(": ").unwrap_or((marker, ""));
                path = match what {
                    "settings of policies -->" => "policy".to_owned(),
                    "settings of domains -->" => "domain.settings".to_owned(),
                    _ => canonical(what.strip_prefix("keys of ").unwrap_or_default()),
                };
                let is_of = |(_, name): &&(String, String)| named.contains(&**name);
                of = kinds.iter().filter(is_of).map(|(kind, _)| kind.clone()).collect();
            }
            let cells: Vec<&str> =
                line.trim_start_matches("| ").trim_end_matches(" |").split(" | ").map(str::trim).collect();
            let [name, second, third, _, meaning] = cells[..] else { continue };
            if path.is_empty() || !name.starts_with('`') {
                continue;
            }
            let is_setting = ["policy", "domain.settings"].contains(&&*path) && of.is_empty();
            // Of settings the second cell has the policies, of keys the third one the unit.
            let meaning = if is_setting { format!("{second}: {meaning}") } else { meaning.to_owned() };
            rows.push(Row {
                kinds: of.clone(),
                path: path.clone(),
                name: name.trim_matches('`').to_owned(),
                unit: if is_setting { String::new() } else { third.to_owned() },
                meaning: without_links(&meaning),
            });
        }
        Self(rows)
    }

    /// Gives each key of a kind its unit and its meaning.
    pub fn explain(&self, kind: &mut FileKind) {
        let mut unexplained = Vec::new();
        for section in &mut kind.sections {
            let path = match section.path.strip_prefix("network") {
                Some(rest) if kind.name == "emulate" => format!("model{rest}"),
                _ => section.path.clone(),
            };
            for key in &mut section.keys {
                let is_same = |row: &&Row, path: &str| row.path == path && row.name == key.name;
                let of_path = |path: &str| self.0.iter().filter(|row| is_same(row, path)).collect::<Vec<_>>();
                let mut rows = [of_path(&section.path), of_path(&path)].concat();
                if path.ends_with(".queue.classes") {
                    rows.extend(of_path(path.trim_end_matches(".classes")));
                }
                if path.ends_with(".changes") {
                    rows.extend(of_path(&path.replace(".changes", ".link")));
                }
                rows.sort_by_key(|row| !row.kinds.contains(&kind.name));
                if (&*section.path, &*key.name) == ("policy", "kind") {
                    // The page has its words in the table of names that `paceline list` prints.
                    "the scheduling policy of all hosts".clone_into(&mut key.meaning);
                    continue;
                }
                let Some(first) = rows.first() else {
                    unexplained.push(format!("{}.{}", section.path, key.name));
                    continue;
                };
                key.unit = first.unit.replace("written with it", "");
                let is_of_several = first.kinds.is_empty();
                let all: Vec<_> = rows.iter().map(|row| row.meaning.clone()).collect();
                key.meaning = if is_of_several { all.join("\n") } else { first.meaning.clone() };
            }
        }
        assert!(unexplained.is_empty(), "{}: the book has no words for {unexplained:?}", kind.name);
    }
}

pub fn pages() -> [String; 3] {
    ["scenarios.md", "machines.md", "studies.md"]
        .map(|name| fs::read_to_string(project().join("docs").join(name)).expect("a page"))
}

/// Markdown's links as their texts.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (kept, link) = before.rsplit_once('[').unwrap_or((before, ""));
        plain += &format!("{kept}{link}");
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain + rest
}
