//! The transports under a random scheduler: built with `--cfg paceline_shuttle`, shuttle may switch threads
//! at every lock and atomic. A wait then has no time limit, so that a lost wake-up shows as a deadlock.
//!
//! `RUSTFLAGS="--cfg paceline_shuttle" cargo test -p paceline-transport --test shuttle`

#![cfg(paceline_shuttle)]

use std::time::Duration;

use paceline_transport::{Fault, Group, Handed, Memory, PeerErrorKind, SharedMemory, Transport};
use shuttle::{sync::Arc, thread};

/// The number of interleavings tried for each case.
const SCHEDULES: usize = 2_000;

/// Sends `frames` numbered frames to the next rank, and receives as many from the previous one, asleep
/// whenever there is nothing to do.
fn pass_on(end: &impl Transport, frames: u8) {
    let next = (end.rank() + 1) % end.ranks();
    let (mut sent, mut seen) = (0, Vec::new());
    while sent < frames || seen.len() < usize::from(frames) {
        let mut busy = sent < frames && end.send(next, &[sent]).expect("nobody is lost") == Handed::Over;
        sent += u8::from(busy);
        busy |= end.receive(&mut |_, frame| seen.push(frame[0])).expect("nobody is lost");
        if !busy && seen.len() < usize::from(frames) {
            end.wait(Duration::MAX);
        }
    }
    assert_eq!(seen, (0..frames).collect::<Vec<_>>());
    end.close();
}

/// Fills a pair, then sends more frames, asleep while there is no room, while the other end receives them.
fn overfill(ends: Vec<impl Transport + 'static>, more: u8, frame_bytes: usize) {
    let [sender, receiver] = <[_; 2]>::try_from(ends).expect("there are two");
    let send = move |sender: &dyn Transport, number| {
        sender.send(1, &vec![number; frame_bytes]).expect("nobody is lost") == Handed::Over
    };
    let mut sent = 0;
    while send(&sender, sent) {
        sent += 1;
    }
    let frames = sent + more;
    let thread = thread::spawn(move || {
        for number in sent..frames {
            while !send(&sender, number) {
                sender.wait(Duration::MAX);
            }
        }
        sender.close();
        sender
    });
    let mut seen = 0;
    while seen < frames {
        let any = receiver.receive(&mut |_, frame| {
            assert_eq!(frame[0], seen);
            seen += 1;
        });
        if !any.expect("nobody is lost") {
            receiver.wait(Duration::MAX);
        }
    }
    drop(thread.join().expect("the sender ends"));
}

fn run(ends: Vec<impl Transport + 'static>, frames: u8) {
    let threads: Vec<_> = ends.into_iter().map(|end| thread::spawn(move || pass_on(&end, frames))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
}

#[test]
fn memory_wakes_whoever_waits() {
    shuttle::check_random(|| run(Memory::mesh(3), 3), SCHEDULES);
}

#[test]
fn a_simulated_network_wakes_whoever_waits() {
    for seed in 0..20 {
        shuttle::check_random(move || run(Memory::simulated(3, seed), 3), SCHEDULES / 20);
    }
}

#[test]
fn memory_wakes_a_sender_that_had_no_room() {
    shuttle::check_random(|| overfill(Memory::mesh(2), 3, 1), SCHEDULES / 4);
}

/// Rings of 1 KiB: four frames of this size fill one.
const FRAME_BYTES: usize = 232;

fn shared_memory(ranks: u32) -> Vec<SharedMemory> {
    SharedMemory::in_process(&Group::all(ranks).ring_bytes(1 << 10)).expect("the group is in order")
}

#[test]
fn shared_memory_wakes_whoever_waits() {
    shuttle::check_random(|| run(shared_memory(3), 3), SCHEDULES);
}

#[test]
fn shared_memory_wakes_a_sender_that_had_no_room() {
    shuttle::check_random(|| overfill(shared_memory(2), 4, FRAME_BYTES), 5 * SCHEDULES);
}

#[test]
fn shared_memory_takes_frames_of_several_threads() {
    shuttle::check_random(
        || {
            let [sender, receiver] = <[_; 2]>::try_from(shared_memory(2)).expect("there are two");
            let sender = Arc::new(sender);
            let threads: Vec<_> = (0..2_u8)
                .map(|thread| {
                    let sender = sender.clone();
                    thread::spawn(move || {
                        for number in 0..2 {
                            assert_eq!(sender.send(1, &[thread, number]), Ok(Handed::Over));
                        }
                    })
                })
                .collect();
            let mut seen = [0; 2];
            while seen != [2; 2] {
                let any = receiver.receive(&mut |_, frame| {
                    assert_eq!(frame[1], seen[usize::from(frame[0])]);
                    seen[usize::from(frame[0])] += 1;
                });
                if !any.expect("nobody is lost") {
                    receiver.wait(Duration::MAX);
                }
            }
            threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
        },
        SCHEDULES,
    );
}

#[test]
fn a_wake_up_ends_a_wait_in_shared_memory() {
    shuttle::check_random(
        || {
            let ends = Arc::new(shared_memory(2));
            let waker = ends.clone();
            let thread = thread::spawn(move || waker[0].wake());
            ends[0].wait(Duration::MAX);
            thread.join().expect("a thread ends");
        },
        SCHEDULES,
    );
}

#[test]
fn a_fault_wakes_whoever_waits() {
    let faults = [
        (Fault::Cut(0, 1), PeerErrorKind::Gone),
        (Fault::Kill(0), PeerErrorKind::Gone),
        (Fault::Stop(0, Duration::MAX), PeerErrorKind::Silent(Duration::MAX)),
    ];
    for (fault, kind) in faults {
        shuttle::check_random(
            move || {
                let mut ends = Memory::simulated(2, 1);
                let (fault, kind) = (fault.clone(), kind.clone());
                let waiting = ends.pop().expect("there are two");
                let waiter = thread::spawn(move || {
                    loop {
                        match waiting.receive(&mut |_, _| {}) {
                            Ok(_) => waiting.wait(Duration::MAX),
                            Err(lost) => break assert_eq!(lost.kind, kind),
                        }
                    }
                });
                ends[0].inject(fault);
                waiter.join().expect("the waiter ends");
            },
            SCHEDULES,
        );
    }
}
