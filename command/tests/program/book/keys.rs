//! The tables of keys in the manual, made of what `paceline check --keys` lists.
//!
//! A table stands between two comments. The first says what is in it, the second, `<!-- end -->`, ends it.
//!
//! - `<!-- keys of SECTION: SCENARIO KEY=VALUE ...; SCENARIO ... -->`: the keys of a section that are read
//!   with one of these scenarios. With `A & B` those that are read with both; with `... but not ...` those
//!   that only the first are read with. A scenario is a file, or one of [`scenario`].
//! - `<!-- settings of policies -->`, `<!-- settings of domains -->`: the settings of all policies, and of
//!   domains under them.
//!
//! Name, type and default come from the code. Units and meanings are written by hand: they are kept with
//! their keys.

mod packets;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::super::{paceline, stderr, stdout};
use super::project;
use packets::packets;

/// How a row ends whose meaning nobody has written.
pub const NO_MEANING: &str = "| ? |";

/// What error messages say of a type at length, and its name in tables.
const TYPES: [(&str, &str); 12] = [
    ("a number, or a duration", "number or duration"),
    ("a duration with its unit, ", "duration"),
    ("a size above zero, such as", "size"),
    ("a rate above zero with its unit, ", "rate"),
    ("a whole number from 0 to 4294967295", "whole number"),
    ("a whole number from 0 to 18446744073709551615", "whole number"),
    ("a finite number", "number"),
    ("a string", "string"),
    ("a file's path", "file"),
    ("a list of whole numbers", "list of whole numbers"),
    ("a number above zero, or a fraction", "number or fraction"),
    ("a list of strings", "list of strings"),
];

/// A key as `paceline check --keys` shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub name: String,
    pub allowed: String,
    /// As tables show it: between backticks, or `required`, or a dash.
    pub default: String,
}

/// The page with its tables as the code has them.
pub fn page(page: &str) -> String {
    let (mut again, mut lines) = (String::new(), page.lines());
    while let Some(line) = lines.next() {
        again += line;
        again.push('\n');
        let Some(marker) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let table = match marker.split_once(' ').unwrap_or_default() {
            ("keys", rest) => of_section(rest.strip_prefix("of ").expect("keys of a section")),
            ("settings", rest) => of_policies(rest.strip_prefix("of ").expect("settings of something")),
            _ => continue,
        };
        let old: Vec<&str> = lines.by_ref().take_while(|line| *line != "<!-- end -->").collect();
        again += &table.shown(&old);
        again += "<!-- end -->\n";
    }
    again
}

/// A table: the names of its columns, and rows of which the last cells are kept from the page.
struct Table {
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    /// As Markdown, with what the `old` rows say of the same first cells.
    fn shown(&self, old: &[&str]) -> String {
        let cells = |line: &str| -> Vec<String> {
            let inner = line.trim_start_matches("| ").trim_end_matches(" |");
            inner.split(" | ").map(str::to_owned).collect()
        };
        let old: Vec<Vec<String>> = old.iter().map(|line| cells(line)).collect();
        let mut text = format!("\n| {} |\n", self.columns.join(" | "));
        text += &format!("|{}\n", "---|".repeat(self.columns.len()));
        for row in &self.rows {
            let known = |other: &&Vec<String>| other.len() == self.columns.len() && other[..2] == row[..2];
            let known = old.iter().find(known).or_else(|| old.iter().find(|other| other[0] == row[0]));
            let mut row = row.clone();
            for (place, cell) in row.iter_mut().enumerate() {
                if cell == "?" {
                    *cell = known.and_then(|row| row.get(place)).cloned().unwrap_or_else(|| "?".into());
                }
            }
            text += &format!("| {} |\n", row.join(" | "));
        }
        text + "\n"
    }
}

/// The keys of a section, as the comment asks for them.
fn of_section(wanted: &str) -> Table {
    let (section, which) = wanted.split_once(": ").expect("a section and its scenarios");
    let (which, others) = which.split_once(" but not ").unwrap_or((which, ""));
    let left_out = if others.is_empty() { Vec::new() } else { read_with(section, others) };
    let mut found = read_with(section, which);
    found.retain(|key| !left_out.iter().any(|other| other.name == key.name));
    assert!(!found.is_empty(), "no scenario of {wanted} reads a key of it");
    let row = |key: &Key| {
        let kind = type_name(key);
        let unit = match &*kind {
            "duration" | "size" | "rate" => "written with it",
            kind if kind.contains("number") => "?",
            _ => "",
        };
        // Names of hosts are those of the scenario, and no scenario can say "never".
        let is_none = key.name == "host" || key.default == "`\"never\"`";
        let default = if is_none { "–".to_owned() } else { key.default.clone() };
        vec![format!("`{}`", key.name), kind.clone(), unit.to_owned(), default, "?".to_owned()]
    };
    Table { columns: &["key", "type", "unit", "default", "meaning"], rows: found.iter().map(row).collect() }
}

