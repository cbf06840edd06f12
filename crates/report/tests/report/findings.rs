//! Findings as programs read them: JSON of exactly the shape that is promised.

use paceline_report::{Axis, Check, Figure, Finding, json};
use proptest::prelude::*;
use serde_json::Value;

fn check() -> impl Strategy<Value = Check> {
    (any::<[String; 4]>(), any::<bool>()).prop_map(|([what, published, ours, must], holds)| Check {
        what,
        published,
        ours,
        must,
        holds,
    })
}

fn finding() -> impl Strategy<Value = Finding> {
    let texts = (any::<String>(), any::<String>());
    (texts, proptest::collection::vec(check(), 0..4), 0.0..1e6).prop_map(
        |((name, title), checks, wall_seconds)| {
            let figures = vec![Figure { x: Axis::log("x", "s"), ..Figure::default() }];
            Finding {
                name,
                title,
                checks,
                wall_seconds,
                figures,
                notes: vec!["why".into()],
                ..Finding::default()
            }
        },
    )
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

proptest! {
    #[test]
    fn json_holds_what_is_promised_and_nothing_else(findings in proptest::collection::vec(finding(), 0..4)) {
        let read: Value = serde_json::from_str(&json(&findings)).expect("JSON");
        let read = read.as_array().expect("an array");
        prop_assert_eq!(read.len(), findings.len());
        for (object, finding) in read.iter().zip(&findings) {
            prop_assert_eq!(keys(object), ["checks", "holds", "name", "wall_seconds"]);
            prop_assert_eq!(&object["name"], &finding.name);
            prop_assert_eq!(&object["holds"], finding.holds());
            // Programs may read the last digit otherwise.
            let seconds = object["wall_seconds"].as_f64().expect("a number");
            prop_assert!((seconds - finding.wall_seconds).abs() <= finding.wall_seconds * 1e-12);
            let checks = object["checks"].as_array().expect("an array");
            prop_assert_eq!(checks.len(), finding.checks.len());
            for (object, check) in checks.iter().zip(&finding.checks) {
                prop_assert_eq!(keys(object), ["holds", "ours", "published", "what"]);
                prop_assert_eq!(&object["what"], &check.what);
                prop_assert_eq!(&object["published"], &check.published);
                prop_assert_eq!(&object["ours"], &check.ours);
                prop_assert_eq!(&object["holds"], check.holds);
            }
            let one: Value = serde_json::from_str(&finding.json()).expect("JSON");
            prop_assert_eq!(&one, object);
        }
    }

    #[test]
    fn a_finding_holds_if_all_its_checks_do_and_there_are_some(finding in finding()) {
        let failing = finding.checks.len() - finding.held();
        prop_assert_eq!(finding.holds(), failing == 0 && !finding.checks.is_empty());
        prop_assert_eq!(finding.check_table().rows().len(), finding.checks.len());
    }
}
