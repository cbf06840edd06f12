//! Car ferries, each between two shores: cars come at random, and a ferry takes those that wait, up to its
//! places. How long cars wait is measured when their ferry arrives.
use std::collections::VecDeque;

use paceline::prelude::*;
use paceline::results::{Results, RunFacts, Summary};
use paceline::statistics::{Join, Tally, joined};
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
struct Ferries {
    routes: u32, // a ferry and two shores each: LPs 0 and 1, 2 and 3, and so on
    places: usize,
    #[serde(with = "paceline::scenario::time")]
    crossing: Time,
    #[serde(with = "paceline::scenario::time")]
    stop: Time, // at a shore
    between_cars_s: f64, // the mean, at each shore
}

/// The cars that wait, by when they came.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
struct Shore {
    waiting: VecDeque<Time>,
}

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
enum Event {
    CarComes,
    FerryLeaves,
    /// With how long each car on it has waited.
    FerryArrives(Vec<Time>),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Measured {
    waits_min: Tally,
    on_board: Tally,
}

impl Join for Measured {
    fn join(&mut self, other: &Self) {
        self.waits_min.join(&other.waits_min);
        self.on_board.join(&other.on_board);
    }
}

impl Model for Ferries {
    type State = Shore;
    type Event = Event;
    type Output = Measured;

    fn parameters(&self) -> String {
        format!("{self:?}")
    }
    fn lps(&self) -> u32 {
        2 * self.routes
    }
    fn lookahead(&self) -> Time {
        self.crossing
    }
    fn init(&self, shore: LpId, cx: &mut Context<Self>) -> Shore {
        let first = Time::from_secs_f64(cx.rng().exponential(self.between_cars_s));
        cx.schedule(first, Event::CarComes);
        if shore.0.is_multiple_of(2) {
            cx.schedule(Time::ZERO, Event::FerryArrives(Vec::new()));
        }
        Shore { waiting: VecDeque::new() }
    }
    fn handle(&self, shore: &mut Shore, event: &Event, cx: &mut Context<Self>) {
        match event {
            Event::CarComes => {
                shore.waiting.push_back(cx.now());
                let next = Time::from_secs_f64(cx.rng().exponential(self.between_cars_s));
                cx.schedule(next, Event::CarComes);
            }
            Event::FerryArrives(_) => {
                cx.schedule(self.stop, Event::FerryLeaves);
            }
            Event::FerryLeaves => {
                let boards = shore.waiting.len().min(self.places);
                let now = cx.now();
                let waits = shore.waiting.drain(..boards).map(|came| now - came).collect();
                let other = LpId(cx.lp().0 ^ 1);
                cx.send(other, self.crossing, Event::FerryArrives(waits));
            }
        }
    }
    fn commit(&self, _shore: LpId, _at: Time, event: &Event, measured: &mut Measured) {
        if let Event::FerryArrives(waits) = event {
            measured.on_board.add(waits.len() as f64);
            for wait in waits {
                measured.waits_min.add(wait.as_secs_f64() / 60.0);
            }
        }
    }
}

impl Results for Ferries {
    fn results(&self, outputs: Vec<Measured>, _: &RunFacts) -> Result<Summary, String> {
        let measured = joined(&outputs);
        let mut summary = Summary::default();
        summary.line("cars_carried", measured.waits_min.count());
        summary.line("mean_wait_min", measured.waits_min.mean());
        summary.line("mean_on_board", measured.on_board.mean());
        Ok(summary)
    }
}

paceline::app!(Ferries);
