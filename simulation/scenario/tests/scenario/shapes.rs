//! Every shape that serde gives to a type: what is written is read, and a key that nothing reads is refused
//! by name, with its place.
//!
//! The shapes are those of <https://serde.rs/enum-representations.html>, flattened fields, options, lists and
//! maps of tables, and tuples. The places are counted by hand.

use std::collections::BTreeMap;

use paceline_kernel::Time;
use paceline_scenario::{Scenario, ScenarioError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum External {
    Fixed,
    Exponential { mean: f64 },
    Weights(Vec<f64>),
    Range(f64, f64),
    Same(Box<External>),
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "law", rename_all = "lowercase")]
enum Internal {
    Fixed,
    Exponential {
        mean: f64,
    },
    Normal {
        mean: f64,
        #[serde(default)]
        deviation: f64,
    },
    Nested(Inner),
}

#[derive(Debug, Deserialize, PartialEq)]
struct Inner {
    mean: f64,
    #[serde(default, alias = "offset")]
    shift: Option<f64>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "law", content = "of", rename_all = "lowercase")]
enum Adjacent {
    Fixed,
    Exponential { mean: f64 },
}

/// The content stands before the tag in the order of keys, so that serde gathers it.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "zlaw", content = "of", rename_all = "lowercase")]
enum AdjacentLate {
    Exponential { mean: f64 },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Wide { mean: f64, deviation: f64 },
    Narrow { mean: f64 },
}

#[derive(Debug, Deserialize, PartialEq)]
struct Flat {
    servers: u32,
    #[serde(flatten)]
    inner: Inner,
}

#[derive(Debug, Deserialize, PartialEq)]
struct FlatEnum {
    servers: u32,
    #[serde(flatten)]
    law: Internal,
}

#[derive(Debug, Deserialize, PartialEq)]
struct One<T> {
    x: T,
    #[serde(default)]
    also: Option<u32>,
}

fn read<T: DeserializeOwned + std::fmt::Debug>(x: &str) -> Result<T, ScenarioError> {
    let text = format!("[model]\nx = {x}\n");
    let read = Scenario::parse("m.toml", &text, ".".as_ref(), &[])?.section("model")?.parameters::<One<T>>();
    read.map(|one| one.x)
}

fn whole<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> Result<T, ScenarioError> {
    Scenario::parse("m.toml", text, ".".as_ref(), &[])?.section("model")?.parameters()
}

#[test]
fn every_shape_is_read() {
    assert_eq!(read::<External>("\"fixed\"").unwrap(), External::Fixed);
    assert_eq!(read::<External>("{ weights = [1, 2.5] }").unwrap(), External::Weights(vec![1.0, 2.5]));
    assert_eq!(read::<External>("{ range = [1, 2] }").unwrap(), External::Range(1.0, 2.0));
    let same = External::Same(Box::new(External::Exponential { mean: 2.0 }));
    assert_eq!(read::<External>("{ same = { exponential = { mean = 2 } } }").unwrap(), same);
    assert_eq!(read::<Internal>("{ law = \"fixed\" }").unwrap(), Internal::Fixed);
    let normal = Internal::Normal { mean: 2.0, deviation: 0.5 };
    assert_eq!(read::<Internal>("{ law = \"normal\", mean = 2, deviation = 0.5 }").unwrap(), normal);
    let nested = Internal::Nested(Inner { mean: 1.0, shift: Some(3.0) });
    assert_eq!(read::<Internal>("{ law = \"nested\", mean = 1, shift = 3 }").unwrap(), nested);
    assert_eq!(read::<Internal>("{ law = \"nested\", mean = 1, offset = 3 }").unwrap(), nested);
    assert_eq!(read::<Adjacent>("{ law = \"fixed\" }").unwrap(), Adjacent::Fixed);
    let mean = 2.0;
    assert_eq!(
        read::<Adjacent>("{ law = \"exponential\", of = { mean = 2 } }").unwrap(),
        Adjacent::Exponential { mean }
    );
    assert_eq!(
        read::<AdjacentLate>("{ zlaw = \"exponential\", of = { mean = 2 } }").unwrap(),
        AdjacentLate::Exponential { mean }
    );
    assert_eq!(read::<Untagged>("2").unwrap(), Untagged::Number(mean));
    // A key that decides which variant it is counts as read.
    assert_eq!(
        read::<Untagged>("{ mean = 2, deviation = 1 }").unwrap(),
        Untagged::Wide { mean, deviation: 1.0 }
    );
    assert_eq!(read::<Untagged>("{ mean = 2 }").unwrap(), Untagged::Narrow { mean });
    let flat: Flat = whole("[model]\nservers = 2\nmean = 2\n").unwrap();
    assert_eq!(flat, Flat { servers: 2, inner: Inner { mean, shift: None } });
    let flat: FlatEnum = whole("[model]\nservers = 2\nlaw = \"exponential\"\nmean = 2\n").unwrap();
    assert_eq!(flat, FlatEnum { servers: 2, law: Internal::Exponential { mean } });
    let tables: One<Vec<Inner>> =
        whole("[[model.x]]\nmean = 1\n[[model.x]]\nmean = 2\noffset = 3\n[model]\n").unwrap();
    assert_eq!(tables.x, [Inner { mean: 1.0, shift: None }, Inner { mean, shift: Some(3.0) }]);
    let map: BTreeMap<String, Internal> = read("{ a = { law = \"fixed\" } }").unwrap();
    assert_eq!(map["a"], Internal::Fixed);
    assert_eq!(read::<[f64; 2]>("[1, 2]").unwrap(), [1.0, 2.0]);
    assert_eq!(read::<Option<Vec<Untagged>>>("[1, { mean = 2 }]").unwrap().unwrap().len(), 2);
}

