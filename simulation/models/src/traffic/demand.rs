//! Which vehicle departs when: vehicles drawn from trip numbers, and the order in which each origin releases
//! them.
//!
//! A number of trips is scaled; its whole part is the number of certain vehicles, its fraction the
//! probability of one more. Departures are uniform over a period. Every (origin, destination) pair has its
//! own random stream, so its vehicles do not depend on the other pairs of the table. Vehicles are numbered by
//! (origin, destination, draw); each origin releases its vehicles by (departure, number). Nothing here
//! changes during a run: an origin's state is a cursor into its list.

use paceline_kernel::{Rng, Time};

use super::network::Network;
use super::routes::{MAX_TABLE, Routes};

/// The most vehicles of a run; each takes about 16 bytes.
pub(crate) const MAX_VEHICLES: u32 = 50_000_000;

/// The target of a vehicle whose origin is its destination.
pub(crate) const AT_HOME: u32 = u32::MAX;

/// Trips from one node to another; nodes count from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trips {
    pub origin: u32,
    pub destination: u32,
    /// The number of trips in the period; finite and not negative.
    pub number: f64,
}

/// How vehicles are drawn from trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// Factor on all numbers of trips.
    pub scale: f64,
    /// All departures are before this time.
    pub period: Time,
    /// The time to cross a node on the way.
    pub crossing: Time,
    /// Seed of the run.
    pub seed: u64,
}

/// Why trips cannot become vehicles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Undrawable {
    /// The trips with this index have no route.
    Unconnected(usize),
    /// This many vehicles are more than [`MAX_VEHICLES`].
    TooMany(f64),
    /// The table of routes has no room for this many nodes and destinations.
    TooWide(u32, usize),
}

/// What the vehicles of one origin and destination have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub origin: u32,
    pub destination: u32,
    /// The destination's number among the targets of the routes, or [`AT_HOME`].
    pub target: u32,
    /// The shortest route's time and length.
    pub free_flow: Time,
    pub length_mm: u64,
}

/// All vehicles of a run.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pairs: Vec<Pair>,
    pair_of: Vec<u32>,
    departs: Vec<Time>,
    order: Vec<u32>,
    first: Vec<u32>,
    /// All trips, scaled, before they are drawn.
    trips: f64,
    seed: u64,
}

impl Demand {
    /// Draws the vehicles of `trips`, which are sorted by (origin, destination) without repetition, and finds
    /// their routes.
    pub fn draw(network: &Network, trips: &[Trips], draw: Draw) -> Result<(Self, Routes), Undrawable> {
        let all: f64 = trips.iter().map(|trips| (trips.number * draw.scale).floor() + 1.0).sum();
        if all > f64::from(MAX_VEHICLES) {
            return Err(Undrawable::TooMany(trips.iter().map(|trips| trips.number * draw.scale).sum()));
        }
        let (pairs, routes) = pairs(network, trips, draw.crossing)?;
        let room = all as usize;
        let first = Vec::with_capacity(network.nodes() as usize + 1);
        let (pair_of, departs) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let wanted = trips.iter().map(|trips| trips.number * draw.scale).sum();
        let mut demand =
            Self { pairs, pair_of, departs, order: Vec::new(), first, trips: wanted, seed: draw.seed };
        let mut left = trips.iter().enumerate().peekable();
        for node in 0..network.nodes() {
            demand.first.push(demand.vehicles());
            while let Some((pair, trips)) = left.next_if(|(_, trips)| trips.origin == node) {
                demand.draw_pair(pair as u32, trips, draw);
            }
        }
        demand.first.push(demand.vehicles());
        demand.order = (0..demand.vehicles()).collect();
        for origin in demand.first.windows(2) {
            let vehicles = &mut demand.order[origin[0] as usize..origin[1] as usize];
            vehicles.sort_unstable_by_key(|vehicle| (demand.departs[*vehicle as usize], *vehicle));
        }
        Ok((demand, routes))
    }

    fn draw_pair(&mut self, pair: u32, trips: &Trips, draw: Draw) {
        // The top bit keeps these streams apart from those of LPs.
        let stream = 1 << 63 | u64::from(trips.origin) << 32 | u64::from(trips.destination);
        let mut rng = Rng::new(draw.seed, stream);
        let number = trips.number * draw.scale;
        let vehicles = number.floor() as u32 + u32::from(rng.chance(number.fract()));
        for _ in 0..vehicles {
            self.pair_of.push(pair);
            self.departs.push(Time::nanos(rng.below(draw.period.as_nanos())));
        }
    }

