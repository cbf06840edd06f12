//! `cargo bench -p paceline-interest`: matching 100,000 moving regions, compared with reimplementations of published matchers.
//!
//! Half of the regions are update regions; all are cubes of one size at uniformly distributed places (the setting of Marzolla and
//! D'Angelo, 2020). *alpha* is the volume of all regions divided by that of the space. The first table is for steps: every region
//! moves by up to a hundredth of the space, then all pairs are reported. The second table is for single moves: one region moves,
//! and the changes of its matches are reported.
//!
//! Sort-based matching (SBM) has sets with constant-time insertion and removal, and sorts compact entries. Interval tree matching
//! (ITM) builds its tree from a sorted array in the steps, and updates it in the single moves. Both compare the second dimension at
//! once. All matchers of a row take turns in every round and must find the same pairs. Times are CPU times of the thread, medians
//! over the rounds; `PACELINE_ROUNDS` sets the number of rounds.

mod interval_tree;
mod sort_based;

use std::hint::black_box;

use comfy_table::{Table, presets};
use interval_tree::IntervalTree;
use paceline_interest::{Change, Grid, Matcher, Region, RegionId, Sorted, Space};
use rustix::time::{ClockId, clock_gettime};
use sort_based::SortBased;

/// Regions of each role.
const REGIONS: usize = 50_000;

/// Single moves timed together.
const MOVES: usize = 2_000;

/// The greatest move of a region along an axis; the space has length 1.
const STEP: f64 = 0.01;

/// A stream of numbers from 0 to below 1 (SplitMix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// All regions by role and number, of one size.
struct World<const D: usize> {
    regions: [Vec<Region<f64, D>>; 2],
    length: f64,
    draws: Draws,
}

impl<const D: usize> World<D> {
    fn new(alpha: f64) -> Self {
        let length = (alpha / (2 * REGIONS) as f64).powf(1.0 / D as f64);
        let mut draws = Draws(17);
        let mut region = || {
            let low: [f64; D] = std::array::from_fn(|_| draws.next() * (1.0 - length));
            Region::new(low, low.map(|low| low + length))
        };
        let regions = [(); 2].map(|()| (0..REGIONS).map(|_| region()).collect());
        Self { regions, length, draws }
    }

    fn moved(&mut self, region: Region<f64, D>) -> Region<f64, D> {
        let low = region
            .low
            .map(|low| (low + (2.0 * self.draws.next() - 1.0) * STEP).clamp(0.0, 1.0 - self.length));
        Region::new(low, low.map(|low| low + self.length))
    }

    fn step(&mut self) {
        for role in 0..2 {
            for number in 0..REGIONS {
                self.regions[role][number] = self.moved(self.regions[role][number]);
            }
        }
    }
}

/// The number of pairs, and a sum over them that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pairs {
    number: u64,
    sum: u64,
}

impl Pairs {
    #[inline]
    fn add(&mut self, update: u32, subscription: u32) {
        self.number += 1;
        self.sum = self.sum.wrapping_add((u64::from(update) << 20) ^ u64::from(subscription));
    }
}

fn insert_all<const D: usize>(matcher: &mut impl Matcher<f64, D>, world: &World<D>) {
    for (role, regions) in world.regions.iter().enumerate() {
        for (number, region) in regions.iter().enumerate() {
            matcher.insert(id(role, number), *region).expect("a region");
        }
    }
}

fn id(role: usize, number: usize) -> RegionId {
    if role == 0 { RegionId::update(number as u32) } else { RegionId::subscription(number as u32) }
}