fn refused<T: DeserializeOwned + std::fmt::Debug>(x: &str, message: &str) {
    let mistake = read::<T>(x).expect_err(x).one_line();
    assert!(mistake.starts_with(message), "{x}\n  {mistake}\n  {message}");
    assert!(mistake.contains("; allowed: "), "{mistake}");
}

/// `key` is the path of the key below `x`, which stands last in its line.
fn stranger<T: DeserializeOwned + std::fmt::Debug>(x: &str, key: &str) {
    let last = key.rsplit('.').next().expect("a split has a first part");
    let column = "x = ".len() + 1 + x.rfind(&format!("{last} =")).expect("it is there");
    refused::<T>(x, &format!("m.toml:2:{column}: unknown key `x{key}` in [model]"));
}

#[test]
fn a_key_that_nothing_reads_is_refused_in_every_shape() {
    stranger::<External>("{ exponential = { mean = 2, maen = 3 } }", ".exponential.maen");
    stranger::<External>("{ exponential = { mean = 2 }, other = 3 }", ".other");
    stranger::<External>("{ same = { exponential = { mean = 2, b = 1 } } }", ".same.exponential.b");
    stranger::<Internal>("{ law = \"exponential\", mean = 2, deviation = 3 }", ".deviation");
    stranger::<Internal>("{ law = \"fixed\", mean = 2 }", ".mean");
    stranger::<Internal>("{ law = \"normal\", mean = 2, devation = 1 }", ".devation");
    stranger::<Internal>("{ law = \"nested\", mean = 2, shfit = 1 }", ".shfit");
    stranger::<Internal>("{ law = \"fixed\", more = { a = 1 } }", ".more");
    stranger::<Adjacent>("{ law = \"exponential\", of = { mean = 2, b = 3 } }", ".of.b");
    stranger::<Adjacent>("{ law = \"exponential\", of = { mean = 2 }, b = 3 }", ".b");
    stranger::<AdjacentLate>("{ zlaw = \"exponential\", of = { mean = 2, b = 3 } }", ".of.b");
    stranger::<Untagged>("{ mean = 2, devation = 3 }", ".devation");
    stranger::<Option<Untagged>>("{ mean = 2, devation = 3 }", ".devation");
    stranger::<Option<Internal>>("{ law = \"fixed\", b = 3 }", ".b");
    stranger::<Vec<Internal>>("[{ law = \"fixed\" }, { law = \"fixed\", b = 3 }]", "[1].b");
    stranger::<Vec<Inner>>("[{ mean = 1 }, { mean = 2, b = 3 }]", "[1].b");
    stranger::<Vec<(u32, Internal)>>("[[1, { law = \"fixed\", b = 3 }]]", "[0][1].b");
    stranger::<BTreeMap<String, Internal>>("{ k = { law = \"fixed\", b = 3 } }", ".k.b");
    stranger::<BTreeMap<String, Inner>>("{ k = { mean = 1, b = 3 } }", ".k.b");
    let flat = |text: &str| whole::<Flat>(text).expect_err(text).one_line();
    let message = flat("[model]\nservers = 2\nmean = 1\nshfit = 3\n");
    assert!(message.starts_with("m.toml:4:1: unknown key `shfit` in [model]"), "{message}");
    let message = whole::<FlatEnum>("[model]\nservers = 2\nlaw = \"fixed\"\nmean = 3\n").expect_err("flat");
    assert!(message.one_line().starts_with("m.toml:4:1: unknown key `mean` in [model]"), "{message}");
}

