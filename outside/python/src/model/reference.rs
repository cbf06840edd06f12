//! Models in Rust, for the tests and the bench of `paceline.model`: what handlers in Python must equal to the
//! last bit. They are compiled only with the feature `reference`.
//!
//! PHOLD is that of the program `paceline`, without its settings. The other two follow the examples
//! `first_model` and `epidemic` of the crate `paceline`; their fields are those of the dtypes in
//! `tests/models.py`.

use paceline_engine::{Monitor, RunError, Simulation};
use paceline_kernel::{Bits, Context, LpId, Model, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::run::{Settings, describe, hearing};

/// PHOLD with 1.5 messages an LP, a quarter of which go to any LP; lookahead and mean are a second.
struct Phold(u32);

impl Phold {
    fn delay(cx: &mut Context<Self>) -> Time {
        Time::secs(1) + Time::nanos(cx.rng().exponential(1e9) as u64)
    }
}

impl Model for Phold {
    type State = u64;
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        self.0
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
        let messages = (f64::from(self.0) * 1.5).round() as u32;
        for _ in 0..messages / self.0 + u32::from(lp.0 < messages % self.0) {
            let delay = Self::delay(cx);
            cx.schedule(delay, ());
        }
        0
    }
    #[inline(always)]
    fn handle(&self, received: &mut u64, _message: &(), cx: &mut Context<Self>) {
        *received += 1;
        let to = if cx.rng().chance(0.25) { LpId(cx.rng().below(u64::from(self.0)) as u32) } else { cx.lp() };
        let delay = Self::delay(cx);
        cx.send(to, delay, ());
    }
}

/// A closed network of single-server stations.
struct Stations(u32);

/// A customer arrives: where it comes from, and how often it has been served.
#[derive(Clone, Debug, Hash, PartialEq)]
struct Customer {
    from: u32,
    served: u16,
}

#[derive(Clone, Debug, Hash)]
struct Station {
    free: Time,
    served: u64,
}

impl Model for Stations {
    type State = Station;
    type Event = Customer;
    type Output = ();

    fn lps(&self) -> u32 {
        self.0
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, station: LpId, cx: &mut Context<Self>) -> Station {
        cx.schedule(Time::ZERO, Customer { from: station.0, served: 0 });
        Station { free: Time::ZERO, served: 0 }
    }
    fn handle(&self, station: &mut Station, customer: &Customer, cx: &mut Context<Self>) {
        station.free = cx.now().max(station.free) + Time::from_secs_f64(cx.rng().exponential(2.0));
        station.served += 1;
        let next = LpId(cx.rng().below(u64::from(self.0)) as u32);
        let served = customer.served + 1;
        cx.send_at(next, station.free + Time::secs(1), Customer { from: cx.lp().0, served });
    }
}

/// An infection in towns around a ring, with how often it came from where.
struct Disease {
    towns: u32,
    people: u64,
    reproduction: f64,
    generation: Time,
    travel: [f64; 3],
}

#[derive(Clone, Debug, Hash, PartialEq)]
struct Infected {
    count: u64,
    path: [u32; 6],
}

#[derive(Clone, Debug, Hash)]
struct Town {
    healthy: u64,
    ill: u64,
    came: [u32; 3],
    share: Bits,
}

impl Model for Disease {
    type State = Town;
    type Event = Infected;
    type Output = ();

    fn lps(&self) -> u32 {
        self.towns
    }
    fn lookahead(&self) -> Time {
        self.generation
    }
    fn init(&self, town: LpId, cx: &mut Context<Self>) -> Town {
        if town.0.is_multiple_of(16) {
            cx.schedule(Time::ZERO, Infected { count: 10, path: [town.0; 6] });
        }
        Town { healthy: self.people, ill: 0, came: [0; 3], share: Bits(1.0) }
    }
    fn handle(&self, town: &mut Town, infected: &Infected, cx: &mut Context<Self>) {
        let ill = infected.count.min(town.healthy);
        town.share.0 = town.healthy as f64 / self.people as f64;
        town.healthy -= ill;
        town.ill = ill;
        town.came[infected.path[0] as usize % 3] += 1;
        let mut infections = [0; 3];
        for _ in 0..cx.rng().poisson(ill as f64 * self.reproduction * town.share.0) {
            infections[cx.rng().weighted(&self.travel)] += 1;
        }
        let lp = cx.lp().0;
        let mut path = infected.path;
        path.copy_within(0..5, 1);
        path[0] = lp;
        let places = [lp, (lp + 1) % self.towns, (lp + self.towns - 1) % self.towns];
        for (place, count) in places.into_iter().zip(infections).filter(|(_, count)| *count > 0) {
            cx.send(LpId(place), self.generation, Infected { count, path });
        }
    }
}

/// Runs `phold`, `stations` or `disease` with so many LPs as `run_model` runs a model, and returns what its
/// report says.
#[pyfunction]
pub fn run_reference<'py>(
    python: Python<'py>,
    name: &str,
    lps: u32,
    settings: Settings,
) -> PyResult<Bound<'py, PyDict>> {
    let disease = || Disease {
        towns: lps,
        people: 5000,
        reproduction: 1.8,
        generation: Time::secs(5),
        travel: [0.9, 0.05, 0.05],
    };
    match name {
        "phold" => run(python, Phold(lps), settings),
        "stations" => run(python, Stations(lps), settings),
        "disease" => run(python, disease(), settings),
        _ => Err(PyValueError::new_err(format!("model {name}; allowed: phold, stations, disease"))),
    }
}

fn run<'py, M: Model>(python: Python<'py>, model: M, settings: Settings) -> PyResult<Bound<'py, PyDict>> {
    let monitor = Monitor::new();
    let simulation = settings.apply(Simulation::new(model), &monitor)?;
    let work =
        || simulation.run().map(|report| report.split().0).map_err(|error: RunError| error.to_string());
    let (result, _) = hearing(python, None, || monitor.stop(), work)?;
    describe(python, &result.map_err(PyRuntimeError::new_err)?)
}
