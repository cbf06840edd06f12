//! Machines out of scenario texts: what is handed to which policy, who works with whom, and runs that are the
//! same again.

use paceline_machine::{MachineSpec, Observer, Siblings};
use paceline_machine_scenarios::MachineScenario;
use paceline_machine_scenarios::compare::{agreements, compare};
use paceline_policy::{Setting, Settings};
use paceline_scenario::{Scenario, ScenarioError};

const TEXT: &str = r#"
[policy]
kind = "credit"
tick = "1ms"
psx.reads = "enqueue"

[[host]]
name = "left"
pcpus = 2
[[host]]
name = "right"
pcpus = 2
[[link]]
from = "left"
to = "right"

[[domain]]
name = "ep-left"
group = "ep"
host = "left"
count = 3
pins = [1, 0]
workload = "ep"
class = "S"
pair = "1ns"
settings."credit credit2" = { weight = 512 }

[[domain]]
name = "ep-right"
group = "ep"
host = "right"
processes = 2
vcpus = 2
"#;

struct Nobody;
impl Observer for Nobody {}

fn read(text: &str) -> Result<MachineScenario, ScenarioError> {
    MachineScenario::read("demo", Scenario::parse("demo.toml", text, ".".as_ref(), &[])?)
}

fn spec(kind: &str) -> MachineSpec {
    read(TEXT).unwrap().spec(kind).unwrap()
}

#[test]
fn a_table_named_like_policies_holds_under_these_only() {
    let tick = Settings::default().with("tick", Setting::Nanos(1_000_000));
    let reads = tick.clone().with("reads", Setting::Word("enqueue".into()));
    let weight = Settings::default().with("weight", Setting::Count(512));
    for (kind, policy, domain) in [("credit", &tick, &weight), ("psx", &reads, &Settings::default())] {
        let spec = spec(kind);
        assert!(spec.hosts.iter().all(|host| host.policy.kind == kind && &host.policy.settings == policy));
        assert!(spec.domains[..3].iter().all(|other| &other.settings == domain), "{kind}");
        assert_eq!(spec.domains[3].settings, Settings::default(), "each section has its own");
    }
}

#[test]
fn pins_are_dealt_to_vcpus_in_turn_and_processes_to_domains() {
    let spec = spec("credit");
    let facts: Vec<_> = spec
        .domains
        .iter()
        .map(|domain| (domain.name.as_str(), domain.host, domain.pins.as_slice(), domain.processes.len()))
        .collect();
    let expected: [(&str, u32, &[u32], usize); 4] = [
        ("ep-left-0", 0, &[1], 1),
        ("ep-left-1", 0, &[0], 1),
        ("ep-left-2", 0, &[1], 1),
        ("ep-right", 1, &[], 2),
    ];
    assert_eq!(facts, expected);
}

#[test]
fn a_group_on_two_hosts_works_together_and_ends_at_once_over_the_link() {
    let scenario = read(TEXT).unwrap();
    let outcome = scenario.run("credit", scenario.spec("credit").unwrap(), &mut Nobody).unwrap();
    let [ep] = outcome.workloads.as_slice() else { panic!("one group") };
    assert_eq!((ep.kind, ep.domains.clone(), ep.run_ns), ("ep", 0..4, Some(outcome.report.at_ns)));
    assert!(outcome.report.hosts.iter().all(|host| host.packets > 0), "both hosts carry messages");
    let unlinked = TEXT.replace("[[link]]\nfrom = \"left\"\nto = \"right\"\n", "");
    let scenario = read(&unlinked).unwrap();
    let error = scenario.run("credit", scenario.spec("credit").unwrap(), &mut Nobody).unwrap_err();
    assert!(error.to_string().contains("no link joins their hosts"), "{error}");
}

#[test]
fn mistakes_of_groups_are_reported_at_their_places() {
    let between = "[[domain]]\nname = \"other\"\nhost = \"left\"\nworkload = \"hog\"\n\n";
    let apart =
        TEXT.replace("[[domain]]\nname = \"ep-right\"", &format!("{between}[[domain]]\nname = \"ep-right\""));
    let twice = TEXT.replace("processes = 2", "class = \"S\"");
    let another = TEXT.replace("processes = 2", "workload = \"lu\"");
    let rounds = TEXT.replace("workload = \"ep\"\nclass = \"S\"\npair = \"1ns\"", "workload = \"rounds\"");
    for (text, words) in [
        (apart, "other domains stand between those of group \"ep\""),
        (twice, "unknown key `class` in [[domain]]"),
        (another, "the group's workload is \"ep\", not \"lu\""),
        (rounds, "message rounds among 5 processes"),
    ] {
        let line = read(&text).and_then(|read| read.spec("credit")).unwrap_err().one_line();
        assert!(line.starts_with("demo.toml:") && line.contains(words), "{line}");
    }
}

#[test]
fn comparing_is_running_alone_one_after_the_other() {
    let scenario = read(TEXT).unwrap();
    let policies = ["psx", "credit", "psx"];
    let compared = compare(&scenario, &policies, &mut [Nobody, Nobody, Nobody]).unwrap();
    assert_eq!(compared.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), policies);
    for (kind, outcome) in &compared {
        let alone = scenario.run(kind, scenario.spec(kind).unwrap(), &mut Nobody).unwrap();
        assert_eq!(outcome.as_ref().unwrap().report, alone.report, "{kind}");
    }
    assert!(agreements(&compared).is_empty(), "EP has no model");
}

#[test]
fn a_host_says_how_its_siblings_are_numbered() {
    let host = |keys: &str| {
        let text = format!(
            "[policy]\nkind = \"round-robin\"\n[host]\npcpus = 4\nsmt = true\n{keys}\n[[domain]]\nname = \"ep\"\nworkload = \"ep\"\nclass = \"S\"\n"
        );
        read(&text).and_then(|scenario| scenario.spec("round-robin")).map(|mut spec| spec.hosts.remove(0))
    };
    let siblings = |keys: &str| host(keys).expect("it is well-formed").siblings;
    assert_eq!(siblings(""), Siblings::Adjacent);
    assert_eq!(siblings("siblings = \"adjacent\""), Siblings::Adjacent);
    assert_eq!(siblings("siblings = \"apart\""), Siblings::Apart);
    let error = host("siblings = \"twins\"").expect_err("there is no such numbering");
    assert!(error.to_string().contains("twins"), "{error}");
}

/// LU beside EP on two hosts, where DOM0 stands beside guests that have messages too.
#[test]
fn most_messages_first_is_another_schedule_for_lu_where_dom0_is_distinguished() {
    let text = include_str!("../../../scenarios/machine-lu.toml");
    let short = text.replace("class = \"A\"\niterations = 20", "class = \"S\"\niterations = 2");
    assert_ne!(text, short);
    let scenario = read(&short).unwrap();
    let digest = |kind: &'static str| {
        scenario.run(kind, scenario.spec(kind).unwrap(), &mut Nobody).unwrap().report.digest
    };
    assert_eq!(digest("csde"), digest("csde"), "a run repeats");
    assert_ne!(digest("csde"), digest("csdd"));
}
