//! Parameters that are files: where they are looked for, what is recorded of them, and mistakes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use paceline_scenario::inputs::{self, recorded};
use paceline_scenario::{InputFile, Scenario, ScenarioError};
use serde::Deserialize;

/// Files wherever serde may want one.
#[derive(Debug, Deserialize)]
struct Everywhere {
    plain: InputFile,
    #[serde(default)]
    maybe: Option<InputFile>,
    #[serde(default)]
    list: Vec<InputFile>,
    #[serde(default)]
    table: BTreeMap<String, InputFile>,
    #[serde(default)]
    choice: Option<Choice>,
    #[serde(default)]
    either: Option<Either>,
    #[serde(default)]
    inner: Option<Inner>,
}

#[derive(Debug, Deserialize)]
enum Choice {
    File(InputFile),
    Pair { first: InputFile, second: InputFile },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(u32),
    File(InputFile),
}

#[derive(Debug, Deserialize)]
struct Inner {
    file: InputFile,
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::create_dir(folder.path().join("data")).expect("it can be made");
    for name in ["a", "b", "c", "data/d"] {
        fs::write(folder.path().join(name), format!("content of {name}")).expect("it can be written");
    }
    fs::write(folder.path().join("latin"), b"caf\xe9").expect("it can be written");
    fs::write(folder.path().join("marked"), b"\xef\xbb\xbf1,2").expect("it can be written");
    folder
}

fn read(folder: &Path, keys: &str) -> Result<Everywhere, ScenarioError> {
    let text = format!("[model]\n{keys}\n");
    Scenario::parse("demo.toml", &text, folder, &[])?.section("model")?.parameters()
}

#[test]
fn a_file_is_found_from_the_scenario_s_folder_wherever_it_stands() {
    let folder = folder();
    let root = folder.path().join("c");
    let keys = format!(
        "plain = \"a\"\nmaybe = \"data/d\"\nlist = [\"a\", \"data/../b\"]\ntable = {{ x = \"b\" }}\nchoice = {{ Pair = {{ first = \"a\", \
         second = \"b\" }} }}\neither = \"b\"\ninner = {{ file = {root:?} }}"
    );
    let (read_now, files) = recorded(folder.path(), || read(folder.path(), &keys).expect("it is sound"));
    assert_eq!(read_now.plain.text(), Ok("content of a"));
    assert_eq!(read_now.maybe.expect("it is there").bytes(), b"content of data/d");
    assert_eq!(
        read_now.list.iter().map(|file| file.text().expect("UTF-8")).collect::<Vec<_>>(),
        ["content of a", "content of b"]
    );
    assert_eq!(read_now.table["x"].path(), folder.path().join("b"));
    assert!(
        matches!(read_now.choice, Some(Choice::Pair { first, second }) if first.bytes() != second.bytes())
    );
    assert!(matches!(read_now.either, Some(Either::File(file)) if file.text() == Ok("content of b")));
    assert_eq!(read_now.inner.expect("it is there").file.text(), Ok("content of c"));
    let names: Vec<_> = files.iter().map(|input| input.file.as_str()).collect();
    // Each once, by the path that the scenario gives.
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(["a", "b", "c", "data/d", "data/../b"].iter().all(|name| names.contains(name)), "{names:?}");
    let (read_now, _) = recorded(folder.path(), || {
        read(folder.path(), "plain = \"a\"\nchoice = { File = \"b\" }\neither = 3")
    });
    let read_now = read_now.expect("it is sound");
    assert!(
        matches!(read_now.either, Some(Either::Number(3)))
            && matches!(read_now.choice, Some(Choice::File(file)) if file.text() == Ok("content of b"))
    );
}

#[test]
fn a_fingerprint_is_of_the_content_and_no_more() {
    let folder = folder();
    let other = tempfile::tempdir().expect("a folder can be made");
    fs::write(other.path().join("a"), "content of a").expect("it can be written");
    let debug = |folder: &Path| format!("{:?}", read(folder, "plain = \"a\"").expect("it is sound").plain);
    // The same wherever it is, so that it may stand in `Model::parameters`.
    assert_eq!(debug(folder.path()), debug(other.path()));
    assert!(debug(other.path()).starts_with("InputFile(\"a\", 12 bytes, "), "{}", debug(other.path()));
    let then = debug(other.path());
    fs::write(other.path().join("a"), "content of A").expect("it can be written");
    assert_ne!(debug(other.path()), then);
    let (_, files) = recorded(folder.path(), || inputs::read(&folder.path().join("a")));
    assert_eq!(files[0].again(folder.path()).expect("it is there"), files[0]);
    assert_ne!(files[0].again(other.path()).expect("it is there"), files[0]);
    assert!(files[0].again(&folder.path().join("data")).is_err());
    // A file that is too long is read as far as that shows, and records do not leave their thread or their
    // scope.
    let (read_now, files) = recorded(folder.path(), || inputs::read_at_most(&folder.path().join("a"), 4));
    assert_eq!((read_now.expect("it is there").len(), files.len()), (5, 1));
    let (_, outer) = recorded(folder.path(), || {
        let (_, inner) = recorded(folder.path(), || inputs::read(&folder.path().join("a")));
        inner.len()
    });
    assert!(outer.is_empty());
}

#[test]
fn mistakes_in_files_have_the_place_of_their_key() {
    let folder = folder();
    let allowed = "; allowed: the path of a file, seen from the scenario's folder";
    for (keys, place, problem) in [
        ("plain = \"no\"", "demo.toml:2:9: `plain` in [model]: there is no file ", allowed),
        (
            "plain = \"data\"",
            "demo.toml:2:9: `plain` in [model]: ",
            "is no file; allowed: the path of a file",
        ),
        ("plain = \"\"", "demo.toml:2:9: `plain` in [model]: ", "is no file"),
        ("plain = 3", "demo.toml:2:9: `plain` in [model] cannot be the integer 3", "allowed: a string"),
        (
            "plain = \"a\"\nlist = [\"a\", \"no\"]",
            "demo.toml:3:14: `list[1]` in [model]: there is no file ",
            allowed,
        ),
        (
            "plain = \"a\"\ninner = { file = \"no\" }",
            "demo.toml:3:18: `inner.file` in [model]: there is no file ",
            allowed,
        ),
        ("plain = \"a/b\"", "demo.toml:2:9: `plain` in [model]: ", "cannot be read: "),
        ("", "demo.toml:1:", "missing key `plain` in [model]"),
    ] {
        let message = read(folder.path(), keys).expect_err("it is a mistake").one_line();
        assert!(message.starts_with(place) && message.contains(problem), "{keys}: {message}");
    }
    let text = |name: &str| read(folder.path(), &format!("plain = {name:?}")).expect("it is sound").plain;
    assert!(text("latin").text().expect_err("it is Latin-1").contains("not a text in UTF-8"));
    assert_eq!(text("marked").text(), Ok("1,2"));
}
