//! Functions are short: those in `src` folders have at most [`LINES_MAX`] lines.
//!
//! A function is what stands between its line with `fn` and the closing brace with the same indentation, both
//! counted: rustfmt puts them there.

use crate::style::all_sources;

/// The most lines a function may have.
const LINES_MAX: usize = 70;

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
    let mut places = Vec::new();
    for (file, text) in all_sources().into_iter().filter(|(file, _)| file.contains("/src/")) {
        for (name, line, length) in long_functions(&text) {
            places.push(format!("{file}:{line}: `{name}` has {length} lines"));
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
