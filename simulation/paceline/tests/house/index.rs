//! The index of what to change where, docs/internals/where.md, and the chapters beside it name what is there.

use std::collections::BTreeSet;
use std::fs;

use crate::documents::{entries, prose_files, read};
use crate::project::{WINGS, root};

/// The most characters of a row of the index: it is searched by eye.
const ROW_MAX: usize = 240;

/// A file that a row names, and a name that is said to be in it.
struct Entry {
    row: String,
    path: String,
    name: Option<String>,
}

/// The rows of the index below each heading, as (folder of the heading, row).
fn rows(index: &str) -> Vec<(String, &str)> {
    let (mut folder, mut rows) = (String::new(), Vec::new());
    for line in index.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.split('`').nth(1).unwrap_or_default().clone_into(&mut folder);
        } else if line.starts_with("| ") && !line.starts_with("| to change ") {
            rows.push((folder.clone(), line));
        }
    }
    rows
}

/// Is it a file or a folder, and no name in one?
fn is_path(quoted: &str) -> bool {
    quoted.contains(['/', '.'])
}

fn entry_list(index: &str) -> Vec<Entry> {
    let mut found = Vec::new();
    for (folder, row) in rows(index) {
        let parts: Vec<&str> = row.split('`').collect();
        for (number, part) in parts.iter().enumerate().skip(1).step_by(2).filter(|(_, part)| is_path(part)) {
            let name = (number >= 3 && parts[number - 1] == " in ").then(|| parts[number - 2].to_owned());
            let below = format!("{folder}/{part}");
            let path = if root().join(&below).exists() { below } else { (*part).to_owned() };
            found.push(Entry { row: row.to_owned(), path, name });
        }
    }
    found
}

/// Whether `name` stands in `text` as a word.
fn has_word(text: &str, name: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}

#[test]
fn the_index_names_files_with_a_purpose_and_what_is_in_them() {
    let index = read("docs/internals/where.md");
    let entries = entry_list(&index);
    assert!(entries.len() > 200, "the index has {} entries", entries.len());
    let mut wrong = Vec::new();
    for Entry { row, path, name } in entries {
        let place = root().join(&path);
        if !place.exists() {
            wrong.push(format!("{path} is not there: {row}"));
            continue;
        }
        let text = if place.is_file() {
            fs::read_to_string(&place).expect("sources are UTF-8")
        } else {
            String::new()
        };
        if place.extension().is_some_and(|end| end == "rs") && !text.starts_with("//! ") {
            wrong.push(format!("{path} has no head: {row}"));
        }
        if let Some(name) = name.filter(|name| !has_word(&text, name)) {
            wrong.push(format!("{path} has no {name}: {row}"));
        }
    }
    assert!(wrong.is_empty(), "docs/internals/where.md:\n{}", wrong.join("\n"));
}

#[test]
fn rows_of_the_index_are_short_and_differ() {
    let index = read("docs/internals/where.md");
    let mut seen = BTreeSet::new();
    for (folder, row) in rows(&index) {
        let length = row.chars().count();
        assert!(length <= ROW_MAX, "{length} characters, more than {ROW_MAX}: {row}");
        let thing = row.split('|').nth(1).unwrap_or_default().trim();
        assert!(seen.insert((folder, thing)), "two rows for: {thing}");
    }
}

/// A chapter names a module by the end of its path, so that it stays true where a folder is moved.
#[test]
fn modules_that_a_chapter_names_are_there() {
    let mut files: Vec<String> = Vec::new();
    for wing in WINGS {
        files.extend(prose_files(wing).into_iter().map(|path| path.display().to_string()));
    }
    let is_there = |name: &str| {
        let ends = [format!("/{name}.rs"), format!("/{name}")];
        root().join(name).exists() || files.iter().any(|file| ends.iter().any(|end| file.ends_with(end)))
    };
    let mut wrong = Vec::new();
    for page in entries(&root().join("docs/internals")) {
        let text = fs::read_to_string(&page).expect("pages are UTF-8");
        let names = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
        let is_module =
            |name: &&str| name.contains('/') && !name.contains([' ', ':']) && !page.ends_with("where.md");
        let missing = names.filter(is_module).filter(|name| !is_there(name));
        wrong.extend(missing.map(|name| format!("{}: {name}", page.display())));
    }
    assert!(wrong.is_empty(), "chapters name what is not there:\n{}", wrong.join("\n"));
}
