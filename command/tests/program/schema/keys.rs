//! The keys of each kind of file: what `paceline check --keys` lists for the scenarios that the book names,
//! with the words that the book has for them.
//!
//! Invariants: a key is needed only if every scenario that has its table is refused without it; and every key
//! has a meaning.

use std::collections::BTreeSet;
use std::fs;

use paceline_scenario::Scenario;
use serde_json::Value;

use super::words::{Book, pages};
use crate::book::{keys, project};

/// Tables of packet networks that one reader reads, under the name of the first.
const LINKS: [&str; 8] = ["link", "access", "bottleneck", "trunk", "fabric", "local", "between", "changes"];
/// What links have below them.
const OF_LINKS: [&str; 4] = ["queue", "burst_loss", "jitter", "outages"];
/// Scenarios of the project of which the data is not in it.
const WITHOUT_DATA: [&str; 2] = ["scenarios/anaheim.toml", "scenarios/chicago-sketch.toml"];

/// A key, as all scenarios of a kind have it.
#[derive(Clone, Debug)]
pub struct Known {
    pub name: String,
    /// What it may hold, in the words of error messages, each once.
    pub allowed: Vec<String>,
    /// What holds without it, if that is the same everywhere.
    pub default: Option<Value>,
    /// In how many readings of its table it was needed.
    pub needed: usize,
    pub unit: String,
    pub meaning: String,
}

/// The keys of a section, or of the tables at a key of it, such as `model.flows`.
#[derive(Clone, Debug)]
pub struct Section {
    pub path: String,
    pub keys: Vec<Known>,
    /// How often scenarios were read that have it.
    pub readings: usize,
}

/// A kind of file: a model, or what another command takes.
#[derive(Clone, Debug, Default)]
pub struct FileKind {
    pub name: String,
    pub sections: Vec<Section>,
    /// The sections of which there may be several.
    pub lists: BTreeSet<String>,
    /// How many files of it were read.
    readings: usize,
}

/// The table in which the keys of `path` are found.
pub fn canonical(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    match parts[..] {
        [top @ ("model" | "network"), link, ref rest @ ..] if LINKS.contains(&link) => {
            // A change has keys of its own beside those of a link.
            let is_change = link == "changes" && rest.is_empty();
            let link = if is_change { "changes" } else { "link" };
            [&[top, link], rest].concat().join(".")
        }
        // That of links without one of their own.
        [top @ ("model" | "network"), of_link, ref rest @ ..] if OF_LINKS.contains(&of_link) => {
            [&[top, "link", of_link], rest].concat().join(".")
        }
        ["dom0", "settings"] => "domain.settings".to_owned(),
        _ => path.to_owned(),
    }
}

/// Which kind of file this is.
pub fn kind_of(given: &Value) -> String {
    let has = |section: &str| given.get(section).is_some();
    match &given["model"]["kind"] {
        _ if has("study") => "study".to_owned(),
        _ if has("machine") => "machine".to_owned(),
        _ if has("guest") || has("network") && !has("model") => "emulate".to_owned(),
        kind => kind.as_str().unwrap_or_default().to_owned(),
    }
}

/// A scenario as a value, as TOML has it.
pub fn value(name: &str, text: &str) -> Value {
    let scenario = Scenario::parse(name, text, &project(), &[]).expect("TOML");
    serde_json::to_value(scenario.given()).expect("it can be written")
}

/// A scenario of which the keys are those of its kind.
#[derive(Debug)]
pub struct Probe {
    pub name: String,
    pub text: String,
    /// What `--set` changes in it.
    changes: Vec<String>,
}

