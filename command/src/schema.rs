//! `paceline schema`: JSON Schema of scenarios and studies, by which editors complete and check them.
//!
//! Invariant: the schema is made of what the readers of scenarios ask for; a test of the program makes it
//! again and compares (`command/tests/program/schema.rs`).

use std::collections::BTreeSet;

use clap::Args;
use clap::builder::PossibleValuesParser;
use paceline_app::failure::CommandError;
use paceline_app::stdout;
use serde_json::{Map, Value, json};

use crate::models::PROGRAM;

/// The schema of all files; those of its definitions that have the names of kinds are of a kind alone.
const ALL: &str = include_str!("schema/all.json");
/// What files are of that are no scenarios of a model.
const OTHERS: [&str; 3] = ["machine", "emulate", "study"];

pub const SCHEMA_EXAMPLES: &str = "\
An editor with a language server for TOML, such as taplo, takes the schema of a file from its
first line: `#:schema ./traffic.schema.json`.

Examples:
  paceline schema traffic > traffic.schema.json
  paceline schema study > study.schema.json
  paceline schema > paceline.schema.json";

/// The arguments of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArguments {
    /// The model of the scenarios, or the command that takes the files: machine, emulate, study. Without it
    /// the schema is of all
    #[arg(value_name = "MODEL", value_parser = PossibleValuesParser::new(names()))]
    pub model: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    PROGRAM.kinds.iter().map(|kind| kind.name).chain(OTHERS)
}

/// Prints the schema of a kind of file, or that of all.
pub fn schema(arguments: &SchemaArguments) -> Result<(), CommandError> {
    match &arguments.model {
        None => stdout::print(ALL),
        Some(name) => stdout::print(&format!("{:#}\n", of_kind(name))),
    }
}

/// The schema of a kind, with the definitions that it refers to.
fn of_kind(name: &str) -> Value {
    let all: Value = serde_json::from_str(ALL).expect("a test compares the file");
    let definitions = &all["$defs"];
    let (mut names, mut found) = (BTreeSet::new(), vec![&definitions[name]]);
    while let Some(schema) = found.pop() {
        for name in references(schema) {
            if names.insert(name) {
                found.push(&definitions[name]);
            }
        }
    }
    let needed = names.iter().map(|name| ((*name).to_owned(), definitions[name].clone()));
    let needed: Map<String, Value> = needed.collect();
    let mut schema = json!({"$schema": all["$schema"], "$comment": all["$comment"]});
    let keywords = definitions[name].as_object().into_iter().flatten();
    keywords.for_each(|(keyword, value)| schema[keyword] = value.clone());
    schema["$defs"] = Value::Object(needed);
    schema
}

/// The names of definitions that a schema refers to.
fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(keywords) => {
            let reference = keywords.get("$ref").and_then(Value::as_str);
            let here = reference.and_then(|reference| reference.strip_prefix("#/$defs/"));
            here.into_iter().chain(keywords.values().flat_map(references)).collect()
        }
        Value::Array(schemas) => schemas.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
