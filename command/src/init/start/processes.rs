//! A model of processes to start from: clients on hosts of their own ask a server, one question after the
//! other.
//!
//! Invariant: what a process does depends on the messages that it gets and on its own random numbers only: so
//! the results are the same on any number of threads.

use paceline::processes::prelude::*;

/// The section [model] of a scenario: its keys are these fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(crate = "paceline::serde", deny_unknown_fields)]
struct Service {
    clients: u32,
    /// Questions of each client.
    questions: u32,
    /// The mean time that a client thinks before it asks.
    #[serde(with = "paceline::scenario::time")]
    think: Time,
}

/// The mailbox of the server; that of a client is its number, from 1 on.
const SERVER: u64 = 0;
/// Bytes of a message.
const BYTES: f64 = 100.0;

/// Asks, and waits for each answer.
async fn ask(cx: Process<u64>, mailbox: u64, service: Service) {
    for _ in 0..service.questions {
        let think = cx.draw(|rng| rng.exponential(service.think.as_secs_f64()));
        cx.sleep(Time::from_secs_f64(think)).await;
        let asked = cx.now();
        cx.send_detached(SERVER, mailbox, BYTES);
        // A receive fails where the other host has failed, which none does here.
        if cx.receive(mailbox).await.is_err() {
            return;
        }
        cx.tally("answer_s", cx.now().saturating_sub(asked).as_secs_f64());
    }
}

/// Answers everybody, in the order in which they ask.
async fn answer(cx: Process<u64>, service: Service) {
    for _ in 0..u64::from(service.clients) * u64::from(service.questions) {
        let Ok(client) = cx.receive(SERVER).await else { return };
        cx.send_detached(client, SERVER, BYTES);
        cx.count("answers", 1);
    }
}

impl ProcessModel for Service {
    type Message = u64; // the mailbox of who sends it
    type Outcome = ();

    fn hosts(&self) -> u32 {
        self.clients + 1
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<u64, N>, _seed: u64) {
        simulation.measure([Output::count("answers"), Output::tally("answer_s")]);
        let hosts = simulation.hosts();
        simulation.place(SERVER, HostId(0));
        let service = self.clone();
        simulation.spawn("server", HostId(0), move |cx| answer(cx, service));
        for client in 1..=self.clients {
            let (host, mailbox, service) = (HostId(client % hosts), u64::from(client), self.clone());
            simulation.place(mailbox, host);
            simulation.spawn("client", host, move |cx| ask(cx, mailbox, service));
        }
    }

    fn results(&self, (): (), report: &Report) -> Result<Summary, String> {
        Ok(report.summary())
    }
}

paceline::app!(processes: Service);
