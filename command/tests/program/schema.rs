//! JSON Schema of scenarios and studies: `command/src/schema/all.json`, which `paceline schema` prints, is
//! made of what `paceline check --keys` lists, as the tables of the book are, and of their words.
//!
//! Properties: every scenario of the project fits the schema of its kind and that of all; what the schema
//! refuses, the program refuses.
//!
//! With `PACELINE_WRITE_BOOK=1` the file is written anew, after the tables of the book:
//! `PACELINE_WRITE_BOOK=1 cargo test --workspace --test program schema::`.

mod keys;
mod types;
mod validator;
mod words;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::book::{project, writes};
use crate::{folder_of, paceline, stderr, stdout};
use keys::{FileKind, Known, Section};
use validator::{mistakes, referred};

const FILE: &str = "command/src/schema/all.json";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// What a factor of a study may be.
const FACTORS: &str = "study.factors";

/// The definitions of a schema, each once, whatever its name.
#[derive(Default)]
struct Definitions(Map<String, Value>);

impl Definitions {
    /// A reference to `schema`, which has this name unless another definition is equal.
    fn refer(&mut self, name: &str, schema: Value) -> Value {
        let same = self.0.iter().find(|(_, known)| **known == schema).map(|(name, _)| name.clone());
        let name = same.unwrap_or_else(|| {
            let before = self.0.insert(name.to_owned(), schema);
            assert!(before.is_none(), "{name} is defined twice");
            name.to_owned()
        });
        json!({"$ref": format!("#/$defs/{name}")})
    }

    /// The keys of a table of a kind of file.
    fn table(&mut self, kind: &FileKind, section: &Section) -> Value {
        let mut properties = Map::new();
        for key in &section.keys {
            properties.insert(key.name.clone(), self.key(kind, section, key));
        }
        if (&*kind.name, &*section.path) != ("machine", "model") && section.path == "model" {
            properties["kind"]["enum"] = json!([kind.name]);
        }
        let needed = section.keys.iter().filter(|key| key.needed == section.readings);
        let needed: Vec<_> = needed.map(|key| key.name.clone()).collect();
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !needed.is_empty() {
            schema["required"] = json!(needed);
        }
        if ["policy", "domain.settings"].contains(&&*section.path) {
            // A table with the names of policies has settings for these alone.
            let names = crate::book::keys::policy_names().join("|");
            let of_policies = format!("^({names})([ ,]+({names}))*$");
            schema["patternProperties"] = json!({of_policies: {"type": "object"}});
        }
        self.refer(&format!("{}.{}", kind.name, section.path), schema)
    }

    fn key(&mut self, kind: &FileKind, section: &Section, key: &Known) -> Value {
        let below = kind.section(&format!("{}.{}", section.path, key.name));
        let below = below.map(|below| self.table(kind, below)).unwrap_or(json!({"type": "object"}));
        let has_table = key.allowed.iter().any(|allowed| types::is_table(allowed));
        let mut choices: Vec<Value> = Vec::new();
        for allowed in &key.allowed {
            choices.extend(match &**allowed {
                "a table" => vec![below.clone()],
                "tables" => tables(&below),
                allowed => vec![types::schema(allowed)],
            });
        }
        if !has_table && below.get("$ref").is_some() {
            choices.extend(tables(&below));
        }
        let mut different: Vec<Value> = Vec::new();
        for choice in choices {
            if !different.contains(&choice) {
                different.push(choice);
            }
        }
        let mut schema = Map::new();
        schema.insert("description".to_owned(), description(section, key).into());
        if let Some(default) = &key.default {
            schema.insert("default".to_owned(), default.clone());
        }
        match &different[..] {
            [Value::Object(only)] => schema.extend(only.clone()),
            several => drop(schema.insert("anyOf".to_owned(), json!(several))),
        }
        schema.into()
    }

