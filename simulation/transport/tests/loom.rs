//! The ring and the doorbell of shared memory under loom, which tries all interleavings and all effects that
//! the memory orders allow: published data and an announced sleep must never both be missed. The sources are
//! included unchanged, with loom's atomics.
//!
//! `RUSTFLAGS="--cfg paceline_loom" cargo test -p paceline-transport --test loom`

#![cfg(paceline_loom)]
#![allow(unsafe_code, unused)] // as in the sources; a part of them is not used here

#[path = "../src/shm/bell.rs"]
mod bell;
#[path = "../src/shm/ring.rs"]
mod ring;

use paceline_transport::frame;

/// The module that the sources find as `crate::sync`.
mod sync {
    pub(crate) use loom::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicU64, Ordering, fence},
    };

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Loom sees what the memory orders allow; shuttle, for which this is true, does not.
    pub(crate) const SEES_ATOMICS_ONLY: bool = false;

    #[derive(Debug, Default)]
    pub(crate) struct Apart<T>(pub(crate) T);

    impl<T> std::ops::Deref for Apart<T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }
}

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::time::Duration;

use bell::Bell;
use loom::thread;
use ring::{Consumer, Control, Producer, Ring};

/// A ring for four small frames, and the bells of both sides.
struct Pair {
    control: Control,
    bytes: UnsafeCell<[u8; 128]>,
    producer: Bell,
    consumer: Bell,
}

// SAFETY: the bytes are used by a ring with one producer and one consumer.
unsafe impl Send for Pair {}
unsafe impl Sync for Pair {}

impl Pair {
    fn new() -> Arc<Self> {
        let (producer, consumer) = (Bell::default(), Bell::default());
        Arc::new(Self { control: Control::default(), bytes: UnsafeCell::new([0; 128]), producer, consumer })
    }

    fn ring(&self) -> Ring<'_> {
        // SAFETY: the bytes live as long as `self`, and this control is theirs.
        unsafe { Ring::new(&self.control, self.bytes.get().cast(), 128) }
    }
}

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

#[test]
fn a_sleeper_hears_of_every_frame() {
    check(|| {
        let pair = Pair::new();
        let theirs = pair.clone();
        let sender = thread::spawn(move || {
            let mut producer = Producer::default();
            assert_eq!(producer.push(theirs.ring(), b"frame"), Ok(true));
            theirs.consumer.ring();
        });
        let (mut consumer, mut payload) = (Consumer::default(), Vec::new());
        while !consumer.pop(pair.ring(), &mut payload).expect("the ring is undamaged") {
            pair.consumer.arm();
            if !pair.ring().is_pending() {
                pair.consumer.sleep(Duration::MAX);
            }
            pair.consumer.disarm();
        }
        assert_eq!(payload, b"frame");
        sender.join().expect("the sender ends");
    });
}

#[test]
fn a_sender_without_room_hears_of_room() {
    check(|| {
        let pair = Pair::new();
        let mut producer = Producer::default();
        let mut frames = 0;
        while producer.push(pair.ring(), &[frames]).expect("the ring is undamaged") {
            frames += 1;
        }
        let theirs = pair.clone();
        let sender = thread::spawn(move || {
            while !producer.push(theirs.ring(), &[frames]).expect("the ring is undamaged") {
                theirs.producer.arm();
                if theirs.ring().is_refused() {
                    theirs.producer.sleep(Duration::MAX);
                }
                theirs.producer.disarm();
            }
        });
        let (mut consumer, mut payload) = (Consumer::default(), Vec::new());
        for number in 0..frames {
            assert_eq!(consumer.pop(pair.ring(), &mut payload), Ok(true));
            assert_eq!(payload, [number]);
        }
        consumer.release(pair.ring(), &pair.producer);
        sender.join().expect("the sender ends");
        assert_eq!(consumer.pop(pair.ring(), &mut payload), Ok(true));
    });
}
