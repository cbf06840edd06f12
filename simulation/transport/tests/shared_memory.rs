//! Shared memory between real processes: this program starts itself again as the other ranks. Everything
//! arrives once and in order; all others find that a killed process is gone, after receiving what it had
//! sent.

#![cfg(all(target_os = "linux", not(paceline_shuttle)))]

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use paceline_transport::{Group, Handed, PeerError, PeerErrorKind, SharedMemory, Transport};

/// Frames that each process sends to each other one.
const FRAMES: u64 = 20_000;

/// Environment variables for a child: its rank, its task, and the file.
const RANK: &str = "PACELINE_TEST_RANK";
const TASK: &str = "PACELINE_TEST_TASK";
const FILE: &str = "PACELINE_TEST_FILE";

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn group(ranks: u32) -> Group {
    Group::all(ranks).ring_bytes(1 << 12)
}

fn start(rank: u32, task: &str, file: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", "another_process", "--nocapture"]);
    command.env(RANK, rank.to_string()).env(TASK, task).env(FILE, file);
    command.spawn().expect("this program can be started")
}

/// Not a test itself: the task of a child. Returns at once in a process that was not started as a child.
#[test]
fn another_process() {
    let Ok(rank) = std::env::var(RANK) else {
        return;
    };
    let rank = rank.parse().expect("a rank is a number");
    let file = std::env::var_os(FILE).expect("a child gets its file");
    let task = std::env::var(TASK).expect("a child gets a task");
    let (task, ranks) = task.split_once(' ').expect("a task and the number of processes");
    let end = SharedMemory::open(file.as_ref(), rank, &group(ranks.parse().expect("a number")));
    let end = end.expect("the file is there");
    match task {
        "exchange" => {
            exchange(&end);
            end.close();
        }
        "die" => {
            assert_eq!(end.send(0, b"last words"), Ok(Handed::Over));
            take(&end, |_, _| false);
        }
        "flood" => {
            for number in 0.. {
                while end.send(0, &frame(rank, number)).expect("nobody is lost") == Handed::Full {
                    end.wait(Duration::from_secs(1));
                }
            }
        }
        "survive" => {
            let lost = take(&end, |_, _| true);
            assert_eq!(lost, Some(PeerError::new(1, PeerErrorKind::Gone)));
            assert_eq!(end.send(0, b"found"), Ok(Handed::Over));
            end.close();
        }
        _ => panic!("no task {task}"),
    }
}

/// Receives, sleeping while there is nothing, until `go_on` returns false or a peer is lost.
fn take(end: &SharedMemory, mut go_on: impl FnMut(u32, &[u8]) -> bool) -> Option<PeerError> {
    let (start, mut goes_on) = (Instant::now(), true);
    while goes_on {
        assert!(start.elapsed() < PATIENCE, "process {} waits for what does not come", end.rank());
        if let Err(lost) = end.receive(&mut |from, frame| goes_on &= go_on(from, frame)) {
            return Some(lost);
        }
        if goes_on {
            end.wait(Duration::from_secs(1));
        }
    }
    None
}

/// Frame `number` from a process: every length up to 300 occurs.
fn frame(from: u32, number: u64) -> Vec<u8> {
    let length = 8 + (number * 7 + u64::from(from)) as usize % 300;
    let mut frame = number.to_le_bytes().to_vec();
    frame.resize(length, number as u8);
    frame
}

/// Sends [`FRAMES`] to each other process and receives as many from each.
fn exchange(end: &SharedMemory) {
    let ranks = end.ranks() as usize;
    let (mut sent, mut seen, start) = (vec![0; ranks], vec![0; ranks], Instant::now());
    let peers: Vec<u32> = (0..end.ranks()).filter(|peer| *peer != end.rank()).collect();
    let is_done = |counts: &[u64]| peers.iter().all(|peer| counts[*peer as usize] == FRAMES);
    while !is_done(&sent) || !is_done(&seen) {
        assert!(start.elapsed() < PATIENCE, "process {}: {sent:?} sent, {seen:?} seen", end.rank());
        let mut busy = false;
        for peer in &peers {
            let number = &mut sent[*peer as usize];
            while *number < FRAMES
                && end.send(*peer, &frame(end.rank(), *number)).expect("nobody is lost") == Handed::Over
            {
                *number += 1;
                busy = true;
            }
        }
        busy |= end
            .receive(&mut |from, bytes| {
                let number = &mut seen[from as usize];
                assert_eq!(bytes, frame(from, *number), "frame {number} from {from}");
                *number += 1;
            })
            .expect("nobody is lost");
        if !busy {
            end.wait(Duration::from_secs(1));
        }
    }
}

#[test]
fn processes_exchange_frames() {
    for ranks in [2, 4] {
        let end = SharedMemory::create(0, &group(ranks)).expect("there is memory");
        let file = end.path();
        let task = format!("exchange {ranks}");
        let children: Vec<_> = (1..ranks).map(|rank| start(rank, &task, &file)).collect();
        exchange(&end);
        end.close();
        for mut child in children {
            assert!(child.wait().expect("a child ends").success());
        }
        assert!(end.is_complete());
    }
}

#[test]
fn a_killed_process_is_found_by_all() {
    let end = SharedMemory::create(0, &group(3)).expect("there is memory");
    let file = end.path();
    let mut victim = start(1, "die 3", &file);
    let mut other = start(2, "survive 3", &file);
    // The other process may find the loss before this one does.
    let mut found = false;
    let mut hear = |from, frame: &[u8]| match from {
        1 => {
            assert_eq!(frame, b"last words");
            victim.kill().expect("a child can be killed");
        }
        _ => {
            assert_eq!(frame, b"found");
            found = true;
        }
    };
    let lost = take(&end, |from, frame| {
        hear(from, frame);
        true
    });
    assert_eq!(lost, Some(PeerError::new(1, PeerErrorKind::Gone)));
    assert_eq!(end.send(1, b""), Err(PeerError::new(1, PeerErrorKind::Gone)));
    if !found {
        let lost = take(&end, |from, frame| {
            assert_eq!((from, frame), (2, &b"found"[..]));
            false
        });
        assert_eq!(lost, None, "the other one goes on");
    }
    assert!(other.wait().expect("a child ends").success());
    victim.wait().expect("a child ends");
}

#[test]
fn what_a_process_has_sent_when_it_is_killed_is_whole() {
    for round in 0..10 {
        let end = SharedMemory::create(0, &group(2)).expect("there is memory");
        let file = end.path();
        let mut victim = start(1, "flood 2", &file);
        let mut next = 0;
        let lost = take(&end, |from, bytes| {
            assert_eq!(bytes, frame(from, next), "frame {next}");
            next += 1;
            if next == 1 + round * 997 {
                victim.kill().expect("a child can be killed");
            }
            true
        });
        assert_eq!(lost, Some(PeerError::new(1, PeerErrorKind::Gone)));
        victim.wait().expect("a child ends");
    }
}
