//! Grid and sorted matchers report the same as the reference, whatever is inserted, moved and removed.
//!
//! There are few different coordinates, so that ends are equal, and extents touch, are empty, or are as long as a ring. A second
//! set of cases has many regions of very different sizes, so that there are many tiles and blocks, and indexes are both updated and
//! dropped.

use std::collections::BTreeMap;
use std::fmt::Debug;

use paceline_interest::{
    Axis, BruteForce, Change, Coordinate, Error, Grid, Matcher, Region, RegionId, Role, Sorted, Space,
};
use proptest::prelude::*;

/// An operation on a matcher.
#[derive(Clone, Debug)]
enum Step<C, const D: usize> {
    Insert(RegionId, Region<C, D>),
    Modify(RegionId, Region<C, D>),
    Compare(RegionId, Region<C, D>),
    Remove(RegionId),
    Partners(RegionId),
    Overlapping(Role, Region<C, D>),
    Pairs,
}

/// The result of a step.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Numbers(Vec<u32>),
    Changes(Vec<Change>),
    Pairs(Vec<(u32, u32)>),
    Refused(Error),
}

fn pairs<C: Coordinate, const D: usize>(matcher: &mut impl Matcher<C, D>) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    matcher.pairs(|update, subscription| pairs.push((update, subscription)));
    pairs
}

fn answer<C: Coordinate, const D: usize>(matcher: &mut impl Matcher<C, D>, step: &Step<C, D>) -> Answer {
    let (mut numbers, mut changes) = (vec![9, 1], vec![Change::Ends(9)]);
    let result = match *step {
        Step::Insert(id, region) => matcher.insert(id, region).map(|()| Answer::Done),
        Step::Modify(id, region) => matcher.modify(id, region).map(|()| Answer::Done),
        Step::Remove(id) => matcher.remove(id).map(|()| Answer::Done),
        Step::Compare(id, region) => {
            let result = matcher.modify_and_compare(id, region, &mut changes);
            result.map(|()| Answer::Changes(changes))
        }
        Step::Partners(id) => matcher.partners(id, &mut numbers).map(|()| Answer::Numbers(numbers)),
        Step::Overlapping(role, region) => {
            matcher.overlapping(role, region, &mut numbers).map(|()| Answer::Numbers(numbers))
        }
        Step::Pairs => {
            let mut pairs = pairs(matcher);
            pairs.sort_unstable();
            Ok(Answer::Pairs(pairs))
        }
    };
    result.unwrap_or_else(Answer::Refused)
}

/// Checks that every matcher gives the reference's result in every step.
fn check<C: Coordinate, const D: usize>(
    space: Space<C, D>,
    steps: &[Step<C, D>],
) -> Result<(), TestCaseError> {
    let mut reference = BruteForce::new(space);
    let (mut grid, mut sorted) = (Grid::new(space), Sorted::new(space));
    let mut small_cells = Grid::with_cells(space, [1.0; D]).expect("a size of cells");
    for step in steps {
        let expected = answer(&mut reference, step);
        prop_assert_eq!(&answer(&mut grid, step), &expected, "grid, {:?}", step);
        prop_assert_eq!(&answer(&mut small_cells, step), &expected, "small cells, {:?}", step);
        prop_assert_eq!(&answer(&mut sorted, step), &expected, "sorted, {:?}", step);
        for role in [Role::Update, Role::Subscription] {
            prop_assert_eq!(grid.len(role), reference.len(role));
            prop_assert_eq!(sorted.len(role), reference.len(role));
        }
    }
    Ok(())
}

fn any_id(numbers: u32) -> impl Strategy<Value = RegionId> {
    (any::<bool>(), 0..numbers).prop_map(|(is_update, number)| {
        // Numbers far apart, so that there are missing pages between them.
        let number = number * 397;
        if is_update { RegionId::update(number) } else { RegionId::subscription(number) }
    })
}

fn any_step<C: Coordinate, const D: usize>(
    numbers: u32,
    region: impl Strategy<Value = Region<C, D>> + Clone,
) -> impl Strategy<Value = Step<C, D>> {
    let id = move || any_id(numbers);
    prop_oneof![
        8 => (id(), region.clone()).prop_map(|(id, region)| Step::Insert(id, region)),
        4 => (id(), region.clone()).prop_map(|(id, region)| Step::Modify(id, region)),
        4 => (id(), region.clone()).prop_map(|(id, region)| Step::Compare(id, region)),
        2 => id().prop_map(Step::Remove),
        2 => id().prop_map(Step::Partners),
        2 => (id(), region).prop_map(|(id, region)| Step::Overlapping(id.role, region)),
        1 => Just(Step::Pairs),
    ]
}

