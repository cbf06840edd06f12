//! Several sections of one name, tables within sections, and keys that are passed on to another reader: all
//! with their places.

use paceline_scenario::{Raw, Scenario, ScenarioError, Section};

const TEXT: &str = r#"[policy]
kind = "psx"
tick = "300us"

[policy.credit]
slice = "30ms"

[[domain]]
name = "one"
count = 2
pins = [0, 1]

[[domain]]
name = "two"
count = 3
settings = { weight = 512, cap = "none" }
"#;

fn read(overrides: &[&str]) -> Result<(Section, Vec<Section>), ScenarioError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let mut scenario = Scenario::parse("demo.toml", TEXT, ".".as_ref(), &overrides)?;
    let (policy, domains) = (scenario.section("policy")?, scenario.sections("domain")?);
    scenario.finish(&["policy", "domain"])?;
    Ok((policy, domains))
}

fn counts(overrides: &[&str]) -> Vec<u32> {
    let (_, mut domains) = read(overrides).unwrap();
    domains.iter_mut().map(|domain| domain.or("count", 1).unwrap()).collect()
}

#[test]
fn sections_of_one_name_come_in_the_order_of_the_file() {
    assert_eq!(counts(&[]), [2, 3]);
    let mut scenario = Scenario::parse("demo.toml", "[host]\npcpus = 1\n", ".".as_ref(), &[]).unwrap();
    assert_eq!(scenario.sections("host").unwrap().len(), 1, "a single one needs no list");
    assert!(scenario.sections("link").unwrap().is_empty());
    let (_, mut domains) = read(&[]).unwrap();
    assert_eq!(domains[0].required::<Vec<u32>>("pins").unwrap(), [0, 1]);
}

#[test]
fn an_override_reaches_all_of_them_or_the_one_that_it_names() {
    assert_eq!(counts(&["domain.count=7"]), [7, 7]);
    assert_eq!(counts(&["domain.two.count=7"]), [2, 7]);
    let line = read(&["domain.tow.count=7"]).unwrap_err().one_line();
    assert_eq!(
        line,
        "--set domain.tow.count=7: there is no [[domain]] with the name \"tow\"; did you mean \"two\"?; \
         allowed: one, two"
    );
}

#[test]
fn an_override_reaches_tables_and_makes_them() {
    let (mut policy, _) = read(&["policy.credit.slice=1ms", "policy.psx.tick=100us"]).unwrap();
    assert_eq!(policy.table("credit").unwrap().required::<String>("slice").unwrap(), "1ms");
    assert_eq!(policy.table("psx").unwrap().required::<String>("tick").unwrap(), "100us");
    let (_, mut domains) = read(&["domain.two.settings={ weight = 1.5 }"]).unwrap();
    let line = domains[1].table("settings").unwrap().optional::<u32>("weight").unwrap_err().one_line();
    assert!(line.starts_with("--set domain.two.settings={ weight = 1.5 }: `weight`"), "{line}");
}

const FLOWS: &str = r#"[model]
link = { rate = "1Gbps", queue = { kind = "drop-tail", packets = 50 } }
bytes = [1, 2]

[[model.flows]]
to = "a"

[[model.flows]]
to = "b"
rate = { mean = 3 }
"#;

fn model(overrides: &[&str]) -> Result<Section, ScenarioError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Scenario::parse("demo.toml", FLOWS, ".".as_ref(), &overrides)?.section("model")
}

#[test]
fn tables_of_a_section_come_in_the_order_of_the_file() {
    let mut model = model(&[]).unwrap();
    let mut flows = model.tables("flows").unwrap();
    let to: Vec<String> = flows.iter_mut().map(|flow| flow.required("to").unwrap()).collect();
    assert_eq!(to, ["a", "b"]);
    assert!(model.tables("hosts").unwrap().is_empty());
    assert_eq!(model.tables("link").unwrap().len(), 1, "a single one needs no list");
    let line = flows.remove(1).finish().unwrap_err().one_line();
    assert_eq!(line, "demo.toml:10:1: unknown key `rate` in [[model.flows]]; allowed: to");
    let line = model.tables("bytes").unwrap_err().one_line();
    assert!(
        line.starts_with(
            "demo.toml:3:9: `bytes` in [model] cannot be an array; allowed: lines `[[model.bytes]]`"
        ),
        "{line}"
    );
}