    /// A kind of file: its sections.
    fn file(&mut self, kind: &FileKind, about: &str) -> Value {
        let (mut sections, mut needed) = (Map::new(), Vec::new());
        for section in kind.sections.iter().filter(|section| !section.path.contains('.')) {
            let one = match &*section.path {
                // The guests of a machine may run these.
                "model" if kind.name == "machine" => {
                    json!({"anyOf": [{"$ref": "#/$defs/phold.model"}, {"$ref": "#/$defs/traffic.model"}]})
                }
                _ => self.table(kind, section),
            };
            let schema =
                if kind.lists.contains(&section.path) { json!({"anyOf": tables(&one)}) } else { one };
            sections.insert(section.path.clone(), schema);
            if kind.needs(section) {
                needed.push(section.path.clone());
            }
        }
        if kind.name == "study" {
            sections.insert("factors".to_owned(), json!({"$ref": format!("#/$defs/{FACTORS}")}));
            sections.insert("set".to_owned(), json!({
                "type": "object",
                "description": "keys of the scenario that have another value in all runs, such as run.until",
            }));
        }
        let mut schema = json!({
            "title": format!("{}: {about}", kind.name), "type": "object",
            "properties": sections, "additionalProperties": false,
        });
        if !needed.is_empty() {
            schema["required"] = json!(needed);
        }
        schema
    }
}

/// One table, or several.
fn tables(table: &Value) -> Vec<Value> {
    vec![table.clone(), json!({"type": "array", "minItems": 1, "items": table})]
}

/// What a person sees of a key: its meaning, what it may hold, its unit and what holds without it.
fn description(section: &Section, key: &Known) -> String {
    let mut facts = key.allowed.clone();
    facts.extend((!key.unit.is_empty()).then(|| format!("unit: {}", key.unit)));
    if key.needed == section.readings {
        facts.push("required".to_owned());
    }
    facts.extend(key.default.as_ref().map(|default| format!("default {default}")));
    format!("{}\n\n{}", key.meaning, facts.join("; "))
}

