//! Cars that charge at a station with two places: the small model that `docs/coming-from-simpy.md` shows in
//! Python as well.
use paceline::processes::prelude::*;

async fn car(cx: Process<()>, station: Resource, drives: Time, charges: Time) -> Result<(), WaitError> {
    cx.hold(drives).await?;
    println!("{} arrives at {}", cx.name(), cx.now());
    let _place = station.request(&cx).await?;
    println!("{} begins to charge at {}", cx.name(), cx.now());
    cx.hold(charges).await?;
    println!("{} leaves at {}", cx.name(), cx.now());
    Ok(())
}

fn main() -> Result<(), RunError> {
    let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    let station = simulation.resource(HostId(0), 2);
    for number in 0..4 {
        let (name, drives) = (format!("car {number}"), Time::secs(2 * number));
        simulation
            .spawn(&name, HostId(0), async move |cx| car(cx, station, drives, Time::secs(5)).await.unwrap());
    }
    simulation.run()?;
    Ok(())
}
