//! A run that is moved on step by step: look into it, send it events, and end it when it has said enough.
//!
//! The model is one counter in a post office (M/M/1). The owner of the run looks at the queue every ten
//! minutes, and sends in a coach party at noon.

use paceline::prelude::*;

/// Customers come every 60 s and are served in 50 s, both on average.
struct Office;

#[derive(Clone, Debug, Hash, PartialEq)]
enum What {
    Arrives,
    Leaves,
    Party(u32),
}

impl Model for Office {
    type State = u32; // customers in the office
    type Event = What;
    type Output = ();

    fn lps(&self) -> u32 {
        1
    }

    fn lookahead(&self) -> Time {
        Time::secs(1)
    }

    fn init(&self, _: LpId, cx: &mut Context<Self>) -> u32 {
        cx.schedule(Time::ZERO, What::Arrives);
        0
    }

    fn handle(&self, waiting: &mut u32, what: &What, cx: &mut Context<Self>) {
        let before = *waiting;
        match what {
            What::Arrives => {
                *waiting += 1;
                let next = Time::from_secs_f64(cx.rng().exponential(60.0));
                cx.schedule(next, What::Arrives);
            }
            What::Party(people) => *waiting += people,
            What::Leaves => *waiting -= 1,
        }
        // The counter begins with the next customer, if there is one and it is free.
        if *waiting > 0 && (before == 0 || *what == What::Leaves) {
            let service = Time::from_secs_f64(cx.rng().exponential(50.0));
            cx.schedule(service, What::Leaves);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hours = |hours: u64| Time::secs(3600 * hours);
    let mut run = Simulation::new(Office).until(hours(8)).start()?;
    run.send(LpId(0), hours(4), What::Party(30))?;
    while run.next_time().is_some() {
        run.run_until(run.time() + Time::secs(600))?;
        println!("{:>8}  {}", run.time(), "#".repeat(*run.state(LpId(0)) as usize));
    }
    let report = run.finish()?;
    println!("{} events, digest {}", report.events, report.digest);
    Ok(())
}