/// Regions with few different coordinates; some are inverted.
fn few_places<const D: usize>() -> impl Strategy<Value = Region<i64, D>> + Clone {
    (prop::array::uniform::<_, D>(-3_i64..14), prop::array::uniform::<_, D>(0_i64..60)).prop_map(
        |(low, length)| {
            let high = std::array::from_fn(|axis| {
                if length[axis] == 59 { low[axis] - 1 } else { low[axis] + length[axis] % 8 }
            });
            Region::new(low, high)
        },
    )
}

fn any_space<const D: usize>() -> impl Strategy<Value = Space<i64, D>> {
    let axis = prop_oneof![
        Just(Axis::Line),
        (-1_i64..2, 5_i64..9).prop_map(|(start, end)| Axis::Ring { start, end })
    ];
    prop::array::uniform::<_, D>(axis)
        .prop_map(|axes| Space::new(axes).expect("rings start below their ends"))
}

fn few_steps<const D: usize>() -> impl Strategy<Value = Vec<Step<i64, D>>> {
    prop::collection::vec(any_step(12, few_places()), 1..60)
}

/// Coordinates and lengths of all orders of magnitude, including infinities and NaN.
fn wild_regions<const D: usize>() -> impl Strategy<Value = Region<f64, D>> + Clone {
    let special =
        [0.0, -0.0, 1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE];
    let coordinate =
        || prop_oneof![6 => -0.5..1.5_f64, 1 => prop::sample::select(special.to_vec()), 1 => -1e9..1e9_f64];
    (prop::array::uniform::<_, D>(coordinate()), prop::array::uniform::<_, D>(coordinate())).prop_map(
        |(one, other)| {
            let low = std::array::from_fn(|axis| one[axis].min(other[axis]));
            Region::new(low, std::array::from_fn(|axis| one[axis].max(other[axis])))
        },
    )
}

/// Mostly small regions in clusters in a large space, and sometimes one across the space.
fn many_sizes<const D: usize>() -> impl Strategy<Value = Region<f64, D>> + Clone {
    let extent = (0_u32..5, 0.0..20.0_f64, 0.0..1.0_f64, 0_i32..10);
    prop::array::uniform::<_, D>(extent).prop_map(|extents| {
        let low = extents.map(|(cluster, place, ..)| f64::from(cluster * cluster) * 40.0 + place);
        let high = std::array::from_fn(|axis| {
            let (_, _, part, size) = extents[axis];
            low[axis] + if size == 9 { 700.0 * part } else { 4.0 * part }
        });
        Region::new(low, high)
    })
}

fn mixed<const D: usize>() -> Space<f64, D> {
    let axis = |axis| if axis % 2 == 0 { Axis::Ring { start: 0.0, end: 1.0 } } else { Axis::Line };
    Space::new(std::array::from_fn(axis)).expect("a ring of length 1")
}

fn many_steps<const D: usize>() -> impl Strategy<Value = Vec<Step<f64, D>>> {
    prop::collection::vec(any_step(300, many_sizes()), 800..1200)
}

