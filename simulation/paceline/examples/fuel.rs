//! Cars that take fuel from a tank until a truck fills it: `docs/coming-from-simpy.md` shows how processes
//! share data, and what stands for SimPy's `Container`.
use std::sync::{Arc, Mutex as Data};

use paceline::processes::prelude::*;

const FULL: u64 = 110;

#[derive(Clone)]
struct Tank {
    liters: Arc<Data<u64>>, // read and written only by who holds `lock`
    lock: Mutex,
    line: Mutex,
    filled: Condition,
}

impl Tank {
    async fn take(&self, cx: &Process<()>, liters: u64) -> Result<(), RequestError> {
        // The first in the line keeps it while it waits: nobody who needs less passes it.
        let _first = self.line.lock(cx).await?;
        let mut held = self.lock.lock(cx).await?;
        while *self.liters.lock().expect("nobody panics") < liters {
            self.filled.wait(&mut held).await?;
        }
        *self.liters.lock().expect("nobody panics") -= liters;
        Ok(())
    }

    async fn fill(&self, cx: &Process<()>) -> Result<(), RequestError> {
        let _held = self.lock.lock(cx).await?;
        *self.liters.lock().expect("nobody panics") = FULL;
        self.filled.notify_all(cx);
        Ok(())
    }
}

async fn car(cx: Process<()>, number: u64, tank: Tank) {
    let liters = 50 - 10 * number;
    tank.take(&cx, liters).await.expect("the host stays on");
    println!("car {number} has {liters} liters at {}", cx.now());
}

async fn world(cx: Process<()>) -> Result<(), RequestError> {
    let liters = Arc::new(Data::new(FULL));
    let tank = Tank { liters, lock: cx.mutex(), line: cx.mutex(), filled: cx.condition() };
    for number in 0..4 {
        let tank = tank.clone();
        cx.spawn("car", HostId(0), move |cx| car(cx, number, tank)).await?;
        cx.sleep(Time::secs(1)).await;
    }
    cx.sleep(Time::secs(300)).await;
    tank.fill(&cx).await
}

fn main() -> Result<(), RunError> {
    let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    simulation.spawn("world", HostId(0), async |cx| world(cx).await.expect("the host stays on"));
    simulation.run()?;
    Ok(())
}
