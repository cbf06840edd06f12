//! `cargo bench -p paceline-transport --bench tcp`: the cost of 32-byte messages between two processes on
//! loopback.
//!
//! Both processes send and receive at the same time, one thread each; a rate is the number of messages that
//! each of them receives per second. *One by one* has one message per frame; *gathered* has as many as
//! [`Gather`] puts into a frame with its default settings (the clock is read once for 16 messages). Latency
//! is half a round trip, with both sides asleep in between. Every round measures all kinds in turn; the
//! results are medians over the rounds, with half the interquartile range. `PACELINE_ROUNDS` sets the number
//! of rounds. This program starts itself again as the other process.

use std::env;
use std::hint::black_box;
use std::io::{Read, Write, stdin, stdout};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use paceline_transport::marshal::{AddError, Gather, Marshalling, Reason, Records};
use paceline_transport::{Coordinator, Handed, Mesh, Prefer, Secret, Security, Settings, Transport, join};

/// Bytes of a message.
const MESSAGE: usize = 32;

/// Messages timed together: one by one, and gathered.
const MESSAGES: [usize; 2] = [200_000, 4_000_000];

/// Round trips timed together.
const TRIPS: usize = 2_000;

const PATIENCE: Duration = Duration::from_secs(60);

const ADDRESS: &str = "PACELINE_BENCH_ADDRESS";
const KIND: &str = "PACELINE_BENCH_KIND";

fn settings(kind: &str) -> Settings {
    let settings = Settings::new(Secret::new(b"nothing of value here").expect("long enough"));
    match kind {
        "TCP" => settings.prefer(Prefer::Tcp).security(Security::Plain),
        "TLS" => settings.prefer(Prefer::Tcp),
        _ => settings.prefer(Prefer::SharedMemory),
    }
}

/// Sends this many frames to the other process and receives as many from it.
fn exchange(mesh: &Mesh, frame: &[u8], frames: usize) {
    let (mut sent, mut received, other) = (0, 0, 1 - mesh.rank());
    while sent < frames || received < frames {
        let mut busy = false;
        // A few at a time, so that both directions progress.
        for _ in 0..16.min(frames - sent) {
            if mesh.send(other, frame).expect("it lives") == Handed::Full {
                break;
            }
            sent += 1;
            busy = true;
        }
        busy |= mesh.receive(&mut |_, _| received += 1).expect("it lives");
        if !busy {
            mesh.wait(PATIENCE);
        }
    }
}

/// Sends this many messages gathered in frames to the other process, and receives as many from it.
fn exchange_gathered(mesh: &Mesh, messages: usize) {
    let (mut sent, mut received, other) = (0, 0, 1 - mesh.rank());
    let mut gather = Gather::new(Marshalling::default(), mesh.unit(other), mesh.frame_limit(other));
    let start = Instant::now();
    while sent < messages || received < messages || !gather.is_empty() {
        let now_ns = start.elapsed().as_nanos() as u64;
        let mut room = true;
        for _ in 0..16.min(messages - sent) {
            let full = match gather.add(&black_box([sent as u8; MESSAGE]), now_ns) {
                Ok(_) => {
                    sent += 1;
                    None
                }
                Err(AddError::Full) => Some(Reason::Size),
                Err(error) => panic!("32 bytes fit: {error}"),
            };
            if let Some(reason) = full.or_else(|| gather.due(now_ns)) {
                room = gather.hand_over(reason, |frame| mesh.send(other, frame)).expect("it lives")
                    == Handed::Over;
                if !room {
                    break;
                }
            }
        }
        if sent == messages && !gather.is_empty() {
            room = gather.hand_over(Reason::Asked, |frame| mesh.send(other, frame)).expect("it lives")
                == Handed::Over;
        }
        let mut any = false;
        if !room || sent == messages || mesh.is_pending() {
            any = mesh
                .receive(&mut |_, frame| {
                    received += Records::read(frame).expect("frames are whole").map(black_box).count()
                })
                .expect("it lives");
        }
        if !any && (!room || sent == messages) && received < messages {
            mesh.wait(PATIENCE);
        }
    }
}

