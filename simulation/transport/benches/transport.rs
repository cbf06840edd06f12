//! `cargo bench -p paceline-transport --bench transport`: small messages between two processes through shared
//! memory.
//!
//! A message is a record of 32 bytes. *Each way* is the number of messages per second that each of two
//! processes sends to the other while it receives as many, each on its own core: gathered in frames by a
//! [`Gather`] with its default settings (the clock is read once for 16 messages), or one message per frame.
//! *One way* is half a round trip of one message in a frame: with both processes polling all the time, with
//! both asleep in `wait`, and for comparison over a Unix socket. Every round measures all of them in
//! turn; the results are medians over the rounds, with half the interquartile range. `PACELINE_ROUNDS` sets
//! the number of rounds.

use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use paceline_transport::marshal::{AddError, Gather, Marshalling, Reason, Records};
use paceline_transport::{Group, Handed, SharedMemory, Transport};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Bytes of a message.
const BYTES: usize = 32;
/// Messages each way per round.
const MESSAGES: u64 = 1_000_000;
/// Round trips per round.
const TRIPS: u64 = 10_000;
/// Messages sent between two calls of `receive`.
const BATCH: u64 = 64;
/// How often a process that expects a frame polls before it sleeps.
const SPINS: u32 = 100_000;
/// The environment variable by which the other process finds the links.
const FOLDER: &str = "PACELINE_BENCH_FOLDER";
const LINKS: &str = "PACELINE_BENCH_LINKS";

/// The measurement of a round.
#[derive(Clone, Copy)]
enum Task {
    Marshalled,
    OneByOne,
    Spinning,
    Asleep,
    Socket,
}

const TASKS: [(Task, &str); 5] = [
    (Task::Marshalled, "each way, marshalled (M/s)"),
    (Task::OneByOne, "each way, one by one (M/s)"),
    (Task::Spinning, "one way, both look for it (us)"),
    (Task::Asleep, "one way, both asleep (us)"),
    (Task::Socket, "one way, Unix socket (us)"),
];

/// This process's end of the links.
struct End {
    links: SharedMemory,
    socket: UnixStream,
}

impl End {
    fn peer(&self) -> u32 {
        1 - self.links.rank()
    }

    fn send(&self, frame: &[u8]) -> Handed {
        self.links.send(self.peer(), frame).expect("the peer is there")
    }

    fn receive(&self, mut take: impl FnMut(&[u8])) {
        self.links.receive(&mut |_, frame| take(frame)).expect("the peer is there");
    }
}

/// Keeps this process on one core, if permitted.
fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    // Without it the numbers vary more, which the spread shows.
    let _ = sched_setaffinity(None, &cores);
}

/// Waits for something to receive; polls for a while before it sleeps.
fn look(end: &SharedMemory) {
    for _ in 0..SPINS {
        if end.is_pending() {
            return;
        }
        std::hint::spin_loop();
    }
    end.wait(Duration::from_secs(1));
}

fn take_one(end: &End, look: impl Fn(&SharedMemory)) {
    let mut seen = false;
    while !seen {
        end.receive(|frame| seen = !black_box(frame).is_empty());
        if !seen {
            look(&end.links);
        }
    }
}

fn give(end: &End, frame: &[u8]) {
    while end.send(frame) == Handed::Full {
        std::hint::spin_loop();
    }
}

/// Waits until both processes are here.
fn meet(mut socket: &UnixStream) -> std::io::Result<()> {
    socket.write_all(&[1])?;
    socket.read_exact(&mut [0])
}

/// Sends [`MESSAGES`] and receives as many; returns the messages per frame.
fn marshalled(end: &End) -> f64 {
    let (peer, links) = (end.peer(), &end.links);
    let mut gather = Gather::new(Marshalling::default(), links.unit(peer), links.frame_limit(peer));
    let start = Instant::now();
    let (mut sent, mut seen, mut now_ns) = (0, 0, 0);
    while sent < MESSAGES || seen < MESSAGES {
        let mut room = true;
        for _ in 0..BATCH.min(MESSAGES - sent) {
            if sent.is_multiple_of(16) {
                now_ns = start.elapsed().as_nanos() as u64;
            }
            match gather.add(&black_box([sent as u8; BYTES]), now_ns) {
                Ok(_) => sent += 1,
                Err(AddError::Full) => room = false,
                Err(error) => panic!("{error}"),
            }
            let reason = if sent == MESSAGES { Some(Reason::Asked) } else { gather.due(now_ns) };
            if let Some(reason) = reason.or((!room).then_some(Reason::Size)) {
                room = gather.hand_over(reason, |frame| links.send(peer, frame)).expect("the peer is there")
                    == Handed::Over;
            }
            if !room {
                break;
            }
        }
        if sent == MESSAGES && !gather.is_empty() {
            let _ =
                gather.hand_over(Reason::Asked, |frame| links.send(peer, frame)).expect("the peer is there");
        }
        end.receive(|frame| {
            for record in Records::read(frame).expect("frames are whole") {
                black_box(record);
                seen += 1;
            }
        });
    }
    let statistics = gather.statistics();
    statistics.records as f64 / statistics.frames as f64
}

