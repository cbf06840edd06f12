//! A wireless ad hoc network: the benchmark of the ARTIS framework (ARTIS paper, section 5.1).
//!
//! Hosts move about on a torus. In each time step every host sends a ping to all hosts within range, and does
//! a computation for every ping that it hears. The network has no losses; `wireless_csma` has them.
//!
//! # What the paper says, and what was chosen
//!
//! | | the paper | here |
//! |---|---|---|
//! | area, range | torus of 10,000 x 10,000, 250 | the same |
//! | hosts, steps | 3000, 6000, 9000; 1000 steps | the same |
//! | motion | random, greatest speed 10, "unpredictable and uncorrelated" | direction uniform, speed uniform from 0 to 10 a step; both are redrawn after 1 to `redraw` steps (uniform). The paper states neither the times nor the distribution of speeds: with 50 steps on average most neighbours remain over a step and none over a run |
//! | start | not said | uniform, which the motion preserves |
//! | a ping | constant bit rate, a broadcast | one in each step, to all hosts within range at that time |
//! | computation | "computation intensive"; light: about a tenth of it | 100 and 10 rounds of a multiplication chain for each delivered ping, about a nanosecond a round |
//!
//! # LPs
//!
//! An LP is a host or a *region*, one of the equal squares that the torus is cut into. A step has two halves,
//! each as long as the lookahead: first a host sends its place to the region that it is in and to the other
//! regions within range; then each region finds out which hosts hear each other, and sends each of its hosts
//! the list of those that it hears. That is two events per host and step, and one more for each further
//! region in reach. With `deliveries = "singly"` every ping that is heard is an event, as in the paper, and a
//! step has three parts.
//!
//! A host exchanges messages only with the regions around it, so federates exchange fewer messages if a host
//! is in the same federate as its region. As hosts move, this changes: with `run.balance =
//! "load+communication"` hosts move to the federate with which they exchange most messages, as in the paper's
//! adaptive runs (Bononi, D'Angelo and Donatiello, 2003).
//!
//! # Where things are
//!
//! `space`: places on the torus; `trace`: motion from files; `host` and `region`: the LPs; `event`: their
//! messages; `deal`: the partition; `settings`: scenarios; `results`: the output.

pub(crate) mod deal;
mod event;
mod host;
pub(crate) mod picture;
pub(crate) mod region;
mod results;
pub(crate) mod settings;
pub(crate) mod space;
pub mod trace;

use std::sync::Arc;

use paceline_kernel::{Context, LpId, Model, Partition, Rng, Time};
use paceline_results::Summary;
use serde::{Deserialize, Serialize};

pub use deal::Deal;
use deal::Places;
pub use event::WirelessEvent;
pub(crate) use host::MOST;
pub use host::{Host, compute};
pub use region::Region;
use region::{Pinger, RegionGrid};
pub(crate) use results::sum;
pub use results::{HostLine, Output};
pub use space::{Point, Space};
use trace::Trace;

/// The most hosts of a network.
pub const MOST_HOSTS: u32 = 1 << 24;
/// The side of the paper's torus.
const SIDE: f64 = 10_000.0;
/// The paper's range.
const RANGE: f64 = 250.0;
/// The greatest speed in the paper, in units a step.
const SPEED: f64 = 10.0;
/// Direction and speed are redrawn after at most this many steps.
const REDRAW_STEPS: u32 = 100;
/// Regions along a side of the torus.
const REGIONS: u32 = 4;
/// The stream of random numbers for the initial places; no LP uses it.
const START_STREAM: u64 = 1 << 40;

/// How much a host computes for each ping that it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// The paper's "computation intensive" model: 100 rounds.
    Standard,
    /// Its light model: 10 rounds.
    Light,
    /// This many rounds, about a nanosecond each.
    Rounds(u32),
}

impl Computation {
    /// The number of rounds.
    pub const fn rounds(self) -> u32 {
        match self {
            Self::Standard => 100,
            Self::Light => 10,
            Self::Rounds(rounds) => rounds,
        }
    }
}

/// How the pings that a host hears are delivered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deliveries {
    /// All pings of a step in one event, which also makes the host begin its next step.
    Together,
    /// Each in an event of its own.
    Singly,
}

#[derive(Clone, Debug)]
pub(crate) enum Motion {
    /// In a direction and at a speed that are redrawn now and then.
    Random {
        /// The greatest speed, in units a step.
        speed: f64,
        /// The greatest number of steps to the next draw.
        redraw_steps: u32,
    },
    /// As a file says.
    Traced(Arc<Trace>),
}

