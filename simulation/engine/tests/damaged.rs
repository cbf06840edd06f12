//! What the engine reads from outside, damaged: checkpoints whose checksum fits, and the lines of an outside
//! federate. Each is read, or refused with a typed error that says something; no thread panics, and no run
//! goes on for ever.
//!
//! `PACELINE_CASES` sets the number of damaged versions of each (default 600), `PACELINE_SEED` the first.

use std::io::{self, Cursor};
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;
use std::{fs, path::Path};

use paceline_engine::{
    CheckpointError, CheckpointFile, Checkpoints, JsonFederate, Monitor, Outside, Protocol, Simulation,
};
use paceline_kernel::{Context, LpId, Model, Rng, Time};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// Magic word and version, then the lengths of header and body.
const OPENING_BYTES: usize = 28;
const CHECKSUM_BYTES: usize = 8;
const HORIZON: Time = Time::secs(30);

/// A ring of LPs that send everything on after the lookahead, whatever it is.
#[derive(Clone)]
struct Ring;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct RingMessage {
    number: u64,
    text: Option<String>,
}

impl Model for Ring {
    type State = Vec<u64>;
    type Event = RingMessage;
    type Output = ();

    fn lps(&self) -> u32 {
        6
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Vec<u64> {
        cx.send(
            LpId((lp.0 + 1) % 6),
            Time::secs(1),
            RingMessage { number: lp.0.into(), text: Some("begun".into()) },
        );
        vec![0; 3]
    }
    fn handle(&self, state: &mut Vec<u64>, message: &RingMessage, cx: &mut Context<Self>) {
        let draw = cx.rng().u64();
        state.iter_mut().for_each(|word| *word = word.wrapping_mul(31).wrapping_add(message.number ^ draw));
        let message = RingMessage { number: message.number.wrapping_add(1), text: message.text.clone() };
        cx.send(LpId((cx.lp().0 + 1) % 6), Time::secs(1), message);
    }
}

fn run() -> Simulation<Ring> {
    Simulation::new(Ring).until(HORIZON).seed(1)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn cases() -> impl Iterator<Item = Rng> {
    let first = setting("PACELINE_SEED", 0);
    (first..first + setting("PACELINE_CASES", 600)).map(|seed| Rng::new(seed, 0x6461_6d61))
}

/// Runs `test`, and panics if a thread has meanwhile: that of a worker or a reader may be nobody's result.
/// One test at a time, as the hook is the process's.
fn without_panics(test: impl FnOnce()) {
    static TURN: Mutex<()> = Mutex::new(());
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            COUNT.fetch_add(1, Ordering::SeqCst);
            usual(info);
        }));
    });
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = COUNT.load(Ordering::SeqCst);
    test();
    assert_eq!(COUNT.load(Ordering::SeqCst), before, "a thread has panicked");
}

/// Damages some bytes.
fn damage(bytes: &mut Vec<u8>, words: &[&[u8]], rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let length = bytes.len() as u64 + 1;
        let (at, other) = (rng.below(length) as usize, rng.below(length) as usize);
        let piece = at.min(other)..at.max(other).min(at.min(other) + 40);
        match rng.below(7) {
            0 if rng.chance(0.2) => bytes.truncate(at),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = rng.u64() as u8),
            2 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.below(8)),
            3 => drop(bytes.splice(piece, [])),
            4 => {
                let copy = bytes[piece].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let word = words[rng.below(words.len() as u64) as usize];
                let end = (at + rng.below(word.len() as u64 + 1) as usize).min(bytes.len());
                bytes.splice(at..end, word.iter().copied());
            }
        }
    }
}

/// Puts another value where a number stands, at the start of the text more often than at its end.
fn other_number(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let values = ["0", "5", "6", "4294967295", "18446744073709551615", "-1", "0.5", "null", "2000000000"];
    let start = rng.below(bytes.len() as u64 / 4) as usize;
    let Some(at) = bytes[start..].iter().position(u8::is_ascii_digit).map(|at| start + at) else { return };
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = values[rng.below(values.len() as u64) as usize];
    bytes.splice(at..at + length, value.bytes());
}

/// Lengths and checksum as they must be for this header and body.
fn seal(opening: &[u8], header: &[u8], body: &[u8]) -> Vec<u8> {
    let mut file = opening[..12].to_vec();
    for part in [header, body] {
        file.extend((part.len() as u64).to_le_bytes());
    }
    let mut hasher = Xxh3::new();
    [header, body, &file].into_iter().for_each(|part| hasher.update(part));
    [&file, header, body, &hasher.digest().to_le_bytes()].concat()
}

