//! The book in `docs/`: every page is in its table of contents, every link leads to a page and a heading, the
//! commands that pages show print what the pages show, and the tables of keys are what the code reads.
//!
//! How a page says what is run:
//!
//! - A block ```` ```console ```` is run: a line that begins with `$ ` is a command for bash, the lines below
//!   it are what it prints, standard error included. The blocks of a page are run in order, in one fresh
//!   folder in which `scenarios` and `examples` are those of the project.
//! - A block that follows a line which ends in a file's name in backticks and a colon is that file, and is
//!   written into the folder.
//! - What differs from run to run is not compared: the rest of a line that begins with one of
//!   [`run::MEASURED`]. A line `...` stands for any lines.
//! - A block ```` ```sh ```` is not run, since it takes long, needs other machines or has no end; but every
//!   `paceline COMMAND` in it has to know its options, and the scenarios that it names have to exist.
//!
//! With `PACELINE_WRITE_BOOK=1` what differs is written into the pages, to be looked at:
//! `PACELINE_WRITE_BOOK=1 cargo test --workspace --test program book:: -- --test-threads=1`.

pub mod keys;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the project is there")
}

/// The pages below `docs`, by their path in it, without the table of contents.
fn pages() -> BTreeMap<String, String> {
    let docs = project().join("docs");
    let (mut folders, mut pages) = (vec![docs.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("docs can be read") {
            let path = entry.expect("its entries can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") && !path.ends_with("SUMMARY.md") {
                let name = path.strip_prefix(&docs).expect("it is in docs").display().to_string();
                pages.insert(name, fs::read_to_string(&path).expect("pages are UTF-8"));
            }
        }
    }
    pages
}

/// Whether pages are to be written anew.
pub fn writes() -> bool {
    std::env::var_os("PACELINE_WRITE_BOOK").is_some_and(|value| value == "1")
}

/// The page's lines that are not in a block of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    })
}

/// The text without what is between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The targets of links in a page.
fn links(page: &str) -> Vec<String> {
    let text: String = prose(page).map(|line| without_code(line) + "\n").collect();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '\n']).next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The anchors of a page's headings, as mdBook makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let (mut anchors, mut seen) = (BTreeSet::new(), BTreeMap::new());
    for line in prose(page).filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        let letters = heading.chars().filter_map(|letter| match letter {
            letter if letter.is_alphanumeric() || "_-".contains(letter) => Some(letter.to_ascii_lowercase()),
            letter if letter.is_whitespace() => Some('-'),
            _ => None,
        });
        let anchor: String = letters.collect();
        let count = seen.entry(anchor.clone()).or_insert(0);
        anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// `target` as seen from `page`: a path in docs.
fn resolved(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = fs::read_to_string(project().join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<String> = links(&summary);
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    let there: BTreeSet<String> = pages().into_keys().collect();
    assert_eq!(once, there, "docs/SUMMARY.md (left) and the pages in docs (right)");
}

#[test]
fn every_link_leads_to_a_page_and_a_heading() {
    let pages = pages();
    let mut dead = Vec::new();
    for (name, page) in &pages {
        for link in links(page) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if target.is_empty() { name.clone() } else { resolved(name, target) };
            let there = pages.get(&target);
            if !there.is_some_and(|page| anchor.is_empty() || anchors(page).contains(anchor)) {
                dead.push(format!("docs/{name}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere in the book:\n{}", dead.join("\n"));
}

#[test]
fn a_page_begins_with_its_title_and_what_the_reader_can_do_after_it() {
    // Chapters on how it works are read to find one's way in the code, not to do something.
    for (name, page) in pages().into_iter().filter(|(name, _)| !name.starts_with("internals/")) {
        let mut lines = page.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("# ")), "docs/{name} has a title");
        assert_eq!(lines.next(), Some(""), "docs/{name}: an empty line after its title");
        let opening: String = lines.take_while(|line| !line.is_empty()).collect();
        assert!(opening.starts_with("After this "), "docs/{name} begins with: {opening}");
    }
}

#[test]
fn commands_print_what_the_pages_show() {
    let mut differences = Vec::new();
    let mut ran = 0;
    for (name, page) in pages() {
        let (again, commands) = run::page(&page);
        ran += commands;
        if again != page {
            differences.push(format!("docs/{name}:\n{}", run::first_difference(&page, &again)));
            if writes() {
                fs::write(project().join("docs").join(&name), again).unwrap();
            }
        }
    }
    assert!(ran >= 20, "only {ran} commands are in the book");
    assert!(differences.is_empty(), "pages (-) and what is printed (+):\n{}", differences.join("\n"));
}

#[test]
fn commands_that_are_not_run_know_their_options() {
    let mut wrong = Vec::new();
    for (name, page) in pages() {
        for problem in run::unknown_words(&page) {
            wrong.push(format!("docs/{name}: {problem}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_tables_of_keys_are_what_the_code_reads() {
    let mut wrong = Vec::new();
    for name in ["scenarios.md", "machines.md", "studies.md"] {
        let path = project().join("docs").join(name);
        let page = fs::read_to_string(&path).unwrap();
        let again = keys::page(&page);
        if again != page {
            wrong.push(format!("docs/{name}:\n{}", run::first_difference(&page, &again)));
            if writes() {
                fs::write(&path, &again).unwrap();
            }
        }
        let unexplained = again.lines().filter(|line| line.ends_with(keys::NO_MEANING));
        wrong.extend(unexplained.map(|line| format!("docs/{name} says nothing of: {line}")));
    }
    assert!(wrong.is_empty(), "pages (-) and the code (+):\n{}", wrong.join("\n"));
}

#[test]
fn every_key_that_a_source_names_is_in_a_table() {
    let page = |name: &str| fs::read_to_string(project().join("docs").join(name)).unwrap();
    let tables = page("scenarios.md") + &page("machines.md") + &page("studies.md");
    let names = keys::named_in_sources();
    assert!(names.len() > 100, "sources name keys: {names:?}");
    let missing: Vec<_> =
        names.iter().filter(|(key, _)| !tables.contains(&format!("\n| `{key}` | "))).collect();
    assert!(missing.is_empty(), "no scenario of the pages reads these keys: {missing:#?}");
}