/// The keys of a section that are read with one of some scenarios (`A; B`), or with all (`A & B`).
fn read_with(section: &str, scenarios: &str) -> Vec<Key> {
    let is_of_all = scenarios.contains(" & ");
    let mut found: Option<Vec<Key>> = None;
    for one in scenarios.split(if is_of_all { " & " } else { "; " }) {
        let words: Vec<&str> = one.split(' ').collect();
        let keys = listed(words[0], &words[1..]).remove(section).unwrap_or_default();
        let Some(found) = &mut found else {
            found = Some(keys);
            continue;
        };
        if is_of_all {
            found.retain(|known| keys.iter().any(|key| key.name == known.name));
        } else {
            let new = |key: &Key| !found.iter().any(|known| known.name == key.name);
            let new: Vec<Key> = keys.into_iter().filter(new).collect();
            found.extend(new);
        }
    }
    found.unwrap_or_default()
}

/// The settings of all policies (`policies`), or of domains under them (`domains`); those that are alike in
/// one row.
fn of_policies(whose: &str) -> Table {
    let section = if whose == "policies" { "policy" } else { "domain.settings" };
    let mut policies: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for policy in policy_names() {
        let kind = format!("policy.kind={policy}");
        let plain = listed("machine-of-hog", &[&kind]);
        let mut found: BTreeSet<Key> = plain.get(section).into_iter().flatten().cloned().collect();
        // A word that is not the default may make the policy read further settings.
        for key in plain.get("policy").into_iter().flatten().filter(|key| key.name != "kind") {
            for word in key.allowed.split(", ").filter(|word| word.starts_with('"')) {
                let change = format!("policy.{}={}", key.name, word.trim_matches('"'));
                let mut keys = listed("machine-of-hog", &[&kind, &change]);
                found.extend(keys.remove(section).unwrap_or_default());
            }
        }
        for key in found.into_iter().filter(|key| key.name != "kind") {
            policies.entry(key).or_default().push(policy.clone());
        }
    }
    let row = |(key, policies): (Key, Vec<String>)| {
        let cells =
            [format!("`{}`", key.name), policies.join(", "), key.allowed, key.default, "?".to_owned()];
        cells.to_vec()
    };
    Table {
        columns: &["setting", "policies", "type", "default", "meaning"],
        rows: policies.into_iter().map(row).collect(),
    }
}

