//! Functions are short: those in `src` folders have at most [`LINES_MAX`] lines, but for a list that may only
//! shrink.
//!
//! A function is what stands between its line with `fn` and the closing brace with the same indentation, both
//! counted: rustfmt puts them there.

use crate::style::all_sources;

/// The most lines a function may have.
const LINES_MAX: usize = 70;

/// The functions that are still longer, by file.
const STILL_LONG: &[(&str, &[&str])] = &[
    ("lab/experiments/src/artis/heaps.rs", &["judge"]),
    ("lab/experiments/src/artis/queues.rs", &["judge"]),
    ("lab/experiments/src/artis/runtimes.rs", &["judge"]),
    ("lab/experiments/src/psx/scaling.rs", &["judge"]),
    ("lab/experiments/src/sg/rounds.rs", &["judge_times"]),
    ("simulation/engine/src/protocols/optimistic.rs", &["turn"]),
    ("simulation/engine/src/protocols/optimistic/finish.rs", &["finish"]),
    ("simulation/engine/src/peers/net/codec.rs", &["read"]),
    ("simulation/engine/src/run/build.rs", &["build"]),
    ("simulation/engine/src/run/end.rs", &["finish"]),
    ("simulation/kernel/src/federate/batch.rs", &["run_lp"]),
    ("simulation/kernel/src/federate/warp/ahead.rs", &["run"]),
    ("simulation/processes/src/simulation/run.rs", &["rounds"]),
    ("simulation/transport/src/marshal/test.rs", &["what_is_added_goes_once_in_order_unless_withdrawn"]),
    ("simulation/transport/src/rendezvous/coordinator.rs", &["begin"]),
];

/// The functions of a source that are too long: name, first line and number of lines. A function inside
/// another one counts by itself as well.
fn long_functions(text: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        // A function of one line, or one without a body, ends where it begins.
        let is_one_line = line.ends_with(';') || line.ends_with('}');
        let length = match lines[first..].iter().position(|line| *line == end) {
            Some(last) if !is_one_line => last + 1,
            _ => 1,
        };
        if length > LINES_MAX {
            found.push((name.to_owned(), first + 1, length));
        }
    }
    found
}

/// The name of the function that a line begins, if it begins one.
fn function_name(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let (before, after) = words.split_once("fn ")?;
    let is_head = before.split_whitespace().all(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
    });
    let end = after.find(|sign: char| !sign.is_alphanumeric() && sign != '_')?;
    (is_head && end > 0).then(|| &after[..end])
}

#[test]
fn functions_are_short() {
    let sources = all_sources();
    let mut places = Vec::new();
    for (file, _) in STILL_LONG {
        if !sources.iter().any(|(source, _)| source == file) {
            places.push(format!("{file} is not there: take it out of the list of this test"));
        }
    }
    for (file, text) in sources.into_iter().filter(|(file, _)| file.contains("/src/")) {
        let listed = STILL_LONG.iter().find(|(name, _)| *name == file).map_or(&[][..], |(_, list)| list);
        let found = long_functions(&text);
        for (name, line, length) in &found {
            if !listed.contains(&name.as_str()) {
                places.push(format!("{file}:{line}: `{name}` has {length} lines"));
            }
        }
        for name in listed.iter().filter(|name| !found.iter().any(|(other, ..)| other == *name)) {
            places.push(format!("{file}: `{name}` is short now: take it out of the list of this test"));
        }
    }
    assert!(places.is_empty(), "a function has at most {LINES_MAX} lines:\n{}", places.join("\n"));
}

#[test]
fn the_length_of_a_function_is_that_from_its_head_to_its_brace() {
    let body = |lines: usize| "    let _ = 1;\n".repeat(lines);
    let text = format!(
        "pub(crate) fn long(\n    one: u32,\n) -> u32 {{\n{}}}\n\nfn short() {{\n{}}}\n\ntrait Named {{\n    fn name();\n}}\n",
        body(LINES_MAX),
        body(LINES_MAX - 2),
    );
    assert_eq!(long_functions(&text), [("long".to_owned(), 1, LINES_MAX + 4)]);
}
