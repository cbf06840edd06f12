//! README.md, ARCHITECTURE.md and what stands beside them say what is there: the first model compiles, every
//! place named exists, and the crates depend on each other as the table of crates says. Literature is cited
//! by the short names of docs/references.md. And scripts/test names one test program at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::project::{WINGS, crates, root};

/// The most lines that README.md may have, and the most bytes of ARCHITECTURE.md: both are read whole.
const README_LINES: usize = 180;
const ARCHITECTURE_BYTES: usize = 14_000;

/// The text of a file of the project.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn what_is_read_first_is_short() {
    let lines = read("README.md").lines().count();
    assert!(
        lines <= README_LINES,
        "README.md has {lines} lines, more than {README_LINES}: a page of docs takes it"
    );
    let bytes = read("ARCHITECTURE.md").len();
    assert!(
        bytes <= ARCHITECTURE_BYTES,
        "ARCHITECTURE.md has {bytes} bytes: docs/internals takes what is long"
    );
}

/// The texts between backticks, code blocks excepted.
fn quoted(page: &str) -> Vec<String> {
    let prose: String = page.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The targets of Markdown links to places in the project.
fn linked(page: &str) -> Vec<String> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains(':') && !target.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn the_readme_shows_the_example_that_is_compiled() {
    let example = read("simulation/paceline/examples/first_model.rs");
    assert!(example.lines().count() < 40, "a first model has under 40 lines");
    let shown = format!("```rust\n{example}```");
    assert!(
        read("README.md").contains(&shown),
        "README.md shows simulation/paceline/examples/first_model.rs as it is"
    );
}

/// The blocks of Rust in a page, each with the words behind its language.
fn rust_blocks(page: &str) -> Vec<(String, String)> {
    let fenced = page.split("```").skip(1).step_by(2);
    let rust = fenced.filter_map(|block| block.split_once('\n')).filter(|(kind, _)| kind.starts_with("rust"));
    rust.map(|(kind, code)| (kind.to_owned(), code.to_owned())).collect()
}

/// The text of every file below `folder` whose name ends so.
fn sources_below(folder: &str, end: &str) -> Vec<(String, String)> {
    prose_files(folder)
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(end))
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("sources are UTF-8")))
        .collect()
}

/// Every file below `folder`, but for what was built.
pub fn prose_files(folder: &str) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![root().join(folder)], Vec::new());
    while let Some(folder) = open.pop() {
        for path in entries(&folder) {
            if !path.is_dir() {
                found.push(path);
            } else if path.file_name().is_some_and(|name| name != "target") {
                open.push(path);
            }
        }
    }
    found
}

/// The comments of a source that are documentation.
fn comments(text: &str) -> String {
    let mut found = String::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(line) = line.strip_prefix("//!").or_else(|| line.strip_prefix("///")) {
            found += line.strip_prefix(' ').unwrap_or(line);
            found.push('\n');
        }
    }
    found
}

/// A block of Rust is an example, word for word, or stands in the documentation of a crate, or its whole page
/// is one of a crate's doctests.
#[test]
fn every_rust_example_of_a_page_is_compiled() {
    let sources: Vec<_> = WINGS.into_iter().flat_map(|wing| sources_below(wing, ".rs")).collect();
    let pages = sources_below("docs", ".md").into_iter().map(|(path, text)| {
        (path.rsplit('/').next().map_or(String::new(), |name| format!("docs/{name}")), text)
    });
    let readmes = crates().into_iter().map(|folder| format!("{folder}/README.md"));
    let readmes = readmes.chain(["README.md".to_owned()]).map(|path| (path.clone(), read(&path)));
    let documentation: Vec<String> = sources.iter().map(|(_, text)| comments(text)).collect();
    let mut seen = 0;
    for (page, text) in pages.chain(readmes) {
        let included = format!("include_str!(\"../../../{page}\")");
        let is_doctest = sources.iter().any(|(_, text)| text.contains(&included));
        for (kind, code) in rust_blocks(&text) {
            let is_example = sources.iter().any(|(path, text)| path.contains("/examples/") && *text == code);
            let is_documented = documentation.iter().any(|text| text.contains(&code));
            let is_compiled = is_example || is_documented || (is_doctest && !kind.contains("ignore"));
            assert!(is_compiled, "{page} has Rust that nobody compiles:\n{code}");
            seen += 1;
        }
    }
    assert!(seen >= 5, "README.md and docs/interest.md have Rust");
}

