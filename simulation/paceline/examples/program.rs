//! The program of a model: what `paceline run` is for the models that come with Paceline. Its parameters come
//! from a scenario.
use paceline::prelude::*;
use paceline::results::{Results, RunFacts, Summary};
use serde::{Deserialize, Serialize};

/// The section [model] of a scenario: its keys are these fields. An unknown key is refused.
#[derive(Debug, Deserialize)]
struct Stations {
    stations: u32,
    #[serde(with = "paceline::scenario::time")]
    walk: Time, // "1s"
    service: Service,
}

/// `service = { law = "exponential", mean_s = 2.0 }` or `service = { law = "fixed", s = 2.0 }`
#[derive(Debug, Deserialize)]
#[serde(tag = "law", rename_all = "lowercase")]
enum Service {
    Exponential { mean_s: f64 },
    Fixed { s: f64 },
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
struct Station {
    free: Time,
    served: u64,
}

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
struct Customer;

impl Model for Stations {
    type State = Station;
    type Event = Customer;
    type Output = u64; // customers served; of several federates there is one each

    fn parameters(&self) -> String {
        format!("{self:?}") // so that a checkpoint is refused by a model with others
    }
    fn lps(&self) -> u32 {
        self.stations
    }
    fn lookahead(&self) -> Time {
        self.walk
    }
    fn init(&self, _station: LpId, cx: &mut Context<Self>) -> Station {
        cx.schedule(Time::ZERO, Customer);
        Station { free: Time::ZERO, served: 0 }
    }
    fn handle(&self, station: &mut Station, _customer: &Customer, cx: &mut Context<Self>) {
        let service = match self.service {
            Service::Exponential { mean_s } => cx.rng().exponential(mean_s),
            Service::Fixed { s } => s,
        };
        station.free = cx.now().max(station.free) + Time::from_secs_f64(service);
        station.served += 1;
        let next = LpId(cx.rng().below(u64::from(self.stations)) as u32);
        cx.send_at(next, station.free + self.walk, Customer);
    }
    fn finish(&self, _station: LpId, station: &Station, served: &mut u64) {
        *served += station.served;
    }
}

impl Results for Stations {
    fn results(&self, served: Vec<u64>, _: &RunFacts) -> Result<Summary, String> {
        let mut summary = Summary::default();
        summary.line("customers_served", served.iter().sum::<u64>());
        Ok(summary)
    }
}

paceline::app!(Stations);
