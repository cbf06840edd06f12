//! `cargo bench -p paceline-models --bench wireless [-- TABLE ... [--steps N] [--rounds N]]`: compares the
//! wireless network with a loop written by hand, and measures the gain from moving hosts between federates.
//!
//! - `loop`: on one thread, sequentially and in windows, compared with the loop of `wireless/by_hand.rs`:
//!   3000, 6000 and 9000 hosts, standard and light computation. All three must count the same pings and
//!   compute the same sum.
//! - `migration`: two threads and two federates, hosts dealt by number. Balanced in three ways: not at all,
//!   by load, by load and messages.
//!
//! All variants in one table are measured together, interleaved. The tables hold medians; ratios also have
//! the least and the greatest value in brackets. Runs on one thread are measured in CPU time of the process,
//! so that other processes do not count; its resolution is a hundredth of a second. Without arguments all
//! tables are made.

#[path = "wireless/by_hand.rs"]
mod by_hand;

use by_hand::ByHand;
use paceline_engine::{Protocol, Report, Simulation};
use paceline_kernel::Balance;
use paceline_models::wireless::{Computation, Deal, Deliveries, Output, Wireless};

const HOSTS: [u32; 3] = [3000, 6000, 9000];
const COMPUTATIONS: [(&str, Computation); 2] =
    [("standard", Computation::Standard), ("light", Computation::Light)];

/// The tables to measure, and the number of steps and rounds.
#[derive(Debug)]
struct Options {
    tables: Vec<String>,
    steps: u32,
    rounds: usize,
}

impl Options {
    fn read() -> Self {
        let mut options = Self { tables: Vec::new(), steps: 1000, rounds: 3 };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number =
                || arguments.next().and_then(|word| word.parse().ok()).expect("a number after it");
            match argument.as_str() {
                "--steps" => options.steps = number(),
                "--rounds" => options.rounds = number() as usize,
                "--bench" => {}
                table => options.tables.push(table.to_owned()),
            }
        }
        options
    }
}

/// The totals of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counted {
    deliveries: u64,
    computed: u64,
}

fn counted(report: &Report<Output>) -> Counted {
    let deliveries = report.outputs.iter().map(|output| output.deliveries).sum();
    let lines = report.outputs.iter().flat_map(|output| &output.hosts);
    Counted { deliveries, computed: lines.fold(0, |sum, line| sum.wrapping_add(line.computed)) }
}

/// The CPU time that this process has used, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this bench needs Linux");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in brackets");
    let ticks =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u32>().expect("a count"));
    f64::from(ticks.sum::<u32>()) / 100.0
}

fn engine(network: &Wireless, protocol: Protocol) -> (f64, Counted) {
    let simulation = Simulation::new(network.clone()).protocol(protocol).threads(1);
    let start = cpu_s();
    let report = simulation.run().expect("the model keeps the rules");
    (cpu_s() - start, counted(&report))
}

fn by_hand(network: &Wireless, steps: u32, rounds: u32) -> (f64, Counted) {
    let start = cpu_s();
    let mut run = ByHand::new(network, rounds);
    (0..steps).for_each(|step| run.step(step + 1));
    (cpu_s() - start, Counted { deliveries: run.deliveries(), computed: run.computed() })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Median, least and greatest of the ratios of two columns, computed round by round.
fn ratio(of: &[f64], to: &[f64]) -> String {
    let ratios: Vec<f64> = of.iter().zip(to).map(|(of, to)| of / to).collect();
    let least = ratios.iter().copied().fold(f64::MAX, f64::min);
    let greatest = ratios.iter().copied().fold(0.0, f64::max);
    format!("{:.2} [{least:.2} - {greatest:.2}]", median(ratios))
}

fn table_loop(options: &Options) {
    println!("\n{} steps, 1 thread, medians of {} rounds", options.steps, options.rounds);
    println!(
        "| hosts | computation | deliveries | loop s | sequential s | windows s | sequential / loop | windows / loop |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for hosts in HOSTS {
        for (name, computation) in COMPUTATIONS {
            let network = Wireless::ad_hoc(hosts, options.steps, computation);
            let mut seconds = [const { Vec::new() }; 3];
            let mut deliveries = 0;
            for round in 0..options.rounds {
                let mut expected = None;
                for nth in 0..3 {
                    let which = (round + nth) % 3;
                    let (cpu, found) = match which {
                        0 => by_hand(&network, options.steps, computation.rounds()),
                        1 => engine(&network, Protocol::Sequential),
                        _ => engine(&network, Protocol::Window),
                    };
                    assert_eq!(found, *expected.get_or_insert(found), "both sides compute the same");
                    deliveries = found.deliveries;
                    seconds[which].push(cpu);
                }
            }
            let [hand, sequential, windows] = &seconds;
            println!(
                "| {hosts} | {name} | {deliveries} | {:.2} | {:.2} | {:.2} | {} | {} |",
                median(hand.clone()),
                median(sequential.clone()),
                median(windows.clone()),
                ratio(sequential, hand),
                ratio(windows, hand)
            );
        }
    }
}

fn table_migration(options: &Options) {
    println!("\n{} steps, 2 threads, windows, medians of {} rounds", options.steps, options.rounds);
    println!(
        "| hosts | computation | pings | dealt by | balance | M events/s | by off | messages between federates | moves, LPs moved |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (ways, deliveries) in [("together", Deliveries::Together), ("singly", Deliveries::Singly)] {
        for (name, computation) in COMPUTATIONS {
            for (dealt, deal) in Deal::ALL.into_iter().rev() {
                let network =
                    Wireless::ad_hoc(9000, options.steps, computation).deliver(deliveries).deal(deal);
                let mut rates = [const { Vec::new() }; 3];
                let mut shown: [String; 3] = std::array::from_fn(|_| " | ".into());
                for round in 0..options.rounds {
                    for nth in 0..3 {
                        let which = (round + nth) % 3;
                        let balance = Balance::ALL[which].0;
                        let simulation =
                            Simulation::new(network.clone()).protocol(Protocol::Window).balance(balance);
                        let report =
                            simulation.federates(2).threads(2).run().expect("the model keeps the rules");
                        rates[which].push(report.events as f64 / report.wall.as_secs_f64() / 1e6);
                        if let Some(found) = report.balancing {
                            let share =
                                |share: Option<f64>| share.map_or("?".into(), |share| format!("{share:.3}"));
                            shown[which] = format!(
                                "{} -> {} | {}, {}",
                                share(found.remote_before),
                                share(found.remote_after),
                                found.moves,
                                found.moved
                            );
                        }
                    }
                }
                for (which, (_, balance)) in Balance::ALL.into_iter().enumerate() {
                    println!(
                        "| 9000 | {name} | {ways} | {dealt} | {balance} | {:.2} | {} | {} |",
                        median(rates[which].clone()),
                        ratio(&rates[which], &rates[0]),
                        shown[which]
                    );
                }
            }
        }
    }
}

fn main() {
    let options = Options::read();
    let wanted = |table: &str| options.tables.is_empty() || options.tables.iter().any(|name| name == table);
    if wanted("loop") {
        table_loop(&options);
    }
    if wanted("migration") {
        table_migration(&options);
    }
}
