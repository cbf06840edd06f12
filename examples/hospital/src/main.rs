//! Hospitals: patients wait for doctors. Those who are urgent come first and preempt the treatment of others;
//! the others leave when they have waited too long. Some are scanned, and the scanner breaks down.
use paceline::processes::prelude::*;

/// A hospital; times are means of exponential distributions, but for the patience.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(crate = "paceline::serde", deny_unknown_fields)]
struct Hospital {
    hospitals: u32,
    doctors: u32,
    between_arrivals_min: f64,
    treatment_min: f64,
    urgent_share: f64,
    patience_min: f64,
    scanned_share: f64,
    scan_min: f64,
    between_breakdowns_h: f64,
    repair_min: f64,
}

fn drawn(cx: &Process<()>, mean_min: f64) -> Time {
    Time::from_secs_f64(60.0 * cx.draw(|rng| rng.exponential(mean_min)))
}

async fn patient(cx: Process<()>, hospital: Hospital, rooms: [Resource; 2]) -> Result<(), WaitError> {
    let ([doctors, scanner], came, _here) = (rooms, cx.now(), cx.raise("patients", 1.0));
    let patience = Time::from_secs_f64(60.0 * hospital.patience_min);
    let treatment = doctors.serve(&cx, drawn(&cx, hospital.treatment_min));
    if cx.draw(|rng| rng.chance(hospital.urgent_share)) {
        let served = treatment.priority(0).preempting().await?;
        cx.tally("urgent_wait_min", served.waited.as_secs_f64() / 60.0);
    } else if let Ok(served) = treatment.priority(1).within(patience).await {
        cx.tally("other_wait_min", served.waited.as_secs_f64() / 60.0);
        cx.count("preemptions", served.preemptions.into());
    } else {
        cx.count("left_untreated", 1);
        return Ok(());
    }
    if cx.draw(|rng| rng.chance(hospital.scanned_share)) {
        scanner.serve(&cx, drawn(&cx, hospital.scan_min)).await?;
    }
    cx.tally("stay_min", (cx.now() - came).as_secs_f64() / 60.0);
    Ok(())
}

async fn breakdowns(cx: Process<()>, hospital: Hospital, scanner: Resource) {
    loop {
        cx.sleep(drawn(&cx, 60.0 * hospital.between_breakdowns_h)).await;
        scanner.break_down(&cx, 1);
        cx.sleep(drawn(&cx, hospital.repair_min)).await;
        scanner.repair(&cx, 1);
    }
}

async fn open(cx: Process<()>, hospital: Hospital) -> Result<(), RequestError> {
    let rooms @ [_, scanner] = [hospital.doctors, 1].map(|units| cx.resource(units));
    cx.spawn("breakdowns", cx.host(), move |cx| breakdowns(cx, hospital, scanner)).await?;
    loop {
        cx.sleep(drawn(&cx, hospital.between_arrivals_min)).await;
        let arrives = async move |cx| patient(cx, hospital, rooms).await.expect("it stays open");
        cx.spawn("patient", cx.host(), arrives).await?;
    }
}

impl ProcessModel for Hospital {
    type Message = ();
    type Outcome = ();

    fn hosts(&self) -> u32 {
        self.hospitals
    }
    fn needs_horizon(&self) -> bool {
        true
    }
    fn spawn<N: Network>(&self, simulation: &mut Simulation<(), N>, _seed: u64) {
        let [urgent, other, stay] = ["urgent_wait_min", "other_wait_min", "stay_min"].map(Output::tally);
        simulation.measure([urgent, other.quantile(0.9), stay.steady(), Output::level("patients").steady()]);
        simulation.measure(["left_untreated", "preemptions"].map(Output::count));
        let (hospital, hosts) = (*self, simulation.hosts());
        for host in (0..self.hospitals).map(|number| HostId(number % hosts)) {
            simulation
                .spawn("hospital", host, async move |cx| open(cx, hospital).await.expect("it stays open"));
        }
    }
}

paceline::app!(processes: Hospital);
