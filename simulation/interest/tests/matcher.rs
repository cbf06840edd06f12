//! The matcher reports what a comparison of every region with every other one finds, whatever is inserted,
//! moved and removed.
//!
//! There are few different coordinates, so that ends are equal, and extents touch or are empty. A second set
//! of cases has many regions of very different sizes, so that there are many stripes and blocks, and indexes
//! are both updated and dropped.

use std::collections::BTreeMap;

use paceline_interest::{Change, Error, Region, RegionId, RegionMatcher, Role};
use proptest::prelude::*;

/// A call of a matcher.
#[derive(Clone, Debug)]
enum Step<const D: usize> {
    Insert(RegionId, Region<D>),
    Modify(RegionId, Region<D>),
    Compare(RegionId, Region<D>),
    Remove(RegionId),
    Partners(RegionId),
    Overlapping(Role, Region<D>),
    Pairs,
}

#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Numbers(Vec<u32>),
    Changes(Vec<Change>),
    Pairs(Vec<(u32, u32)>),
    Refused(Error),
}

/// The definition: every region with every other.
#[derive(Default)]
struct Oracle<const D: usize>(BTreeMap<RegionId, Region<D>>);

impl<const D: usize> Oracle<D> {
    fn overlapping(&self, role: Role, region: &Region<D>) -> Vec<u32> {
        let same_role = self.0.iter().filter(|(id, _)| id.role == role);
        same_role.filter(|(_, other)| overlap(region, other)).map(|(id, _)| id.number).collect()
    }

    fn get(&self, id: RegionId) -> Result<Region<D>, Error> {
        self.0.get(&id).copied().ok_or(Error::Unknown(id))
    }

    fn answer(&mut self, step: &Step<D>) -> Result<Answer, Error> {
        match *step {
            Step::Insert(id, region) => {
                check_extents(&region)?;
                if self.0.contains_key(&id) {
                    return Err(Error::Duplicate(id));
                }
                self.0.insert(id, region);
                Ok(Answer::Done)
            }
            Step::Modify(id, region) => {
                self.get(id)?;
                check_extents(&region)?;
                self.0.insert(id, region);
                Ok(Answer::Done)
            }
            Step::Compare(id, region) => {
                let before = self.overlapping(id.role.other(), &self.get(id)?);
                check_extents(&region)?;
                self.0.insert(id, region);
                let after = self.overlapping(id.role.other(), &region);
                let ends = before.iter().filter(|number| !after.contains(number));
                let begins = after.iter().filter(|number| !before.contains(number));
                let ends = ends.map(|number| (*number, Change::Ends(*number)));
                let begins = begins.map(|number| (*number, Change::Begins(*number)));
                let changes: BTreeMap<u32, Change> = ends.chain(begins).collect();
                Ok(Answer::Changes(changes.into_values().collect()))
            }
            Step::Remove(id) => self.0.remove(&id).map(|_| Answer::Done).ok_or(Error::Unknown(id)),
            Step::Partners(id) => Ok(Answer::Numbers(self.overlapping(id.role.other(), &self.get(id)?))),
            Step::Overlapping(role, region) => {
                check_extents(&region)?;
                Ok(Answer::Numbers(self.overlapping(role, &region)))
            }
            Step::Pairs => {
                let updates = self.0.iter().filter(|(id, _)| id.role == Role::Update);
                let pairs = updates.flat_map(|(id, region)| {
                    let found = self.overlapping(Role::Subscription, region);
                    found.into_iter().map(|number| (id.number, number))
                });
                Ok(Answer::Pairs(pairs.collect()))
            }
        }
    }
}

fn check_extents<const D: usize>(region: &Region<D>) -> Result<(), Error> {
    let inverted = (0..D).find(|&axis| region.low[axis] > region.high[axis]);
    inverted.map_or(Ok(()), |axis| Err(Error::Inverted { axis }))
}

/// Whether the greater low end is below the lesser high end on each axis: then that low end is in both.
fn overlap<const D: usize>(one: &Region<D>, other: &Region<D>) -> bool {
    (0..D).all(|axis| one.low[axis].max(other.low[axis]) < one.high[axis].min(other.high[axis]))
}

fn pairs<const D: usize>(matcher: &mut RegionMatcher<D>) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    matcher.pairs(|update, subscription| pairs.push((update, subscription)));
    pairs
}

fn answer<const D: usize>(matcher: &mut RegionMatcher<D>, step: &Step<D>) -> Result<Answer, Error> {
    // What the lists hold before does not count.
    let (mut numbers, mut changes) = (vec![9, 1], vec![Change::Ends(9)]);
    match *step {
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
    }
}

/// Checks that the matcher gives the oracle's answer in every step.
fn check<const D: usize>(steps: &[Step<D>]) -> Result<(), TestCaseError> {
    let (mut oracle, mut matcher) = (Oracle::default(), RegionMatcher::default());
    for step in steps {
        let expected = oracle.answer(step).unwrap_or_else(Answer::Refused);
        let found = answer(&mut matcher, step).unwrap_or_else(Answer::Refused);
        prop_assert_eq!(found, expected, "{:?}", step);
        for role in [Role::Update, Role::Subscription] {
            prop_assert_eq!(matcher.len(role), oracle.0.keys().filter(|id| id.role == role).count());
        }
    }
    Ok(())
}

fn any_id(numbers: u32) -> impl Strategy<Value = RegionId> {
    (any::<bool>(), 0..numbers).prop_map(|(is_update, number)| {
        if is_update { RegionId::update(number) } else { RegionId::subscription(number) }
    })
}

