//! A critical care unit: unplanned patients from five sources wait for a bed, and a planned operation is
//! cancelled where all beds are taken. It is the model of Griffiths, Jones, Read and Williams (Journal of
//! Simulation 4, 2010), as T. Monks, A. Harper and A. Heather have published it as a SimPy program with its
//! results: <https://github.com/pythonhealthdatascience/llm_simpy>, notebooks/02_CCU.
//!
//! `ccu [REPLICATIONS]` prints its means beside the published ones, for 23 to 28 beds.
use paceline_kernel::{Rng, Time};
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Measured, Process, Resource, RunError, Simulation};
use paceline_results::Output;

const UNIT: HostId = HostId(0);
/// Mean hours between patients, mean and deviation of their stays in hours.
const SOURCES: [(f64, f64, f64); 5] = [
    (22.72, 128.79, 267.51),
    (26.0, 177.89, 276.54),
    (37.0, 140.15, 218.02),
    (47.2, 212.86, 457.67),
    (575.0, 87.53, 108.67),
];
/// What is published, for 23 beds and so on: means and standard deviations of 100 replications (the file
/// `batch_results.csv`) of operations cancelled, hours waited, and beds in use.
pub const PUBLISHED: [[(f64, f64); 3]; 6] = [
    [(347.53, 71.56), (83.37, 84.37), (20.93, 0.71)],
    [(294.91, 73.63), (46.93, 51.13), (21.42, 0.77)],
    [(242.11, 69.43), (27.01, 31.80), (21.83, 0.84)],
    [(194.27, 63.36), (16.69, 21.16), (22.19, 0.88)],
    [(152.48, 56.73), (10.38, 13.20), (22.48, 0.94)],
    [(117.92, 49.52), (6.45, 7.90), (22.72, 0.99)],
];

fn hours(hours: f64) -> Time {
    Time::from_secs_f64(3600.0 * hours.max(0.0))
}

fn lognormal(rng: &mut Rng, mean: f64, deviation: f64) -> f64 {
    let shape = (1.0 + (deviation / mean).powi(2)).ln();
    rng.normal(mean.ln() - shape / 2.0, shape.sqrt()).exp()
}

/// A bed is cleaned for 5 hours before the next patient.
async fn stay(cx: Process<()>, beds: Resource, stay_h: f64, is_unplanned: bool) {
    let bed = beds.request(&cx).await.unwrap();
    cx.sleep(hours(stay_h)).await;
    cx.tally("stay_h", stay_h);
    if is_unplanned {
        cx.tally("wait_h", bed.waited().as_secs_f64() / 3600.0);
    }
    cx.sleep(hours(5.0)).await;
}

async fn unplanned(cx: Process<()>, beds: Resource, (between, mean, deviation): (f64, f64, f64)) {
    loop {
        cx.sleep(hours(cx.draw(|rng| rng.exponential(between)))).await;
        let stay_h = cx.draw(|rng| lognormal(rng, mean, deviation));
        cx.spawn("patient", UNIT, move |cx| stay(cx, beds, stay_h, true)).await.unwrap();
    }
}

async fn planned(cx: Process<()>, beds: Resource) {
    loop {
        cx.sleep(hours(cx.draw(|rng| rng.normal(17.91, 3.16)))).await;
        let levels = beds.levels(&cx).await.unwrap();
        if levels.level == levels.capacity {
            cx.count("cancelled", 1);
            continue;
        }
        let stay_h = cx.draw(|rng| rng.exponential(57.34));
        cx.spawn("planned", UNIT, move |cx| stay(cx, beds, stay_h, false)).await.unwrap();
    }
}

/// Twelve months after one that does not count: operations cancelled, hours waited, beds in use.
pub fn run(beds: u32, seed: u64) -> Result<[f64; 3], RunError> {
    let world = Simulation::new(Constant::new(0.0), &[(1e9, 1)]).seed(seed);
    let mut world = world.until(hours(13.0 * 720.0)).measure_from(hours(720.0));
    world.measure([Output::count("cancelled"), Output::tally("wait_h"), Output::tally("stay_h")]);
    let unit = world.make(UNIT, Spec::resource(beds));
    for source in SOURCES {
        world.spawn("source", UNIT, move |cx| unplanned(cx, unit, source));
    }
    world.spawn("theatre", UNIT, move |cx| planned(cx, unit));
    let outputs = world.run()?.outputs;
    let stays = outputs.tally("stay_h");
    let used = stays.mean().unwrap_or(0.0) * stays.count() as f64 / (12.0 * 720.0);
    Ok([outputs.count("cancelled") as f64, outputs.mean("wait_h").unwrap_or(0.0), used])
}

fn main() -> Result<(), RunError> {
    let times = std::env::args().nth(1).and_then(|times| times.parse().ok()).unwrap_or(1000);
    for (beds, published) in (23..).zip(PUBLISHED) {
        let all: Vec<[f64; 3]> = (0..times).map(|seed| run(beds, seed)).collect::<Result<_, _>>()?;
        for (column, what) in ["operations cancelled", "hours waited", "beds in use"].iter().enumerate() {
            let mean = all.iter().map(|row| row[column]).sum::<f64>() / times as f64;
            println!("{beds} beds: {what} {mean:.2}, published {}", published[column].0);
        }
    }
    Ok(())
}
