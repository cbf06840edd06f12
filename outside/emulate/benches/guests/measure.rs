//! Real time and CPU times of a guest and of its coordinator; rows in turn, in rounds.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Real time, CPU time of a guest and of this thread from a start on, in nanoseconds.
pub struct Meter {
    guest: u32,
    since: Instant,
    guest_ns: u64,
    coordinator_ns: u64,
}

impl Meter {
    pub fn start(guest: u32) -> Self {
        Self { guest, since: Instant::now(), guest_ns: threads_ns(guest), coordinator_ns: coordinator_ns() }
    }

    pub fn stop(self) -> [u64; 3] {
        let real = self.since.elapsed().as_nanos() as u64;
        [real, threads_ns(self.guest) - self.guest_ns, coordinator_ns() - self.coordinator_ns]
    }

    /// Waits for the end of the guest's process, a child of this one that nobody has waited for yet.
    pub fn stop_at_end(self) -> [u64; 3] {
        let coordinator_ns = coordinator_ns() - self.coordinator_ns;
        loop {
            let (state, guest_ns) = ended(self.guest);
            if state == "Z" {
                return [self.since.elapsed().as_nanos() as u64, guest_ns - self.guest_ns, coordinator_ns];
            }
            thread::sleep(Duration::from_micros(500));
        }
    }
}

/// The first field of proc(5)'s `schedstat`: nanoseconds on a CPU.
fn on_cpu(file: &str) -> u64 {
    let text = fs::read_to_string(file).expect("the kernel accounts CPU time");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("a number of nanoseconds")
}

fn coordinator_ns() -> u64 {
    on_cpu("/proc/thread-self/schedstat")
}

fn threads_ns(process: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("the guest lives");
    threads.map(|thread| on_cpu(&format!("{}/schedstat", thread.unwrap().path().display()))).sum()
}

/// The state and the CPU time, in steps of 10 ms, of a process: of one that has ended too.
fn ended(process: u32) -> (String, u64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("nobody has waited for it");
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    (fields[0].to_owned(), ticks * 10_000_000)
}

/// How many rounds: `PACELINE_ROUNDS`, or 5.
fn rounds() -> usize {
    std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(5)
}

/// Runs all rows, each a name and what it is run with, in turn, in rounds; prints medians with the least and
/// the greatest value.
pub fn interleave<const N: usize, const R: usize, T: Copy>(
    title: &str,
    columns: [&str; N],
    rows: [(&str, T); R],
    mut run: impl FnMut(T) -> [f64; N],
) {
    let mut values = [const { [const { Vec::new() }; N] }; R];
    for _ in 0..rounds() {
        for ((_, row), values) in rows.iter().zip(&mut values) {
            for (value, values) in run(*row).into_iter().zip(values) {
                values.push(value);
            }
        }
    }
    println!("\n{title}\n");
    println!("{:<24}{}", "", columns.map(|column| format!("{column:>30}")).concat());
    for ((name, _), values) in rows.iter().zip(values) {
        let cells = values.map(|mut values| {
            values.sort_by(f64::total_cmp);
            let [least, median, greatest] = [0, values.len() / 2, values.len() - 1].map(|at| values[at]);
            format!("{:>30}", format!("{median:.3} ({least:.3} to {greatest:.3})"))
        });
        println!("{name:<24}{}", cells.concat());
    }
}