/// The scenarios that the book names, and those of the project.
pub fn probes() -> Vec<Probe> {
    let mut names: Vec<String> = Vec::new();
    for page in pages() {
        for marker in page.lines().filter_map(|line| line.strip_prefix("<!-- keys of ")) {
            let (_, named) = marker.trim_end_matches(" -->").split_once(": ").expect("a section");
            let named = named.replace(" but not ", "; ").replace(" & ", "; ");
            names.extend(named.split("; ").map(str::to_owned));
        }
    }
    for folder in ["scenarios", "scenarios/studies"] {
        for entry in fs::read_dir(project().join(folder)).expect("scenarios") {
            let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
            names.extend(name.strip_suffix(".toml").map(|_| format!("{folder}/{name}")));
        }
    }
    names.sort();
    names.dedup();
    let probe = |words: String| {
        let mut words = words.split(' ').map(str::to_owned);
        let name = words.next().expect("a name");
        let text = keys::scenario(&name);
        let text = text.unwrap_or_else(|| fs::read_to_string(project().join(&name)).expect("a scenario"));
        Probe { name, text, changes: words.collect() }
    };
    names.into_iter().map(probe).collect()
}

/// All kinds of files, in the order of the alphabet.
pub fn kinds() -> Vec<FileKind> {
    let (mut kinds, mut givens): (Vec<FileKind>, Vec<(usize, Value)>) = (Vec::new(), Vec::new());
    for Probe { name, text, changes } in probes() {
        if WITHOUT_DATA.contains(&&*name) {
            continue;
        }
        let given = value(&name, &text);
        let kind = kind_of(&given);
        let place = kinds.iter().position(|known| known.name == kind).unwrap_or_else(|| {
            kinds.push(FileKind { name: kind.clone(), ..FileKind::default() });
            kinds.len() - 1
        });
        let lists = given.as_object().into_iter().flatten().filter(|(_, section)| section.is_array());
        kinds[place].lists.extend(lists.map(|(name, _)| name.clone()));
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        kinds[place].add(&name, &changes);
        if name == "machine-of-hog" {
            kinds[place].add_policies();
        }
        givens.push((place, given));
    }
    for (place, given) in &givens {
        for (name, section) in given.as_object().into_iter().flatten() {
            kinds[*place].allow_what_lacks(name, section);
        }
    }
    kinds.sort_by(|one, other| one.name.cmp(&other.name));
    let packets = kinds.iter().find(|kind| kind.name == "packets").expect("it is a kind").clone();
    let emulation = kinds.iter_mut().find(|kind| kind.name == "emulate").expect("it is a kind");
    emulation.may_have_network_of(&packets);
    kinds.iter_mut().for_each(FileKind::let_classes_be_queues);
    let book = Book::read();
    kinds.iter_mut().for_each(|kind| book.explain(kind));
    kinds
}

impl FileKind {
    /// The keys of a table.
    pub fn section(&self, path: &str) -> Option<&Section> {
        let path = canonical(path);
        self.sections.iter().find(|section| section.path == path)
    }

    /// Whether a file without the section is refused.
    pub fn needs(&self, section: &Section) -> bool {
        section.readings == self.readings && section.keys.iter().any(|key| key.needed == section.readings)
    }

    fn add(&mut self, name: &str, changes: &[&str]) {
        self.readings += 1;
        for (path, listed) in keys::listed(name, changes) {
            // The factors of a study have the names of other files' keys.
            if path.starts_with("factors.") || path == "factors" || path == "set" {
                continue;
            }
            let section = self.section_mut(&canonical(&path));
            section.readings += 1;
            for key in listed {
                section.add(&key);
            }
        }
    }

    fn section_mut(&mut self, path: &str) -> &mut Section {
        let place = self.sections.iter().position(|section| section.path == path).unwrap_or_else(|| {
            self.sections.push(Section { path: path.to_owned(), keys: Vec::new(), readings: 0 });
            self.sections.len() - 1
        });
        &mut self.sections[place]
    }

