//! A check of a value by a JSON Schema, for the keywords that ours have.
//!
//! Invariant: a keyword that is not known here is a panic: no schema says what is not checked.

use regex_lite::Regex;
use serde_json::{Map, Value};

/// Words that say nothing of which values are allowed.
const ANNOTATIONS: [&str; 7] = ["$schema", "$comment", "$defs", "title", "description", "default", "then"];

/// What is wrong with a value, each with its place; nothing where it is allowed. References are those of
/// `root`.
pub fn mistakes(root: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(root, root, value, "", &mut found);
    found
}

fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut found = Vec::new();
    look(root, schema, value, "", &mut found);
    found.is_empty()
}

fn look(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let keywords = match schema {
        Value::Bool(true) => return,
        Value::Bool(false) => return found.push(format!("{place}: nothing is allowed here")),
        Value::Object(keywords) => keywords,
        other => panic!("{other} is no schema"),
    };
    for (keyword, wanted) in keywords {
        if let Some(problem) = in_table(root, keywords, (keyword, wanted), value, place, found) {
            if !problem {
                found.push(format!("{place}: {value} is refused by {keyword}: {wanted}"));
            }
            continue;
        }
        let number = |wanted: &Value| (value.as_f64(), wanted.as_f64().expect("a number"));
        let is_allowed = match keyword.as_str() {
            "$ref" => {
                look(root, referred(root, wanted), value, place, found);
                true
            }
            "type" => is_of_type(value, wanted.as_str().expect("one type")),
            "enum" => wanted.as_array().expect("a list").contains(value),
            "const" => wanted == value,
            "minimum" => !matches!(number(wanted), (Some(number), least) if number < least),
            "maximum" => !matches!(number(wanted), (Some(number), most) if number > most),
            "exclusiveMinimum" => !matches!(number(wanted), (Some(number), least) if number <= least),
            "pattern" => value.as_str().is_none_or(|text| is_match(wanted, text)),
            "anyOf" => alternatives(wanted).iter().any(|schema| fits(root, schema, value)),
            "allOf" => {
                alternatives(wanted).iter().for_each(|schema| look(root, schema, value, place, found));
                true
            }
            "if" => {
                if fits(root, wanted, value) {
                    look(root, &keywords["then"], value, place, found);
                }
                true
            }
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            "items" => {
                for (item, number) in value.as_array().into_iter().flatten().zip(0..) {
                    look(root, wanted, item, &format!("{place}[{number}]"), found);
                }
                true
            }
            word if ANNOTATIONS.contains(&word) => true,
            word => panic!("the keyword {word:?} is not checked here"),
        };
        if !is_allowed {
            found.push(format!("{place}: {value} is refused by {keyword}: {wanted}"));
        }
    }
}

/// Whether a keyword of tables allows the value; none if it is another keyword. What is wrong with a key's
/// value is `found` there.
fn in_table(
    root: &Value,
    keywords: &Map<String, Value>,
    (keyword, wanted): (&str, &Value),
    value: &Value,
    place: &str,
    found: &mut Vec<String>,
) -> Option<bool> {
    let table = value.as_object();
    let patterns = || keywords.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    let is_named = |key: &String| {
        keywords.get("properties").is_some_and(|properties| properties.get(key).is_some())
            || patterns().any(|(pattern, _)| is_match(&pattern.as_str().into(), key))
    };
    match keyword {
        "required" => {
            let mut keys = wanted.as_array().expect("a list of keys").iter().filter_map(Value::as_str);
            return Some(table.is_none_or(|table| keys.all(|key| table.contains_key(key))));
        }
        "properties" => {
            for (key, value) in table.into_iter().flatten() {
                if let Some(schema) = wanted.get(key) {
                    look(root, schema, value, &format!("{place}.{key}"), found);
                }
            }
        }
        "patternProperties" => {
            for (key, value) in table.into_iter().flatten() {
                for (_, schema) in patterns().filter(|(pattern, _)| is_match(&pattern.as_str().into(), key)) {
                    look(root, schema, value, &format!("{place}.{key}"), found);
                }
            }
        }
        "additionalProperties" => {
            for (key, value) in table.into_iter().flatten().filter(|(key, _)| !is_named(key)) {
                look(root, wanted, value, &format!("{place}.{key}"), found);
            }
        }
        _ => return None,
    }
    Some(true)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type {other:?} is not known here"),
    }
}

fn is_match(pattern: &Value, text: &str) -> bool {
    Regex::new(pattern.as_str().expect("a text")).expect("a pattern").is_match(text)
}

fn alternatives(schemas: &Value) -> &[Value] {
    schemas.as_array().expect("a list of schemas")
}

/// What `$ref` refers to.
pub fn referred<'r>(root: &'r Value, reference: &Value) -> &'r Value {
    let name = reference.as_str().and_then(|text| text.strip_prefix("#/$defs/")).expect("a definition");
    root["$defs"].get(name).unwrap_or_else(|| panic!("there is no definition {name}"))
}
