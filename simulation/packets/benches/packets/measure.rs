//! Runs in turn, in rounds; CPU time of the process, of all its threads.

use std::time::Instant;

use comfy_table::{Table, presets};
use rustix::time::{ClockId, clock_gettime};

/// What a run came to.
pub struct Ran {
    pub hops: u64,
    pub cpu_s: f64,
    pub wall_s: f64,
    /// Something that is to be equal in all ways: for people.
    pub what: String,
}

impl Ran {
    /// Measures `run`, which gives what it has computed; `hops` and `what` read it afterwards.
    pub fn new<T>(run: impl FnOnce() -> T, read: impl FnOnce(T) -> (u64, String)) -> Self {
        let (cpu, wall) = (cpu_s(), Instant::now());
        let done = run();
        let (cpu_s, wall_s) = (cpu_s() - cpu, wall.elapsed().as_secs_f64());
        let (hops, what) = read(done);
        Self { hops, cpu_s, wall_s, what }
    }
}

/// The CPU time that this process has had.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A way to run a network, measured.
pub struct Row {
    name: &'static str,
    /// Hops a second of CPU time, ascending.
    cpu: Vec<f64>,
    /// Hops a second, ascending.
    wall: Vec<f64>,
    what: String,
}

/// How many rounds: `PACELINE_ROUNDS`, or 5.
fn rounds() -> usize {
    std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(5)
}

/// Runs all in turn, in rounds.
pub fn interleave<const N: usize>(ways: [(&'static str, impl Fn() -> Ran); N]) -> Vec<Row> {
    let mut rows: Vec<Row> = (ways.iter())
        .map(|(name, _)| Row { name, cpu: Vec::new(), wall: Vec::new(), what: String::new() })
        .collect();
    for _ in 0..rounds() {
        for ((_, run), row) in ways.iter().zip(&mut rows) {
            let ran = run();
            row.cpu.push(ran.hops as f64 / ran.cpu_s);
            row.wall.push(ran.hops as f64 / ran.wall_s);
            row.what = ran.what;
        }
    }
    for row in &mut rows {
        row.cpu.sort_by(f64::total_cmp);
        row.wall.sort_by(f64::total_cmp);
    }
    rows
}

fn median(rates: &[f64]) -> f64 {
    rates[rates.len() / 2]
}

/// Half the distance between the quartiles, in per cent of the median.
fn spread_percent(rates: &[f64]) -> f64 {
    let quartile = |part: usize| rates[(rates.len() - 1) * part / 4];
    (quartile(3) - quartile(1)) / 2.0 / median(rates) * 100.0
}

/// The rows, each with its ratio to the first one.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let of_first = format!("of {}", rows[0].name);
    table.set_header(["", "M hops/s of CPU", "spread %", &of_first, "M hops/s", "what came out"]);
    for row in rows {
        let cpu = median(&row.cpu);
        table.add_row([
            row.name.to_owned(),
            format!("{:.2}", cpu / 1e6),
            format!("{:.1}", spread_percent(&row.cpu)),
            format!("{:.2}", cpu / median(&rows[0].cpu)),
            format!("{:.2}", median(&row.wall) / 1e6),
            row.what.clone(),
        ]);
    }
    table
}
