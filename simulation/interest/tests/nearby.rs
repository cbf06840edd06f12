//! Points within a radius of each other are those of the definition, each found once, in an order that
//! depends on nothing else.

use std::collections::BTreeMap;

use paceline_interest::{Error, Nearby, Numbered, Window};
use proptest::prelude::*;

/// A window that the ring's end may cut, with points in it of which many are at its borders and near each
/// other.
fn cases() -> impl Strategy<Value = (Window, u32, Vec<Numbered>)> {
    let width = prop_oneof![1_u64..40, Just(1 << 20), Just((1 << 32) - (1 << 28))];
    (any::<[u32; 2]>(), width).prop_flat_map(|(low, width)| {
        // Few cells, and in the widest window no more than what is left of the ring.
        let radius = (width >> 6) as u32..=(width >> 4).max(12) as u32;
        let last = width - 1;
        let coordinate = prop_oneof![0..width, (0_u64..20).prop_map(move |from| from.min(last))];
        let coordinate = (coordinate, any::<bool>());
        let coordinate =
            coordinate.prop_map(move |(at, turned)| (if turned { last - at } else { at }) as u32);
        let points = proptest::collection::vec([coordinate.clone(), coordinate], 0..60);
        (radius, points).prop_map(move |(radius, points)| {
            let at = |[x, y]: [u32; 2]| [low[0].wrapping_add(x), low[1].wrapping_add(y)];
            let points =
                points.into_iter().zip(100..).map(|(place, number)| Numbered { number, at: at(place) });
            (Window { low, width }, radius, points.collect())
        })
    })
}

/// Whether two points are within the radius of each other, the short way round.
fn is_near(one: Numbered, other: Numbered, radius: u32) -> bool {
    let far = |axis: usize| {
        let way = one.at[axis].wrapping_sub(other.at[axis]);
        u128::from(way.min(way.wrapping_neg()))
    };
    far(0).pow(2) + far(1).pow(2) <= u128::from(radius).pow(2)
}

proptest! {
    #[test]
    fn found_is_what_is_within_the_radius((window, radius, points) in cases()) {
        let nearby = Nearby::new(window, radius, points.iter().copied()).unwrap();
        let is_center = |point: Numbered| !point.number.is_multiple_of(3);
        let mut found = BTreeMap::new();
        nearby.each(is_center, |center, near| {
            let mut near = near.to_vec();
            near.sort_unstable();
            assert!(found.insert(center, near).is_none(), "{center} came twice");
        });
        let near = |center: &Numbered| {
            let others = points.iter().filter(|other| other.number != center.number);
            others.filter(|other| is_near(**other, *center, radius)).map(|other| other.number).collect()
        };
        let expected: BTreeMap<u32, Vec<u32>> = points
            .iter()
            .filter(|point| is_center(**point))
            .map(|point| (point.number, near(point)))
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn points_outside_are_refused(
        (window, radius, mut points) in cases(), off in 0_u32..3, is_above in any::<bool>(), axis in 0_usize..2
    ) {
        let low = window.low[axis];
        let outside = if is_above { low.wrapping_add(window.width as u32 + off) } else { low.wrapping_sub(1 + off) };
        let mut at = window.low;
        at[axis] = outside;
        points.push(Numbered { number: 1, at });
        prop_assert_eq!(Nearby::new(window, radius, points.into_iter()).unwrap_err(), Error::Outside);
    }
}

#[test]
fn a_window_has_a_place_and_no_more_than_a_ring() {
    for width in [0, (1 << 32) + 1, u64::MAX] {
        let made = Nearby::new(Window { low: [0, 0], width }, 1, std::iter::empty());
        assert_eq!(made.unwrap_err(), Error::Width { width });
    }
}

#[test]
fn the_extremes_of_radius_and_width_are_allowed() {
    let ends = [[0, 0], [u32::MAX, u32::MAX], [1 << 31, 1 << 31], [0, 1]];
    let points = ends.into_iter().zip(0..).map(|(at, number)| Numbered { number, at });
    for radius in [0, 1, 1 << 31, u32::MAX] {
        let nearby = Nearby::new(Window { low: [0, 0], width: 1 << 32 }, radius, points.clone()).unwrap();
        let mut centers = 0;
        nearby.each(
            |_| true,
            |center, near| {
                centers += 1;
                // Nothing is further than half a ring on each axis.
                assert!(radius < u32::MAX || near.len() == 3, "{center}: {near:?}");
                assert!(radius > 0 || near.is_empty(), "{center}: {near:?}");
            },
        );
        assert_eq!(centers, 4);
    }
}
