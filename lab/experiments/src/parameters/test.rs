//! What is built in is sound; mistakes are reported with their places; fewer points give fewer runs, and a
//! judgement all the same.

use std::collections::{BTreeMap, BTreeSet};

use paceline_report::Finding;
use paceline_scenario::{Raw, Scenario, ScenarioError};

use super::given::{values, written};
use super::*;
use crate::catalogue::made_up::{judged, whatever};
use crate::plan::Plan;
use crate::{Experiment, experiments};

const QUICK: [bool; 2] = [false, true];

/// Lists that may be empty: values that are tried beside our own.
const TRIED: &str = "dom0_vcpus fan_in event ahead send backend turns assumptions dom0_slice beside smt look copy \
                     joined rounds adjust";

fn named(name: &str) -> Experiment {
    experiments().into_iter().find(|experiment| experiment.name == name).expect("the catalogue has it")
}

fn values_of(experiment: &Experiment, quick: bool) -> BTreeMap<String, Raw> {
    let scenario = Scenario::parse("", experiment.parameters, "".as_ref(), &[]).expect("it is sound");
    values(scenario, quick).expect("it is sound")
}

fn planned(experiment: &Experiment, overrides: &[&str], quick: bool) -> Result<Plan, ScenarioError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    experiment.plan(&Given::changed(experiment, &overrides, quick).setup()?)
}

fn refused(experiment: &Experiment, text: &str) -> String {
    let given = Given::read("own.toml", text, &[], false, &experiments()).and_then(Given::setup);
    given.and_then(|setup| experiment.plan(&setup)).expect_err(text).one_line()
}

fn keys(plan: &Plan) -> BTreeSet<String> {
    plan.cells.iter().map(|cell| cell.key.clone()).collect()
}

fn left_out(finding: &Finding) -> Option<&String> {
    finding.notes.iter().find(|note| note.starts_with("Not compared"))
}

#[test]
fn every_experiment_has_a_file_that_names_it_and_gives_all_that_it_compares() {
    for experiment in experiments() {
        let named = format!("\n[experiment]\nname = \"{}\"\n", experiment.name);
        assert!(experiment.parameters.starts_with("# ") && experiment.parameters.contains(&named));
        assert!(!experiment.parameters.contains("[constants]"), "{}", experiment.name);
        for quick in QUICK {
            let plan = planned(&experiment, &[], quick)
                .unwrap_or_else(|error| panic!("{}: {error:?}", experiment.name));
            let all = Setup { quick, ..Setup::default() };
            assert_eq!(keys(&plan), keys(&experiment.plan(&all).expect("it is sound")));
            assert_eq!(left_out(&judged(plan, whatever(0))), None, "{}", experiment.name);
        }
    }
}

#[test]
fn a_value_of_a_wrong_type_an_empty_list_and_an_unknown_key_are_reported_with_their_places() {
    for experiment in experiments() {
        let name = experiment.name;
        for quick in QUICK {
            let section = if quick { "quick" } else { "parameters" };
            for (key, raw) in values_of(&experiment, quick) {
                let line = planned(&experiment, &[&format!("{key}=true")], quick).expect_err(name).one_line();
                let printed =
                    format!("--set {section}.{key}=true: `{key}` in [{section}] cannot be true; allowed: ");
                assert!(line.starts_with(&printed), "{name}: {line}");
                let empty = planned(&experiment, &[&format!("{key}=[]")], quick);
                if matches!(raw, Raw::Array(_))
                    && TRIED.split(' ').any(|tried| tried == key)
                    && name != "sg-fig1"
                {
                    assert!(empty.is_ok(), "{name}: {empty:?}");
                } else if matches!(raw, Raw::Array(_)) {
                    let line = empty.expect_err(name).one_line();
                    assert!(line.contains("cannot be an array that is empty"), "{name}: {line}");
                }
            }
        }
        // What the other form has is wrong too.
        let (key, _) = values_of(&experiment, false).pop_first().expect("it has parameters");
        assert!(planned(&experiment, &[&format!("quick.{key}=true")], false).is_err(), "{name}");
        let text = experiment.parameters.replace("[parameters]\n", "[parameters]\nruonds = 3\n");
        let line = refused(&experiment, &text);
        assert!(line.starts_with("own.toml:6:1: unknown key `ruonds` in [parameters]"), "{name}: {line}");
        let line = refused(&experiment, &format!("{}\n[qiuck]\n", experiment.parameters));
        assert!(line.contains("unknown section [qiuck]; did you mean [quick]?"), "{name}: {line}");
    }
}

