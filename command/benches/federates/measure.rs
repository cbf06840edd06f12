//! The federates, the rounds and the table.

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use paceline_hla::{Bytes, Callback, LogicalTime, LogicalTimeInterval, Response, request};
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;

/// Set for a process that is a federate: the address of the server, its number, and how many rounds of work
/// are a microsecond.
const FEDERATE: &str = "PACELINE_BENCH_FEDERATE";
/// Set for the process that starts the infrastructure and federates: how many, and the rounds.
const ALL: &str = "PACELINE_BENCH_FEDERATES";
const STEPS: u32 = 200;
/// The mean CPU time of a step.
const COST_US: u64 = 2_000;
/// How many federates there are for each core.
const FEDERATES_PER_CORE: [usize; 2] = [2, 4];
const FEDERATION: &str = "F";

/// Computes something that takes as long on every side.
fn work(rounds: u64) {
    let mut state = 1_u64;
    for _ in 0..rounds {
        state = black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
    black_box(state);
}

/// How many rounds of work are a microsecond: the best of some tries, which nothing has interrupted.
fn rounds_a_microsecond() -> u64 {
    const ROUNDS: u64 = 1_000_000;
    let tries = (0..30).map(|_| {
        let start = Instant::now();
        work(ROUNDS);
        start.elapsed()
    });
    let best = tries.min().expect("there are some");
    (ROUNDS * 1_000 / best.as_nanos() as u64).max(1)
}

/// From 1/2 to 3/2 of the mean, by federate and step.
fn cost_us(federate: usize, step: u32) -> u64 {
    let mixed = (federate as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ u64::from(step).wrapping_mul(0xd6e8_feb8_6659_fd93);
    COST_US / 2 + mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) % COST_US
}

fn time(step: u32) -> Option<LogicalTime> {
    Some(LogicalTime { data: Bytes::copy_from_slice(&i64::from(step).to_be_bytes()) })
}

fn ask(client: &mut Client, call: impl Into<paceline_hla::Call>) {
    let response = client.ask(call);
    assert!(!matches!(response, Response::Exception(_)), "{response:?}");
}

/// A federate: says that it is ready, waits for a line, and goes through its steps.
fn federate(text: &str) {
    let fields: Vec<&str> = text.split(' ').collect();
    let [address, number, rounds] = fields[..] else { panic!("three fields: {text}") };
    let address: SocketAddr = address.parse().expect("an address");
    let (number, rounds): (usize, u64) =
        (number.parse().expect("a number"), rounds.parse().expect("a number"));
    let mut client = Client::connect(address);
    ask(&mut client, request::Connect {});
    if number == 0 {
        let create = request::CreateFederationExecutionWithModulesAndTime {
            federation_name: FEDERATION.to_owned(),
            logical_time_implementation_name: "HLAinteger64Time".to_owned(),
            ..Default::default()
        };
        ask(&mut client, create);
    }
    let (federate_type, federation_name) = ("federate".to_owned(), FEDERATION.to_owned());
    ask(&mut client, request::JoinFederationExecution { federate_type, federation_name });
    let lookahead = Some(LogicalTimeInterval { data: Bytes::copy_from_slice(&1_i64.to_be_bytes()) });
    ask(&mut client, request::EnableTimeRegulation { lookahead });
    ask(&mut client, request::EnableTimeConstrained {});
    client.poll_from_now_on();
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).expect("a pipe");
    for step in 1..=STEPS {
        work(cost_us(number, step) * rounds);
        ask(&mut client, request::TimeAdvanceRequest { time: time(step) });
        client.evoke_until(|callback| matches!(callback, Callback::TimeAdvanceGrant(_)));
    }
    // A federate that has ended its steps holds up no other.
    client.terminate();
}

/// A child with both of its pipes.
fn start(command: &mut Command) -> (Child, BufReader<ChildStdout>) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, output)
}

fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).expect("text");
    line
}

/// Starts the infrastructure and its federates, and prints how long these took for their steps, in
/// nanoseconds.
fn all(text: &str) {
    let (count, rounds) = text.split_once(' ').expect("two fields");
    let count: usize = count.parse().expect("a number");
    let (mut server, mut output) =
        start(Command::new(env!("CARGO_BIN_EXE_paceline")).args(["rti", "--listen", "127.0.0.1:0"]));
    let first = line(&mut output);
    let address = first.trim().rsplit_once("//").expect("it listens").1.to_owned();
    let mut federates = Vec::new();
    for number in 0..count {
        let mut command = Command::new(std::env::current_exe().expect("this runs"));
        command.env_remove(ALL).env(FEDERATE, format!("{address} {number} {rounds}"));
        let (child, mut output) = start(&mut command);
        // The first one makes the federation.
        assert_eq!(line(&mut output).trim(), "ready");
        federates.push(child);
    }
    let start = Instant::now();
    federates.iter_mut().for_each(|child| drop(child.stdin.take()));
    for child in &mut federates {
        assert!(child.wait().expect("it was started").success(), "a federate has failed");
    }
    println!("{}", start.elapsed().as_nanos());
    let server_process = Pid::from_child(&server);
    kill_process(server_process, Signal::TERM).expect("it runs");
    server.wait().expect("it was started");
}

/// How long all federates take for their steps.
fn run(is_paced: bool, count: usize, rounds: u64) -> Duration {
    let this = std::env::current_exe().expect("this runs");
    let mut command = if is_paced {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.args(["pace", "--"]).arg(this);
        command
    } else {
        Command::new(this)
    };
    let output = command.env(ALL, format!("{count} {rounds}")).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let nanoseconds = text.lines().last().and_then(|line| line.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_else(|| panic!("no time: {text}{said}")))
}

/// The median with half the distance between the quartiles.
fn summary(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values[(values.len() - 1) * part / 4];
    format!("{:.2} +- {:.2}", at(2), (at(3) - at(1)) / 2.0)
}

pub fn main() {
    if let Ok(text) = std::env::var(FEDERATE) {
        return federate(&text);
    }
    if let Ok(text) = std::env::var(ALL) {
        return all(&text);
    }
    // `cargo test` runs benchmarks too, to see that they start.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let wanted = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(7);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rounds = rounds_a_microsecond();
    let mut table = Table::new();
    let columns = ["federates", "cores", "ideal, s", "unpaced, times the ideal", "paced", "unpaced : paced"];
    table.load_preset(presets::ASCII_MARKDOWN).set_header(columns);
    for count in FEDERATES_PER_CORE.map(|per_core| per_core * cores) {
        let costs = (0..count).flat_map(|number| (1..=STEPS).map(move |step| cost_us(number, step)));
        let ideal = Duration::from_micros(costs.sum::<u64>() / cores as u64).as_secs_f64();
        let (mut sides, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
        for round in 0..wanted {
            let order = if round % 2 == 0 { [false, true] } else { [true, false] };
            for is_paced in order {
                let slowdown = run(is_paced, count, rounds).as_secs_f64() / ideal;
                sides[usize::from(is_paced)].push(slowdown);
            }
            ratios.push(sides[0][round] / sides[1][round]);
        }
        let [unpaced, paced] = sides.map(summary);
        let ideal = format!("{ideal:.2}");
        table.add_row([count.to_string(), cores.to_string(), ideal, unpaced, paced, summary(ratios)]);
    }
    println!("{table}");
}
