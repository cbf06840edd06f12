//! `cargo bench -p paceline-engine --bench phold`: PHOLD in every size against the yardstick, on one thread
//! and two, with too many federates and threads, beside a busy process, and the memory of a pending event.
//!
//! Everything in one table is measured in one go, interleaved. The program starts itself again for what needs
//! a process of its own: the busy neighbour, and memory.

#[path = "common/busy.rs"]
mod busy;
#[path = "common/mod.rs"]
mod common;
#[path = "phold/yardstick.rs"]
mod yardstick;

use std::process::Command;

use busy::Busy;
use comfy_table::{Table, presets};
use common::{Candidate, Measured, interleave, rounds};
use paceline_engine::{Protocol, Simulation};
use paceline_kernel::Time;
use paceline_models::phold::Phold;

/// A size of PHOLD and the simulated time that takes some tenths of a second.
#[derive(Clone, Copy)]
struct Size {
    lps: u32,
    messages: u32,
    until_s: u64,
}

const SIZES: [Size; 3] = [
    Size { lps: 2_048, messages: 16, until_s: 800 },
    Size { lps: 65_536, messages: 16, until_s: 30 },
    Size { lps: 1_048_576, messages: 1, until_s: 30 },
];

impl Size {
    fn simulation(self, protocol: Protocol, federates: u32, threads: u32) -> Simulation<Phold> {
        Simulation::new(yardstick::model(self.lps, self.messages, Time::secs(1)))
            .protocol(protocol)
            .federates(federates)
            .threads(threads)
            .until(Time::secs(self.until_s))
    }

    fn candidate(self, name: &str, protocol: Protocol, federates: u32, threads: u32) -> Candidate<'static> {
        let run = move || {
            self.simulation(protocol, federates, threads).run().expect("PHOLD keeps the rules").events
        };
        Candidate { name: name.into(), run: Box::new(run) }
    }
}

fn table(title: &str, measured: &[Measured], reference: usize, per: &str) {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["", "M events/s", "spread %", per]);
    for row in measured {
        let ratio = row.median() / measured[reference].median();
        let cells = [
            format!("{:.2}", row.median() / 1e6),
            format!("{:.1}", row.spread_percent()),
            format!("{ratio:.2}"),
        ];
        table.add_row([row.name.clone()].into_iter().chain(cells));
    }
    println!("\n{title}\n\n{table}");
}

fn speed(size: Size) {
    let Size { lps, messages, until_s } = size;
    let yardstick = Candidate {
        name: "yardstick: hand-written loop".into(),
        run: Box::new(move || yardstick::run(lps, messages, until_s)),
    };
    let candidates = vec![
        yardstick,
        size.candidate("sequential", Protocol::Sequential, 1, 1),
        size.candidate("window, 1 federate on 1 thread", Protocol::Window, 1, 1),
        size.candidate("window, 2 federates on 2 threads", Protocol::Window, 2, 2),
        size.candidate("window, 64 federates on 2 threads", Protocol::Window, 64, 2),
        size.candidate("window, 64 federates on 32 threads", Protocol::Window, 64, 32),
        size.candidate("time-step, 2 federates on 2 threads", Protocol::TimeStep, 2, 2),
        size.candidate("null-message, 8 federates on 2 threads", Protocol::NullMessage, 8, 2),
        size.candidate("null-message-on-demand, 8 on 2", Protocol::NullMessageOnDemand, 8, 2),
    ];
    let measured = interleave(candidates, rounds());
    table(&format!("PHOLD, {lps} LPs x {messages} messages, 25 % to any LP"), &measured, 0, "of yardstick");
    let (one, two) = (measured[2].median(), measured[3].median());
    println!("\n2 threads / 1 thread: {:.2}", two / one);
    for row in &measured[4..6] {
        println!("{} / 2 federates on 2 threads: {:.2}", row.name, row.median() / two);
    }
}

fn beside_busy(size: Size) {
    let run = move |federates: u32| {
        size.simulation(Protocol::Window, federates, 2).run().expect("keeps the rules").events
    };
    let mut candidates = Vec::new();
    for federates in [2, 8, 64] {
        let name = format!("{federates} federates on 2 threads");
        candidates.push(Candidate { name: name.clone(), run: Box::new(move || run(federates)) });
        let busy = move || {
            let _busy = Busy::start();
            run(federates)
        };
        candidates.push(Candidate { name: format!("{name}, beside a busy process"), run: Box::new(busy) });
    }
    let measured = interleave(candidates, rounds());
    table("Beside one busy process on the same two cores (2048 x 16)", &measured, 0, "of undisturbed");
    for pair in measured.chunks(2) {
        println!("{}: {:.2} times the undisturbed time", pair[1].name, pair[0].median() / pair[1].median());
    }
}

/// Peak memory of a run in a process of its own, in bytes.
fn peak_bytes(lps: u32, messages: u32) -> f64 {
    let program = std::env::current_exe().expect("the program knows its own path");
    let output = Command::new(program).args(["--memory", &lps.to_string(), &messages.to_string()]).output();
    let output = output.expect("the program can start itself");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("it prints a number")
}

fn memory() {
    println!("\nPeak memory per pending event, state apart (a run with messages less one without):\n");
    for (lps, messages) in [(2_048, 160), (65_536, 16), (1_048_576, 1)] {
        let bytes = peak_bytes(lps, messages) - peak_bytes(lps, 0);
        println!("{lps} x {messages}: {:.1} bytes", bytes / f64::from(lps * messages));
    }
}

fn print_memory(lps: u32, messages: u32) {
    let size = Size { lps, messages, until_s: 10 };
    size.simulation(Protocol::Window, 2, 2).run().expect("PHOLD keeps the rules");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse::<u64>().ok());
    println!("{}", kib.unwrap_or(0) * 1024);
}

fn main() {
    if busy::asked_for() {
        busy::work();
    }
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--memory") => {
            let number = |at: usize| arguments.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
            print_memory(number(2), number(3));
        }
        _ => {
            SIZES.into_iter().for_each(speed);
            beside_busy(SIZES[0]);
            memory();
        }
    }
}
