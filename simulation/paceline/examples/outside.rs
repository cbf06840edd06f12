//! A production line of four machines. Another program runs the third of them and joins over a Unix socket;
//! this one steps the run, draws what waits at the others, and sends in a late pallet.
//!
//! Without arguments both sides are here, on two threads. `outside host PATH` and `outside join PATH` are two
//! programs.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use paceline::prelude::*;
use paceline::{IfLate, JsonFederate, Outside};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A machine works on one part at a time, for 2 s on average; a part is moved to the next machine in 1 s.
struct Line;

impl Model for Line {
    type State = u64; // parts at this machine
    type Event = u64; // so many parts come, or, with 0, one is finished
    type Output = ();

    fn lps(&self) -> u32 {
        4
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, machine: LpId, cx: &mut Context<Self>) -> u64 {
        if machine == LpId(0) {
            cx.schedule(Time::ZERO, 5);
        }
        0
    }
    fn handle(&self, parts: &mut u64, come: &u64, cx: &mut Context<Self>) {
        let idle = *parts == 0;
        *parts += come;
        if *come == 0 {
            *parts -= 1;
            if cx.lp() < LpId(3) {
                cx.send(LpId(cx.lp().0 + 1), Time::secs(1), 1);
            }
        }
        if *parts > 0 && (idle || *come == 0) {
            let work = Time::from_secs_f64(cx.rng().exponential(2.0));
            cx.schedule(work, 0);
        }
    }
}

/// The program that the run is in.
fn host(listener: &UnixListener) -> Result<()> {
    let (stream, _) = listener.accept()?;
    let machine = JsonFederate::new(Line, stream.try_clone()?, stream);
    let machine = Outside::new(machine).limit(std::time::Duration::from_secs(10), IfLate::EndRun);
    let run = Simulation::new(Line).federates(4).until(Time::secs(60)).outside(2, machine);
    let mut run = run.start()?;
    run.send(LpId(0), Time::secs(30), 10)?;
    while run.next_time().is_some() {
        run.run_until(run.time() + Time::secs(5))?;
        let parts = [0, 1, 3].map(|machine| "#".repeat(*run.state(LpId(machine)) as usize));
        println!("{:>4} | {:<10} | {:<10} | {:<10}", run.time(), parts[0], parts[1], parts[2]);
    }
    println!("{} events", run.finish()?.events);
    Ok(())
}

/// The program that joins: a machine that needs 3 s for a part, and never a different time.
fn join(stream: UnixStream) -> Result<()> {
    let mut writer = stream.try_clone()?;
    let mut free_ns = 0;
    for line in BufReader::new(stream).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let Some(events) = line["advance"]["events"].as_array() else { continue };
        let finished = events.iter().map(|event| {
            free_ns = event["at_ns"].as_u64().unwrap_or(0).max(free_ns) + 3_000_000_000;
            json!({ "from": 2, "to": 3, "at_ns": free_ns + 1_000_000_000, "event": 1 })
        });
        let finished: Vec<Value> = finished.collect();
        writeln!(writer, "{}", json!({ "done": { "next_ns": null, "events": finished } }))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("host"), Some(path)) => host(&UnixListener::bind(path)?),
        (Some("join"), Some(path)) => join(UnixStream::connect(path)?),
        _ => {
            let path = std::env::temp_dir().join(format!("line-{}.socket", std::process::id()));
            let listener = UnixListener::bind(&path)?;
            let stream = UnixStream::connect(&path)?;
            std::fs::remove_file(&path)?;
            let other = std::thread::spawn(move || join(stream));
            host(&listener)?;
            other.join().expect("the other side does not panic")
        }
    }
}
