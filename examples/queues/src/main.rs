//! A network of stations with several counters and one line each. Who has been served goes to another
//! station, or leaves.
//!
//! It is a Jackson network: each station is an M/M/c queue whose customers come from outside and from the
//! others, so that Erlang's formula gives the mean wait. Customers take a fixed time from one station to the
//! next, which is the lookahead.

use std::collections::VecDeque;

use paceline::prelude::*;
use paceline::results::{Results, RunFacts, Summary};
use paceline::scenario::{InputFile, time};
use paceline::statistics::{Distribution, Join, Level, Tally, TimeSeries, joined, write_csv};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Parameters")]
struct Network(Parameters, Vec<f64>); // with how many times as many customers come to each station

/// The section `[model]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    stations: u32,
    counters: u32,
    /// The mean time from one customer from outside to the next, at each station.
    #[serde(with = "time")]
    between_arrivals: Time,
    #[serde(with = "time")]
    service: Time,
    /// The share of customers who leave the network when they have been served.
    leaving: f64,
    #[serde(with = "time")]
    way: Time,
    /// What happens before this is not measured.
    #[serde(with = "time")]
    warm_up: Time,
    /// The intervals of the time series.
    #[serde(with = "time")]
    interval: Time,
    /// How many times as many customers come to a station from outside: a line with a number for each.
    /// Without the file, 1.
    #[serde(default)]
    demand: Option<InputFile>,
}

impl TryFrom<Parameters> for Network {
    type Error = String;

    fn try_from(parameters: Parameters) -> Result<Self, String> {
        let Parameters { stations, counters, leaving, way, interval, .. } = parameters;
        if stations < 2 || counters == 0 || way == Time::ZERO || interval == Time::ZERO {
            return Err("there are two stations and one counter at least, a way and an interval take more than no time".into());
        }
        if !(leaving > 0.0 && leaving <= 1.0) {
            return Err(format!("`leaving` is {leaving}; it is a share above 0 and at most 1"));
        }
        let demand = parameters.demand.as_ref().map(|file| demand(file, stations)).transpose()?;
        let network = Self(parameters, demand.unwrap_or_else(|| vec![1.0; stations as usize]));
        let busy = network.load() / f64::from(counters);
        if busy >= 1.0 {
            return Err(format!("counters would be busy {busy:.2} of the time: lines grow without end"));
        }
        Ok(network)
    }
}

/// The numbers in a file, one for each station.
fn demand(file: &InputFile, stations: u32) -> Result<Vec<f64>, String> {
    let number = |(line, text): (usize, &str)| {
        let number = text.trim().parse().ok().filter(|number| (1e-3..=1e3).contains(number));
        let place = format!("{}:{}", file.path().display(), line + 1);
        number.ok_or_else(|| format!("{place}: {text:?}; allowed: a number from 0.001 to 1000"))
    };
    let numbers = file.text()?.lines().enumerate().map(number).collect::<Result<Vec<_>, _>>()?;
    match numbers.len() == stations as usize {
        true => Ok(numbers),
        false => Err(format!(
            "{}: {} lines; allowed: one for each of {stations} stations",
            file.path().display(),
            numbers.len()
        )),
    }
}

impl Network {
    /// The mean time from one customer from outside to the next, in seconds.
    fn between_s(&self, station: LpId) -> f64 {
        self.0.between_arrivals.as_secs_f64() / self.1[station.0 as usize]
    }

    /// The mean number of busy counters at a station: customers a second, those who come again included, by
    /// seconds of service.
    fn load(&self) -> f64 {
        let Parameters { between_arrivals, service, leaving, .. } = self.0;
        service.as_secs_f64() / (between_arrivals.as_secs_f64() * leaving)
    }