#[test]
fn a_misspelt_key_is_named_where_one_is_missing() {
    let near = |column: u32, key: &str, written: &str| {
        format!("m.toml:2:{column}: missing key `x.{key}` in [model]; is `{written}` meant to be it?")
    };
    refused::<Internal>("{ law = \"exponential\", maen = 2 }", &near(28, "mean", "maen"));
    refused::<Internal>("{ lwa = \"exponential\", mean = 2 }", &near(7, "law", "lwa"));
    refused::<External>(
        "{ exponential = { maen = 2 } }",
        "m.toml:2:23: unknown key `x.exponential.maen` in [model]; did you mean `mean`?",
    );
    let message = whole::<Flat>("[model]\nservers = 2\nmaen = 1\n").expect_err("misspelt").one_line();
    assert!(
        message.starts_with("m.toml:3:1: missing key `mean` in [model]; is `maen` meant to be it?"),
        "{message}"
    );
    // A key of a similar name that the type has is no misspelling of the one that is missing.
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Two {
        mean_a: f64,
        mean_b: f64,
    }
    refused::<Two>("{ mean_a = 1 }", "m.toml:2:5: missing key `x.mean_b` in [model]; allowed:");
}

#[test]
fn a_list_that_is_longer_than_what_is_read_is_refused() {
    let message = "m.toml:2:5: `x` in [model] cannot hold 3 values; allowed: ";
    refused::<[f64; 2]>("[1, 2, 3]", &format!("{message}2 values"));
    refused::<(u32, f64)>("[1, 2, 3]", &format!("{message}2 values"));
    refused::<External>("{ range = [1, 2, 3] }", "m.toml:2:15: `x.range` in [model] cannot hold 3 values");
    refused::<[f64; 4]>("[1, 2, 3]", &message.replace("2 values", ""));
    refused::<Inner>(
        "[1]",
        "m.toml:2:5: `x` in [model] cannot be an array; allowed: a table with the keys mean, offset, shift",
    );
    refused::<Vec<Inner>>("[[1]]", "m.toml:2:6: `x[0]` in [model] cannot be an array");
}

#[test]
fn a_number_that_its_type_does_not_hold_is_refused() {
    for x in
        ["nan", "-nan", "inf", "-inf", "1e400", "-1e999", "1e-400", "9007199254740993", "-9007199254740993"]
    {
        refused::<f64>(x, "m.toml:2:5: `x` in [model] cannot be ");
        refused::<Option<f64>>(x, "m.toml:2:5: `x` in [model] cannot be ");
        refused::<Vec<f64>>(&format!("[1, {x}]"), "m.toml:2:9: `x[1]` in [model] cannot be ");
        refused::<f32>(x, "m.toml:2:5: `x` in [model] cannot be ");
    }
    for x in ["1e39", "-1e39", "1e-60", "16777217"] {
        refused::<f32>(x, "m.toml:2:5: `x` in [model] cannot be ");
        assert!(read::<f64>(x).is_ok(), "{x}");
    }
    for (x, number) in
        [("0", 0.0), ("0.0e-999", 0.0), ("-0.0", 0.0), ("9007199254740992", 9_007_199_254_740_992.0)]
    {
        assert_eq!(read::<f64>(x).unwrap(), number, "{x}");
    }
    for x in ["256", "-1", "1.0", "1e2", "18446744073709551616", "99999999999999999999999999999999999999999"]
    {
        refused::<u8>(x, "m.toml:2:5: `x` in [model] cannot be ");
    }
    // The readers of [run] and of our own models hold the same rules.
    for x in ["nan", "inf", "1e400", "1e-400", "9007199254740993"] {
        let text = format!("[run]\nx = {x}\n");
        let mut run = Scenario::parse("r.toml", &text, ".".as_ref(), &[]).unwrap().section("run").unwrap();
        let message = run.required::<f64>("x").expect_err(x).one_line();
        assert!(message.starts_with("r.toml:2:5: `x` in [run] cannot be "), "{message}");
    }
}