impl Motion {
    /// The number of a host in results: the one that it has in the file, if there is a file.
    pub(crate) fn number(&self, host: u32) -> u32 {
        match self {
            Self::Random { .. } => host,
            Self::Traced(trace) => trace.number(host),
        }
    }

    /// Reports what a reader of movements has filled in or left out, if anything.
    pub(crate) fn report(&self, summary: &mut Summary) {
        let Self::Traced(trace) = self else { return };
        if trace.unplaced() > 0 {
            summary.line("hosts_begun_at_0_0", trace.unplaced());
        }
        if trace.gaps() > 0 {
            summary.line("host_numbers_not_used", trace.gaps());
        }
    }
}

/// A wireless ad hoc network.
///
/// ```
/// use paceline_engine::{Protocol, Simulation};
/// use paceline_results::{Results, RunFacts};
/// use paceline_models::wireless::{Computation, Wireless};
///
/// let network = Wireless::ad_hoc(300, 10, Computation::Light);
/// let (report, network) = Simulation::new(network).protocol(Protocol::Window).run_keeping_model()?;
/// let facts = RunFacts { events: report.events, end_time: report.end_time };
/// let summary = network.results(report.outputs, &facts).expect("no ping got lost");
/// assert!(summary.lines.contains(&("pings_sent".into(), 3000.into())));
/// # Ok::<(), paceline_engine::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Wireless {
    hosts: u32,
    /// Pings that each host sends.
    pub(crate) steps: u32,
    /// The time from one ping to the next.
    pub(crate) step: Time,
    pub(crate) lookahead: Time,
    /// Rounds of [`compute`] for each ping heard.
    pub(crate) rounds: u32,
    pub(crate) space: Space,
    pub(crate) grid: RegionGrid,
    pub(crate) motion: Motion,
    pub(crate) deliveries: Deliveries,
    deal: Deal,
    /// Where each host is at first.
    starts: Arc<[Point]>,
}

impl Wireless {
    /// The network of the ARTIS paper with this many hosts, each of which sends `steps` pings, one a second.
    /// Panics unless there are from 1 to [`MOST_HOSTS`] hosts.
    pub fn ad_hoc(hosts: u32, steps: u32, computation: Computation) -> Self {
        assert!((1..=MOST_HOSTS).contains(&hosts), "from 1 to {MOST_HOSTS} hosts: {hosts}");
        let space = Space::new(SIDE);
        let motion = Motion::Random { speed: SPEED, redraw_steps: REDRAW_STEPS };
        let grid = RegionGrid { per_side: REGIONS, range: space.ticks(RANGE) };
        let network = Self {
            hosts,
            steps,
            step: Time::secs(1),
            lookahead: Time::ZERO,
            rounds: computation.rounds(),
            space,
            grid,
            motion,
            deliveries: Deliveries::Together,
            deal: Deal::Position,
            starts: Arc::new([]),
        };
        network.deliver(Deliveries::Together).place(1)
    }

    /// Draws the initial places from `seed`.
    pub fn place(mut self, seed: u64) -> Self {
        self.starts = starts(&self.motion, self.space, self.hosts, seed);
        self
    }

    /// Sets how pings are delivered.
    pub fn deliver(mut self, deliveries: Deliveries) -> Self {
        let parts = match deliveries {
            Deliveries::Together => 2,
            Deliveries::Singly => 3,
        };
        (self.deliveries, self.lookahead) = (deliveries, Time::nanos(self.step.as_nanos() / parts));
        self
    }

    /// Sets how LPs are dealt to federates.
    pub fn deal(mut self, deal: Deal) -> Self {
        self.deal = deal;
        self
    }

    /// The number of hosts. The LPs with lower numbers are hosts, the others regions.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The initial place of a host.
    pub fn start(&self, host: u32) -> Point {
        self.starts[host as usize]
    }

    pub(crate) fn region_lp(&self, region: u32) -> LpId {
        LpId(self.hosts + region)
    }

    /// Whether this host can ping to the region that the LP is.
    fn pings_to(&self, lp: LpId, pinger: Pinger) -> bool {
        let mut is_in_reach = false;
        self.grid.in_reach(pinger.at, |region| is_in_reach |= self.region_lp(region) == lp);
        pinger.host < self.hosts && is_in_reach
    }
}

