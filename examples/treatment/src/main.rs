//! A treatment centre: after triage, patients with trauma are stabilised and treated; all others register,
//! are examined, and some of them treated. It is exercise 13 of the book (Nelson, 2013), with the parameters
//! of the SimPy model that T. Monks and A. Harper have published with its results:
//! <https://github.com/TomMonks/treatment-centre-sim>.
//!
//! Invariant: a patient draws the same numbers whatever rooms there are, so that centres can be compared seed
//! by seed.
use paceline::processes::prelude::*;

/// How many rooms there are of each kind, and how many patients come in each hour of the day.
#[derive(Clone, Debug, Deserialize)]
#[serde(crate = "paceline::serde", deny_unknown_fields)]
struct Centre {
    triage: u32,
    registration: u32,
    examination: u32,
    stabilisation: u32,
    cubicles: u32,
    trauma_cubicles: u32,
    arrivals: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Rooms {
    triage: Semaphore,
    registration: Semaphore,
    examination: Semaphore,
    stabilisation: Semaphore,
    cubicles: Semaphore,
    trauma_cubicles: Semaphore,
}

fn minutes(since: Time, cx: &Process<()>) -> f64 {
    (cx.now() - since).as_secs_f64() / 60.0
}

/// A variate of the lognormal distribution with this mean and variance.
fn lognormal(rng: &mut Rng, mean: f64, variance: f64) -> f64 {
    let shape = (1.0 + variance / (mean * mean)).ln();
    rng.normal(mean.ln() - shape / 2.0, shape.sqrt()).exp()
}

/// A patient waits for a room, and stays in it for so long.
async fn stay(cx: &Process<()>, room: Semaphore, wait: &'static str, stay_min: f64) {
    let came = cx.now();
    room.acquire(cx).await.expect("the centre stays open");
    cx.tally(wait, minutes(came, cx));
    cx.sleep(Time::from_secs_f64(60.0 * stay_min)).await;
    room.release(cx);
}

async fn patient(cx: Process<()>, rooms: Rooms) {
    let (came, has_trauma) = (cx.now(), cx.draw(|rng| rng.unit() < 0.12));
    stay(&cx, rooms.triage, "triage_wait_min", cx.draw(|rng| rng.exponential(3.0))).await;
    if has_trauma {
        let [first, then] = cx.draw(|rng| [rng.exponential(90.0), rng.exponential(90.0)]);
        stay(&cx, rooms.stabilisation, "stabilisation_wait_min", first).await;
        stay(&cx, rooms.trauma_cubicles, "trauma_treatment_wait_min", then).await;
        cx.tally("trauma_stay_min", minutes(came, &cx));
    } else {
        let [register, treat] = cx.draw(|rng| [lognormal(rng, 5.0, 2.0), lognormal(rng, 13.3, 2.0)]);
        let (examine, is_treated) = cx.draw(|rng| (rng.normal(16.0, 3f64.sqrt()), rng.unit() < 0.6));
        stay(&cx, rooms.registration, "registration_wait_min", register).await;
        stay(&cx, rooms.examination, "examination_wait_min", examine).await;
        if is_treated {
            stay(&cx, rooms.cubicles, "treatment_wait_min", treat).await;
        }
        cx.tally("other_stay_min", minutes(came, &cx));
    }
    cx.count("discharged", 1);
}

/// Patients come: their rate is that of the hour in which the one before came, as in the published model.
async fn arrivals(cx: Process<()>, centre: Centre) {
    let rooms = Rooms {
        triage: cx.semaphore(centre.triage),
        registration: cx.semaphore(centre.registration),
        examination: cx.semaphore(centre.examination),
        stabilisation: cx.semaphore(centre.stabilisation),
        cubicles: cx.semaphore(centre.cubicles),
        trauma_cubicles: cx.semaphore(centre.trauma_cubicles),
    };
    loop {
        let hour = (cx.now().as_secs_f64() / 3600.0) as usize % centre.arrivals.len();
        cx.sleep(Time::from_secs_f64(cx.draw(|rng| rng.exponential(3600.0 / centre.arrivals[hour])))).await;
        cx.count("arrivals", 1);
        cx.spawn("patient", cx.host(), move |cx| patient(cx, rooms)).await.expect("the centre stays open");
    }
}

impl ProcessModel for Centre {
    type Message = ();
    type Outcome = ();

    fn hosts(&self) -> u32 {
        1
    }

    fn needs_horizon(&self) -> bool {
        true
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<(), N>, _seed: u64) {
        simulation.measure(["arrivals", "discharged"].map(Output::count));
        simulation.measure(
            [
                "triage_wait_min",
                "registration_wait_min",
                "examination_wait_min",
                "treatment_wait_min",
                "stabilisation_wait_min",
                "trauma_treatment_wait_min",
                "other_stay_min",
                "trauma_stay_min",
            ]
            .map(Output::tally),
        );
        let centre = self.clone();
        simulation.spawn("arrivals", HostId(0), move |cx| arrivals(cx, centre));
    }
}

paceline::app!(processes: Centre);
