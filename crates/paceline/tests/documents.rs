//! README.md and ARCHITECTURE.md say what is there: the first model compiles, every place named exists, and the crates
//! know each other as the table of rooms says.

mod house;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use house::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
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
    let example = read("crates/paceline/examples/first_model.rs");
    assert!(example.lines().count() < 40, "a first model has under 40 lines");
    let shown = format!("```rust\n{example}```");
    assert!(
        read("README.md").contains(&shown),
        "README.md shows crates/paceline/examples/first_model.rs as it is"
    );
}

#[test]
fn every_place_that_a_page_names_exists() {
    let folders = ["crates/", "fuzz/", "scenarios/", "scripts/", ".ci/"];
    for page in ["README.md", "ARCHITECTURE.md"] {
        let text = read(page);
        let places =
            quoted(&text).into_iter().filter(|name| folders.iter().any(|folder| name.starts_with(folder)));
        for place in places.chain(linked(&text)) {
            let file = place.split(' ').next().expect("a split has a first part").to_owned();
            assert!(root().join(&file).exists(), "{page} names {file}, which is not there");
        }
    }
}

/// The crates of ours that the crate in `folder` depends on, by the names of their folders.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = read(&format!("crates/{folder}/Cargo.toml"));
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]"));
    let names = section.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("paceline-"));
    names
        .map(|line| line.split(['.', ' ', '=']).next().expect("a split has a first part").to_owned())
        .collect()
}

#[test]
fn the_crates_know_each_other_as_the_table_of_rooms_says() {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/"));
    let stated: BTreeMap<String, BTreeSet<String>> = rows
        .map(|row| {
            let (name, cells) = row.split_once('`').expect("the name of a room ends with a backtick");
            let known =
                cells.trim_end_matches([' ', '|']).rsplit('|').next().expect("a split has a first part");
            (name.to_owned(), quoted(known).into_iter().collect())
        })
        .collect();
    let folders = fs::read_dir(root().join("crates")).expect("there is a folder of crates");
    let names = folders
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("names are UTF-8"));
    let actual: BTreeMap<_, _> = names.map(|name| (name.clone(), dependencies(&name))).collect();
    assert_eq!(stated, actual, "ARCHITECTURE.md (left) and the manifests (right) differ");
}
