//! The network as one would write it without an engine: arrays, and a cell list rebuilt in every step.
//!
//! In each step every host moves, and the hosts are sorted into cells as wide as the range (counting sort).
//! Every host is compared with the hosts in the nine cells around it by the square of the distance; for each
//! host within range the computation is done at once. Random numbers, coordinates and the computation are the
//! library's, so both sides compute the same results.

use std::f64::consts::TAU;

use paceline_kernel::Rng;
use paceline_models::wireless::{Point, Space, Wireless, compute};

const SIDE: f64 = 10_000.0;
const RANGE: f64 = 250.0;
const SPEED: f64 = 10.0;
const REDRAW_STEPS: u64 = 100;
/// Cells along a side; a cell is as wide as the range.
const CELLS: usize = 40;
const SEED: u64 = 1;

pub struct ByHand {
    rounds: u32,
    space: Space,
    at: Vec<Point>,
    velocity: Vec<(i32, i32)>,
    steps_left: Vec<u64>,
    rng: Vec<Rng>,
    heard: Vec<u64>,
    computed: Vec<u64>,
    /// Index in `sorted` of the first host of each cell; at the end the total.
    first: Vec<u32>,
    sorted: Vec<(u32, Point)>,
}

impl ByHand {
    /// Starts with the hosts of `network`, and a computation of `rounds` rounds.
    pub fn new(network: &Wireless, rounds: u32) -> Self {
        let hosts = network.hosts();
        let mut run = Self {
            rounds,
            space: Space::new(SIDE),
            at: (0..hosts).map(|host| network.start(host)).collect(),
            velocity: vec![(0, 0); hosts as usize],
            steps_left: vec![0; hosts as usize],
            rng: (0..hosts).map(|host| Rng::new(SEED, u64::from(host))).collect(),
            heard: vec![0; hosts as usize],
            computed: vec![0; hosts as usize],
            first: vec![0; CELLS * CELLS + 1],
            sorted: vec![(0, Point { x: 0, y: 0 }); hosts as usize],
        };
        (0..hosts as usize).for_each(|host| run.draw(host));
        run
    }

    /// Pings heard by all hosts.
    pub fn deliveries(&self) -> u64 {
        self.heard.iter().sum()
    }

    /// The sum of the results of all computations.
    pub fn computed(&self) -> u64 {
        self.computed.iter().fold(0, |sum, result| sum.wrapping_add(*result))
    }

    /// Performs step `number`, counted from 1: moves (except in the first step) and delivers all pings.
    pub fn step(&mut self, number: u32) {
        if number > 1 {
            (0..self.at.len()).for_each(|host| self.advance(host));
        }
        self.sort();
        self.deliver(number);
    }

    fn draw(&mut self, host: usize) {
        let rng = &mut self.rng[host];
        let (direction, speed) = (TAU * rng.unit(), SPEED * rng.unit());
        let ticks = |length: f64| self.space.ticks(length).cast_signed();
        self.velocity[host] = (ticks(speed * libm::cos(direction)), ticks(speed * libm::sin(direction)));
        self.steps_left[host] = 1 + rng.below(REDRAW_STEPS);
    }

    fn advance(&mut self, host: usize) {
        let (at, (x, y)) = (&mut self.at[host], self.velocity[host]);
        *at = Point { x: at.x.wrapping_add_signed(x), y: at.y.wrapping_add_signed(y) };
        self.steps_left[host] -= 1;
        if self.steps_left[host] == 0 {
            self.draw(host);
        }
    }

    fn sort(&mut self) {
        let column = |coordinate: u32| ((u64::from(coordinate) * CELLS as u64) >> 32) as usize;
        let cell = |at: &Point| column(at.y) * CELLS + column(at.x);
        self.first.fill(0);
        for at in &self.at {
            self.first[cell(at) + 1] += 1;
        }
        for cell in 0..CELLS * CELLS {
            self.first[cell + 1] += self.first[cell];
        }
        let mut next = self.first.clone();
        for (host, at) in self.at.iter().enumerate() {
            let slot = &mut next[cell(at)];
            self.sorted[*slot as usize] = (host as u32, *at);
            *slot += 1;
        }
    }

    fn deliver(&mut self, step: u32) {
        let range = u64::from(self.space.ticks(RANGE));
        let near = |cell: usize| [(cell + CELLS - 1) % CELLS, cell, (cell + 1) % CELLS];
        for cell in 0..CELLS * CELLS {
            for &(hearer, at) in &self.sorted[self.first[cell] as usize..self.first[cell + 1] as usize] {
                let (mut heard, mut computed) = (0, 0u64);
                for row in near(cell / CELLS) {
                    for column in near(cell % CELLS) {
                        let other = row * CELLS + column;
                        let span = self.first[other] as usize..self.first[other + 1] as usize;
                        for &(sender, place) in &self.sorted[span] {
                            if sender != hearer && at.distance_squared(place) <= range * range {
                                heard += 1;
                                computed = computed.wrapping_add(compute(hearer, sender, step, self.rounds));
                            }
                        }
                    }
                }
                self.heard[hearer as usize] += heard;
                self.computed[hearer as usize] = self.computed[hearer as usize].wrapping_add(computed);
            }
        }
    }
}
