//! A workshop in which processes share everything that there is to share.

use paceline_kernel::Time;
use paceline_network::{FlowModel, HostId, read};
use paceline_processes::resources::Preempted;
use paceline_processes::{
    Activity, Barrier, Condition, Container, Mailbox, Mutex, Process, Queue, Resource, Semaphore, Simulation,
    Store,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

#[derive(Clone, Copy)]
struct Shop {
    benches: Resource,
    shelf: Store<u64>,
    tank: Container,
    mutex: Mutex,
    bell: Condition,
    meeting: Barrier,
    permit: Semaphore,
    notes: Queue,
}

async fn smith(cx: Process<u64>, number: u32, shop: Shop) {
    let me = u64::from(number);
    for turn in 0..6 {
        let span = Time::from_secs_f64(cx.draw(|rng| rng.exponential(0.3)));
        let priority = cx.draw(|rng| rng.below(3)) as i64;
        let then = if turn % 2 == 0 { Preempted::Repeat } else { Preempted::Resume };
        let served = shop.benches.serve(&cx, span).priority(priority).preempting().after_preemption(then);
        match served.within(Time::secs(1)).await {
            Ok(served) => cx.record(100 + u64::from(served.preemptions)),
            Err(_) => cx.record(1000 + turn),
        }
        // More urgent than all others, so that nobody takes it away.
        let held = shop.benches.request(&cx).priority(-1).balking_at(2).await;
        cx.sleep(Time::millis(20)).await;
        cx.record(u64::from(held.is_ok()));
        drop(held);

        let mut lock = shop.mutex.lock(&cx).await.expect("nobody ends meanwhile");
        cx.sleep(Time::millis(5)).await;
        if number == 0 {
            shop.bell.notify_all(&cx);
        } else if shop.bell.wait_within(&mut lock, Time::millis(100)).await.is_err() {
            cx.record(7);
        }
        drop(lock);
        cx.record(u64::from(shop.mutex.try_lock(&cx).await.is_some()));

        shop.permit.acquire(&cx).await.expect("nobody ends meanwhile");
        cx.compute(1e6).await.expect("the host stays on");
        shop.permit.release(&cx);

        shop.shelf.put_with_priority(&cx, 10 * turn + me, (turn % 3) as i64).await.expect("there is room");
        if let Ok(item) = shop.shelf.get_if(&cx, |item| item % 2 == 0).within(Time::millis(50)).await {
            cx.record(item);
        }
        if let Ok(items) = shop.shelf.get_some(&cx, 1, 2).within(Time::ZERO).await {
            cx.record(items.iter().sum());
        }
        if shop.tank.get(&cx, 4.0).within(Time::millis(100)).await.is_err() {
            shop.tank.put(&cx, 20.0).await.expect("there is room");
        }
        let last = shop.meeting.wait(&cx).await.expect("nobody ends meanwhile");
        cx.record(u64::from(last));

        let to = (number + 1) % 3;
        cx.send_detached(&Mailbox::Matched { to, from: number, tag: turn as u32 }, turn, 1e4);
        let from = Mailbox::Matched { to: number, from: Mailbox::ANY, tag: turn as u32 };
        cx.record(cx.receive(&from).await.expect("the neighbour has sent"));

        let (mut work, mut letter) = (cx.start_compute(2e7), cx.start_receive(70 + me));
        let first = Activity::wait_any_within(&cx, &mut [&mut work, &mut letter], Time::secs(1)).await;
        cx.record(first.expect("the work is over") as u64);
        cx.record(u64::from(letter.test(&cx).await));
        letter.cancel();
        work.wait(&cx).await.expect("the host stays on");

        shop.notes.put(&cx, turn);
    }
}

async fn sleeper(cx: Process<u64>) {
    cx.daemonize();
    loop {
        if let Err(error) = cx.hold(Time::secs(2)).await {
            cx.record(error.left().expect("it held").as_nanos());
        }
    }
}

async fn boss(cx: Process<u64>, benches: Resource, shelf: Store<u64>, tank: Container) {
    let (mutex, bell, meeting) = (cx.mutex(), cx.condition(), cx.barrier(3));
    let (permit, notes) = (cx.semaphore(1), cx.queue());
    let shop = Shop { benches, shelf, tank, mutex, bell, meeting, permit, notes };
    for number in 0..3 {
        let host = HostId(number + 1);
        cx.spawn("smith", host, move |cx| smith(cx, number, shop)).await.expect("the host is on");
    }
    let sleeper = cx.spawn("sleeper", HostId(0), sleeper).await.expect("the host is on");
    for note in 0..18 {
        let turn = shop.notes.get(&cx).await.expect("smiths write notes");
        cx.record(turn);
        if note % 5 == 4 {
            cx.sleep(Time::millis(500)).await;
            cx.interrupt(sleeper, note);
        }
        if note == 6 {
            shop.benches.take_out(&cx, 1);
        } else if note == 9 {
            shop.benches.repair(&cx, 1);
        }
    }
}

/// Runs it on the platform of this text; the digest, and the simulated seconds at the end.
#[pyfunction]
pub fn run_reference_shop(platform: &str, seed: u64) -> PyResult<(String, f64)> {
    let platform = read("platform.xml", platform, &mut |_| Err(String::new()))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut simulation = Simulation::on_platform(&platform, FlowModel::LV08).seed(seed);
    let benches = simulation.resource(HostId(0), 2);
    let (shelf, tank) = (simulation.store(HostId(0)), simulation.container(HostId(0), 50.0, 10.0));
    simulation.spawn("boss", HostId(0), move |cx| boss(cx, benches, shelf, tank));
    let report = simulation.run().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((report.digest.to_string(), report.end_time.as_secs_f64()))
}
