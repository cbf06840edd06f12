//! A ticket counter for three films. When a film is sold out, all who wait for it leave the queue.
use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Event, Process, Report, Resource, RunError, Simulation, State, WaitError, select};

const CINEMA: HostId = HostId(0);
const TICKETS: u64 = 50;

#[derive(Clone, Copy)]
struct Cinema {
    counter: Resource,
    left: [State<u64>; 3],
    sold_out: [Event<()>; 3],
}

async fn visitor(cx: Process<()>, cinema: Cinema, film: usize, tickets: u64) -> Result<(), WaitError> {
    let (left, sold_out) = (cinema.left[film], cinema.sold_out[film]);
    select! {
        turn = cinema.counter.request(&cx) => {
            let _turn = turn?;
            let rest = left.get(&cx).await?;
            if rest < tickets {
                return cx.hold(Time::millis(30_000)).await;
            }
            // One that is left over is not sold.
            left.set(&cx, if rest - tickets < 2 { 0 } else { rest - tickets });
            if rest - tickets < 2 {
                sold_out.succeed(&cx, ());
            }
            cx.hold(Time::secs(60)).await
        }
        _ = sold_out.wait(&cx) => Ok(()),
    }
}

async fn source(cx: Process<()>, cinema: Cinema) -> Result<(), WaitError> {
    loop {
        cx.hold(Time::from_secs_f64(cx.draw(|rng| rng.exponential(30.0)))).await?;
        let (film, tickets) = cx.draw(|rng| (rng.below(3) as usize, 1 + rng.below(6)));
        if cinema.left[film].get(&cx).await? > 0 {
            let visitor = async move |cx| visitor(cx, cinema, film, tickets).await.unwrap();
            cx.spawn("visitor", CINEMA, visitor).await?;
        }
    }
}

/// So many minutes; the statistics have the name `counter`.
pub fn run(minutes: u64, seed: u64) -> Result<Report, RunError> {
    let simulation = Simulation::<(), _>::new(Constant::new(0.0), &[(1e9, 1)]).seed(seed);
    let mut simulation = simulation.until(Time::secs(60 * minutes));
    let counter = simulation.make(CINEMA, Spec::resource(1).named("counter"));
    let left = [0; 3].map(|_| simulation.state(CINEMA, TICKETS));
    let sold_out = [0; 3].map(|_| simulation.event(CINEMA));
    let cinema = Cinema { counter, left, sold_out };
    simulation.spawn("source", CINEMA, async move |cx| source(cx, cinema).await.unwrap());
    simulation.run()
}

fn main() -> Result<(), RunError> {
    let report = run(120, 42)?;
    let counter = report.resource("counter").expect("it has a name");
    println!(
        "{} were served, {} left when their film was sold out",
        counter.counts.granted, counter.counts.reneged
    );
    Ok(())
}
