//! What it costs to have two threads where they do not pay: the time of a run on two, under `Rounds::Auto`,
//! by that of one on one. Both run one after the other, in turns first; medians with quartiles of the ratios.
//!
//! `cargo bench -p paceline-processes --bench auto`

use std::time::Instant;

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{Process, Simulation};

const ROUNDS: usize = 15;

type World = Simulation<u64, Constant>;
type Row = (&'static str, fn() -> World);

/// So many processes, of which each does this.
fn world<F>(processes: u64, code: fn(Process<u64>, u64) -> F) -> World
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut world = Simulation::new(Constant::new(1e-3), &[(1e9, 1), (1e9, 1)]);
    for number in 0..processes {
        world.spawn("one", HostId(number as u32 % 2), move |cx| code(cx, number));
    }
    world
}

async fn yields(cx: Process<u64>, _: u64) {
    for _ in 0..1000 {
        cx.yield_now().await;
    }
}

/// All at the same times.
async fn sleeps_together(cx: Process<u64>, _: u64) {
    for _ in 0..1000 {
        cx.sleep(Time::millis(1)).await;
    }
}

/// At times of their own.
async fn sleeps(cx: Process<u64>, number: u64) {
    for _ in 0..1000 {
        cx.sleep(Time::nanos(1_000_000 + 7 * number)).await;
    }
}

/// In pairs, of which one sends to the other.
async fn messages(cx: Process<u64>, number: u64) {
    for turn in 0..1000 {
        if number.is_multiple_of(2) {
            cx.send(number / 2, turn, 1.0).await.unwrap();
        } else {
            cx.receive(number / 2).await.unwrap();
        }
    }
}

fn main() {
    let rows: [Row; 5] = [
        ("yields, 1000 processes", || world(1000, yields)),
        ("yields, 10 processes", || world(10, yields)),
        ("sleeps at one time, 1000 processes", || world(1000, sleeps_together)),
        ("sleeps, 1000 processes", || world(1000, sleeps)),
        ("messages, 500 pairs", || world(1000, messages)),
    ];
    let mut ratios = vec![Vec::new(); rows.len()];
    for round in 0..ROUNDS {
        for ((_, make), ratios) in rows.iter().zip(&mut ratios) {
            let mut seconds = [0.0; 2];
            for place in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                let world = make().threads(place + 1);
                let start = Instant::now();
                world.run().expect("all processes end");
                seconds[place] = start.elapsed().as_secs_f64();
            }
            ratios.push(seconds[1] / seconds[0]);
        }
    }
    println!("{:<40} {:>7} {:>15}", "two threads by one", "median", "quartiles");
    for ((name, _), ratios) in rows.iter().zip(&mut ratios) {
        ratios.sort_by(f64::total_cmp);
        let [low, median, high] = [ROUNDS / 4, ROUNDS / 2, ROUNDS * 3 / 4].map(|place| ratios[place]);
        println!("{name:<40} {median:>7.3} {low:>7.3} {high:>7.3}");
    }
}
