//! One counter, one line of customers (M/M/1), and how long they wait: simulated, and beside it what theory
//! says.
use std::collections::VecDeque;

use paceline::prelude::*;

const BETWEEN_ARRIVALS_S: f64 = 60.0;
const SERVICE_S: f64 = 45.0;

struct Counter;

#[derive(Clone, Debug, Hash, PartialEq)]
enum Customer {
    Arrives,
    Leaves,
}

#[derive(Clone, Debug, Default, Hash)]
struct Line {
    since: VecDeque<Time>, // when each customer who is still here arrived
    left: u64,
    stayed: Time, // all of those who left, together
}

impl Model for Counter {
    type State = Line;
    type Event = Customer;
    type Output = (u64, Time); // customers that left, and how long they stayed together

    fn lps(&self) -> u32 {
        1
    }
    fn lookahead(&self) -> Time {
        Time::secs(1) // no other LP is there: any lookahead holds
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> Line {
        cx.schedule(Time::ZERO, Customer::Arrives);
        Line::default()
    }
    fn handle(&self, line: &mut Line, customer: &Customer, cx: &mut Context<Self>) {
        match customer {
            Customer::Arrives => {
                line.since.push_back(cx.now());
                let next = Time::from_secs_f64(cx.rng().exponential(BETWEEN_ARRIVALS_S));
                cx.schedule(next, Customer::Arrives);
            }
            Customer::Leaves => {
                let since = line.since.pop_front().expect("who leaves has been in the line");
                line.stayed += cx.now() - since;
                line.left += 1;
            }
        }
        let begins = match customer {
            Customer::Arrives => line.since.len() == 1,
            Customer::Leaves => !line.since.is_empty(),
        };
        if begins {
            let service = Time::from_secs_f64(cx.rng().exponential(SERVICE_S));
            cx.schedule(service, Customer::Leaves);
        }
    }
    fn finish(&self, _: LpId, line: &Line, output: &mut (u64, Time)) {
        *output = (output.0 + line.left, output.1 + line.stayed);
    }
}

fn main() -> Result<(), RunError> {
    let report = Simulation::new(Counter).until(Time::secs(10_000_000)).run()?;
    // The output comes in parts: one of every federate, each time the LPs are dealt out.
    let (left, stayed) =
        report.outputs.iter().fold((0, Time::ZERO), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let mean = stayed.as_secs_f64() / left as f64;
    let theory = 1.0 / (1.0 / SERVICE_S - 1.0 / BETWEEN_ARRIVALS_S);
    println!("{left} customers stayed {mean:.1} s on average; theory says {theory:.1} s");
    assert!((mean / theory - 1.0).abs() < 0.05);
    Ok(())
}
