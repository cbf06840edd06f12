//! Verdicts follow from numbers, on both sides, and words from the same data.

use super::*;
use crate::findings::Check;

fn verdict(criterion: &Criterion, ours: impl Into<Estimate>) -> Verdict {
    criterion.verdict(&[ours.into()])
}

#[test]
fn a_published_number_is_missed_on_both_sides() {
    let gain = Criterion::published(6.0, Tolerance::TIMES).or(Shape::Above(1.0));
    for (ours, expected) in [
        (4.0, Verdict::Reproduced),
        (9.0, Verdict::Reproduced),
        (3.9, Verdict::SameOrder),
        (86.0, Verdict::SameOrder),
        (1.0, Verdict::Differs),
        (f64::NAN, Verdict::Differs),
    ] {
        assert_eq!(verdict(&gain, ours), expected, "{ours}");
    }
    let number = Criterion::published(4.0, Tolerance::PERCENTAGES);
    let verdicts = [-1.0, 9.0, -1.1, 20.0].map(|ours| verdict(&number, ours));
    assert_eq!(verdicts, [Verdict::Reproduced, Verdict::Reproduced, Verdict::Differs, Verdict::Differs]);
}

#[test]
fn a_number_within_its_tolerance_but_on_the_wrong_side_of_zero_differs() {
    let loss = Criterion::published(-2.9, Tolerance::PERCENTAGES).or(Shape::Below(0.0));
    assert_eq!(verdict(&loss, -2.0), Verdict::Reproduced);
    assert_eq!(verdict(&loss, 1.0), Verdict::Differs);
    assert_eq!(verdict(&loss, -9.0), Verdict::SameOrder);
}

#[test]
fn an_interval_that_has_a_bound_within_it_decides_nothing() {
    let goal = Criterion::goal(Shape::at_most(1.03));
    let of = |low, high| verdict(&goal, Estimate { value: 1.0, low, high });
    assert_eq!(of(0.9, 1.03), Verdict::Reproduced);
    assert_eq!(of(0.9, 1.04), Verdict::Undecided);
    assert_eq!(of(1.04, 1.1), Verdict::Differs);
    assert_eq!(verdict(&goal, Estimate::UNKNOWN), Verdict::Undecided);
    // One that is surely beyond decides for all.
    let both = [Estimate { value: 1.0, low: 0.9, high: 1.1 }, 2.0.into()];
    assert_eq!(goal.verdict(&both), Verdict::Differs);
    let wide = Estimate { value: 5.0, low: 0.0, high: 10.0 };
    assert_eq!(verdict(&Criterion::published(5.0, Tolerance::Points(1.0)), wide), Verdict::Undecided);
}

#[test]
fn shapes_are_met_by_numbers_that_lie_so_and_by_no_others() {
    let met = |shape: Shape, values: &[f64]| {
        let values: Vec<Estimate> = values.iter().map(|value| (*value).into()).collect();
        shape.is_met(&values)
    };
    for (shape, yes, no) in [
        (Shape::Rises(0.0), &[1.0, 1.0, 2.0][..], &[1.0, 3.0, 2.0][..]),
        (Shape::Rises(0.1), &[1.0, 0.95, 2.0], &[1.0, 0.85, 2.0]),
        (Shape::Falls(0.0), &[3.0, 1.0], &[1.0, 1.0]),
        (Shape::Falls(0.02), &[-1.0, -1.01, -2.0], &[-2.0, -1.0]),
        (Shape::Least(1), &[2.0, 1.0, 3.0], &[2.0, 1.0, 1.0]),
        (Shape::Above(1.0), &[1.1, 2.0], &[1.1, 1.0]),
        (Shape::Below(1.0), &[0.9], &[1.0]),
        (Shape::exactly(2.0), &[2.0], &[2.1]),
        (Shape::within(0.0, 1.0), &[0.0, 1.0], &[f64::NAN]),
        (Shape::Rises(0.0), &[1.0, 2.0], &[1.0]),
        (Shape::Each(Wanted::AtLeast(0.0)), &[0.0], &[]),
    ] {
        assert_eq!((met(shape, yes), met(shape, no)), (Some(true), Some(false)), "{shape:?}");
    }
    let near = [Estimate::within(1.0, 0.2), Estimate::within(1.1, 0.2)];
    assert_eq!(
        [Shape::Rises(0.0), Shape::Falls(0.0), Shape::Least(0)].map(|shape| shape.is_met(&near)),
        [None; 3]
    );
}

#[test]
fn words_are_made_from_the_numbers() {
    let check = Check {
        what: "error".into(),
        criterion: Criterion::each([4.0, 0.0], Tolerance::PERCENTAGES).saying("figure 10").or_of(
            "it",
            [4.0, 0.0],
            Shape::Falls(0.02),
        ),
        ours: Ours::all([Estimate::within(20.0, 0.5), 0.0.into()], "%").with("30 runs"),
    };
    assert_eq!(check.published(), "4, 0 % (figure 10)");
    assert_eq!(check.must(), "-1 to 9, -5 to 5 % (within 5 points); the order: it falls, but for 2 %");
    assert_eq!(check.ours(), "20 [19.5, 20.5], 0 % (30 runs)");
    assert_eq!(check.verdict(), Verdict::SameOrder);
    let stated = Check {
        what: "curve".into(),
        criterion: Criterion::stated(Statement::Crossing, "slightly above 1", Shape::within(1.0, 1.5)),
        ours: Ours::one(1.2, "times"),
    };
    assert_eq!([stated.published(), stated.must()], ["slightly above 1", "crossing: 1 to 1.5 times"]);
    let failed = Check::failed("it can be run", "deadlock");
    assert_eq!((failed.ours().as_str(), failed.verdict()), ("deadlock", Verdict::Differs));
}

#[test]
fn a_number_is_reproduced_by_itself_where_its_distance_is_at_most_one() {
    let tolerances = [
        (Tolerance::Factor(1.5), 6.0),
        (Tolerance::Points(5.0), 14.1),
        (Tolerance::Percent(2.0), -109.0),
        (Tolerance::Spread(0.0, 1.0), 0.1),
        (Tolerance::Exact, 3.0),
    ];
    for (tolerance, published) in tolerances {
        for step in -400..=400 {
            let ours = published + f64::from(step) * 0.05;
            let near = limits(tolerance.around(published), ours.into()) == Some(true);
            // A bound itself may fall on either side by rounding.
            let distance = tolerance.distance(published, ours);
            assert!(
                (distance - 1.0).abs() < 1e-9 || near == (distance <= 1.0),
                "{tolerance:?} {ours}: {distance}"
            );
        }
    }
}

#[test]
fn statements_of_a_source_have_a_distance_and_our_goals_have_none() {
    let ours = Ours::all([2.0, 1.0], "s");
    let falls = Criterion::stated(Statement::Order, "falls", Shape::Falls(0.0));
    let rises = Criterion::stated(Statement::Order, "rises", Shape::Rises(0.0));
    assert_eq!((falls.distances(&ours), rises.distances(&ours)), (vec![0.0], vec![2.0]));
    assert!(Criterion::goal(Shape::Below(9.0)).distances(&ours).is_empty());
    assert_eq!(Criterion::each([2.0, 3.0], Tolerance::Points(1.0)).distances(&ours), [0.0, 2.0]);
    assert_eq!(
        Criterion::published(2.0, Tolerance::TIMES).distances(&Ours::one(f64::NAN, "")),
        [f64::INFINITY]
    );
}