/// A checkpoint of the ring half-way, with the header `mine`.
fn checkpoint(path: &Path) -> Vec<u8> {
    let monitor = Monitor::new();
    let checkpoints = Checkpoints { path: path.to_owned(), every: Duration::ZERO, header: b"mine".into() };
    let half = run().until(Time::secs(10)).protocol(Protocol::Window).federates(2).threads(1).leg_events(8);
    half.checkpoint(checkpoints).monitor(&monitor).run().expect("the model keeps the rules");
    fs::read(path).expect("a checkpoint was written")
}

#[test]
fn damaged_checkpoints_are_refused_or_resumed() {
    without_panics(checkpoints);
}

fn checkpoints() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ring.checkpoint");
    let sound = checkpoint(&path);
    let greatest = [&[0xff_u8; 9][..], &[1]].concat();
    let words: [&[u8]; 6] = [&greatest, &[0xff; 4], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0], &[1], &[0x80, 0]];
    let [mut resumed, mut refused, mut unread] = [0u64; 3];
    let body = &sound[OPENING_BYTES + 4..sound.len() - CHECKSUM_BYTES];
    // Every number in turn is the greatest there is; then anything.
    let greatest_at = |at: usize| [&body[..at], &greatest, &body[at + 1..]].concat();
    let greatest_ones = (0..body.len()).map(|at| (Rng::new(at as u64, 0), Some(greatest_at(at))));
    for (mut rng, given) in greatest_ones.chain(cases().map(|rng| (rng, None))) {
        let file = if let Some(bytes) = given {
            seal(&sound, b"mine", &bytes)
        } else if rng.chance(0.1) {
            let mut bytes = sound.clone();
            damage(&mut bytes, &words, &mut rng);
            bytes
        } else {
            let mut bytes = body.to_vec();
            damage(&mut bytes, &words, &mut rng);
            seal(&sound, b"mine", &bytes)
        };
        fs::write(&path, file).expect("it can be written");
        let world = match CheckpointFile::open(&path) {
            Ok(file) => file.world(&Ring),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                unread += 1;
                continue;
            }
        };
        match world {
            Ok(world) => {
                let protocol =
                    [Protocol::Sequential, Protocol::Window, Protocol::Optimistic][rng.below(3) as usize];
                let run = run().protocol(protocol).federates(2).threads(1).resume(world);
                if let Err(error) = run.run() {
                    assert!(!error.to_string().is_empty());
                }
                resumed += 1;
            }
            Err(error) => {
                assert!(matches!(&error, CheckpointError::Model { what, .. } if !what.is_empty()), "{error}");
                refused += 1;
            }
        }
    }
    let least = (resumed + refused + unread) / 30;
    assert!(
        resumed.min(refused).min(unread) >= least,
        "{resumed} {refused} {unread}: damage that changes nothing tests nothing"
    );
}

#[test]
fn damaged_lines_of_an_outside_federate_end_the_run_with_an_error() {
    without_panics(lines);
}

fn lines() {
    let sound: String = (1..40).map(|step| {
        let at_ns = step * 1_000_000_000u64 + 1_000_000_000;
        format!(
            "{{\"promise\":{{\"at_least_ns\":{at_ns}}}}}\n{{\"done\":{{\"next_ns\":null,\"events\":[{{\"from\":5,\"to\":0,\"at_ns\":{at_ns},\"event\":{{\"number\":7,\"text\":null}}}}]}}}}\n"
        )
    }).collect();
    let words = [
        "null",
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "1e400",
        "\"",
        "\\ud800",
        "\n",
        "[[[[[[",
        "{\"done\":",
        "\"from\":0",
        "\"to\":4294967295",
        "\"to\":4",
        "\"at_ns\":0",
        "{\"failed\":\"why\"}\n",
        "{\"done\":{\"next_ns\":null}}\n",
        "{\"done\":{\"next_ns\":18446744073709551615}}\n",
        "\u{0}",
        "\u{fc}",
    ];
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let [mut ended, mut refused] = [0u64; 2];
    for mut rng in cases() {
        let mut bytes = sound.as_bytes().to_vec();
        if rng.chance(0.5) {
            other_number(&mut bytes, &mut rng);
        } else {
            damage(&mut bytes, &words, &mut rng);
        }
        let protocol = [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic][rng.below(3) as usize];
        let outside = Outside::new(JsonFederate::new(Ring, Cursor::new(bytes), io::sink()));
        let run = run().protocol(protocol).federates(2).threads(1).outside(1, outside);
        match run.run() {
            Ok(_) => ended += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(
        refused > 0 && ended > 0,
        "{ended} ended, {refused} refused: damage that changes nothing tests nothing"
    );
}
