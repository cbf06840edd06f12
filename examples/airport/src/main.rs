//! Airports whose runways serve waiting aeroplanes by priority. One that has waited as long as its fuel lasts
//! gives up and flies on to the next airport, where it comes first.
//!
//! The timer of an aeroplane that gets its runway is cancelled: [`Context::cancel`] takes the event back that
//! [`Context::schedule`] named, whatever the protocol. How many wait is measured where an aeroplane arrives,
//! in the state that the airport then has ([`Model::commit_state`]). At the end no aeroplane may be missing.

use std::collections::BTreeMap;

use paceline::EventId;
use paceline::prelude::*;
use paceline::results::{Results, RunFacts, Summary};
use paceline::scenario::time;
use paceline::statistics::{Join, Tally, joined};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Parameters")]
struct Airports(Parameters);

/// The section `[model]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    airports: u32,
    runways: u32,
    aeroplanes_per_airport: u32,
    /// The share of flights that land before others.
    urgent: f64,
    #[serde(with = "time")]
    landing: Time,
    /// How long an aeroplane stays on the ground, on average.
    #[serde(with = "time")]
    ground: Time,
    /// The shortest flight, which is also that to the next airport.
    #[serde(with = "time")]
    flight: Time,
    /// How long an aeroplane can wait.
    #[serde(with = "time")]
    fuel: Time,
}

impl TryFrom<Parameters> for Airports {
    type Error = String;

    fn try_from(parameters: Parameters) -> Result<Self, String> {
        let Parameters { airports, runways, urgent, flight, .. } = parameters;
        if airports < 2 || runways == 0 || flight == Time::ZERO {
            return Err(
                "there are two airports and a runway at least, and a flight takes more than no time".into()
            );
        }
        if !(0.0..=1.0).contains(&urgent) {
            return Err(format!("`urgent` is {urgent}; it is a share from 0 to 1"));
        }
        Ok(Self(parameters))
    }
}

/// Who lands first, in this order.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
enum Priority {
    OutOfFuel,
    Urgent,
    Usual,
}

/// The place of an aeroplane among those that wait: by priority, and then by when it came.
type Place = (Priority, u64);

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
enum Event {
    Arrives(Priority),
    GivesUp(Place),
    /// It is on the ground, and its runway is free.
    Lands {
        priority: Priority,
        waited: Time,
    },
    Departs,
}

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct Airport {
    /// Runways in use.
    busy: u32,
    /// Aeroplanes that came so far.
    came: u64,
    /// Who waits, since when, and the event by which it would give up.
    waiting: BTreeMap<Place, (Time, EventId)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    waits_s: BTreeMap<u8, Tally>,
    others_waiting: Tally,
    gave_up: u64,
    /// Aeroplanes at the end of the run, wherever they are.
    aeroplanes: u64,
}

impl Join for Measured {
    fn join(&mut self, other: &Self) {
        for (priority, waits_s) in &other.waits_s {
            self.waits_s.entry(*priority).or_default().join(waits_s);
        }
        self.others_waiting.join(&other.others_waiting);
        self.gave_up += other.gave_up;
        self.aeroplanes += other.aeroplanes;
    }
}

impl Airports {
    /// Gives free runways to those who come first.
    fn clear_for_landing(&self, airport: &mut Airport, cx: &mut Context<Self>) {
        while airport.busy < self.0.runways
            && let Some(((priority, _), (since, gives_up))) = airport.waiting.pop_first()
        {
            cx.cancel(gives_up);
            airport.busy += 1;
            cx.schedule(self.0.landing, Event::Lands { priority, waited: cx.now() - since });
        }
    }
}

impl Model for Airports {
    type State = Airport;
    type Event = Event;
    type Output = Measured;

    const CANCELS: bool = true;
    const COMMITS_STATE: bool = true;

