//! A closed network of single-server stations: customers queue, are served, and walk on to a station drawn at
//! random.
use paceline::prelude::*;

struct Stations(u32);

impl Model for Stations {
    type State = (Time, u64); // when the server is free, customers served
    type Event = (); // a customer arrives
    type Output = u64; // customers served at all stations of a federate

    fn lps(&self) -> u32 {
        self.0
    }
    fn lookahead(&self) -> Time {
        Time::secs(1) // the walk from one station to the next
    }
    fn init(&self, _station: LpId, cx: &mut Context<Self>) -> Self::State {
        cx.schedule(Time::ZERO, ());
        (Time::ZERO, 0)
    }
    fn handle(&self, (free, served): &mut Self::State, _customer: &(), cx: &mut Context<Self>) {
        *free = cx.now().max(*free) + Time::from_secs_f64(cx.rng().exponential(2.0));
        *served += 1;
        let next = LpId(cx.rng().below(u64::from(self.0)) as u32);
        cx.send_at(next, *free + self.lookahead(), ());
    }
    fn finish(&self, _station: LpId, (_, served): &Self::State, total: &mut u64) {
        *total += served;
    }
}

fn main() -> Result<(), RunError> {
    let report = Simulation::new(Stations(1000)).threads(2).until(Time::secs(1000)).run()?;
    println!("{} customers served, digest {}", report.outputs.iter().sum::<u64>(), report.digest);
    Ok(())
}