fn step<const D: usize>(matcher: &mut impl Matcher<f64, D>, world: &World<D>) -> Pairs {
    for (role, regions) in world.regions.iter().enumerate() {
        for (number, region) in regions.iter().enumerate() {
            matcher.modify(id(role, number), *region).expect("a region");
        }
    }
    let mut pairs = Pairs::default();
    matcher.pairs(|update, subscription| pairs.add(update, subscription));
    pairs
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The CPU time of this thread in milliseconds: on a busy machine it varies less than the elapsed time.
fn thread_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Appends the time of `work` in milliseconds to `times`.
fn timed<T>(times: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = thread_ms();
    let result = black_box(work());
    times.push(thread_ms() - start);
    result
}

/// Adds a row: the times of the published matchers and of ours, and for each of ours the time of the best published one divided by
/// its time.
fn add_row(table: &mut Table, head: [String; 3], published: &mut [Vec<f64>], ours: &mut [Vec<f64>]) {
    let published: Vec<f64> = published.iter_mut().map(|times| median(times)).collect();
    let ours: Vec<f64> = ours.iter_mut().map(|times| median(times)).collect();
    let best = published.iter().copied().fold(f64::INFINITY, f64::min);
    let ratios = ours.iter().map(|time| best / time);
    let figures = published.iter().chain(&ours).copied().chain(ratios).map(|value| format!("{value:.2}"));
    table.add_row(head.into_iter().chain(figures));
}

fn steps<const D: usize>(alpha: f64, rounds: usize, table: &mut Table) {
    let mut world = World::<D>::new(alpha);
    let (mut sorted, mut grid) = (Sorted::new(Space::lines()), Grid::new(Space::lines()));
    insert_all(&mut sorted, &world);
    insert_all(&mut grid, &world);
    let (mut sbm, mut times, mut number) = (SortBased::default(), [const { Vec::new() }; 4], 0);
    // A first round warms up.
    for round in 0..=rounds {
        world.step();
        let mut pairs = [Pairs::default(); 4];
        pairs[0] = timed(&mut times[0], || {
            let mut pairs = Pairs::default();
            sbm.pairs(&world.regions, |update, subscription| pairs.add(update, subscription));
            pairs
        });
        pairs[1] = timed(&mut times[1], || {
            let mut pairs = Pairs::default();
            let tree = IntervalTree::build(&world.regions[1]);
            for (update, region) in world.regions[0].iter().enumerate() {
                tree.overlapping(region, |subscription| pairs.add(update as u32, subscription));
            }
            pairs
        });
        pairs[2] = timed(&mut times[2], || step(&mut sorted, &world));
        pairs[3] = timed(&mut times[3], || step(&mut grid, &world));
        assert!(pairs.iter().all(|other| *other == pairs[0]), "all find the same pairs: {pairs:?}");
        number = pairs[0].number;
        if round == 0 {
            times.iter_mut().for_each(Vec::clear);
        }
    }
    let (published, ours) = times.split_at_mut(2);
    add_row(table, [format!("{D}"), format!("{alpha}"), format!("{number}")], published, ours);
}

/// The role and the number of a region, and its places before and after the move.
type Move<const D: usize> = (usize, usize, Region<f64, D>, Region<f64, D>);

/// Moves one region, and finds the changes with interval trees of both roles.
fn move_in_trees<const D: usize>(
    trees: &mut [IntervalTree<D>; 2],
    (role, number): (usize, usize),
    (before, now): (&Region<f64, D>, &Region<f64, D>),
    found: &mut [Vec<u32>; 2],
) -> usize {
    found.iter_mut().for_each(Vec::clear);
    trees[1 - role].overlapping(before, |other| found[0].push(other));
    trees[role].remove(before, number as u32);
    trees[role].insert(now, number as u32);
    trees[1 - role].overlapping(now, |other| found[1].push(other));
    found.iter_mut().for_each(|found| found.sort_unstable());
    let [old, new] = &found;
    let (mut kept, mut news) = (0, new.iter().peekable());
    for number in old {
        while news.next_if(|other| *other < number).is_some() {}
        kept += usize::from(news.peek() == Some(&number));
    }
    old.len() + new.len() - 2 * kept
}

/// Performs the moves of a plan, and counts the changes.
fn move_in_matcher<const D: usize>(
    matcher: &mut impl Matcher<f64, D>,
    plan: &[Move<D>],
    changes: &mut Vec<Change>,
) -> usize {
    let mut sum = 0;
    for (role, number, _, now) in plan {
        matcher.modify_and_compare(id(*role, *number), *now, changes).expect("the region exists");
        sum += changes.len();
    }
    sum
}

fn moves<const D: usize>(alpha: f64, rounds: usize, table: &mut Table) {
    let mut world = World::<D>::new(alpha);
    let (mut sorted, mut grid) = (Sorted::new(Space::lines()), Grid::new(Space::lines()));
    insert_all(&mut sorted, &world);
    insert_all(&mut grid, &world);
    let mut trees = [0, 1].map(|role| IntervalTree::build(&world.regions[role]));
    let (mut times, mut found) = ([const { Vec::new() }; 3], [Vec::new(), Vec::new()]);
    let mut changes: Vec<Change> = Vec::new();
    let mut number = 0;
    for round in 0..=rounds {
        let mut plan = Vec::new();
        for _ in 0..MOVES {
            let (role, number) =
                ((world.draws.next() * 2.0) as usize, (world.draws.next() * REGIONS as f64) as usize);
            let before = world.regions[role][number];
            let now = world.moved(before);
            world.regions[role][number] = now;
            plan.push((role, number, before, now));
        }
        number = timed(&mut times[0], || {
            let moves = plan.iter();
            let one = |(role, number, before, now): &Move<D>| {
                move_in_trees(&mut trees, (*role, *number), (before, now), &mut found)
            };
            moves.map(one).sum::<usize>()
        });
        let by_sorted = timed(&mut times[1], || move_in_matcher(&mut sorted, &plan, &mut changes));
        let by_grid = timed(&mut times[2], || move_in_matcher(&mut grid, &plan, &mut changes));
        assert_eq!((by_sorted, by_grid), (number, number), "all find the same changes");
        if round == 0 {
            times.iter_mut().for_each(Vec::clear);
        }
    }
    // From milliseconds for all moves to microseconds for each.
    times.iter_mut().flatten().for_each(|time| *time *= 1e3 / MOVES as f64);
    let (published, ours) = times.split_at_mut(1);
    add_row(
        table,
        [format!("{D}"), format!("{alpha}"), format!("{:.2}", number as f64 / MOVES as f64)],
        published,
        ours,
    );
}

fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(heads);
    table
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
    let mut of_steps = table(&[
        "d",
        "alpha",
        "pairs",
        "SBM ms",
        "ITM ms",
        "Sorted ms",
        "Grid ms",
        "best/Sorted",
        "best/Grid",
    ]);
    let mut of_moves =
        table(&["d", "alpha", "changes", "ITM us", "Sorted us", "Grid us", "best/Sorted", "best/Grid"]);
    for alpha in [0.01, 1.0, 100.0] {
        steps::<1>(alpha, rounds, &mut of_steps);
        moves::<1>(alpha, rounds, &mut of_moves);
    }
    for alpha in [0.01, 1.0, 100.0] {
        steps::<2>(alpha, rounds, &mut of_steps);
        moves::<2>(alpha, rounds, &mut of_moves);
    }
    println!("Steps: all of {} regions move, then all pairs\n{of_steps}\n", 2 * REGIONS);
    println!("Single moves among {} regions, with what changes\n{of_moves}", 2 * REGIONS);
}