#[test]
fn mistakes_say_what_is_allowed() {
    let fig10 = named("nsx-fig10");
    let line = |text: &str, other: &str| {
        assert!(fig10.parameters.contains(text), "{text}");
        refused(&fig10, &fig10.parameters.replace(text, other))
    };
    assert_eq!(
        line("rounds = 1000 ", "rounds = 0 "),
        "own.toml:8:10: `rounds` in [parameters] cannot be the integer 0; allowed: a whole number from 1 to 1000000"
    );
    assert_eq!(
        line("rounds = 1000 ", "ruonds = 1000 "),
        "own.toml:8:1: missing key `rounds` in [parameters]; is `ruonds` meant to be it?; allowed: `rounds` must be a whole number from 1 to 1000000"
    );
    let of_list = line("\"200us\", \"500us\"", "\"200us\", 500");
    assert!(
        of_list.starts_with("own.toml:6:9: `ticks` in [parameters] cannot be an array: it holds"),
        "{of_list}"
    );
    assert!(of_list.contains("such as \"30us\""), "{of_list}");
    let mixed_up = line("\"60us\", \"80us\", \"100us\", \"1ms\"", "\"80us\", \"60us\", \"1ms\"");
    assert!(mixed_up.contains("`ticks` in [quick] cannot be an array that does not ascend"), "{mixed_up}");
    let fine = line("\"30us\", \"60us\", \"80us\", \"100us\", \"200us\"", "\"1500ns\"");
    assert!(fine.contains("it is no whole number of microseconds"), "{fine}");
    let line = line("nsx-fig10\"", "nsx-fig01\"");
    assert!(line.starts_with("own.toml:3:8: there is no experiment \"nsx-fig01\"; did you mean"), "{line}");
    let waits = named("psx-wait");
    let line = planned(&waits, &["waits=[\"pol\"]"], false).expect_err("no such way").one_line();
    assert!(line.contains("it holds the string \"pol\"; did you mean \"poll\"?; allowed:"), "{line}");
    let line = planned(&named("sg-fig1"), &["turns=[5]"], false).expect_err("they are four").one_line();
    assert!(line.contains("`turns` in [parameters] has 1 values, and `peers` has 4"), "{line}");
}

#[test]
fn constants_are_those_of_the_table_and_of_the_paper() {
    let with = |name: &str, changes: &[&str]| -> Result<Setup, ScenarioError> {
        let changes: Vec<String> = changes.iter().map(|text| (*text).to_owned()).collect();
        Given::changed(&named(name), &changes, false).setup()
    };
    let setup = with("psx-fig10", &["constants.psx.send=5000"]).expect("it is a constant");
    assert_eq!((setup.calibration.get("psx.send"), setup.calibration.get("psx.receive")), (5_000, 6_000));
    let line = |name: &str, change: &str| with(name, &[change]).expect_err(change).one_line();
    assert_eq!(
        line("psx-fig10", "constants.psx.sned=1").split("; allowed: event, ").next(),
        Some("--set constants.psx.sned=1: there is no constant `psx.sned`; did you mean `send`?")
    );
    assert!(line("psx-fig10", "constants.nsx.send=1").contains("unknown key `nsx` in [constants]"));
    assert!(line("psx-fig10", "constants.psx.send=0").contains("a whole number from 1 to 6000000, in ns"));
    assert!(line("sg-fig1", "constants.sg.send=1").contains("sg-fig1 measures real time"));
}

#[test]
fn fewer_points_give_fewer_runs_and_a_judgement_of_what_was_run() {
    for experiment in experiments() {
        for quick in QUICK {
            let all = planned(&experiment, &[], quick).expect("it is sound").cells.len();
            let lists: Vec<_> = values_of(&experiment, quick)
                .into_iter()
                .filter_map(|(key, raw)| if let Raw::Array(items) = raw { Some((key, items)) } else { None })
                .collect();
            for pick in [|_: usize| 0, |count: usize| count / 2, |count: usize| count - 1] {
                let only = |(key, items): &(String, Vec<Raw>)| {
                    format!("{key}={}", written(&Raw::Array(vec![items[pick(items.len())].clone()])))
                };
                let changes: Vec<String> = lists.iter().map(only).collect();
                let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
                for seed in 0..8 {
                    let plan = planned(&experiment, &changes, quick).expect("it is sound");
                    let several = lists.iter().any(|(_, items)| items.len() > 1);
                    assert!(plan.cells.len() < all + usize::from(!several), "{}", experiment.name);
                    let finding = judged(plan, whatever(seed));
                    let known = !finding.checks.is_empty() || left_out(&finding).is_some();
                    assert!(known, "{}: {finding:?}", experiment.name);
                }
            }
        }
    }
}