#[test]
fn every_place_that_a_page_names_exists() {
    let beside = ["docs", "examples", "fuzz", "scenarios", "scripts"];
    let folders: Vec<String> = WINGS.into_iter().chain(beside).map(|folder| format!("{folder}/")).collect();
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] {
        let text = read(page);
        let places =
            quoted(&text).into_iter().filter(|name| folders.iter().any(|folder| name.starts_with(&**folder)));
        for place in places.chain(linked(&text)) {
            let file = place.split(' ').next().expect("a split has a first part").to_owned();
            assert!(root().join(&file).exists(), "{page} names {file}, which is not there");
        }
    }
}

#[test]
fn every_crate_says_what_it_is() {
    for folder in crates() {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        let name = manifest.split("name = \"").nth(1).and_then(|rest| rest.split('"').next());
        let name = name.unwrap_or_else(|| panic!("{folder}/Cargo.toml has a name"));
        assert!(
            manifest.contains("\nreadme = \"README.md\"\n"),
            "{folder}/Cargo.toml has `readme = \"README.md\"`"
        );
        let readme = read(&format!("{folder}/README.md"));
        assert!(readme.starts_with(&format!("# {name}\n\n")), "{folder}/README.md begins with `# {name}`");
    }
}

/// The crates of ours that the crate in `folder` depends on, by the ends of their names.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = read(&format!("{folder}/Cargo.toml"));
    let of_linux = "target.'cfg(target_os = \"linux\")'.dependencies]";
    let sections = manifest
        .split("\n[")
        .filter(|section| section.starts_with("dependencies]") || section.starts_with(of_linux));
    let names = sections.flat_map(str::lines).filter_map(|line| line.strip_prefix("paceline-"));
    names
        .map(|line| line.split(['.', ' ', '=']).next().expect("a split has a first part").to_owned())
        .collect()
}

#[test]
fn the_crates_depend_on_each_other_as_the_table_says() {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter(|row| {
        row.split('`').next().is_some_and(|name| root().join(name).join("Cargo.toml").is_file())
    });
    let stated: BTreeMap<String, BTreeSet<String>> = rows
        .map(|row| {
            let (name, cells) = row.split_once('`').expect("the name of a crate ends with a backtick");
            let known =
                cells.trim_end_matches([' ', '|']).rsplit('|').next().expect("a split has a first part");
            (name.to_owned(), quoted(known).into_iter().collect())
        })
        .collect();
    let actual: BTreeMap<_, _> =
        crates().into_iter().map(|name| (name.clone(), dependencies(&name))).collect();
    assert_eq!(stated, actual, "ARCHITECTURE.md (left) and the manifests (right) differ");
}

/// Every file below `folder` that may cite literature, as (path, its prose without line breaks and comment
/// marks).
fn prose(folder: &str) -> Vec<(String, String)> {
    let (mut open, mut found) = (vec![root().join(folder)], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("folders can be read") {
            let path = entry.expect("folder entries can be read").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|kind| ["rs", "md", "c", "h"].iter().any(|ending| kind == *ending))
            {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                let lines =
                    text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '*']).trim());
                found.push((path.display().to_string(), lines.collect::<Vec<_>>().join(" ")));
            }
        }
    }
    found
}

/// Every short name in docs/references.md.
fn short_names() -> BTreeSet<String> {
    let page = read("docs/references.md");
    page.split("\n- **").skip(1).filter_map(|entry| Some(entry.split_once("**")?.0.to_owned())).collect()
}