    /// The number of vehicles.
    pub fn vehicles(&self) -> u32 {
        self.pair_of.len() as u32
    }

    /// The sum of all trips, scaled: the number of vehicles is drawn so that this is its mean.
    pub fn trips(&self) -> f64 {
        self.trips
    }

    /// How many vehicles start at `origin`.
    pub fn starting_at(&self, origin: u32) -> u32 {
        self.first[origin as usize + 1] - self.first[origin as usize]
    }

    /// The origin, destination and shortest route of a vehicle.
    #[inline]
    pub fn pair(&self, vehicle: u32) -> &Pair {
        &self.pairs[self.pair_of[vehicle as usize] as usize]
    }

    /// When a vehicle departs.
    #[inline]
    pub fn departs(&self, vehicle: u32) -> Time {
        self.departs[vehicle as usize]
    }

    /// A number from 0 to 1 that is drawn for each vehicle, for changes of the demand: with a part of it,
    /// those depart whose number is below that part.
    pub fn rank(&self, vehicle: u32) -> f64 {
        // The two top bits keep these streams apart from those of LPs and of pairs.
        Rng::new(self.seed, 3 << 62 | u64::from(vehicle)).unit()
    }

    /// The next vehicle of `origin` after it has released `gone` vehicles.
    #[inline]
    pub fn next(&self, origin: u32, gone: u32) -> Option<u32> {
        let place = self.first[origin as usize] + gone;
        (place < self.first[origin as usize + 1]).then(|| self.order[place as usize])
    }

    /// For each node: the vehicles that start there, pass it or arrive, plus one, so that no node has a load
    /// of zero. Apart from lights and full roads this is the number of events of the node.
    pub fn loads(&self, network: &Network, routes: &Routes) -> Vec<u64> {
        let mut vehicles = vec![0; self.pairs.len()];
        for pair in &self.pair_of {
            vehicles[*pair as usize] += 1;
        }
        let mut loads = vec![1; network.nodes() as usize];
        for (pair, vehicles) in self.pairs.iter().zip(vehicles).filter(|(_, vehicles)| *vehicles > 0) {
            let mut node = pair.origin;
            loads[node as usize] += vehicles;
            while node != pair.destination {
                let road = network.first_exit(node) + u32::from(routes.exit(node, pair.target));
                node = network.road(road).to;
                loads[node as usize] += vehicles;
            }
        }
        loads
    }
}

/// One pair for each element of `trips`, and the routes to all their destinations.
fn pairs(network: &Network, trips: &[Trips], crossing: Time) -> Result<(Vec<Pair>, Routes), Undrawable> {
    let travels = |trips: &Trips| trips.number > 0.0 && trips.origin != trips.destination;
    let mut targets: Vec<u32> =
        trips.iter().filter(|trips| travels(trips)).map(|trips| trips.destination).collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.len() as u64 * u64::from(network.nodes()) > MAX_TABLE {
        return Err(Undrawable::TooWide(network.nodes(), targets.len()));
    }
    let mut pairs = Vec::with_capacity(trips.len());
    let mut travellers = vec![Vec::new(); targets.len()];
    for (index, trips) in trips.iter().enumerate() {
        let (origin, destination) = (trips.origin, trips.destination);
        let mut target = AT_HOME;
        if travels(trips) {
            let place = targets.binary_search(&destination).expect("every destination of a trip is a target");
            travellers[place].push(index);
            target = place as u32;
        }
        pairs.push(Pair { origin, destination, target, free_flow: Time::ZERO, length_mm: 0 });
    }
    let mut unconnected = None;
    let routes = Routes::build(network, crossing, targets, |target, tree| {
        for index in &travellers[target] {
            match tree.route(network, pairs[*index].origin) {
                Some((free_flow, length_mm)) => {
                    (pairs[*index].free_flow, pairs[*index].length_mm) = (free_flow, length_mm);
                }
                None => unconnected = Some(unconnected.map_or(*index, |first: usize| first.min(*index))),
            }
        }
    });
    match unconnected {
        Some(index) => Err(Undrawable::Unconnected(index)),
        None => Ok((pairs, routes)),
    }
}
