//! What a key may hold, as error messages say it, in the words of JSON Schema.
//!
//! Invariant: a schema refuses nothing that the reader of the key takes. What takes more than a type to see,
//! such as a range that depends on other keys, is left to the reader.

use serde_json::{Value, json};

/// A number as durations, sizes and rates begin with; space may stand before and behind it.
const NUMBER: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*";

/// The schema of a key; `allowed` is what an error message says of it. For tables: [`is_table`].
pub fn schema(allowed: &str) -> Value {
    let words = quoted(allowed);
    let is = |begin: &str| allowed.starts_with(begin);
    match allowed {
        "true or false" => json!({"type": "boolean"}),
        "a finite number" | "a number" => json!({"type": "number"}),
        _ if is("a whole number from ") => whole(allowed),
        _ if is("a number, or a duration") => any(json!({"type": "number"}), vec![duration()]),
        _ if is("a number above zero") => json!({"anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            text(r"^\s*[0-9]+(\.[0-9]+)?\s*(/\s*[0-9]+(\.[0-9]+)?\s*)?$"),
        ]}),
        _ if is("a duration with its unit") || is("a span of time from ") => duration(),
        _ if is("a size above zero") => json!({"anyOf": size()}),
        _ if is("a rate above zero") => text(&format!("{NUMBER}(bps|[kMGT]bps)\\s*$")),
        _ if is("a fraction from 0 to 1, a range of LPs") => json!({"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}},
        ]}),
        _ if is("a list of whole numbers") => {
            json!({"type": "array", "items": {"type": "integer", "minimum": 0}})
        }
        _ if is("a list of strings") => json!({"type": "array", "items": {"type": "string"}}),
        _ if is("a date of the years") => text(r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        "a string" | "a word" => json!({"type": "string"}),
        _ if is("a file's path") || is("an IPv4 address") || is("an Ethernet address") => {
            json!({"type": "string"})
        }
        _ if is("\"adaptive\", or a duration") => any(json!({"enum": ["adaptive"]}), vec![duration()]),
        _ if is("\"adaptive\", \"off\", a size") => any(json!({"enum": ["adaptive", "off"]}), size()),
        _ if is("\"auto\", \"static:N\" with a whole number N") => {
            let names: Vec<_> = words.into_iter().filter(|word| word != "static:N").collect();
            any(json!({"enum": names}), vec![text("^static:[0-9]+$")])
        }
        _ if is("\"") && listed(&words) == allowed => json!({"enum": words}),
        _ => panic!("no schema says {allowed:?}: a new type of value needs its line here"),
    }
}

/// Whether a key holds a table, or tables.
pub fn is_table(allowed: &str) -> bool {
    ["a table", "tables"].contains(&allowed)
}

fn text(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

fn any(first: Value, others: Vec<Value>) -> Value {
    let all: Vec<Value> = std::iter::once(first).chain(others).collect();
    json!({"anyOf": all})
}

fn duration() -> Value {
    text(&format!("{NUMBER}(ps|ns|us|ms|s|min|h|d)\\s*$"))
}

fn size() -> Vec<Value> {
    vec![json!({"type": "integer", "minimum": 1}), text(&format!("{NUMBER}([kKMGTPE]?i?[bB]?)\\s*$"))]
}

/// A whole number: what is between the ends, as far as they are numbers that do not depend on the scenario.
fn whole(allowed: &str) -> Value {
    let mut ends = allowed.strip_prefix("a whole number from ").unwrap_or_default().split(" to ");
    let least: u64 = ends.next().and_then(|end| end.parse().ok()).expect("a least number");
    let most: Option<u64> = ends.next().and_then(|end| end.parse().ok());
    match most.filter(|most| *most < u64::MAX) {
        Some(most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        None => json!({"type": "integer", "minimum": least}),
    }
}

fn quoted(allowed: &str) -> Vec<String> {
    allowed.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn listed(words: &[String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}
