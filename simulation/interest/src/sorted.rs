//! The sorted matcher: sorting and a forward scan; for single queries, an interval tree of blocks.

mod blocks;

use crate::keys::Piece;
use crate::tiled::{Kind, Tiled, matcher};
use crate::tiles::Spread;
use crate::{Change, Coordinate, Error, Matcher, Region, RegionId, Role, Space};

use blocks::Blocks;

/// Stripes are at least this many times as wide as the mean extent, so that most regions are in one or two stripes.
const STRIPE_WIDTH: f64 = 2.0;

/// A stripe is so wide that a region meets at least this many others in it on the first axis: with fewer, entering regions in more
/// stripes costs more than it saves in comparisons.
const STRIPE_MEETS: f64 = 4.0;

/// Sorts regions by their low ends on the first axis, and compares each with those that begin within it.
///
/// Sort-based matching (Raczy, Tan and Yu, 2005) goes through both ends of all regions and keeps the set of open regions. The
/// forward scan of interval joins (Bouros and Mamoulis, 2017) finds the same pairs from sorted low ends alone, without a set. A
/// second axis is divided into stripes first, so that fewer regions meet that do not overlap on it (Tsitsigkos et al., 2019).
///
/// In one dimension all pairs of n regions take O(n log n + pairs), whatever the sizes of regions. Single queries use an interval
/// tree whose leaves are blocks of regions, and which is updated when regions move. Choose as first axis the one on which regions
/// are shortest, compared with the space, and the next one as second. Pairs are reported stripe by stripe, within a stripe in the
/// order in which the later region of each pair begins.
///
/// ```
/// use paceline_interest::{Matcher, Region, RegionId, Sorted, Space};
///
/// let mut matcher = Sorted::new(Space::lines());
/// for place in 0..10 {
///     matcher.insert(RegionId::subscription(place as u32), Region::new([place, 0], [place + 2, 1]))?;
/// }
/// matcher.insert(RegionId::update(0), Region::point([5, 0]))?;
/// let mut subscribers = Vec::new();
/// matcher.partners(RegionId::update(0), &mut subscribers)?;
/// assert_eq!(subscribers, [4, 5]);
/// # Ok::<(), paceline_interest::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sorted<C: Coordinate, const D: usize> {
    tiled: Tiled<C, D, ForwardScan>,
}

impl<C: Coordinate, const D: usize> Sorted<C, D> {
    /// A matcher without regions.
    pub fn new(space: Space<C, D>) -> Self {
        Self { tiled: Tiled::new(space, ForwardScan) }
    }
}

/// Tiles on the second axis only; in each tile a forward scan along the first axis finds the pairs.
#[derive(Clone, Debug)]
struct ForwardScan;

impl<const D: usize> Kind<D> for ForwardScan {
    type List = Blocks<D>;
    const SORTS: bool = true;

    fn sizes(&self, spreads: &[Spread; D], pieces: usize) -> [f64; D] {
        let mut sizes = [f64::INFINITY; D];
        if let [first, second, ..] = spreads[..] {
            let meets = pieces as f64 * first.mean / first.length();
            let stripes = (meets / STRIPE_MEETS).max(1.0);
            sizes[1] = (second.mean * STRIPE_WIDTH).max(second.length() / stripes);
        }
        sizes
    }

    fn pairs(updates: &[Piece<D>], subscriptions: &[Piece<D>], mut each: impl FnMut(&Piece<D>, &Piece<D>)) {
        let (mut updates, mut subscriptions) = (updates, subscriptions);
        while let ([update, later_updates @ ..], [subscription, later_subscriptions @ ..]) =
            (updates, subscriptions)
        {
            if update.low[0] <= subscription.low[0] {
                scan(update, subscriptions, |subscription| each(update, subscription));
                updates = later_updates;
            } else {
                scan(subscription, updates, |update| each(update, subscription));
                subscriptions = later_subscriptions;
            }
        }
    }
}

/// Calls `each` with all of `later` that overlap `piece`; none of them begins before `piece`.
#[inline]
fn scan<const D: usize>(piece: &Piece<D>, later: &[Piece<D>], each: impl FnMut(&Piece<D>)) {
    let begins_inside = |other: &&Piece<D>| other.low[0] < piece.high[0];
    let meets = |other: &&Piece<D>| (1..D).all(|axis| piece.meets(other, axis));
    later.iter().take_while(begins_inside).filter(meets).for_each(each);
}

matcher!(Sorted);