/// Waits for one frame.
fn take_one(mesh: &Mesh) {
    let mut taken = 0;
    while taken == 0 {
        if !mesh.receive(&mut |_, _| taken += 1).expect("it lives") {
            mesh.wait(PATIENCE);
        }
    }
}

/// Both sides of one round: seconds for the messages one by one, for the gathered ones, and for the round
/// trips.
fn round(mesh: &Mesh, meet: &mut dyn FnMut()) -> [f64; 3] {
    let mut seconds = |act: &mut dyn FnMut()| {
        // Nothing of the next part may arrive before the previous one is over.
        meet();
        let start = Instant::now();
        act();
        start.elapsed().as_secs_f64()
    };
    let other = 1 - mesh.rank();
    let message = [7; MESSAGE];
    let one_by_one = seconds(&mut || exchange(mesh, &message, MESSAGES[0]));
    let gathered = seconds(&mut || exchange_gathered(mesh, MESSAGES[1]));
    let trips = seconds(&mut || {
        for _ in 0..TRIPS {
            if mesh.rank() == 0 {
                assert_eq!(mesh.send(other, &message).expect("it lives"), Handed::Over);
            }
            take_one(mesh);
            if mesh.rank() == 1 {
                assert_eq!(mesh.send(other, &message).expect("it lives"), Handed::Over);
            }
        }
    });
    [one_by_one, gathered, trips]
}

/// The median, and half the interquartile range.
fn summary(mut rounds: Vec<f64>) -> String {
    rounds.sort_by(f64::total_cmp);
    let at = |part: usize| rounds[(rounds.len() - 1) * part / 4];
    format!("{:.2} ± {:.2}", at(2), (at(3) - at(1)) / 2.0)
}

fn main() {
    let rounds = env::var("PACELINE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(9);
    if let (Ok(address), Ok(kind)) = (env::var(ADDRESS), env::var(KIND)) {
        let (mesh, _) = join(&*address, &settings(&kind)).expect("the bench waits");
        for _ in 0..=rounds {
            round(&mesh, &mut || {
                stdin().read_exact(&mut [0]).expect("the bench lives");
                stdout().write_all(b"\n").and_then(|()| stdout().flush()).expect("the bench lives");
            });
        }
        return mesh.close();
    }
    let kinds = ["TCP", "TLS", "shared memory"];
    let mut pairs: Vec<(Mesh, Child)> = kinds
        .map(|kind| {
            let coordinator = Coordinator::listen("127.0.0.1:0", 2, &settings(kind)).expect("loopback");
            let mut program = Command::new(env::current_exe().expect("it runs"));
            program
                .env(ADDRESS, coordinator.address().to_string())
                .env(KIND, kind)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let other = program.spawn().expect("this program can be started");
            (coordinator.gather(b"").expect("the other one comes"), other)
        })
        .into();
    let mut times = vec![[const { Vec::new() }; 3]; kinds.len()];
    for number in 0..=rounds {
        for (kind, (mesh, child)) in pairs.iter_mut().enumerate() {
            let seconds = round(mesh, &mut || {
                child.stdin.as_mut().expect("piped").write_all(&[1]).expect("it lives");
                child.stdout.as_mut().expect("piped").read_exact(&mut [0]).expect("it lives");
            });
            // The first round warms up.
            if number > 0 {
                times[kind][0].push(MESSAGES[0] as f64 / seconds[0] / 1e6);
                times[kind][1].push(MESSAGES[1] as f64 / seconds[1] / 1e6);
                times[kind][2].push(seconds[2] / TRIPS as f64 / 2.0 * 1e6);
            }
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["link", "one by one, M/s", "gathered, M/s", "latency, us"]);
    for (kind, times) in kinds.iter().zip(times) {
        table.add_row(std::iter::once((*kind).to_owned()).chain(times.map(summary)));
    }
    println!("{table}");
    for (mesh, mut other) in pairs {
        mesh.close();
        drop(mesh);
        assert!(other.wait().expect("it was started").success());
    }
}
