//! Eight machines that compute unequally, two at once: real time under each order of grants, against half the
//! sum of the machines' work. `cargo bench -p paceline-emulate`.
//!
//! A machine's work is the real time from each grant until it stands, so time in which a core was not used is
//! what a row shows above 1, whatever else the host does. Machines of the first table compute nothing and
//! stand when their work would be done. Those of the second are guests of the emulator, if it is there; "left
//! alone" grants time to all at once, and then their CPU time is their work.

#[path = "../tests/emulate/guest/support.rs"]
#[expect(dead_code, reason = "the tests of guests use the rest")]
mod support;

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use paceline_emulate::guest::{Emulator, Guest};
use paceline_emulate::run::{
    Bell, Frame, GrantPolicy, Machine, MachineError, MachineState, Saved, Stopped, Terms, federates,
};
use paceline_engine::{Outside, Protocol, Simulation};
use paceline_kernel::{LpId, Model as _, Time};
use paceline_packets::{LinkSpec, Packets, Stations, topology};

const MACHINES: u32 = 8;
const CORES: usize = 2;
const RUNS: usize = 5;

/// A machine that always computes: the `number`-th needs `number + 1` parts of work a grant, more or less.
struct Computing {
    name: String,
    number: u64,
    grants: u64,
    clock_ns: u64,
    runs: bool,
    orders: mpsc::Sender<Duration>,
    stood: UnixStream,
}

impl Computing {
    fn new(number: u64) -> Self {
        let (orders, inbox) = mpsc::channel::<Duration>();
        let (stood, mut bell) = UnixStream::pair().unwrap();
        stood.set_nonblocking(true).unwrap();
        bell.write_all(&[1]).unwrap();
        thread::spawn(move || {
            while let Ok(work) = inbox.recv() {
                thread::sleep(work);
                // Nobody is left to hear of it once the run is over.
                let _ = bell.write_all(&[1]);
            }
        });
        Self {
            name: format!("computing-{number}"),
            number,
            grants: 0,
            clock_ns: 0,
            runs: true,
            orders,
            stood,
        }
    }
}

impl Machine for Computing {
    fn name(&self) -> &str {
        &self.name
    }

    fn grant(&mut self, until_ns: u64, _frames: &[Frame]) -> Result<(), MachineError> {
        (self.clock_ns, self.runs) = (until_ns, true);
        self.grants += 1;
        // 0.3 to 4.8 ms, up to half of it by what the machine happens to do.
        let share = ((self.grants * 2_654_435_761) >> 7) % 1_000;
        let work = (self.number + 1) * (300 + 300 * share / 1_000);
        self.orders.send(Duration::from_micros(work))?;
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        if !self.runs || self.stood.read(&mut [0; 1]).is_err() {
            return Ok(None);
        }
        self.runs = false;
        let (time_ns, state) = (self.clock_ns, MachineState::Standing);
        Ok(Some(Stopped { time_ns, frames: Vec::new(), next_ns: Some(time_ns), state }))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.stood.as_fd()
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// What machines have done, in nanoseconds of real time.
#[derive(Default)]
struct Work {
    running: AtomicU64,
    cpu: AtomicU64,
}

/// A machine whose work is measured.
struct Measured<M> {
    machine: M,
    since: Option<Instant>,
    work: Arc<Work>,
    cpu: fn(&M) -> Duration,
}

impl<M: Machine> Machine for Measured<M> {
    fn name(&self) -> &str {
        self.machine.name()
    }

    fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), MachineError> {
        self.since = Some(Instant::now());
        self.machine.grant(until_ns, frames)
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        let stopped = self.machine.read()?;
        if let Some(since) = self.since.filter(|_| stopped.is_some()) {
            self.work.running.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
            self.since = None;
        }
        Ok(stopped)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.machine.fd()
    }

    fn has_bell(&self) -> bool {
        self.machine.has_bell()
    }

    fn bell(&mut self) -> Option<Bell<'_>> {
        self.machine.bell()
    }

    fn save(&mut self, file: &Path) -> Result<Saved, MachineError> {
        self.machine.save(file)
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline()
    }
}

