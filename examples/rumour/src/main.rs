//! People on a network pass on a rumour: a model of processes with a program of its own.
//!
//! Invariant: what a person does depends on the messages that it gets and on its own random numbers only: so
//! the results are the same on any number of threads and federates.

use paceline::processes::prelude::*;

/// The section [model] of a scenario: its keys are these fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(crate = "paceline::serde", try_from = "Parameters")]
struct Rumour {
    people: u32,
    tellings: u32,
    pause: Time,
    patience: Time,
}

/// The fields as they are written, before they are checked.
#[derive(Deserialize)]
#[serde(crate = "paceline::serde")]
struct Parameters {
    people: u32,
    tellings: u32,
    #[serde(with = "paceline::scenario::time")]
    pause: Time,
    #[serde(with = "paceline::scenario::time")]
    patience: Time,
}

impl TryFrom<Parameters> for Rumour {
    type Error = String;

    fn try_from(Parameters { people, tellings, pause, patience }: Parameters) -> Result<Self, String> {
        if people < 2 {
            return Err(format!("{people} people; allowed: at least 2, so that there is somebody to tell"));
        }
        Ok(Self { people, tellings, pause, patience })
    }
}

/// The life of a person: it waits for the rumour, as long as its patience lasts, and then tells it to so many
/// others, one after the other.
async fn live(cx: Process<u32>, person: u32, rumour: Rumour) {
    // The first one has made it up.
    let hops = if person == 0 {
        0
    } else {
        match cx.receive_within(u64::from(person), rumour.patience).await {
            Ok(hops) => hops,
            // Nobody has passed the rumour on in time.
            Err(_) => return,
        }
    };
    cx.count("people_who_heard", 1);
    cx.tally("hops", hops.into());
    cx.tally("heard_at_s", cx.now().as_secs_f64());
    for _ in 0..rumour.tellings {
        let pause = cx.draw(|rng| rng.exponential(rumour.pause.as_secs_f64()));
        cx.sleep(Time::from_secs_f64(pause)).await;
        let others = u64::from(rumour.people) - 1;
        let other = (u64::from(person) + 1 + cx.draw(|rng| rng.below(others))) % u64::from(rumour.people);
        cx.send_detached(other, hops + 1, 100.0);
        cx.count("tellings", 1);
    }
}

impl ProcessModel for Rumour {
    type Message = u32; // how often the rumour was passed on
    type Outcome = ();

    fn hosts(&self) -> u32 {
        self.people
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<u32, N>, _seed: u64) {
        simulation.measure(["people_who_heard", "tellings"].map(Output::count));
        simulation.measure(["hops", "heard_at_s"].map(Output::tally));
        let hosts = simulation.hosts();
        for person in 0..self.people {
            let (host, rumour) = (HostId(person % hosts), self.clone());
            // A mailbox at a host can be reached from other federates.
            simulation.place(u64::from(person), host);
            simulation.spawn("person", host, move |cx| live(cx, person, rumour));
        }
    }

    fn results(&self, (): (), report: &Report) -> Result<Summary, String> {
        let [people, tellings] = ["people_who_heard", "tellings"].map(|name| report.outputs.count(name));
        if people > tellings + 1 {
            return Err(format!("{people} people have heard a rumour that was told {tellings} times"));
        }
        Ok(report.summary())
    }
}

paceline::app!(processes: Rumour);