#[test]
fn an_override_reaches_any_depth_and_all_of_a_list() {
    let changes =
        ["model.link.queue.packets=4", "model.flows.bytes=7", "model.flows.rate.mean=5", "model.a.b.c=1"];
    let mut model = model(&changes).unwrap();
    let mut queue = model.table("link").unwrap().table("queue").unwrap();
    assert_eq!((queue.required::<u32>("packets").unwrap(), queue.has("kind")), (4, true));
    for mut flow in model.tables("flows").unwrap() {
        assert_eq!(flow.required::<u32>("bytes").unwrap(), 7);
        assert_eq!(flow.table("rate").unwrap().required::<u32>("mean").unwrap(), 5);
    }
    assert_eq!(model.table("a").unwrap().table("b").unwrap().required::<u32>("c").unwrap(), 1);
    let line = self::model(&["model.link.rate.mean=1"]).unwrap_err().one_line();
    assert!(line.contains("`rate` in [model.link] is the string \"1Gbps\", not a table"), "{line}");
    let line = self::model(&["model.bytes.mean=1"]).unwrap_err().one_line();
    assert!(line.contains("`bytes` in [model] is an array, not a table"), "{line}");
}

#[test]
fn mistakes_in_tables_and_lists_have_their_places() {
    let (mut policy, mut domains) = read(&["domain.one.pins=[0, true]"]).unwrap();
    let place = |error: ScenarioError| error.one_line();
    let line = place(policy.table("credit").unwrap().required::<u32>("slice").unwrap_err());
    assert!(line.starts_with("demo.toml:6:9: `slice` in [policy.credit] cannot be the string"), "{line}");
    let line = place(policy.table("kind").unwrap_err());
    assert!(line.starts_with("demo.toml:2:8: `kind` in [policy] cannot be the string \"psx\""), "{line}");
    let line = place(domains[0].optional::<Vec<u32>>("pins").unwrap_err());
    assert!(
        line.contains("`pins` in [[domain]] cannot be an array: it holds true; allowed: a list"),
        "{line}"
    );
    let line = place(domains[0].optional::<Vec<String>>("pins").unwrap_err());
    assert!(
        line.contains(
            "`pins` in [[domain]] cannot be an array: it holds the integer 0; allowed: a list of strings"
        ),
        "{line}"
    );
    let line = place(domains[1].required::<u32>("vcpus").unwrap_err());
    assert!(line.starts_with("demo.toml:13:1: missing key `vcpus` in [[domain]]"), "{line}");
    let mut settings = domains[1].table("settings").unwrap();
    let line = place(settings.optional::<u32>("cap").unwrap_err());
    assert!(line.starts_with("demo.toml:16:34: `cap` in [domain.settings]"), "{line}");
    let absent = domains[0].table("settings").unwrap();
    assert!(absent.finish().is_ok(), "a table that is not there has no keys");
    for text in ["domain = 3", "domain = [1, 2]", "domain = []"] {
        let mut scenario = Scenario::parse("demo.toml", text, ".".as_ref(), &[]).unwrap();
        let line = place(scenario.sections("domain").unwrap_err());
        assert!(line.starts_with("demo.toml:1:1: `domain` is not a section"), "{line}");
    }
}

#[test]
fn keys_are_handed_on_once_and_refused_at_their_places() {
    let (mut policy, _) = read(&[]).unwrap();
    assert_eq!(policy.required::<String>("kind").unwrap(), "psx");
    assert!(policy.is_table("credit") && !policy.is_table("tick") && !policy.is_table("nothing"));
    let tick = ("tick".to_owned(), Raw::String("300us".into()));
    assert_eq!(policy.rest(), [("credit".to_owned(), Raw::Other("a table")), tick]);
    assert_eq!(policy.rest(), []);
    let line = policy.unknown("tick", "no setting `tick`", &["ticks", "slice"]).one_line();
    assert_eq!(line, "demo.toml:3:1: no setting `tick`; did you mean `ticks`?; allowed: ticks, slice");
    assert!(policy.finish().is_ok(), "what was handed on was read");
}