fn one_by_one(end: &End) {
    let (mut sent, mut seen) = (0, 0);
    while sent < MESSAGES || seen < MESSAGES {
        for _ in 0..BATCH.min(MESSAGES - sent) {
            let message = black_box([sent as u8; BYTES]);
            if end.send(&message) == Handed::Full {
                break;
            }
            sent += 1;
        }
        end.receive(|frame| {
            black_box(frame);
            seen += 1;
        });
    }
}

/// Round trips; the process of rank 0 starts.
fn ping_pong(end: &End, look: impl Fn(&SharedMemory)) {
    for _ in 0..TRIPS {
        if end.links.rank() == 0 {
            give(end, &[1; BYTES]);
        }
        take_one(end, &look);
        if end.links.rank() == 1 {
            give(end, &[1; BYTES]);
        }
    }
}

fn socket_ping_pong(begins: bool, mut socket: &UnixStream) -> std::io::Result<()> {
    let mut message = [1; BYTES];
    for _ in 0..TRIPS {
        if begins {
            socket.write_all(&message)?;
        }
        socket.read_exact(&mut message)?;
        if !begins {
            socket.write_all(&message)?;
        }
    }
    Ok(())
}

/// One process's part of a round; returns the value for the column, and the messages per frame.
fn part(task: Task, end: &End) -> (f64, f64) {
    meet(&end.socket).expect("the peer is there");
    let start = Instant::now();
    let mut per_frame = 1.0;
    match task {
        Task::Marshalled => per_frame = marshalled(end),
        Task::OneByOne => one_by_one(end),
        Task::Spinning => ping_pong(end, look),
        Task::Asleep => ping_pong(end, |end| end.wait(Duration::from_secs(1))),
        Task::Socket => socket_ping_pong(end.links.rank() == 0, &end.socket).expect("the socket is open"),
    }
    let secs = start.elapsed().as_secs_f64();
    let shown = match task {
        Task::Marshalled | Task::OneByOne => MESSAGES as f64 / secs / 1e6,
        Task::Spinning | Task::Asleep | Task::Socket => secs * 1e6 / TRIPS as f64 / 2.0,
    };
    (shown, per_frame)
}

/// The median, and half the interquartile range.
fn summary(mut rounds: Vec<f64>) -> (f64, f64) {
    rounds.sort_by(f64::total_cmp);
    let at = |part: usize| rounds[(rounds.len() - 1) * part / 4];
    (at(2), (at(3) - at(1)) / 2.0)
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(21);
    let group = Group::all(2);
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = std::path::Path::new(&folder);
        pin(1);
        let links = std::env::var_os(LINKS).expect("a child gets its links");
        let links = SharedMemory::open(links.as_ref(), 1, &group).expect("the links are there");
        let socket = UnixStream::connect(folder.join("socket")).expect("the socket is there");
        let end = End { links, socket };
        for _ in 0..=rounds {
            for (task, _) in TASKS {
                part(task, &end);
            }
        }
        return end.links.close();
    }
    let folder = tempfile::tempdir().expect("there is room for files");
    let links = SharedMemory::create(0, &group).expect("there is memory");
    let listener = UnixListener::bind(folder.path().join("socket")).expect("a socket can be made");
    let program = std::env::current_exe().expect("this program has a path");
    let mut other = Command::new(program);
    other.env(FOLDER, folder.path()).env(LINKS, links.path());
    let mut other = other.spawn().expect("it can be started");
    let (socket, _) = listener.accept().expect("the other process connects");
    let end = End { links, socket };
    pin(0);
    let mut shown = vec![Vec::new(); TASKS.len()];
    let mut per_frame = Vec::new();
    // A first round warms up.
    for round in 0..=rounds {
        for ((task, _), shown) in TASKS.iter().zip(&mut shown) {
            let (value, in_frame) = part(*task, &end);
            if round > 0 {
                shown.push(value);
                if matches!(task, Task::Marshalled) {
                    per_frame.push(in_frame);
                }
            }
        }
    }
    end.links.close();
    assert!(other.wait().expect("the other process ends").success());
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["", "median", "+-"]);
    for ((_, name), rounds) in TASKS.iter().zip(shown) {
        let (median, spread) = summary(rounds);
        table.add_row([(*name).to_owned(), format!("{median:.3}"), format!("{spread:.3}")]);
    }
    let (median, spread) = summary(per_frame);
    table.add_row([
        "messages a frame, marshalled".to_owned(),
        format!("{median:.0}"),
        format!("{spread:.0}"),
    ]);
    println!("{table}");
}
