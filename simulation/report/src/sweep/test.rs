//! Sentences and figures of sweeps.

use proptest::prelude::*;

use super::*;

fn sweep(curves: &[(&str, &[f64], Wanted)]) -> Sweep {
    let curve = |(name, ys, wanted): &(&str, &[f64], Wanted)| Curve {
        name: (*name).into(),
        points: (1..).zip(ys.iter()).map(|(x, y)| (f64::from(x), *y)).collect(),
        wanted: *wanted,
    };
    Sweep {
        check: "gain".into(),
        quantity: Axis::linear("length", "m"),
        ours: 2.0,
        measured: Axis::linear("gain", "%"),
        curves: curves.iter().map(curve).collect(),
        ..Sweep::default()
    }
}

#[test]
fn a_sentence_names_what_holds_and_its_neighbours_that_do_not() {
    let one = |ys: &[f64]| sweep(&[("a", ys, Wanted::AtLeast(5.0))]).sentence();
    assert_eq!(one(&[5.0, 9.0]), "\"gain\" is reproduced if the length is 1 to 2 m; here it is 2 m.");
    assert_eq!(
        one(&[0.0, 0.0, 5.0, 6.0, 4.0]),
        "\"gain\" is reproduced if the length is 3 to 4 m, not 2 m or 5 m; here it is 2 m."
    );
    assert_eq!(
        one(&[5.0, 0.0, 5.0]),
        "\"gain\" is reproduced if the length is 1 m or 3 m, not 2 m; here it is 2 m."
    );
    assert_eq!(
        one(&[1.0, 4.5, 2.0]),
        "\"gain\" is reproduced with no length tried, 1 to 3 m; here it is 2 m, and with 2 m a comes nearest: 4.5 %, not at least 5 %."
    );
}

#[test]
fn all_curves_must_be_as_wanted() {
    let both = sweep(&[
        ("a", &[0.0, 5.0, 9.0], Wanted::AtLeast(5.0)),
        ("b", &[0.0, 1.0, 2.0], Wanted::Within(0.0, 1.0)),
    ]);
    assert!(both.sentence().contains("is 2 m, not 1 m or 3 m"), "{}", both.sentence());
    let missing = sweep(&[("a", &[9.0, 9.0], Wanted::AtLeast(5.0)), ("b", &[9.0], Wanted::AtLeast(5.0))]);
    assert!(missing.sentence().contains("is 1 m, not 2 m"), "{}", missing.sentence());
}

#[test]
fn checks_that_do_not_hold_where_this_one_does_are_reported() {
    let mut both = sweep(&[("a", &[0.0, 0.0, 5.0, 6.0], Wanted::AtLeast(5.0))]);
    both.spoilt = vec![("speed".into(), vec![1.0, 4.0]), ("size".into(), vec![2.0])];
    assert_eq!(
        both.sentence(),
        "\"gain\" is reproduced if the length is 3 to 4 m, not 2 m, but with 4 m \"speed\" is not; here it is 2 m."
    );
}

#[test]
fn categories_are_reported_by_their_names() {
    let mut named = sweep(&[("a", &[9.0, 1.0], Wanted::AtLeast(5.0))]);
    named.quantity = Axis::categories("scheduler", ["none", "blind", "aware"]);
    assert_eq!(
        named.sentence(),
        "\"gain\" is reproduced if the scheduler is blind, not aware; here it is aware."
    );
}

#[test]
fn a_limit_of_several_curves_is_drawn_once() {
    let figure =
        sweep(&[("a", &[1.0, 2.0], Wanted::AtMost(0.0)), ("b", &[3.0, 4.0], Wanted::AtMost(0.0))]).figure();
    let published: Vec<_> = figure.series.iter().filter(|series| series.published).collect();
    assert_eq!(published.len(), 1);
    assert_eq!(
        (published[0].name.as_str(), &published[0].points[..]),
        ("limit", &[(1.0, 0.0), (2.0, 0.0)][..])
    );
    let points = figure.series.iter().find(|series| series.kind == Kind::Points);
    assert_eq!(points.map(|series| series.points.clone()), Some(vec![(2.0, 2.0), (2.0, 4.0)]));
}

proptest! {
    #[test]
    fn it_holds_where_nothing_is_missing(ys in proptest::collection::vec(0.0..9.0, 1..6), limit in 0.0..9.0) {
        let sweep = sweep(&[("a", &ys, Wanted::AtMost(limit))]);
        let any = ys.iter().any(|y| *y <= limit);
        prop_assert_eq!(any, !sweep.sentence().contains("reproduced with no length"));
        prop_assert!(crate::svg(&sweep.figure(), "sweep").is_ok());
    }
}