#[test]
fn a_duration_is_exact_or_refused_with_what_is_allowed() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Pause(#[serde(with = "paceline_scenario::time")] Time);
    for (x, why) in [
        ("\"0.4ns\"", "parts of a nanosecond"),
        ("\"0.0000000001s\"", "parts of a nanosecond"),
        ("\"1e3s\"", "there is no unit \"e3s\""),
        ("\"600y\"", "there is no unit \"y\""),
        ("\"300000d\"", "longer than 584 years"),
        ("\"-1s\"", "not negative"),
        ("\"nan s\"", "does not start with a number"),
    ] {
        let message = read::<Pause>(x).expect_err(x).one_line();
        assert!(message.starts_with("m.toml:2:5: `x` in [model]: ") && message.contains(why), "{message}");
        assert!(message.ends_with("(units: ps, ns, us, ms, s, min, h, d)"), "{message}");
    }
    assert_eq!(read::<Pause>("\"0.000000001s\"").unwrap(), Pause(Time::nanos(1)));
}

#[test]
fn a_byte_order_mark_does_not_count_and_another_encoding_is_named() {
    let text = "\u{feff}[model]\nx = 1\n";
    let one: One<u32> = whole(text).expect("the mark is skipped");
    assert_eq!(one.x, 1);
    let message = whole::<One<u32>>("\u{feff}[modle]\n").expect_err("no key").one_line();
    assert!(message.starts_with("m.toml:1:1: "), "{message}");
    for (content, why) in [
        (&b"\xff\xfe[\0m\0"[..], "UTF-16"),
        (b"\xfe\xff\0[\0m", "UTF-16"),
        (b"[model]\n# caf\xe9\n", "line 2"),
    ] {
        let message = Scenario::decode("m.toml".as_ref(), content.to_vec()).expect_err(why).one_line();
        assert!(
            message.starts_with("m.toml: ") && message.contains(why) && message.contains("UTF-8"),
            "{message}"
        );
    }
}

#[test]
fn a_long_list_of_tables_that_are_alike_is_read_in_a_moment() {
    let tables = "[[model.x]]\nlaw = \"normal\"\nmean = 1\n".repeat(1_500);
    let read: One<Vec<Internal>> = whole(&tables).expect("it is sound");
    assert_eq!(read.x.len(), 1_500);
    let message = whole::<One<Vec<Internal>>>(&format!("{tables}b = 1\n")).expect_err("b").one_line();
    assert!(message.contains("unknown key `x[1499].b`"), "{message}");
}

#[test]
fn what_is_given_holds_lists_of_tables() {
    let text = "[[model.x]]\nmean = 1\n[[model.x]]\nmean = 2\n";
    let scenario = Scenario::parse("m.toml", text, ".".as_ref(), &[]).expect("it is sound");
    let json = serde_json::to_string(&scenario.given()).expect("it is JSON");
    assert_eq!(json, r#"{"model":{"x":[{"mean":1},{"mean":2}]}}"#);
}

/// Types of two reports: <https://github.com/serde-rs/serde/issues/2123>, where a key beside a variant
/// without fields is accepted even where unknown ones are denied, and
/// <https://github.com/serde-rs/serde/issues/2984>, where a flattened enum with a tag inside cannot be read
/// at all if they are denied; without that, nothing is.
#[test]
fn what_others_report_of_enums_with_a_tag_inside_does_not_happen_here() {
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "rule", deny_unknown_fields)]
    enum Settings {
        MustRunAs(User),
        RunAsAny,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    struct User {
        user: String,
    }
    stranger::<Settings>("{ rule = \"RunAsAny\", another_key = 1 }", ".another_key");
    stranger::<Settings>("{ rule = \"MustRunAs\", user = \"a\", another_key = 1 }", ".another_key");
    let user = User { user: "a".to_owned() };
    assert_eq!(
        read::<Settings>("{ rule = \"MustRunAs\", user = \"a\" }").unwrap(),
        Settings::MustRunAs(user)
    );

    #[derive(Debug, Deserialize, PartialEq)]
    struct Package {
        #[serde(flatten)]
        kind: PackageType,
        #[serde(default)]
        var: String,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    enum PackageType {
        Local {},
        Git { url: String },
    }
    let local = Package { kind: PackageType::Local {}, var: "a".to_owned() };
    assert_eq!(read::<Package>("{ kind = \"local\", var = \"a\" }").unwrap(), local);
    assert!(read::<Package>("{ kind = \"git\", url = \"b\" }").is_ok());
    stranger::<Package>("{ kind = \"local\", var = \"a\", url = \"b\" }", ".url");
    stranger::<Package>("{ kind = \"git\", url = \"b\", vra = \"a\" }", ".vra");
}