/// The initial place of each host: from the trace if there is one, else drawn from `seed`.
pub(crate) fn starts(motion: &Motion, space: Space, hosts: u32, seed: u64) -> Arc<[Point]> {
    match motion {
        Motion::Random { .. } => {
            let mut rng = Rng::new(seed, START_STREAM);
            (0..hosts).map(|_| Space::draw_point(&mut rng)).collect()
        }
        Motion::Traced(trace) => (0..hosts).map(|host| trace.place(space, host, Time::ZERO)).collect(),
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// The LP is a host.
    Host(Host),
    /// The LP is a region.
    Region(Region),
}

impl Model for Wireless {
    type State = Entity;
    type Event = WirelessEvent;
    type Output = Output;

    fn lps(&self) -> u32 {
        self.hosts + self.grid.count()
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    fn partition(&self, federates: u32) -> Partition {
        let places = Places { hosts: self.hosts, grid: self.grid, starts: &self.starts };
        deal::partition(&places, self.deal, federates)
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Entity {
        if lp.0 >= self.hosts {
            return Entity::Region(Region::default());
        }
        cx.schedule(Time::ZERO, WirelessEvent::Step);
        Entity::Host(Host::new(self, lp.0, cx))
    }

    #[inline]
    fn handle(&self, state: &mut Entity, event: &WirelessEvent, cx: &mut Context<Self>) {
        let lp = cx.lp().0;
        match (state, event) {
            (Entity::Host(host), WirelessEvent::HeardAll(heard)) => {
                heard.iter().for_each(|from| host.hear(self, lp, *from));
                host.step(self, cx);
            }
            (Entity::Host(host), WirelessEvent::Heard { from, .. }) => host.hear(self, lp, *from),
            (Entity::Host(host), WirelessEvent::Step) => {
                host.step(self, cx);
                if self.deliveries == Deliveries::Singly && host.pings < self.steps {
                    cx.schedule(self.step, WirelessEvent::Step);
                }
            }
            (Entity::Region(region), WirelessEvent::Ping { host, at }) => {
                region.ping(Pinger { host: *host, at: *at }, cx);
            }
            (Entity::Region(region), WirelessEvent::Match) => region.match_all(self, lp - self.hosts, cx),
            (state, event) => unreachable!("{event:?} is not for {state:?}: nobody sends it there"),
        }
    }

    fn state_bytes(&self, state: &Entity) -> usize {
        let pingers = match state {
            Entity::Host(_) => 0,
            Entity::Region(region) => region.pingers.len(),
        };
        size_of::<Entity>() + pingers * size_of::<Pinger>()
    }

    fn commit(&self, _lp: LpId, _at: Time, event: &WirelessEvent, output: &mut Output) {
        match event {
            WirelessEvent::HeardAll(heard) => output.count(heard.len()),
            WirelessEvent::Heard { of, .. } => {
                output.deliveries += 1;
                if *of > 0 {
                    output.count_hearer(*of as usize);
                }
            }
            WirelessEvent::Step | WirelessEvent::Ping { .. } | WirelessEvent::Match => {}
        }
    }

    fn admits_state(&self, lp: LpId, state: &Entity) -> bool {
        match state {
            Entity::Host(host) => lp.0 < self.hosts && host.can_be(self),
            Entity::Region(region) => {
                lp.0 >= self.hosts && region.pingers.iter().all(|pinger| self.pings_to(lp, *pinger))
            }
        }
    }

    fn admits_event(&self, lp: LpId, event: &WirelessEvent) -> bool {
        let is_host = lp.0 < self.hosts;
        match event {
            WirelessEvent::Step => is_host,
            WirelessEvent::HeardAll(heard) => is_host && heard.len() <= self.hosts as usize,
            WirelessEvent::Heard { of, .. } => is_host && *of <= self.hosts,
            WirelessEvent::Match => !is_host,
            WirelessEvent::Ping { host, at } => {
                !is_host && self.pings_to(lp, Pinger { host: *host, at: *at })
            }
        }
    }

    fn admits_output(&self, output: &Output) -> bool {
        output.can_be(self.hosts)
    }

    fn finish(&self, lp: LpId, state: &Entity, output: &mut Output) {
        if let Entity::Host(host) = state {
            let Host { at, pings, heard, computed, .. } = *host;
            output.hosts.push(HostLine { host: lp.0, at, pings, heard, computed });
        }
    }
}