pub fn policy_names() -> Vec<String> {
    let text = stdout(&paceline(&project(), &["list"]));
    let lines = text.lines().skip_while(|line| !line.starts_with("Scheduling policies"));
    let rows = lines.skip(1).take_while(|line| line.starts_with("  "));
    rows.map(|row| row.trim_start().split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// A scenario that is no file of the project: a machine with one workload, hosts that move as a trace says,
/// or a packet network.
pub fn scenario(name: &str) -> Option<String> {
    let workload = |keys: &str| {
        format!(
            "[machine]\nuntil = \"1s\"\n[policy]\nkind = \"credit\"\n[host]\npcpus = 4\n[[domain]]\nname = \"load\"\n{keys}"
        )
    };
    let phold = "[model]\nkind = \"phold\"\nlps = 8\n";
    let traced = |kind: &str| {
        format!("[model]\nkind = \"{kind}\"\ntrace = \"hosts.movements\"\nformat = \"bonnmotion\"\n")
    };
    Some(match name {
        "machine-of-hog" => workload("workload = \"hog\"\n"),
        "machine-of-rounds" => workload("workload = \"rounds\"\ncount = 3\n"),
        "machine-of-wait" => {
            workload("workload = \"rounds\"\ncount = 3\nwait = { poll = \"50us\", then = \"yield\" }\n")
        }
        "machine-of-ep" => workload("workload = \"ep\"\nclass = \"S\"\n"),
        "machine-of-lu" => workload("workload = \"lu\"\nclass = \"S\"\n"),
        "machine-of-federate" => workload("workload = \"federate\"\n") + phold,
        "wireless-of-rounds" => "[model]\nkind = \"wireless\"\nhosts = 300\nrounds = 5\n".to_owned(),
        "traffic-of-changes" => "[model]\nkind = \"traffic\"\ngrid = 2\n[run]\nuntil = \"1h\"\n\
             [[run.change]]\nat = \"300s\"\nset = \"model.demand\"\nto = 0.5\n"
            .to_owned(),
        "wireless-of-trace" => traced("wireless"),
        "csma-of-trace" => traced("wireless-csma"),
        "study-of-points" => "[study]\nscenario = \"small.toml\"\ndesign = \"sobol\"\npoints = 2\n\
             [stop]\nmetric = \"events\"\nwithin = 0.1\nmost = 20\n\
             [factors]\nmodel.lps = { from = 2, to = 4 }\n"
            .to_owned(),
        "seir-of-file" => {
            "[model]\nkind = \"seir\"\ngraph = \"file\"\npath = \"people.edges\"\nexposed = 1\n".to_owned()
        }
        _ => packets(name.strip_prefix("packets-of-")?)?,
    })
}

/// The keys of a scenario by section, with these changes to it.
pub fn listed(name: &str, changes: &[&str]) -> BTreeMap<String, Vec<Key>> {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(name).map_or(project().join(name), |text| {
        let file = folder.path().join("scenario.toml");
        fs::write(&file, text).unwrap();
        for (name, content) in [
            ("small.toml", "[model]\nkind = \"phold\"\nlps = 2\n[run]\nuntil = \"1s\"\n"),
            ("hosts.movements", "0 0 0 100 50 50\n0 10 10 100 500 500\n"),
            ("net.edges", "a b 1\nb c 1\n"),
            ("people.edges", "1 2\n2 3\n"),
            ("net.xml", packets::PLATFORM),
            ("flows.csv", "start,from,to,bytes\n0,host-0,host-1,1000\n"),
            ("voice.csv", "time,bytes\n0,200\n20ms,200\n"),
            ("sizes.txt", "1000 0\n2000 1\n"),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        file
    });
    let file = file.display().to_string();
    let mut arguments = vec!["check", "--keys", &file];
    changes.iter().for_each(|change| arguments.extend(["--set", change]));
    let output = paceline(&project(), &arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    let text = stdout(&output);
    let (_, keys) = text.split_once("\n\n").expect("the keys stand after what would run");
    let (mut sections, mut section) = (BTreeMap::<String, Vec<Key>>::new(), String::new());
    for line in keys.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("  ") {
            None => line.clone_into(&mut section),
            Some(row) => sections.entry(section.clone()).or_default().push(key(row)),
        }
    }
    sections
}

/// A line of `paceline check --keys`.
fn key(row: &str) -> Key {
    let (name, rest) = row.split_once("  ").expect("a name and what it may hold");
    let rest = rest.trim_start();
    let (allowed, default) = if let Some((allowed, default)) = rest.rsplit_once("; default ") {
        (allowed, format!("`{default}`"))
    } else if let Some(allowed) = rest.strip_suffix("; required") {
        (allowed, "required".to_owned())
    } else {
        (rest, "–".to_owned())
    };
    Key { name: name.to_owned(), allowed: allowed.to_owned(), default }
}

/// The type of a key as tables name it; without what only this scenario has, such as the number of its hosts
/// and their names.
fn type_name(key: &Key) -> String {
    if key.name == "host" {
        return "string".to_owned();
    }
    if key.allowed.ends_with(", the number of hosts") {
        return "whole number".to_owned();
    }
    let short = TYPES.iter().find(|(long, _)| key.allowed.starts_with(long));
    short.map_or(key.allowed.clone(), |(_, short)| (*short).to_owned())
}

/// The names of keys that sources ask a section for, as they stand in calls.
pub fn named_in_sources() -> BTreeMap<String, String> {
    let calls =
        ["optional(", "required(", "or(", "choice(", "file(", "table(", "_within(", "section, ", "db("];
    let (mut folders, mut names) = (vec![project()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("folders of sources can be read") {
            let path = entry.expect("entries can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Those of the lab's own files stand in its chapter.
            let is_of_lab = ["parameters", "parameters.rs", "vectors.rs"];
            let is_other = ["target", "tests", "benches", "examples", "test.rs"];
            if is_other.contains(&&*name) || is_of_lab.contains(&&*name) || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_source = path.extension().is_some_and(|end| end == "rs") && !path.ends_with("section.rs");
            let text = if is_source { fs::read_to_string(&path).expect("UTF-8") } else { continue };
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            if !code.contains("&mut Section") && !code.contains("mut section") {
                continue;
            }
            let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let code = lines.join("\n");
            for (place, _) in code.match_indices('"') {
                let before = code[..place].trim_end_matches([' ', '\n']);
                let before = if before.ends_with(',') { format!("{before} ") } else { before.to_owned() };
                let key = code[place + 1..].split('"').next().unwrap_or_default();
                let is_key =
                    !key.is_empty() && key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
                let is_read = calls.iter().any(|call| {
                    let typed = before.ends_with(">(") && before.rsplit_once("::<").is_some();
                    before.ends_with(call) || typed
                });
                if is_key && is_read {
                    names.insert(key.to_owned(), path.display().to_string());
                }
            }
        }
    }
    names
}