    fn parameters(&self) -> String {
        format!("{self:?}")
    }
    fn lps(&self) -> u32 {
        self.0.airports
    }
    fn lookahead(&self) -> Time {
        self.0.flight
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> Airport {
        for _ in 0..self.0.aeroplanes_per_airport {
            let stays = cx.rng().exponential(self.0.ground.as_secs_f64());
            cx.schedule(Time::from_secs_f64(stays), Event::Departs);
        }
        Airport::default()
    }
    fn handle(&self, airport: &mut Airport, event: &Event, cx: &mut Context<Self>) {
        match event {
            Event::Arrives(priority) => {
                let place = (*priority, airport.came);
                airport.came += 1;
                let gives_up = cx.schedule(self.0.fuel, Event::GivesUp(place));
                airport.waiting.insert(place, (cx.now(), gives_up));
            }
            Event::GivesUp(place) => {
                airport.waiting.remove(place).expect("who has landed does not give up");
                let next = LpId((cx.lp().0 + 1) % self.0.airports);
                cx.send(next, self.0.flight, Event::Arrives(Priority::OutOfFuel));
            }
            Event::Lands { .. } => {
                airport.busy -= 1;
                let stays = cx.rng().exponential(self.0.ground.as_secs_f64());
                cx.schedule(Time::from_secs_f64(stays), Event::Departs);
            }
            Event::Departs => {
                let priority =
                    if cx.rng().chance(self.0.urgent) { Priority::Urgent } else { Priority::Usual };
                let other = cx.rng().below(u64::from(self.0.airports) - 1) as u32;
                let other = LpId(other + u32::from(other >= cx.lp().0));
                let longer = cx.rng().exponential(self.0.flight.as_secs_f64());
                cx.send(other, self.0.flight + Time::from_secs_f64(longer), Event::Arrives(priority));
            }
        }
        self.clear_for_landing(airport, cx);
    }
    fn commit(&self, _: LpId, _: Time, event: &Event, measured: &mut Measured) {
        match event {
            Event::Lands { priority, waited } => {
                measured.waits_s.entry(*priority as u8).or_default().add(waited.as_secs_f64());
            }
            Event::GivesUp(_) => measured.gave_up += 1,
            Event::Arrives(_) | Event::Departs => {}
        }
    }
    fn commit_state(&self, _: LpId, airport: &Airport, _: Time, event: &Event, measured: &mut Measured) {
        if let Event::Arrives(_) = event {
            measured.others_waiting.add(airport.waiting.len() as f64);
        }
    }
    fn finish(&self, _: LpId, airport: &Airport, measured: &mut Measured) {
        measured.aeroplanes += airport.waiting.len() as u64;
    }
    fn left_over(&self, _: LpId, _: Time, event: &Event, measured: &mut Measured) {
        // Who may yet give up is among those that wait.
        measured.aeroplanes += u64::from(!matches!(event, Event::GivesUp(_)));
    }
}

impl Results for Airports {
    fn results(&self, outputs: Vec<Measured>, _: &RunFacts) -> Result<Summary, String> {
        let measured: Measured = joined(&outputs);
        let all = u64::from(self.0.airports) * u64::from(self.0.aeroplanes_per_airport);
        if measured.aeroplanes != all {
            return Err(format!("{} aeroplanes of {all} are left", measured.aeroplanes));
        }
        let of = |priority: Priority| measured.waits_s.get(&(priority as u8));
        let mean = |priority| of(priority).and_then(Tally::mean);
        let mut summary = Summary::default();
        summary.line("landings", measured.waits_s.values().map(Tally::count).sum::<u64>());
        summary.line("gave_up", measured.gave_up);
        summary.line("mean_wait_out_of_fuel_s", mean(Priority::OutOfFuel));
        summary.line("mean_wait_urgent_s", mean(Priority::Urgent));
        summary.line("mean_wait_usual_s", mean(Priority::Usual));
        summary.line("waiting_after_an_arrival", measured.others_waiting.mean());
        Ok(summary)
    }
}

paceline::app!(Airports);
