//! Every mistake is found and reported with its place and what is allowed.

use paceline_kernel::Time;
use paceline_scenario::{Scenario, ScenarioError};

const TEXT: &str = r#"# a comment with ümlauts
[model]
kind = "phold"
lps = 16
mean = "1s"
weight = 0.5
file = "nowhere.tntp"

[run]
until = "300s"
quick = true
"#;

fn read(text: &str, overrides: &[&str]) -> Result<(), ScenarioError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let mut scenario = Scenario::parse("demo.toml", text, ".".as_ref(), &overrides)?;
    let (mut model, mut run) = (scenario.section("model")?, scenario.section("run")?);
    scenario.finish(&["model", "run"])?;
    model.choice("kind", &[("phold", 1), ("traffic", 2)], None)?;
    model.required::<u32>("lps")?;
    model.required::<Time>("mean")?;
    model.or("weight", 1.0)?;
    model.optional::<String>("file")?;
    run.or("until", Time::MAX)?;
    run.or("quick", false)?;
    run.or("seed", 1u64)?;
    model.finish()?;
    run.finish()
}

/// Replaces `from` with `to` in the text; the message must point to `place` and contain all `words`.
fn expect(from: &str, to: &str, place: &str, words: &[&str]) {
    let text = TEXT.replacen(from, to, 1);
    assert_ne!(text, TEXT, "{from:?} is in the text");
    let error = read(&text, &[]).expect_err(to);
    let line = error.one_line();
    assert!(line.starts_with(&format!("{place}: ")), "{line:?} is placed at {place}");
    for word in words {
        assert!(line.contains(word), "{line:?} says {word:?}");
    }
    assert!(!line.contains('\n'));
}

#[test]
fn a_sound_scenario_is_read() {
    read(TEXT, &[]).unwrap();
    read(TEXT, &["run.seed=18446744073709551615", "model.mean=1 h", "model.kind=\"traffic\""]).unwrap();
}

#[test]
fn mistakes_in_the_file() {
    expect("lps = 16", "", "demo.toml:2:2", &["missing key `lps` in [model]", "must be a whole number"]);
    expect("lps = ", "lpz = ", "demo.toml:4:1", &["missing key `lps` in [model]; is `lpz` meant"]);
    expect(
        "weight",
        "wieght",
        "demo.toml:6:1",
        &["unknown key `wieght`", "did you mean `weight`?", "kind, lps, mean"],
    );
    expect("16", "\"16\"", "demo.toml:4:7", &["`lps` in [model]", "the string \"16\"", "whole number"]);
    expect("16", "-16", "demo.toml:4:7", &["the integer -16", "from 0 to 4294967295"]);
    expect("16", "1.5", "demo.toml:4:7", &["the number 1.5"]);
    expect("16", "[1]", "demo.toml:4:7", &["an array"]);
    expect("\"1s\"", "1", "demo.toml:5:8", &["it has no unit", "\"300s\""]);
    expect("1s", "1 parsec", "demo.toml:5:8", &["there is no unit \"parsec\"", "units: ps, ns"]);
    expect("1s", "-1s", "demo.toml:5:8", &["`mean`", "not negative"]);
    expect("0.5", "inf", "demo.toml:6:10", &["finite"]);
    expect("\"phold\"", "\"phlod\"", "demo.toml:3:8", &["did you mean \"phold\"?", "\"phold\", \"traffic\""]);
    expect("\"phold\"", "7", "demo.toml:3:8", &["the integer 7", "\"phold\", \"traffic\""]);
    expect("[run]", "[rnu]", "demo.toml:9:2", &["unknown section [rnu]", "did you mean [run]?"]);
    expect("[run]", "[[run]]", "demo.toml:9:3", &["`run` is not a section"]);
    expect("# a", "lps = 5 # a", "demo.toml:1:1", &["`lps` is in no section", "[model], [run]"]);
    expect("weight", "lps", "demo.toml:6:1", &["not valid TOML", "duplicate key"]);
    expect("16", "", "demo.toml:4:7", &["not valid TOML"]);
}

#[test]
fn mistakes_in_overrides_point_at_the_override() {
    for (argument, words) in [
        ("model.lps=abc", "cannot be the string \"abc\""),
        ("model.lpz=5", "unknown key `lpz` in [model]; did you mean `lps`?"),
        ("modle.lps=5", "unknown section [modle]"),
        ("run.until=-5s", "not negative"),
        ("model.lps", "without `=`"),
        ("lps=5", "not a section and a key"),
        ("model.a.b=5", "unknown key `a` in [model]"),
        ("model.lps.b=5", "`lps` in [model] is the integer 16, not a table"),
        ("model.a.b.c=5", "unknown key `a` in [model]"),
        ("model.lps.b.c=5", "`lps` in [model] is the integer 16, not a table"),
        ("model..b=5", "empty name"),
        (".lps=5", "empty name"),
    ] {
        let line = read(TEXT, &[argument]).expect_err(argument).one_line();
        assert!(line.starts_with(&format!("--set {argument}: ")) && line.contains(words), "{line}");
    }
}

#[test]
fn the_file_s_own_mistakes_come_first() {
    let text = TEXT.replace("weight", "first").replace("file = ", "later = ");
    let line = read(&text, &["model.a=1", "odd.a=1"]).expect_err("three mistakes").one_line();
    assert!(line.starts_with("--set odd.a=1: unknown section [odd]"), "sections before keys: {line}");
    let line = read(&text, &["model.a=1"]).expect_err("three mistakes").one_line();
    assert!(line.starts_with("demo.toml:6:1: unknown key `first`"), "{line}");
}

#[test]
fn a_file_must_exist_and_is_sought_beside_the_scenario() {
    let mut scenario = Scenario::parse("demo.toml", TEXT, "/no/such/folder".as_ref(), &[]).unwrap();
    let line = scenario.section("model").unwrap().file("file").unwrap_err().one_line();
    assert!(line.starts_with("demo.toml:7:8: there is no file /no/such/folder/nowhere.tntp"), "{line}");
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut scenario = Scenario::parse("demo.toml", TEXT, here, &["model.file=Cargo.toml".into()]).unwrap();
    assert_eq!(scenario.section("model").unwrap().file("file").unwrap(), Some(here.join("Cargo.toml")));
}

#[test]
fn a_scenario_that_is_not_there_is_named() {
    let error = Scenario::load("no/such.toml".as_ref(), &[]).unwrap_err();
    assert!(error.one_line().starts_with("no/such.toml: cannot be read"), "{}", error.one_line());
}

#[test]
fn other_formats_point_into_their_files() {
    let text = "one\ntwo ä three\n";
    let error = ScenarioError::in_file("net.tntp", text, 11..16, "`three` is no number", "a number");
    assert_eq!(error.one_line(), "net.tntp:2:7: `three` is no number; allowed: a number");
    // A place beyond the end is the end.
    assert_eq!(ScenarioError::in_file("net.tntp", text, 99..100, "cut", "more").place(), "net.tntp:3:1");
}
