//! Findings as programs read them: JSON of exactly the shape that is promised.

use paceline_report::{
    Axis, Check, Criterion, Curve, Estimate, Figure, Finding, Fit, FitRow, Half, Ours, Quantity, RanOn,
    Shape, Statement, Sweep, Tolerance, Verdict, Wanted,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Checks of each verdict, and of one that has failed.
fn check() -> impl Strategy<Value = Check> {
    let criterion = |words: String, number: f64| {
        prop_oneof![
            Just(Criterion::published(number, Tolerance::TIMES).or(Shape::Above(0.0)).saying(words.clone())),
            Just(Criterion::stated(Statement::Order, words.clone(), Shape::at_most(number))),
            Just(Criterion::invariant(Shape::exactly(number))),
            Just(Criterion::Failed(words)),
        ]
    };
    let criterion = (any::<String>(), whole()).prop_flat_map(move |(words, number)| criterion(words, number));
    let ours = (whole(), 0.0..100.0, any::<[String; 2]>()).prop_map(|(value, half_width, [unit, detail])| {
        Ours::one(Estimate::within(value, half_width), unit).with(detail)
    });
    (any::<String>(), criterion, ours).prop_map(|(what, criterion, ours)| Check { what, criterion, ours })
}

/// Numbers that JSON gives back as they are.
fn whole() -> impl Strategy<Value = f64> {
    (-1_000..1_000).prop_map(f64::from)
}

fn sweep() -> impl Strategy<Value = Sweep> {
    let wanted = prop_oneof![
        whole().prop_map(Wanted::AtLeast),
        whole().prop_map(Wanted::AtMost),
        (whole(), whole()).prop_map(|(one, other)| Wanted::Within(one.min(other), one.max(other))),
    ];
    let points = proptest::collection::vec((whole(), whole()), 0..4);
    let curve =
        (any::<String>(), points, wanted).prop_map(|(name, points, wanted)| Curve { name, points, wanted });
    let names = proptest::collection::vec(any::<String>(), 0..3);
    let axis = (any::<[String; 2]>(), names).prop_map(|([label, unit], names)| match names.is_empty() {
        true => Axis::linear(label, unit),
        false => Axis::categories(label, names),
    });
    let texts = any::<[String; 4]>();
    (texts, axis, whole(), proptest::collection::vec(curve, 0..3)).prop_map(
        |([check, label, unit, reason], quantity, ours, curves)| Sweep {
            check,
            quantity,
            ours,
            measured: Axis::linear(label, unit),
            curves,
            reason,
            spoilt: Vec::new(),
        },
    )
}

fn finding() -> impl Strategy<Value = Finding> {
    let texts = (any::<String>(), any::<String>());
    let sweeps = proptest::collection::vec(sweep(), 0..3);
    (texts, proptest::collection::vec(check(), 0..4), sweeps, 0.0..1e6).prop_map(
        |((name, title), checks, sweeps, wall_seconds)| {
            let figures = vec![Figure { x: Axis::log("x", "s"), ..Figure::default() }];
            Finding {
                name,
                title,
                checks,
                sweeps,
                ran_on: RanOn::RealThreads,
                wall_seconds,
                figures,
                notes: vec!["why".into()],
                ..Finding::default()
            }
        },
    )
}

#[test]
fn what_was_fitted_and_what_predicted_is_in_the_object() {
    let row = |what: &str, error, half| FitRow {
        what: what.into(),
        published: "6 times (about)".into(),
        ours: "8 times".into(),
        error,
        half,
    };
    let rows = vec![row("gain", 0.7, Half::Fitted), row("time", f64::INFINITY, Half::Predicted)];
    let poll =
        Quantity { name: "psx.poll".into(), value: "3000 us".into(), meaning: "how long it polls".into() };
    let fit = Fit {
        vector: vec![poll],
        rule: "Every second.".into(),
        rows,
        unserved: vec!["psx-fig10: time".into()],
        vectors: 41,
    };
    let finding = Finding { fit: Some(fit.clone()), ..Finding::default() };
    let read: Value = serde_json::from_str(&finding.json()).expect("JSON");
    assert_eq!(keys(&read), ["checks", "fit", "name", "ran_on", "sweeps", "verdict", "wall_seconds"]);
    let promised = json!({
        "vector": { "psx.poll": "3000 us" },
        "vectors_tried": 41,
        "rows": [
            { "what": "gain", "half": "fitted", "published": "6 times (about)", "ours": "8 times", "error": 0.7 },
            { "what": "time", "half": "predicted", "published": "6 times (about)", "ours": "8 times", "error": null },
        ],
        "unserved": ["psx-fig10: time"],
    });
    assert_eq!(read["fit"], promised);
    let said = fit.error_sentence();
    let begins =
        "fitted: 1 of 1 reproduced, median error 0.70; predicted: 0 of 1 reproduced, median error no number.";
    assert!(said.starts_with(begins) && said.ends_with("comes near: psx-fig10: time."), "{said}");
    assert!(
        fit.vector_sentence()
            .contains("of 41 that were tried: psx.poll = 3000 us (how long it polls). Every")
    );
    let page = paceline_report::page("All", &[], &[finding], &[]);
    assert!(page.contains("psx.poll = 3000 us") && page.contains("error in tolerances"), "{page}");
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// What a program must find of a sweep.
fn promised(sweep: &Sweep) -> Value {
    let curve = |curve: &Curve| {
        let wanted = match curve.wanted {
            Wanted::AtLeast(least) => json!({ "at_least": least }),
            Wanted::AtMost(most) => json!({ "at_most": most }),
            Wanted::Within(least, most) => json!({ "at_least": least, "at_most": most }),
        };
        let points: Vec<_> = curve.points.iter().map(|(value, measured)| json!([value, measured])).collect();
        json!({ "name": curve.name, "points": points, "wanted": wanted })
    };
    let mut promised = json!({
        "check": sweep.check,
        "quantity": sweep.quantity.label,
        "unit": sweep.quantity.unit,
        "ours": sweep.ours,
        "measured": sweep.measured.label,
        "measured_unit": sweep.measured.unit,
        "curves": sweep.curves.iter().map(curve).collect::<Vec<_>>(),
        "sentence": sweep.sentence(),
    });
    if !sweep.quantity.names().is_empty() {
        promised["categories"] = sweep.quantity.names().into();
    }
    promised
}

proptest! {
    #[test]
    fn json_holds_what_is_promised_and_nothing_else(findings in proptest::collection::vec(finding(), 0..4)) {
        let read: Value = serde_json::from_str(&paceline_report::json(&findings)).expect("JSON");
        let read = read.as_array().expect("an array");
        prop_assert_eq!(read.len(), findings.len());
        for (object, finding) in read.iter().zip(&findings) {
            prop_assert_eq!(keys(object), ["checks", "name", "ran_on", "sweeps", "verdict", "wall_seconds"]);
            prop_assert_eq!(&object["name"], &finding.name);
            prop_assert_eq!(&object["ran_on"], finding.ran_on.name());
            prop_assert_eq!(&object["verdict"], finding.verdict().name());
            // Programs may read the last digit otherwise.
            let seconds = object["wall_seconds"].as_f64().expect("a number");
            prop_assert!((seconds - finding.wall_seconds).abs() <= finding.wall_seconds * 1e-12);
            let checks = object["checks"].as_array().expect("an array");
            prop_assert_eq!(checks.len(), finding.checks.len());
            for (object, check) in checks.iter().zip(&finding.checks) {
                prop_assert_eq!(keys(object), ["must", "ours", "published", "verdict", "what"]);
                prop_assert_eq!(&object["what"], &check.what);
                prop_assert_eq!(&object["must"], &check.must());
                prop_assert_eq!(&object["published"], &check.published());
                prop_assert_eq!(&object["ours"], &check.ours());
                prop_assert_eq!(&object["verdict"], check.verdict().name());
            }
            let sweeps = object["sweeps"].as_array().expect("an array");
            prop_assert_eq!(sweeps.len(), finding.sweeps.len());
            for (object, sweep) in sweeps.iter().zip(&finding.sweeps) {
                prop_assert_eq!(object, &promised(sweep));
            }
            let one: Value = serde_json::from_str(&finding.json()).expect("JSON");
            prop_assert_eq!(&one, object);
        }
    }

    #[test]
    fn a_finding_is_as_good_as_its_worst_check(finding in finding()) {
        let worst = finding.verdict();
        prop_assert!(finding.checks.iter().all(|check| check.verdict() <= worst));
        let has_it = finding.checks.iter().any(|check| check.verdict() == worst);
        prop_assert!(has_it || (finding.checks.is_empty() && worst == Verdict::Undecided));
        prop_assert_eq!(finding.check_table().rows().len(), finding.checks.len());
    }
}