proptest! {
    #[test]
    fn few_places_in_1_dimension(space in any_space::<1>(), steps in few_steps()) { check(space, &steps)?; }

    #[test]
    fn few_places_in_2_dimensions(space in any_space::<2>(), steps in few_steps()) { check(space, &steps)?; }

    #[test]
    fn few_places_in_3_dimensions(space in any_space::<3>(), steps in few_steps()) { check(space, &steps)?; }

    #[test]
    fn wild_floats(steps in prop::collection::vec(any_step(12, wild_regions::<2>()), 1..60)) {
        check(mixed(), &steps)?;
        check(Space::lines(), &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn many_sizes_in_1_dimension(steps in many_steps::<1>()) { check(Space::lines(), &steps)?; }

    #[test]
    fn many_sizes_in_2_dimensions(steps in many_steps::<2>()) {
        check(Space::lines(), &steps)?;
        check(Space::torus([(0.0, 400.0); 2]).expect("rings"), &steps)?;
    }

    #[test]
    fn many_sizes_in_3_dimensions(steps in many_steps::<3>()) { check(Space::lines(), &steps)?; }
}

/// Pairs and their order are the same for matchers that reached the same regions in different ways.
fn check_history<M: Matcher<i64, 2>>(make: impl Fn() -> M, regions: &BTreeMap<RegionId, Region<i64, 2>>) {
    let mut direct = make();
    regions.iter().for_each(|(id, region)| direct.insert(*id, *region).expect("a free number"));
    let mut detour = make();
    for id in regions.keys().rev() {
        detour.insert(*id, Region::new([0, 0], [90, 90])).expect("a free number");
    }
    detour.overlapping(Role::Update, Region::point([1, 1]), &mut Vec::new()).expect("a region");
    detour.insert(RegionId::update(50_000), Region::point([2, 2])).expect("a free number");
    for (id, region) in regions.iter().rev() {
        detour.modify(*id, *region).expect("it has been inserted");
    }
    detour.remove(RegionId::update(50_000)).expect("it has been inserted");
    assert_eq!(pairs(&mut direct), pairs(&mut detour));
}

proptest! {
    #[test]
    fn order_depends_on_regions_alone(mut regions in prop::collection::btree_map(any_id(40), few_places::<2>(), 1..80)) {
        regions.retain(|_, region| (0..2).all(|axis| region.low[axis] <= region.high[axis]));
        let torus = Space::torus([(0, 9), (-1, 7)]).expect("rings");
        check_history(|| BruteForce::new(torus), &regions);
        check_history(|| Grid::new(torus), &regions);
        check_history(|| Sorted::new(torus), &regions);
    }
}

/// A matcher with one update region `[0, 10)` and one subscription region.
fn one_pair(space: Space<f64, 1>, low: f64, high: f64) -> [usize; 3] {
    fn number(mut matcher: impl Matcher<f64, 1>, low: f64, high: f64) -> usize {
        matcher.insert(RegionId::update(0), Region::new([0.0], [10.0])).expect("a region");
        matcher.insert(RegionId::subscription(0), Region::new([low], [high])).expect("a region");
        pairs(&mut matcher).len()
    }
    [
        number(BruteForce::new(space), low, high),
        number(Grid::new(space), low, high),
        number(Sorted::new(space), low, high),
    ]
}

#[test]
fn ends_belong_below_and_not_above() {
    let (line, ring) = (Space::lines(), Space::torus([(0.0, 100.0)]).expect("a ring"));
    assert_eq!(one_pair(line, 10.0, 20.0), [0; 3]);
    assert_eq!(one_pair(line, 10.0_f64.next_down(), 20.0), [1; 3]);
    assert_eq!(one_pair(line, 5.0, 5.0), [0; 3]);
    assert_eq!(one_pair(line, -5.0, -0.0), [0; 3]);
    assert_eq!(one_pair(ring, 95.0, 100.0), [0; 3]);
    assert_eq!(one_pair(ring, 95.0, 100.5), [1; 3]);
    assert_eq!(one_pair(ring, -1.0, 0.0), [0; 3]);
    assert_eq!(one_pair(ring, 205.0, 206.0), [1; 3]);
    // Both ends of one region are in the other, which is still one pair.
    assert_eq!(one_pair(ring, 5.0, 103.0), [1; 3]);
}

#[test]
fn mistakes_are_told_and_change_nothing() {
    let mut matcher = Sorted::new(Space::<f64, 2>::lines());
    let (id, region) = (RegionId::update(u32::MAX), Region::new([0.0, 0.0], [1.0, 1.0]));
    matcher.insert(id, region).expect("a region");
    assert_eq!(matcher.insert(id, region), Err(Error::Duplicate(id)));
    assert_eq!(matcher.modify(id, Region::new([0.0, 2.0], [1.0, 1.0])), Err(Error::Inverted { axis: 1 }));
    assert_eq!(
        matcher.modify(id, Region::new([0.0, 0.0], [f64::NAN, 1.0])),
        Err(Error::NotANumber { axis: 0 })
    );
    let other = RegionId::subscription(0);
    assert_eq!(matcher.remove(other), Err(Error::Unknown(other)));
    assert_eq!(
        matcher.partners(other, &mut Vec::new()).map_err(|error| error.to_string()),
        Err("there is no subscription region 0".to_owned())
    );
    let mut found = Vec::new();
    matcher.overlapping(Role::Update, Region::point([0.5, 0.5]), &mut found).expect("a region");
    assert_eq!((found, matcher.contains(id), matcher.is_empty()), (vec![u32::MAX], true, false));
    assert_eq!(Space::torus([(1.0, 1.0)]), Err(Error::Ring { axis: 0 }));
    assert_eq!(Space::torus([(f64::MIN, f64::MAX)]), Err(Error::Ring { axis: 0 }));
    assert_eq!(Grid::with_cells(Space::<i64, 1>::lines(), [0.0]).map(drop), Err(Error::CellSize { axis: 0 }));
}
