//! `cargo bench -p paceline-interest`: matching 100,000 moving regions.
//!
//! Half of the regions are update regions; all are cubes of one size at uniformly distributed places (the
//! setting of Marzolla and D'Angelo, 2020). *alpha* is the volume of all regions divided by that of the
//! space. In a step every region moves by up to a hundredth of the space, then all pairs are reported. In a
//! single move one region moves, and the changes of its matches are reported. Times are medians over the
//! rounds; `PACELINE_ROUNDS` sets their number.

use std::time::Instant;

use paceline_interest::{Region, RegionId, RegionMatcher};

const REGIONS: usize = 50_000;

/// Single moves timed together.
const MOVES: usize = 2_000;

/// The length of the space on each axis.
const SPACE: i64 = 1 << 40;

/// The greatest move of a region along an axis.
const STEP: i64 = SPACE / 100;

/// A stream of numbers (SplitMix64).
struct Draws(u64);

impl Draws {
    /// Uniform from 0 to below `end`.
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(end.cast_unsigned())) >> 64) as i64
    }
}

/// All regions, of one size, in a matcher.
struct World<const D: usize> {
    regions: Vec<(RegionId, Region<D>)>,
    length: i64,
    draws: Draws,
    matcher: RegionMatcher<D>,
}

impl<const D: usize> World<D> {
    fn new(alpha: f64) -> Self {
        let length = ((alpha / (2 * REGIONS) as f64).powf(1.0 / D as f64) * SPACE as f64) as i64;
        let mut world =
            Self { regions: Vec::new(), length, draws: Draws(17), matcher: RegionMatcher::default() };
        for number in 0..REGIONS as u32 {
            for id in [RegionId::update(number), RegionId::subscription(number)] {
                let low: [i64; D] = std::array::from_fn(|_| world.draws.below(SPACE - length));
                let region = Region::new(low, low.map(|low| low + length));
                world.matcher.insert(id, region).expect("a region");
                world.regions.push((id, region));
            }
        }
        world
    }

    /// Where a region is after its next move.
    fn draw_move(&mut self, at: usize) -> (RegionId, Region<D>) {
        let (id, region) = self.regions[at];
        let low =
            region.low.map(|low| (low + self.draws.below(2 * STEP) - STEP).clamp(0, SPACE - self.length));
        self.regions[at] = (id, Region::new(low, low.map(|low| low + self.length)));
        self.regions[at]
    }

    /// All regions move. Returns the number of pairs, and the time in milliseconds.
    fn step(&mut self) -> (usize, f64) {
        let moves: Vec<_> = (0..self.regions.len()).map(|at| self.draw_move(at)).collect();
        let start = Instant::now();
        for (id, region) in moves {
            self.matcher.modify(id, region).expect("a region");
        }
        let mut pairs = 0;
        self.matcher.pairs(|_, _| pairs += 1);
        (pairs, start.elapsed().as_secs_f64() * 1e3)
    }

    /// Regions move one by one. Returns the number of changes, and the time of a move in microseconds.
    fn single_moves(&mut self) -> (usize, f64) {
        let count = self.regions.len() as i64;
        let moves: Vec<_> = (0..MOVES)
            .map(|_| {
                let at = self.draws.below(count) as usize;
                self.draw_move(at)
            })
            .collect();
        let (start, mut sum, mut changes) = (Instant::now(), 0, Vec::new());
        for (id, region) in moves {
            self.matcher.modify_and_compare(id, region, &mut changes).expect("a region");
            sum += changes.len();
        }
        (sum, start.elapsed().as_secs_f64() * 1e6 / MOVES as f64)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn row<const D: usize>(alpha: f64, rounds: usize) {
    let mut world = World::<D>::new(alpha);
    // The first round builds what later ones reuse.
    world.step();
    let (pairs, steps): (Vec<usize>, Vec<f64>) = (0..rounds).map(|_| world.step()).unzip();
    world.single_moves();
    let (changes, moves): (Vec<usize>, Vec<f64>) = (0..rounds).map(|_| world.single_moves()).unzip();
    let changes = changes[0] as f64 / MOVES as f64;
    let (step, one_move) = (median(steps), median(moves));
    println!("| {D} | {alpha:5} | {:8} | {step:9.2} | {changes:8.2} | {one_move:9.2} |", pairs[0]);
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
    println!("| d | alpha | pairs    | ms a step | changes  | us a move |");
    println!("|---|-------|----------|-----------|----------|-----------|");
    for alpha in [0.01, 1.0, 100.0] {
        row::<1>(alpha, rounds);
    }
    for alpha in [0.01, 1.0, 100.0] {
        row::<2>(alpha, rounds);
    }
}
