//! A model of LPs to start from: a closed network of stations. Customers wait in line, are served, and walk
//! on to a station drawn at random.

use paceline::prelude::*;
use paceline::results::{Results, RunFacts, Summary};
use paceline::serde::{Deserialize, Serialize};

/// The section [model] of a scenario: its keys are these fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(crate = "paceline::serde", deny_unknown_fields)]
struct Stations {
    stations: u32,
    customers_per_station: u32,
    /// The mean time that a customer is served for.
    #[serde(with = "paceline::scenario::time")]
    service: Time,
    /// The time from one station to the next: no message between LPs is faster.
    #[serde(with = "paceline::scenario::time")]
    walk: Time,
}

/// An event: a customer arrives.
#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
#[serde(crate = "paceline::serde")]
struct Arrival;

/// The state of an LP, which is a station.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
#[serde(crate = "paceline::serde")]
struct Station {
    /// When whoever waits here now has been served.
    free: Time,
    served: u64,
}

impl Model for Stations {
    type State = Station;
    type Event = Arrival;
    type Output = u64; // customers served at the stations of a federate

    fn lps(&self) -> u32 {
        self.stations
    }

    fn lookahead(&self) -> Time {
        self.walk
    }

    fn init(&self, _station: LpId, cx: &mut Context<Self>) -> Station {
        for _ in 0..self.customers_per_station {
            cx.schedule(Time::ZERO, Arrival);
        }
        Station::default()
    }

    fn handle(&self, station: &mut Station, _customer: &Arrival, cx: &mut Context<Self>) {
        let service = Time::from_secs_f64(cx.rng().exponential(self.service.as_secs_f64()));
        station.free = cx.now().max(station.free) + service;
        station.served += 1;
        let next = LpId(cx.rng().below(u64::from(self.stations)) as u32);
        cx.send_at(next, station.free + self.walk, Arrival);
    }

    fn finish(&self, _station: LpId, station: &Station, served: &mut u64) {
        *served += station.served;
    }
}

impl Results for Stations {
    fn results(&self, served: Vec<u64>, facts: &RunFacts) -> Result<Summary, String> {
        let served: u64 = served.iter().sum();
        let mut summary = Summary::default();
        summary.line("customers_served", served);
        summary.line("customers_served_per_hour", served as f64 / facts.end_time.as_secs_f64() * 3600.0);
        Ok(summary)
    }
}

paceline::app!(Stations);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_does_not_depend_on_threads() {
        let stations =
            Stations { stations: 10, customers_per_station: 2, service: Time::secs(2), walk: Time::secs(1) };
        let run = |threads| Simulation::new(stations.clone()).until(Time::secs(1000)).threads(threads).run();
        let (one, two) = (run(1).expect("it runs"), run(2).expect("it runs"));
        assert_eq!(one.digest, two.digest);
        assert!(one.outputs.iter().sum::<u64>() > 1000, "customers are served");
    }
}
