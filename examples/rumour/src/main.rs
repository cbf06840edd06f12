//! People on a network pass on a rumour: a model of processes with a program of its own.
//!
//! Invariant: what a person does depends on the messages that it gets and on its own random numbers, and
//! counters are only added to: so the results are the same on any number of threads and federates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use paceline::Time;
use paceline::processes::{HostId, Network, Process, ProcessModel, Report, Simulation};
use paceline::results::Summary;
use serde::Deserialize;

/// The section [model] of a scenario: its keys are these fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Parameters")]
struct Rumour {
    people: u32,
    tellings: u32,
    pause: Time,
    patience: Time,
}

/// The fields as they are written, before they are checked.
#[derive(Deserialize)]
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

/// What has come of the rumour.
#[derive(Debug, Default)]
struct Heard {
    people: AtomicU64,
    tellings: AtomicU64,
    hops: AtomicU64,
    last_ns: AtomicU64,
}

impl Heard {
    /// A person has heard it for the first time, after so many hops.
    fn first(&self, hops: u32, now: Time) {
        self.people.fetch_add(1, Relaxed);
        self.hops.fetch_add(u64::from(hops), Relaxed);
        self.last_ns.fetch_max(now.as_nanos(), Relaxed);
    }
}

/// The life of a person: it waits for the rumour, as long as its patience lasts, and then tells it to so many
/// others, one after the other.
async fn live(cx: Process<u32>, person: u32, rumour: Rumour, heard: Arc<Heard>) {
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
    heard.first(hops, cx.now());
    for _ in 0..rumour.tellings {
        let pause = cx.draw(|rng| rng.exponential(rumour.pause.as_secs_f64()));
        cx.sleep(Time::from_secs_f64(pause)).await;
        let others = u64::from(rumour.people) - 1;
        let other = (u64::from(person) + 1 + cx.draw(|rng| rng.below(others))) % u64::from(rumour.people);
        cx.send_detached(other, hops + 1, 100.0);
        heard.tellings.fetch_add(1, Relaxed);
    }
}

impl ProcessModel for Rumour {
    type Message = u32; // how often the rumour was passed on
    type Outcome = Arc<Heard>;

    fn hosts(&self) -> u32 {
        self.people
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<u32, N>, _seed: u64) -> Arc<Heard> {
        let (heard, hosts) = (Arc::new(Heard::default()), simulation.hosts());
        for person in 0..self.people {
            let (host, rumour, heard) = (HostId(person % hosts), self.clone(), Arc::clone(&heard));
            // A mailbox at a host can be reached from other federates.
            simulation.place(u64::from(person), host);
            simulation.spawn("person", host, move |cx| live(cx, person, rumour, heard));
        }
        heard
    }

    fn results(&self, heard: Arc<Heard>, _: &Report) -> Result<Summary, String> {
        let (people, hops) = (heard.people.load(Relaxed), heard.hops.load(Relaxed));
        let tellings = heard.tellings.load(Relaxed);
        if people > tellings + 1 {
            return Err(format!("{people} people have heard a rumour that was told {tellings} times"));
        }
        let mut summary = Summary::default();
        summary.line("people_who_heard", people);
        summary.line("tellings", tellings);
        summary.line("mean_hops", hops as f64 / people.max(1) as f64);
        summary.line("last_heard_s", Time::nanos(heard.last_ns.load(Relaxed)).as_secs_f64());
        let shares = format!("people,heard,tellings\n{},{people},{tellings}\n", self.people);
        summary.file("rumour.csv", move |to| to.write_all(shares.as_bytes()));
        Ok(summary)
    }
}

paceline::app!(processes: Rumour);