impl<M> Drop for Measured<M> {
    fn drop(&mut self) {
        self.work.cpu.fetch_add((self.cpu)(&self.machine).as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Real time, machines' running time and their CPU time of a run to `until`, in seconds.
fn measure<M: Machine + 'static>(
    machines: Vec<M>,
    cpu: fn(&M) -> Duration,
    (protocol, at_once, policy): (Protocol, usize, GrantPolicy),
    until: Time,
) -> [f64; 3] {
    let network = topology::star(MACHINES, &LinkSpec::new(1_000_000_000, 500_000_000)).unwrap();
    let at: Vec<_> = network.hosts().iter().map(|host| (*host, None)).collect();
    let stations = Stations::new(&network, &at).unwrap();
    let model = Packets::new(network, vec![]).unwrap().machines(stations).unwrap();
    let nodes: Vec<u32> = model.stations().unwrap().machines().map(|(node, _)| node).collect();
    let work = Arc::new(Work::default());
    let measured = |machine| Box::new(Measured { machine, since: None, work: work.clone(), cpu });
    let machines =
        nodes.iter().zip(machines).map(|(node, machine)| (*node, measured(machine) as Box<dyn Machine>));
    let guests =
        federates(&model, machines.collect(), Terms { at_once, policy, ..Terms::default() }).unwrap();
    let partition = model.partition(MACHINES + 1);
    let mut simulation =
        Simulation::new(model).protocol(protocol).threads(1).federates(MACHINES + 1).until(until);
    for (node, guest) in nodes.iter().zip(guests) {
        simulation = simulation.outside(partition.place(LpId(*node)).0, Outside::new(guest));
    }
    let start = Instant::now();
    simulation.run().unwrap();
    let wall = start.elapsed().as_secs_f64();
    let seconds = |ns: &AtomicU64| ns.load(Ordering::Relaxed) as f64 / 1e9;
    [wall, seconds(&work.running), seconds(&work.cpu)]
}

/// A row: median, least and greatest of the ratio, medians of real time and work.
fn row(name: &str, protocol: Protocol, mut runs: Vec<[f64; 2]>) {
    runs.sort_by(|a, b| (a[0] / a[1]).total_cmp(&(b[0] / b[1])));
    let ratio = |run: &[f64; 2]| run[0] / run[1];
    let [wall, half] = runs[runs.len() / 2];
    let (least, greatest) = (ratio(&runs[0]), ratio(runs.last().unwrap()));
    println!(
        "{name:>16} {protocol:>22?} {:>7.3} {least:>7.3} {greatest:>7.3} {wall:>8.2} {half:>8.2}",
        wall / half
    );
}

fn head(title: &str) {
    println!(
        "\n{title}\n{:>16} {:>22} {:>7} {:>7} {:>7} {:>8} {:>8}",
        "order", "protocol", "ratio", "least", "most", "real s", "work/2"
    );
}

fn guests(emulator: &Emulator, test: &str) -> Vec<Guest> {
    let guest = |number: u32| {
        // Each computes for a part of the time that is its own.
        let loops = 2_000 * (number + 1);
        let script =
            format!("while true; do i=0; while [ $i -lt {loops} ]; do i=$((i+1)); done; usleep 20000; done");
        let folder = support::folder(&format!("{test}-{number}"));
        Guest::start(&support::loaded(emulator, &folder, &script), emulator).unwrap()
    };
    (0..MACHINES).map(guest).collect()
}

fn main() {
    let all = || GrantPolicy::ALL.into_iter();
    head("machines that stand when their work would be done, 100 ms");
    for protocol in [Protocol::Window, Protocol::NullMessage] {
        for (policy, name) in all() {
            let run = |_| {
                let machines = (0..u64::from(MACHINES)).map(Computing::new).collect();
                let [wall, running, _] =
                    measure(machines, |_| Duration::ZERO, (protocol, CORES, policy), Time::millis(100));
                [wall, running / CORES as f64]
            };
            row(name, protocol, (0..RUNS).map(run).collect());
        }
    }
    let Ok(emulator) = Emulator::find() else { return println!("\nno guests: no emulator is there") };
    head("guests of the emulator, of which each computes from 3.3 s to 3.6 s");
    let mut rows: Vec<Row> = [Protocol::Window, Protocol::NullMessage]
        .into_iter()
        .flat_map(|protocol| all().map(move |(policy, name)| Row::new(name, protocol, CORES, policy)))
        .collect();
    rows.push(Row::new("left alone", Protocol::Window, MACHINES as usize, GrantPolicy::Arrival));
    for number in 0..3 {
        // In turn, so that whatever disturbs the machine disturbs all rows.
        for row in &mut rows {
            let Row { name, protocol, at_once, policy, .. } = *row;
            let machines = guests(&emulator, &format!("order-{name}-{number}"));
            let [wall, running, cpu] =
                measure(machines, Guest::cpu_time, (protocol, at_once, policy), Time::millis(3_600));
            let work = if at_once == CORES { running } else { cpu };
            row.runs.push([wall, work / CORES as f64]);
        }
    }
    rows.into_iter().for_each(|Row { name, protocol, runs, .. }| row(name, protocol, runs));
}

/// Runs of guests in one way.
struct Row {
    name: &'static str,
    protocol: Protocol,
    at_once: usize,
    policy: GrantPolicy,
    /// Real time and half of the work, in seconds.
    runs: Vec<[f64; 2]>,
}

impl Row {
    fn new(name: &'static str, protocol: Protocol, at_once: usize, policy: GrantPolicy) -> Self {
        Self { name, protocol, at_once, policy, runs: Vec::new() }
    }
}