/// The factors of a study: values of keys of the scenario, as lists or ranges, by dotted keys or quoted ones.
fn factors() -> Value {
    let value = json!({"type": "array", "minItems": 1});
    let range = json!({
        "type": "object",
        "properties": {
            "from": {"description": "the first value"},
            "to": {"description": "the last value, or an upper bound where there is a step"},
            "step": {"description": "the distance of values"},
            "count": {"description": "how many values, at equal distances", "type": "integer", "minimum": 1},
        },
        "required": ["from", "to"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "description": "keys of the scenario that vary, such as model.cycle, each with a list of values or a range",
        "additionalProperties": {"anyOf": [value, range, {"$ref": format!("#/$defs/{FACTORS}")}]},
    })
}

/// The schema of all files, made of what the code reads.
fn made() -> Value {
    let listed = stdout(&paceline(&project(), &["list"]));
    let about = |name: &str| match name {
        "machine" => "a simulated machine, for paceline machine",
        "emulate" => "real machines on a packet network, for paceline emulate",
        "study" => "a scenario at many points, for paceline study",
        model => {
            let row = listed.lines().find(|line| line.trim_start().starts_with(&format!("{model} ")));
            row.and_then(|row| row.trim_start().split_once(' ')).expect("a model is listed").1.trim()
        }
    };
    let kinds = keys::kinds();
    let mut definitions = Definitions::default();
    let mut files = Vec::new();
    // PHOLD first: that its definitions have its name is expected by machines.
    let (first, others): (Vec<_>, Vec<_>) = kinds.iter().partition(|kind| kind.name == "phold");
    let (traffic, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|kind| kind.name == "traffic");
    for kind in first.into_iter().chain(traffic).chain(others) {
        files.push((kind.name.clone(), definitions.file(kind, about(&kind.name))));
    }
    definitions.0.insert(FACTORS.to_owned(), factors());
    let mut models = Vec::new();
    let mut rules = Vec::new();
    for (name, schema) in files {
        let of_command = ["study", "machine", "emulate"].contains(&&*name);
        let which = match &*name {
            "study" => json!({"required": ["study"]}),
            "machine" => json!({"required": ["machine"]}),
            "emulate" => json!({"anyOf": [
                {"required": ["guest"]},
                {"required": ["network"], "properties": {"model": false, "machine": false}},
            ]}),
            model => json!({
                "required": ["model"],
                "properties": {
                    "model": {
                        "type": "object", "required": ["kind"], "properties": {"kind": {"const": model}},
                    },
                    "machine": false, "study": false, "guest": false,
                },
            }),
        };
        models.extend((!of_command).then(|| name.clone()));
        rules.push(json!({"if": which, "then": {"$ref": format!("#/$defs/{name}")}}));
        definitions.0.insert(name, schema);
    }
    let one_of: Vec<_> =
        ["model", "machine", "guest", "network", "study"].map(|name| json!({"required": [name]})).into();
    json!({
        "$schema": DIALECT,
        "$comment": "made of what the code reads, by the tests schema:: of the program",
        "title": "Scenarios and studies of Paceline",
        "type": "object",
        "properties": {"model": {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": models}}}},
        "anyOf": one_of,
        "allOf": rules,
        "$defs": definitions.0,
    })
}

/// What `paceline schema` prints.
fn printed(arguments: &[&str]) -> Value {
    let output = paceline(Path::new("."), &[&["schema"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_schema_is_what_the_code_reads() {
    let path = project().join(FILE);
    let text = format!("{:#}\n", made());
    let there = fs::read_to_string(&path).unwrap_or_default();
    if there == text {
        return;
    }
    if writes() {
        fs::write(&path, &text).unwrap();
    }
    let pair = there.lines().zip(text.lines()).find(|(there, made)| there != made);
    panic!(
        "{FILE} is of other keys: the first difference is {pair:#?}; PACELINE_WRITE_BOOK=1 writes it anew"
    );
}

#[test]
fn every_scenario_fits_the_schema_of_its_kind_and_that_of_all() {
    let all = printed(&[]);
    let mut files: Vec<(String, String)> =
        keys::probes().into_iter().map(|probe| (probe.name, probe.text)).collect();
    let starts = project().join("command/src/init/start");
    for entry in fs::read_dir(starts).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Those for programs with one model of their own name none.
        let is_scenario =
            name.strip_suffix(".toml").is_some_and(|name| !["manifest", "lps", "processes"].contains(&name));
        files.extend(is_scenario.then(|| (name, fs::read_to_string(&path).unwrap())));
    }
    assert!(files.len() > 100, "only {} scenarios", files.len());
    let mut wrong = Vec::new();
    let mut of_kinds: Map<String, Value> = Map::new();
    for (name, text) in files {
        let value = keys::value(&name, &text);
        let kind = keys::kind_of(&value);
        let schema = of_kinds.entry(kind.clone()).or_insert_with(|| printed(&[&kind]));
        for problem in mistakes(&all, &value).into_iter().chain(mistakes(schema, &value)) {
            wrong.push(format!("{name}: {problem}"));
        }
    }
    assert_eq!(of_kinds.len(), 17, "kinds of files: {:?}", of_kinds.keys());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Scenarios that can run, and what spoils each: a text in the place of another.
const MISTAKES: [(&str, &str, &str); 24] = [
    ("phold", "lps = 8", "lsp = 8"),
    ("phold", "lps = 8", ""),
    ("phold", "lps = 8", "lps = \"8\""),
    ("phold", "lps = 8", "lps = -8"),
    ("phold", "lps = 8", "lps = 4294967296"),
    ("phold", "lookahead = \"1s\"", "lookahead = 1"),
    ("phold", "lookahead = \"1s\"", "lookahead = \"1 parsec\""),
    ("phold", "lookahead = \"1s\"", "lookahead = \".5s\""),
    ("phold", "destination = \"any\"", "destination = \"nobody\""),
    ("phold", "destination = \"any\"", "remote = true"),
    ("phold", "kind = \"phold\"", "kind = \"fold\""),
    ("phold", "kind = \"phold\"", ""),
    ("phold", "kind = \"phold\"", "kind = \"chord\""),
    ("phold", "threads = 2", "threads = 4097"),
    ("phold", "threads = 2", "protocol = \"conservative\""),
    ("phold", "threads = 2", "memory = \"5 parsec\""),
    ("phold", "threads = 2", "frame_bytes = \"much\""),
    ("phold", "[run]", "[walk]"),
    ("packets-of-star", "rate = \"1Gbps\"", "rate = \"1Gbit\""),
    ("packets-of-star", "transport = \"udp\"", "transport = \"sctp\""),
    ("packets-of-red", "low = 5", "lower = 5"),
    ("machine-of-hog", "kind = \"credit\"", "kind = \"credti\""),
    ("machine-of-hog", "workload = \"hog\"", "workload = \"pig\""),
    ("machine-of-hog", "pcpus = 4", "pcpus = 4\nsmt = 1"),
];

#[test]
fn what_the_schema_refuses_the_program_refuses() {
    let all = printed(&[]);
    let phold =
        "[model]\nkind = \"phold\"\nlps = 8\nlookahead = \"1s\"\ndestination = \"any\"\n[run]\nthreads = 2\n";
    for (name, right, wrong) in MISTAKES {
        let text = crate::book::keys::scenario(name).unwrap_or_else(|| phold.to_owned());
        assert!(text.contains(right), "{name} has {right}");
        let of_kind = printed(&[&keys::kind_of(&keys::value(name, &text))]);
        for (text, is_wrong) in [(text.clone(), false), (text.replacen(right, wrong, 1), true)] {
            let folder = folder_of(&[("some.toml", &text)]);
            let output = paceline(folder.path(), &["check", "some.toml"]);
            let expected = if is_wrong { Some(2) } else { Some(0) };
            assert_eq!(output.status.code(), expected, "{text}: {}", stderr(&output));
            let value = keys::value(name, &text);
            for schema in [&all, &of_kind] {
                let found = mistakes(schema, &value);
                assert_eq!(!found.is_empty(), is_wrong, "{text}: {found:?}");
            }
        }
    }
}

#[test]
fn a_study_is_refused_by_both_as_well() {
    let study = "[study]\nscenario = \"small.toml\"\nreplications = 2\n[factors]\nmodel.lps = [2, 4]\n";
    let small = "[model]\nkind = \"phold\"\nlps = 2\n[run]\nuntil = \"1s\"\n";
    let schemas = [printed(&[]), printed(&["study"])];
    for (right, wrong) in [
        ("", ""),
        ("replications", "replicas"),
        ("scenario = \"small.toml\"\n", ""),
        ("[2, 4]", "[]"),
        ("[2, 4]", "4"),
        ("[2, 4]", "{ from = 1, step = 1 }"),
        ("[factors]", "goal = \"most\"\n[factors]"),
        ("[factors]", "[stop]\nmetric = \"events\"\nwithin = 0.1\n[factors]"),
    ] {
        let text = study.replacen(right, wrong, 1);
        let folder = folder_of(&[("small.toml", small), ("some.toml", &text)]);
        let output = paceline(folder.path(), &["check", "some.toml"]);
        let is_right = right == wrong;
        assert_eq!(output.status.success(), is_right, "{text}: {}", stderr(&output));
        for schema in &schemas {
            let found = mistakes(schema, &keys::value("some.toml", &text));
            assert_eq!(found.is_empty(), is_right, "{text}: {found:?}");
        }
    }
}

#[test]
fn the_schema_of_a_model_holds_what_it_refers_to_and_no_more() {
    fn visit<'s>(root: &'s Value, schema: &'s Value, found: &mut Vec<&'s str>) {
        match schema {
            Value::Object(keys) => {
                for (key, value) in keys.iter().filter(|(key, _)| *key != "$defs") {
                    let name =
                        value.as_str().filter(|_| key == "$ref").and_then(|name| name.rsplit('/').next());
                    if let Some(name) = name.filter(|name| !found.contains(name)) {
                        found.push(name);
                        visit(root, referred(root, value), found);
                    }
                    visit(root, value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| visit(root, item, found)),
            _ => {}
        }
    }
    for model in ["phold", "packets", "machine", "study"] {
        let schema = printed(&[model]);
        assert_eq!(schema["$schema"], DIALECT);
        let mut found = Vec::new();
        visit(&schema, &schema, &mut found);
        let mut there: Vec<_> = schema["$defs"].as_object().unwrap().keys().map(String::as_str).collect();
        found.sort_unstable();
        there.sort_unstable();
        assert_eq!(found, there, "{model}");
    }
    let refused = paceline(Path::new("."), &["schema", "trafic"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("traffic"), "{}", stderr(&refused));
}