fn any_step<const D: usize>(
    numbers: u32,
    region: impl Strategy<Value = Region<D>> + Clone,
) -> impl Strategy<Value = Step<D>> {
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
fn few_places<const D: usize>() -> impl Strategy<Value = Region<D>> + Clone {
    (prop::array::uniform::<_, D>(-3_i64..14), prop::array::uniform::<_, D>(0_i64..60)).prop_map(
        |(low, length)| {
            let high = std::array::from_fn(|axis| {
                if length[axis] == 59 { low[axis] - 1 } else { low[axis] + length[axis] % 8 }
            });
            Region::new(low, high)
        },
    )
}

fn few_steps<const D: usize>() -> impl Strategy<Value = Vec<Step<D>>> {
    prop::collection::vec(any_step(12, few_places()), 1..60)
}

/// Coordinates of all orders of magnitude, the ends of `i64` among them.
fn wild_regions() -> impl Strategy<Value = Region<2>> + Clone {
    let ends = prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]);
    let coordinate = move || prop_oneof![3 => ends.clone(), 1 => any::<i64>(), 1 => -9_i64..9];
    (prop::array::uniform::<_, 2>(coordinate()), prop::array::uniform::<_, 2>(coordinate())).prop_map(
        |(one, other)| {
            let low = std::array::from_fn(|axis| one[axis].min(other[axis]));
            Region::new(low, std::array::from_fn(|axis| one[axis].max(other[axis])))
        },
    )
}

/// Mostly small regions in clusters in a large space, and sometimes one across the space.
fn many_sizes<const D: usize>() -> impl Strategy<Value = Region<D>> + Clone {
    let extent = (0_i64..5, 0_i64..2_000, 0_i64..100, 0_i32..10);
    prop::array::uniform::<_, D>(extent).prop_map(|extents| {
        let low = extents.map(|(cluster, place, ..)| cluster * cluster * 4_000 + place);
        let high = std::array::from_fn(|axis| {
            let (_, _, percent, size) = extents[axis];
            low[axis] + if size == 9 { 700 * percent } else { 4 * percent }
        });
        Region::new(low, high)
    })
}

fn many_steps<const D: usize>() -> impl Strategy<Value = Vec<Step<D>>> {
    prop::collection::vec(any_step(300, many_sizes()), 800..1200)
}

proptest! {
    #[test]
    fn few_places_in_1_dimension(steps in few_steps::<1>()) { check(&steps)?; }

    #[test]
    fn few_places_in_2_dimensions(steps in few_steps::<2>()) { check(&steps)?; }

    #[test]
    fn few_places_in_3_dimensions(steps in few_steps::<3>()) { check(&steps)?; }

    #[test]
    fn wild_coordinates(steps in prop::collection::vec(any_step(12, wild_regions()), 1..60)) { check(&steps)?; }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn many_sizes_in_1_dimension(steps in many_steps::<1>()) { check(&steps)?; }

    #[test]
    fn many_sizes_in_2_dimensions(steps in many_steps::<2>()) { check(&steps)?; }

    #[test]
    fn many_sizes_in_3_dimensions(steps in many_steps::<3>()) { check(&steps)?; }
}

proptest! {
    /// Pairs and their order are the same for matchers that reached the same regions in different ways.
    #[test]
    fn order_depends_on_regions_alone(mut regions in prop::collection::btree_map(any_id(40), few_places::<2>(), 1..80)) {
        regions.retain(|_, region| (0..2).all(|axis| region.low[axis] <= region.high[axis]));
        let mut direct = RegionMatcher::default();
        regions.iter().for_each(|(id, region)| direct.insert(*id, *region).expect("a free number"));
        let mut detour = RegionMatcher::default();
        for id in regions.keys().rev() {
            detour.insert(*id, Region::new([0, 0], [90, 90])).expect("a free number");
        }
        detour.overlapping(Role::Update, Region::point([1, 1]), &mut Vec::new()).expect("a region");
        detour.insert(RegionId::update(50_000), Region::point([2, 2])).expect("a free number");
        for (id, region) in regions.iter().rev() {
            detour.modify(*id, *region).expect("it has been inserted");
        }
        detour.remove(RegionId::update(50_000)).expect("it has been inserted");
        prop_assert_eq!(pairs(&mut direct), pairs(&mut detour));
    }
}

#[test]
fn a_refused_call_is_explained_and_changes_nothing() {
    let mut matcher = RegionMatcher::default();
    let (id, region) = (RegionId::update(u32::MAX), Region::new([0, 0], [2, 2]));
    matcher.insert(id, region).expect("a region");
    assert_eq!(matcher.insert(id, region), Err(Error::Duplicate(id)));
    assert_eq!(matcher.modify(id, Region::new([0, 2], [1, 1])), Err(Error::Inverted { axis: 1 }));
    let other = RegionId::subscription(0);
    assert_eq!(matcher.remove(other), Err(Error::Unknown(other)));
    assert_eq!(
        matcher.partners(other, &mut Vec::new()).map_err(|error| error.to_string()),
        Err("there is no subscription region 0".to_owned())
    );
    let mut found = Vec::new();
    matcher.overlapping(Role::Update, Region::around([3, 3], [2, 2]), &mut found).expect("a region");
    assert_eq!((found, matcher.contains(id), matcher.is_empty()), (vec![u32::MAX], true, false));
}
