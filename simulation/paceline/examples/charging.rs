//! Cars that charge at a station with two places: the small model that `docs/coming-from-simpy.md` shows in
//! Python as well.
use paceline::processes::prelude::*;

async fn car(cx: Process<()>, name: String, station: Semaphore, drives: Time, charges: Time) {
    cx.sleep(drives).await;
    println!("{name} arrives at {}", cx.now());
    station.acquire(&cx).await.expect("the world goes on");
    println!("{name} begins to charge at {}", cx.now());
    cx.sleep(charges).await;
    println!("{name} leaves at {}", cx.now());
    station.release(&cx);
}

async fn world(cx: Process<()>) -> Result<(), RequestError> {
    let station = cx.semaphore(2);
    for number in 0..4 {
        let (name, drives) = (format!("car {number}"), Time::secs(2 * number));
        cx.spawn("car", HostId(0), move |cx| car(cx, name, station, drives, Time::secs(5))).await?;
    }
    Ok(())
}

fn main() -> Result<(), RunError> {
    let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    simulation.spawn("world", HostId(0), async |cx| world(cx).await.expect("the host stays on"));
    simulation.run()?;
    Ok(())
}