/// The short name that `part` of a bracket cites: authors and a year, or what stands before a section.
fn cited(part: &str) -> Option<String> {
    let by_author = part.split_once(", ").is_some_and(|(first, _)| first.starts_with(char::is_uppercase));
    let is_year = |word: &str| word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    let words: Vec<&str> = part.split(' ').collect();
    let year = words.iter().position(|word| is_year(word.trim_end_matches([',', ':'])));
    let is_name = |word: &&str| word.starts_with(char::is_uppercase) || ["and", "et", "al.,"].contains(word);
    if let Some(year) = year.filter(|year| by_author && words[..*year].iter().all(is_name)) {
        return Some(words[..=year].join(" ").trim_end_matches([',', ':']).to_owned());
    }
    let (name, place) = part.split_once(", section")?;
    let is_place = place
        .trim_start_matches(['s', ' '])
        .starts_with(|first: char| first.is_ascii_digit() || first == 'I');
    is_place.then(|| name.trim_start_matches("the ").to_owned())
}

#[test]
fn literature_is_cited_by_the_short_names_of_the_list() {
    let (names, mut wrong) = (short_names(), Vec::new());
    assert!(names.len() > 40, "docs/references.md has its entries");
    for (path, text) in WINGS.into_iter().chain(["docs", "examples"]).flat_map(prose) {
        for kind in ["reference ", "references ", "Reference ", "References "] {
            let rests = text.split(kind).skip(1);
            let numbered =
                rests.filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit())).count();
            wrong.extend((numbered > 0).then(|| format!("{path}: {kind}and a number")));
        }
        let brackets = text.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
        let parts = brackets.flat_map(|(inner, _)| inner.split("; ")).filter_map(cited);
        wrong.extend(parts.filter(|name| !names.contains(name)).map(|name| format!("{path}: {name}")));
    }
    assert!(wrong.is_empty(), "not in docs/references.md:\n{}", wrong.join("\n"));
}

#[test]
fn hosted_machines_run_steps_that_there_are() {
    let script = read("scripts/test");
    let workflows = entries(&root().join(".github/workflows"));
    let mut seen = 0;
    for workflow in workflows {
        let text = fs::read_to_string(&workflow).expect("workflows are UTF-8");
        let steps = text.lines().filter_map(|line| line.trim_start().strip_prefix("steps: "));
        for step in steps.flat_map(str::split_whitespace) {
            let is_there = script.contains(&format!("\nstep_{step}() {{"));
            assert!(is_there, "{}: scripts/test has no step {step}", workflow.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "workflows name {seen} steps");
}

/// The test programs of all crates of the workspace, by name.
fn test_programs() -> Vec<String> {
    let crates =
        crates().into_iter().map(|folder| root().join(folder)).chain(entries(&root().join("examples")));
    let tests = crates.map(|path| path.join("tests")).filter(|path| path.is_dir());
    let programs =
        tests.flat_map(|path| entries(&path)).filter(|path| path.is_file() || path.join("main.rs").is_file());
    programs.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the project can be read");
    entries.map(|entry| entry.expect("an entry of it can be read").path()).collect()
}

/// Cargo runs every test program of the workspace that has the name.
#[test]
fn a_step_that_names_a_test_program_means_one() {
    let script = read("scripts/test");
    let lines =
        script.lines().filter(|line| line.contains("--workspace") && !line.trim_start().starts_with('#'));
    let named = lines.flat_map(|line| line.split(" --test ").skip(1));
    let named: BTreeSet<_> = named.filter_map(|rest| rest.split_whitespace().next()).collect();
    assert!(!named.is_empty(), "scripts/test names test programs");
    let programs = test_programs();
    for name in named {
        let count = programs.iter().filter(|program| *program == name).count();
        assert_eq!(count, 1, "test programs named {name}, which scripts/test runs");
    }
}