#[test]
fn exactly_the_points_of_the_file_are_run_and_what_lacks_one_is_named() {
    let plan = planned(&named("nsx-fig12"), &["ticks=[\"80us\", \"1ms\"]", "runs=3", "adjust=[]"], false);
    let plan = plan.expect("it is sound");
    let schedulers = ["CSX", "NSX", "NSX, 2x DOM0", "NSX, 4x DOM0", "NSX+"];
    let expected = schedulers.into_iter().flat_map(|scheduler| {
        ["80us", "1000us"].map(|tick| format!("nsx/{scheduler}/{tick}/3x1000/Usual/2vcpus"))
    });
    assert_eq!(keys(&plan), expected.collect());
    let finding = judged(plan, whatever(1));
    assert_eq!(finding.checks.len(), 4);
    let printed =
        "Not compared, because the parameters leave out a point that it takes: error at 60 us: NSX, NSX+.";
    assert_eq!(left_out(&finding).map(String::as_str), Some(printed));

    let plan = planned(&named("psx-fig12"), &["domains=[16, 32]"], true).expect("it is sound");
    let gears = ["CONS", "OPT"].into_iter().flat_map(|gear| [16, 32].map(|domains| (gear, domains)));
    let expected = gears.flat_map(|(gear, domains)| {
        ["CSX-32x", "PSX", "PSX+"]
            .map(|scheduler| format!("psx/100x100/loc90/6s/{domains}dom/{gear}/{scheduler}/usual"))
    });
    assert_eq!(keys(&plan), expected.collect());
    let printed = left_out(&judged(plan, whatever(1))).cloned().expect("no gain at 64 domains");
    assert!(printed.contains("gain of CONS at 64 domains; gain of"), "{printed}");
}

#[test]
fn what_is_not_built_in_is_reported_in_a_sentence() {
    let experiment = named("nsx-fig10");
    let printed = |changes: &[&str], quick| {
        let changes: Vec<String> = changes.iter().map(|text| (*text).to_owned()).collect();
        Given::changed(&experiment, &changes, quick).differences().expect("it is sound")
    };
    assert_eq!(printed(&[], true), "");
    assert_eq!(printed(&["rounds=1000"], true), "");
    assert_eq!(printed(&["parameters.runs=1"], true), "", "the quick form has its own");
    assert_eq!(
        printed(&["rounds=10", "ticks=[\"60us\"]", "constants.nsx.send=5000"], true),
        "With other parameters than the built-in ones: rounds = 10 in place of 1000; ticks = [\"60us\"] in place of \
         [\"30us\", \"60us\", \"80us\", \"100us\", \"1ms\", \"30ms\"]; nsx.send = 5000 in place of 7000 ns."
    );
}

/// Other values than this one, the likelier to be allowed first.
fn others(raw: &Raw) -> Vec<Raw> {
    match raw {
        Raw::Integer(number) => [number * 2, number + 1, number - 1].map(Raw::Integer).into(),
        Raw::String(text) => match paceline_scenario::duration(text) {
            Ok(span) => {
                [2 * span.as_nanos(), span.as_nanos() / 2].map(|ns| Raw::String(format!("{ns}ns"))).into()
            }
            Err(_) => Vec::new(),
        },
        Raw::Float(number) => vec![Raw::Float(number * 2.0)],
        _ => Vec::new(),
    }
}

#[test]
fn keys_of_runs_name_every_parameter_so_that_no_two_experiments_share_runs_that_differ() {
    for experiment in experiments() {
        for quick in QUICK {
            let usual = keys(&planned(&experiment, &[], quick).expect("it is sound"));
            for (key, raw) in values_of(&experiment, quick) {
                // Parts of LU and of EP go together.
                let with_raw = |other: Raw| match key.as_str() {
                    "lu_part" | "ep_part" => {
                        ["lu_part", "ep_part"].map(|key| format!("{key}={}", written(&other))).into()
                    }
                    _ => vec![format!("{key}={}", written(&other))],
                };
                let plan = |changes: Vec<String>| {
                    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
                    planned(&experiment, &changes, quick).ok()
                };
                let Some(plan) = others(&raw).into_iter().find_map(|other| plan(with_raw(other))) else {
                    assert!(matches!(raw, Raw::Array(_)), "{}: {key}", experiment.name);
                    continue;
                };
                // A limit that no size reaches decides nothing.
                let matters = key != "most_precise" || !quick;
                assert!(!matters || keys(&plan) != usual, "{}: {key}", experiment.name);
            }
        }
    }
}
