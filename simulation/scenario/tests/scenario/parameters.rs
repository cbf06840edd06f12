//! Structs that serde reads: values are read correctly, and every mistake is reported with its place and what
//! is allowed.

use paceline_kernel::Time;
use paceline_scenario::{Scenario, ScenarioError};
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, PartialEq)]
struct Model {
    people: u32,
    #[serde(default)]
    contacts: f64,
    kind: Kind,
    #[serde(with = "paceline_scenario::time")]
    step: Time,
    ages: Vec<u8>,
    place: Option<Place>,
    share: Option<Share>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Mixed,
    OnGrid,
    Ring { neighbours: u32 },
}

#[derive(Debug, Deserialize, PartialEq)]
struct Place {
    width: i64,
    open: bool,
}

/// From 0 to 1.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(try_from = "f64")]
struct Share(f64);

impl TryFrom<f64> for Share {
    type Error = &'static str;

    fn try_from(share: f64) -> Result<Self, &'static str> {
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err("a share is from 0 to 1") }
    }
}

const SOUND: &str = r#"[model]
people = 500
kind = "on-grid"
step = "90 min"
ages = [7, 80]
place = { width = -4, open = true }
share = 1
"#;

fn read(text: &str, overrides: &[String]) -> Result<Model, ScenarioError> {
    Scenario::parse("m.toml", text, ".".as_ref(), overrides)?.section("model")?.parameters()
}

#[test]
fn what_is_written_is_read() {
    let model = read(SOUND, &[]).expect("it is sound");
    let place = Some(Place { width: -4, open: true });
    let (step, share) = (Time::secs(5400), Some(Share(1.0)));
    let expected =
        Model { people: 500, contacts: 0.0, kind: Kind::OnGrid, step, ages: vec![7, 80], place, share };
    assert_eq!(model, expected);
    let ring = SOUND.replace("\"on-grid\"", "{ ring = { neighbours = 2 } }");
    assert_eq!(read(&ring, &[]).expect("it is sound").kind, Kind::Ring { neighbours: 2 });
    assert_eq!(read(SOUND, &["model.people=7".into()]).expect("it is sound").people, 7);
}

#[test]
fn mistakes_have_their_places() {
    for (line, wrong, message) in [
        (
            "people = 500",
            "people = \"many\"",
            "m.toml:2:10: `people` in [model] cannot be the string \"many\"; allowed: a whole number from 0 to 4294967295",
        ),
        (
            "people = 500",
            "people = -1",
            "m.toml:2:10: `people` in [model] cannot be the integer -1; allowed: a whole number from 0 to 4294967295",
        ),
        (
            "people = 500",
            "peopel = 500",
            "m.toml:2:1: unknown key `peopel` in [model]; did you mean `people`?; allowed: people, contacts, kind, step, ages, place, share",
        ),
        (
            "people = 500\n",
            "",
            "m.toml:1:2: missing key `people` in [model]; allowed: `people` must be there",
        ),
        (
            "people = 500",
            "people = 500\ncontacts = true",
            "m.toml:3:12: `contacts` in [model] cannot be true; allowed: a number",
        ),
        (
            "\"on-grid\"",
            "\"on-gird\"",
            "m.toml:3:8: `kind` in [model] cannot be the string \"on-gird\"; allowed: \"mixed\", \"on-grid\", \"ring\"",
        ),
        (
            "\"90 min\"",
            "\"90\"",
            "m.toml:4:8: `step` in [model]: \"90\" is no length of time: it has no unit; allowed: a duration with its unit, such as \"300s\", \"1.5h\" or \"1ms\" (units: ps, ns, us, ms, s, min, h, d)",
        ),
        (
            "[7, 80]",
            "[7, 800]",
            "m.toml:5:12: `ages[1]` in [model] cannot be the integer 800; allowed: a whole number from 0 to 255",
        ),
        (
            "open = true",
            "open = 1",
            "m.toml:6:30: `place.open` in [model] cannot be the integer 1; allowed: true or false",
        ),
        (
            "width = -4",
            "witdh = -4",
            "m.toml:6:11: unknown key `place.witdh` in [model]; did you mean `width`?; allowed: width, open",
        ),
        (
            "width = -4, ",
            "",
            "m.toml:6:9: missing key `place.width` in [model]; allowed: `place.width` must be there",
        ),
        (
            "share = 1",
            "share = 1.5",
            "m.toml:7:9: `share` in [model]: a share is from 0 to 1; allowed: what the model's author says",
        ),
    ] {
        assert!(SOUND.contains(line), "{line}");
        let mistake = read(&SOUND.replace(line, wrong), &[]).expect_err(wrong);
        assert_eq!(mistake.one_line(), message, "{wrong}");
    }
    let mistake = read(SOUND, &["model.place.width=x".into()]).expect_err("it is no number");
    assert!(mistake.one_line().starts_with("--set model.place.width=x"), "{}", mistake.one_line());
}

#[test]
fn lengths_of_time_are_written_as_they_are_read() {
    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Pause(#[serde(with = "paceline_scenario::time")] Time);
    for pause in
        [Pause(Time::ZERO), Pause(Time::nanos(1)), Pause(Time::secs(90)), Pause(Time::nanos(u64::MAX - 1))]
    {
        let text = serde_json::to_string(&pause).expect("a string is JSON");
        assert_eq!(serde_json::from_str::<Pause>(&text).expect(&text), pause);
    }
}
