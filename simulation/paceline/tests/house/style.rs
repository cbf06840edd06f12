//! Tests of style: what every source file must have and may not have.
//!
//! A file that breaks a rule is named with the line, all of them at once.

use std::fs;

use crate::project::{WINGS, root};

/// The most lines a source file may have.
const LINES_MAX: usize = 400;
/// The most characters a line of a comment may have.
const COMMENT_MAX: usize = 110;

/// Every Rust file below `folder`, build results excepted, as (path from the root, text), sorted.
pub fn sources(folder: &str) -> Vec<(String, String)> {
    let (root, mut open, mut found) = (root(), vec![root().join(folder)], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("source folders can be read") {
            let path = entry.expect("folder entries can be read").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).expect("found below the root").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("sources are UTF-8")));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no sources below {folder}");
    found
}

/// Every Rust file of the project, as (path from the root, text).
pub fn all_sources() -> Vec<(String, String)> {
    WINGS.into_iter().chain(["fuzz"]).flat_map(sources).collect()
}

/// The places in `sources` where a line of code, comments cut off, holds one of `words`.
fn code_with(sources: &[(String, String)], words: &[&str]) -> Vec<String> {
    lines_with(sources, words, |line| line.split("//").next().unwrap_or_default())
}

/// The places in `sources` where `part` of a line holds one of `words`.
fn lines_with(sources: &[(String, String)], words: &[&str], part: fn(&str) -> &str) -> Vec<String> {
    let mut places = Vec::new();
    for (name, text) in sources {
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| part(line).contains(**word)) {
                places.push(format!("{name}:{}: {word}", number + 1));
            }
        }
    }
    places
}

#[track_caller]
fn assert_none(rule: &str, places: &[String]) {
    assert!(places.is_empty(), "{rule}:\n{}", places.join("\n"));
}

#[test]
fn files_open_with_their_purpose() {
    let silent = all_sources().into_iter().filter(|(_, text)| !text.starts_with("//! "));
    assert_none(
        "a file opens with `//!` and what it is for",
        &silent.map(|(name, _)| name).collect::<Vec<_>>(),
    );
}

#[test]
fn files_are_short() {
    let long = all_sources().into_iter().filter(|(_, text)| text.lines().count() > LINES_MAX);
    let rule = format!("a file has at most {LINES_MAX} lines");
    assert_none(&rule, &long.map(|(name, _)| name).collect::<Vec<_>>());
}

/// The comments of `text` that are too long, by line. Tables, addresses and examples are not broken.
fn long_comments(text: &str) -> Vec<usize> {
    let (mut example, mut found) = (false, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            // An example may go on in a file that is included.
            example &= line.contains("include_str!");
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            example = !example;
        }
        let is_whole = example || comment.starts_with('|') || comment.contains("https://");
        if !is_whole && line.chars().count() > COMMENT_MAX {
            found.push(number + 1);
        }
    }
    found
}

#[test]
fn comments_are_wrapped() {
    let places = all_sources()
        .into_iter()
        .flat_map(|(name, text)| long_comments(&text).into_iter().map(move |line| format!("{name}:{line}")));
    let rule = format!("a comment has at most {COMMENT_MAX} columns");
    assert_none(&rule, &places.collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_unfinished_or_switched_off() {
    // Written in two parts, so that this file does not hold them.
    let words = [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["todo", "!("],
        ["unimplemented", "!("],
        ["#[ig", "nore"],
        ["dead", "_code)"],
    ];
    let words = words.map(|[head, tail]| format!("{head}{tail}"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_none("what is there is finished", &lines_with(&all_sources(), &words, |line| line));
}

/// The core of processes is a file and the folder beside it.
fn core_of_processes() -> Vec<(String, String)> {
    let mut all = sources("simulation/processes/src");
    all.retain(|(name, _)| name.starts_with("simulation/processes/src/core"));
    all
}

#[test]
fn pure_cores_know_no_outside_world() {
    let outside = ["std::thread", "std::net", "std::fs", "std::io", "std::env", "std::time"];
    assert_none("the kernel is pure", &code_with(&sources("simulation/kernel/src"), &outside));
    let core = core_of_processes();
    assert!(core.len() > 20, "the core of processes is where it is looked for");
    assert_none("the core of processes is pure", &code_with(&core, &outside));
    // It knows nothing of what drives it, so that it can be driven otherwise.
    let beyond = core.iter().map(|(name, text)| (name.clone(), text.replace("crate::core::", "")));
    let beyond = code_with(&beyond.collect::<Vec<_>>(), &["crate::"]);
    assert_none("the core of processes uses only itself", &beyond);
}

#[test]
fn nothing_iterates_in_hash_order() {
    let libraries = all_sources().into_iter().filter(|(name, _)| name.contains("/src/")).collect::<Vec<_>>();
    assert_none("maps are ordered", &code_with(&libraries, &["HashMap", "HashSet"]));
}

#[test]
fn only_programs_print_and_exit() {
    let programs = ["simulation/app/", "command/", "lab/program/"];
    let library =
        |name: &str| name.contains("/src/") && !programs.iter().any(|program| name.starts_with(program));
    let libraries = all_sources().into_iter().filter(|(name, _)| library(name)).collect::<Vec<_>>();
    assert_none(
        "libraries return what they have to say",
        &code_with(&libraries, &["print!(", "println!(", "dbg!(", "process::exit"]),
    );
}