    /// The mean wait in a line by Erlang's formula.
    fn theory_s(&self) -> f64 {
        let (load, counters) = (self.load(), f64::from(self.0.counters));
        // The blocking of a system without a line, by its recursion; then that with a line.
        let blocked =
            (1..=self.0.counters).fold(1.0, |before, k| load * before / (f64::from(k) + load * before));
        let waits = blocked / (1.0 - load / counters * (1.0 - blocked));
        waits * self.0.service.as_secs_f64() / (counters - load)
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
enum Customer {
    ComesFromOutside,
    ComesFromAnother,
    /// Who came at one time and was served from another on.
    IsDone {
        came: Time,
        served: Time,
    },
}

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct Station {
    busy: u32,
    line: VecDeque<Time>, // when each customer came who waits
}

/// What is measured of all stations together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    waits_s: Tally,
    quantiles: Distribution,
    present: Level,
    changes: TimeSeries,
}

impl Join for Measured {
    fn join(&mut self, other: &Self) {
        self.waits_s.join(&other.waits_s);
        self.quantiles.join(&other.quantiles);
        self.present.join(&other.present);
        self.changes.join(&other.changes);
    }
}

impl Model for Network {
    type State = Station;
    type Event = Customer;
    type Output = Measured;

    fn parameters(&self) -> String {
        format!("{self:?}")
    }
    fn lps(&self) -> u32 {
        self.0.stations
    }
    fn lookahead(&self) -> Time {
        self.0.way
    }
    fn init(&self, station: LpId, cx: &mut Context<Self>) -> Station {
        let first = cx.rng().exponential(self.between_s(station));
        cx.schedule(Time::from_secs_f64(first), Customer::ComesFromOutside);
        Station::default()
    }
    fn handle(&self, station: &mut Station, customer: &Customer, cx: &mut Context<Self>) {
        match customer {
            Customer::ComesFromOutside => {
                station.line.push_back(cx.now());
                let between_s = self.between_s(cx.lp());
                let next = cx.rng().exponential(between_s);
                cx.schedule(Time::from_secs_f64(next), Customer::ComesFromOutside);
            }
            Customer::ComesFromAnother => station.line.push_back(cx.now()),
            Customer::IsDone { .. } => {
                station.busy -= 1;
                if !cx.rng().chance(self.0.leaving) {
                    let other = cx.rng().below(u64::from(self.0.stations) - 1) as u32;
                    let other = LpId(other + u32::from(other >= cx.lp().0));
                    cx.send(other, self.0.way, Customer::ComesFromAnother);
                }
            }
        }
        if station.busy < self.0.counters
            && let Some(came) = station.line.pop_front()
        {
            station.busy += 1;
            let service = cx.rng().exponential(self.0.service.as_secs_f64());
            cx.schedule(Time::from_secs_f64(service), Customer::IsDone { came, served: cx.now() });
        }
    }
    fn commit(&self, _: LpId, at: Time, customer: &Customer, measured: &mut Measured) {
        let by = if let Customer::IsDone { .. } = customer { -1.0 } else { 1.0 };
        measured.present.change(at.max(self.0.warm_up), by);
        measured.changes.add(at, self.0.interval, by);
        if let Customer::IsDone { came, served } = customer
            && at >= self.0.warm_up
        {
            let wait_s = (*served - *came).as_secs_f64();
            measured.waits_s.add(wait_s);
            measured.quantiles.add(wait_s);
        }
    }
}

impl Results for Network {
    fn results(&self, outputs: Vec<Measured>, facts: &RunFacts) -> Result<Summary, String> {
        let measured: Measured = joined(&outputs);
        let mut summary = Summary::default();
        summary.line("customers", measured.waits_s.count());
        summary.line("mean_wait_s", measured.waits_s.mean());
        // Theory is of stations that are alike.
        if self.0.demand.is_none() {
            summary.line("mean_wait_by_theory_s", self.theory_s());
        }
        summary.line("deviation_of_waits_s", measured.waits_s.deviation());
        summary.line("wait_of_nine_in_ten_s", measured.quantiles.quantile(0.9));
        summary.line("mean_present", measured.present.mean(self.0.warm_up, facts.end_time));
        let (interval, end) = (self.0.interval, facts.end_time);
        summary
            .file("present.csv", move |to| write_csv(&measured.changes.levels(interval, end), "present", to));
        Ok(summary)
    }
}

paceline::app!(Network);