    /// The settings of all policies, also those that a word among others makes them read.
    fn add_policies(&mut self) {
        for policy in keys::policy_names() {
            let kind = format!("policy.kind={policy}");
            self.add("machine-of-hog", &[&kind]);
            let settings = keys::listed("machine-of-hog", &[&kind]).remove("policy").unwrap_or_default();
            for key in settings.iter().filter(|key| key.name != "kind") {
                for word in key.allowed.split(", ").filter(|word| word.starts_with('"')) {
                    let change = format!("policy.{}={}", key.name, word.trim_matches('"'));
                    self.add("machine-of-hog", &[&kind, &change]);
                }
            }
        }
    }

    /// A key that one of several tables lacks is not needed in each, though it was needed in another.
    fn allow_what_lacks(&mut self, path: &str, value: &Value) {
        for table in value.as_array().into_iter().flatten() {
            self.allow_what_lacks(path, table);
        }
        let Some(table) = value.as_object() else { return };
        let path = canonical(path);
        if let Some(section) = self.sections.iter_mut().find(|section| section.path == path) {
            for key in section.keys.iter_mut().filter(|key| !table.contains_key(&key.name)) {
                key.needed = 0;
            }
        }
        for (key, value) in table {
            self.allow_what_lacks(&format!("{path}.{key}"), value);
        }
    }

    /// Lets `[network]` be one of `topology`, as `[model]` of a packet network is.
    fn may_have_network_of(&mut self, packets: &Self) {
        let of_model = |section: &&Section| section.path == "model" || section.path.starts_with("model.");
        for section in packets.sections.iter().filter(of_model) {
            let mut keys = section.keys.clone();
            if section.path == "model" {
                keys.retain(|key| key.name != "kind");
                keys.iter_mut().for_each(|key| key.needed = 0);
            }
            let path = section.path.replacen("model", "network", 1);
            let (readings, own) = (section.readings, self.section_mut(&path));
            let is_new = own.readings == 0;
            for mut key in keys {
                if own.keys.iter().all(|known| known.name != key.name) {
                    // What this kind has not seen without the key may do without it.
                    key.needed = if is_new { key.needed } else { 0 };
                    own.keys.push(key);
                }
            }
            own.readings = if is_new { readings } else { own.readings };
        }
    }

    /// Each class of a queue with classes is a queue.
    fn let_classes_be_queues(&mut self) {
        for top in ["model", "network"] {
            let queue = self.section(&format!("{top}.link.queue")).cloned();
            let has_classes = self.section(&format!("{top}.link.queue.classes")).is_some();
            if let Some(queue) = queue.filter(|_| has_classes) {
                let classes = self.section_mut(&format!("{top}.link.queue.classes"));
                for key in queue.keys.into_iter().filter(|key| key.name != "classes") {
                    if classes.keys.iter().all(|known| known.name != key.name) {
                        classes.keys.push(Known { needed: 0, ..key });
                    }
                }
            }
        }
    }
}

impl Section {
    fn add(&mut self, key: &keys::Key) {
        // Tables for single policies are no keys: they have the names of policies.
        let is_of_policies = self.path == "policy" || self.path.ends_with("settings");
        if is_of_policies && key.allowed == "a table" {
            return;
        }
        let needed = usize::from(key.default == "required");
        // Names of hosts are those of the scenario.
        let allowed = if key.name == "host" { "a string" } else { &key.allowed };
        let written = key.default.trim_matches('`');
        let default = serde_json::from_str(written).ok().filter(|_| key.name != "host");
        match self.keys.iter_mut().find(|known| known.name == key.name) {
            None => self.keys.push(Known {
                name: key.name.clone(),
                allowed: vec![allowed.to_owned()],
                default,
                needed,
                unit: String::new(),
                meaning: String::new(),
            }),
            Some(known) => {
                known.needed += needed;
                if known.default != default {
                    known.default = None;
                }
                if !known.allowed.iter().any(|other| other == allowed) {
                    known.allowed.push(allowed.to_owned());
                }
            }
        }
    }
}
