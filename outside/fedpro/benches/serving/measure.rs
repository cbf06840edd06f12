//! The server in a process of its own, what it costs, and the tables.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use paceline_fedpro::{Host, Limits, Server, System};

use crate::load::Load;

/// Set for the process that serves.
const SERVES: &str = "PACELINE_BENCH_SERVES";
const FEDERATES: [usize; 4] = [2, 8, 32, 256];
/// Grants in a round, of all federates together.
const GRANTS: u64 = 5_120;
const IDLE: usize = 1_000;
/// How long idle sessions are watched.
const WATCHED: Duration = Duration::from_secs(20);

/// Serves until its input ends.
fn serve() {
    let system = System::new(None, |line: &str| eprintln!("{line}")).expect("there is randomness");
    let host = Host::with_limits(system, Limits::default());
    let mut server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0)), host).expect("a port is free");
    println!("{}", server.local_addr().expect("it listens"));
    let stopper = server.stopper();
    thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        stopper.stop()
    });
    server.run().expect("it serves");
}

/// A server; it ends when this is dropped.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    address: SocketAddr,
}

impl Served {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this runs"));
        command.env(SERVES, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it prints");
        Self { child, input, address: line.trim().parse().expect("an address") }
    }

    /// The CPU time that its only busy thread has had.
    fn cpu(&self) -> Duration {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id())).expect("it runs");
        let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse().ok());
        Duration::from_nanos(nanoseconds.expect("a number"))
    }

    fn memory_bytes(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes << 10
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The median, and half the distance between the quartiles.
fn summary(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values[(values.len() - 1) * part / 4];
    (at(2), (at(3) - at(1)) / 2.0)
}

fn grants(rounds: usize) {
    let mut sides = FEDERATES.map(|federates| {
        let served = Served::start();
        let mut load = Load::open(served.address, federates);
        load.join();
        load.manage_time();
        (served, load, federates, Vec::new())
    });
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        for (served, load, federates, results) in &mut sides {
            let steps = GRANTS / *federates as u64;
            let before = served.cpu();
            load.advance(steps);
            let used = served.cpu() - before;
            results.push(used.as_nanos() as f64 / 1e3 / (steps * *federates as u64) as f64);
        }
        let last = |side: usize| sides[side].3.last().copied().unwrap_or_default();
        ratios.push(last(3) / last(2));
    }
    let mut table = Table::new();
    let columns = FEDERATES.map(|federates| format!("{federates} federates"));
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(
        ["CPU of the server a grant, us".to_owned()]
            .into_iter()
            .chain(columns)
            .chain(["256 : 32".to_owned()]),
    );
    let cell = |(median, spread): (f64, f64)| format!("{median:.2} +- {spread:.2}");
    let cells = sides.map(|(.., results)| cell(summary(results)));
    table
        .add_row(["time advance request".to_owned()].into_iter().chain(cells).chain([cell(summary(ratios))]));
    println!("{table}");
}

fn idle() {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["idle clients", "KiB for each", "% of a core"]);
    for (name, joins) in [("1,000 sessions", false), ("1,000 federates", true)] {
        let served = Served::start();
        // What the first one of all needs is not counted.
        let _first = Load::open(served.address, 1);
        let before = served.memory_bytes();
        let mut load = Load::open(served.address, IDLE);
        if joins {
            load.join();
        }
        let memory = served.memory_bytes().saturating_sub(before) as f64 / 1024.0 / IDLE as f64;
        let (cpu, start) = (served.cpu(), Instant::now());
        // What is measured is what the server does in this time.
        thread::sleep(WATCHED);
        let share = (served.cpu() - cpu).as_secs_f64() / start.elapsed().as_secs_f64();
        table.add_row([name.to_owned(), format!("{memory:.1}"), format!("{:.3}", share * 100.0)]);
    }
    println!("{table}");
}

pub fn main() {
    if std::env::var_os(SERVES).is_some() {
        return serve();
    }
    // `cargo test` runs benchmarks too, to see that they start.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(21);
    grants(rounds);
    idle();
}
