//! Stations with three counters and one line each (M/M/3): how long customers wait, how long the lines are,
//! how busy the counters, after a warm-up. Under every protocol the statistics are the same to the last bit,
//! and near what theory says.
use std::collections::VecDeque;

use paceline::prelude::*;
use paceline::statistics::{Distribution, Join, Level, Tally, TimeSeries, joined};

const STATIONS: u32 = 8;
const COUNTERS: u32 = 3;
const BETWEEN_ARRIVALS_S: f64 = 20.0;
const SERVICE_S: f64 = 48.0;
const WARM_UP: Time = Time::secs(2_000);
const END: Time = Time::secs(40_000);
const HOUR: Time = Time::secs(3_600);

struct Stations;

#[derive(Clone, Debug, Hash, PartialEq)]
enum Customer {
    Arrives,
    /// A customer who came at one time and was served from another on.
    Leaves {
        came: Time,
        served: Time,
    },
}

#[derive(Clone, Debug, Default, Hash)]
struct Station {
    busy: u32,
    line: VecDeque<Time>, // when each customer came who waits
}

/// What is measured of all stations together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Measured {
    waits_s: Tally,
    quantiles: Distribution,
    present: Level,
    served: TimeSeries,
}

impl Join for Measured {
    fn join(&mut self, other: &Self) {
        self.waits_s.join(&other.waits_s);
        self.quantiles.join(&other.quantiles);
        self.present.join(&other.present);
        self.served.join(&other.served);
    }
}

impl Model for Stations {
    type State = Station;
    type Event = Customer;
    type Output = Measured;

    fn lps(&self) -> u32 {
        STATIONS
    }
    fn lookahead(&self) -> Time {
        Time::secs(1) // nobody goes to another station
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> Station {
        cx.schedule(Time::ZERO, Customer::Arrives);
        Station::default()
    }
    fn handle(&self, station: &mut Station, customer: &Customer, cx: &mut Context<Self>) {
        match customer {
            Customer::Arrives => {
                station.line.push_back(cx.now());
                let next = Time::from_secs_f64(cx.rng().exponential(BETWEEN_ARRIVALS_S));
                cx.schedule(next, Customer::Arrives);
            }
            Customer::Leaves { .. } => station.busy -= 1,
        }
        if station.busy < COUNTERS
            && let Some(came) = station.line.pop_front()
        {
            station.busy += 1;
            let service = Time::from_secs_f64(cx.rng().exponential(SERVICE_S));
            cx.schedule(service, Customer::Leaves { came, served: cx.now() });
        }
    }
    fn commit(&self, _: LpId, at: Time, customer: &Customer, measured: &mut Measured) {
        let by = if *customer == Customer::Arrives { 1.0 } else { -1.0 };
        measured.present.change(at.max(WARM_UP), by);
        if let Customer::Leaves { came, served } = customer
            && at >= WARM_UP
        {
            let wait_s = (*served - *came).as_secs_f64();
            measured.waits_s.add(wait_s);
            measured.quantiles.add(wait_s);
            measured.served.add(at, HOUR, 1.0);
        }
    }
}

/// The mean wait in a station by Erlang's formula.
fn theory_s() -> f64 {
    let load = SERVICE_S / BETWEEN_ARRIVALS_S;
    let terms: Vec<f64> = (1..=COUNTERS)
        .scan(1.0, |term, k| {
            *term *= load / f64::from(k);
            Some(*term)
        })
        .collect();
    let idle = 1.0 - load / f64::from(COUNTERS);
    let all_busy = terms[COUNTERS as usize - 1] / idle;
    let others = 1.0 + terms[..COUNTERS as usize - 1].iter().sum::<f64>();
    let wait = all_busy / (all_busy + others);
    wait * SERVICE_S / (f64::from(COUNTERS) - load)
}

fn main() -> Result<(), RunError> {
    let run = |protocol, federates| {
        let run =
            Simulation::new(Stations).until(END).protocol(protocol).federates(federates).threads(2).run()?;
        Ok::<Measured, RunError>(joined(&run.outputs))
    };
    let measured = run(Protocol::Sequential, 1)?;
    for (protocol, federates) in
        [(Protocol::Window, 3), (Protocol::NullMessage, 8), (Protocol::Optimistic, 5)]
    {
        assert_eq!(run(protocol, federates)?, measured, "to the last bit");
    }
    let (wait_s, theory_s) = (measured.waits_s.mean().expect("customers were served"), theory_s());
    println!(
        "{} customers waited {wait_s:.2} s on average; theory says {theory_s:.2} s",
        measured.waits_s.count()
    );
    println!("nine of ten waited no longer than {:.1} s", measured.quantiles.quantile(0.9).unwrap_or(0.0));
    // Little's law: who is there, by how many come, is how long they stay.
    let present = measured.present.mean(WARM_UP, END).expect("it is a span");
    let stay_s = present * BETWEEN_ARRIVALS_S / f64::from(STATIONS);
    println!("{present:.2} were there on average, {stay_s:.2} s each");
    println!("served in the second hour: {}", measured.served.sums(HOUR, END)[1].1);
    assert!((wait_s / theory_s - 1.0).abs() < 0.1 && (stay_s / (theory_s + SERVICE_S) - 1.0).abs() < 0.05);
    Ok(())
}
