//! Where the thread of the machines sleeps until an order comes or a machine says something.
//!
//! It sleeps at several words at once (futex_waitv(2), Linux 5.16): the bells of the machines that run, and
//! one of its own, which rings for orders. Where the system has no such call, or a machine no bell, it polls
//! descriptors.
//!
//! Invariant: no ring is lost. Who rings changes the word first, then looks whether the thread sleeps; the
//! thread says that it will, then has the word compared with what it was before it looked for orders. Only
//! the thread says that it sleeps no more: if who rings did, a late one could say so between what the thread
//! said and its sleep, and the next one would wake nobody.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::futex::{self, Wait, WaitFlags, WaitPtr, WaitvFlags, waitv};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::machine::{Bell, Machine};
use crate::guest::LOOK_EVERY;

/// At how many words a thread can sleep.
const MOST_WORDS: usize = 128;

/// What `Alarm::sleeps` says.
const AWAKE: u32 = 0;
const AT_WORDS: u32 = 1;
const AT_DESCRIPTORS: u32 = 2;

/// Wakes the thread.
pub(super) struct Alarm {
    /// How often it was rung.
    word: AtomicU32,
    /// Whether the thread sleeps, and where.
    sleeps: AtomicU32,
    /// A byte here wakes it from descriptors.
    bytes: UnixStream,
}

impl Alarm {
    pub(super) fn ring(&self) {
        self.word.fetch_add(1, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        match self.sleeps.load(SeqCst) {
            AT_WORDS => {
                // The word is in mapped memory, so the call cannot fail.
                let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
            }
            AT_DESCRIPTORS => {
                // A socket that is full of bytes wakes already.
                let _ = (&self.bytes).write(&[1]);
            }
            _ => {}
        }
    }
}

/// The thread's side of its alarm.
pub(super) struct Sleeper {
    alarm: Arc<Alarm>,
    bytes: UnixStream,
    /// How often the alarm had rung when the thread last looked for orders.
    heard: u32,
    has_words: bool,
}

impl Sleeper {
    pub(super) fn new() -> io::Result<Self> {
        let (bytes, heard_bytes) = UnixStream::pair()?;
        bytes.set_nonblocking(true)?;
        heard_bytes.set_nonblocking(true)?;
        let alarm = Arc::new(Alarm { word: AtomicU32::new(0), sleeps: AtomicU32::new(AWAKE), bytes });
        // The word has another value: the call returns at once, if there is one.
        let answer = waitv(&[word(&alarm.word, 1, true)], WaitvFlags::empty(), None, ClockId::Monotonic);
        Ok(Self { alarm, bytes: heard_bytes, heard: 0, has_words: answer == Err(Errno::AGAIN) })
    }

    pub(super) fn alarm(&self) -> Arc<Alarm> {
        self.alarm.clone()
    }

    /// Whether it can sleep at the bells of this many machines.
    pub(super) fn takes(&self, machines: usize) -> bool {
        self.has_words && machines < MOST_WORDS
    }

    /// The thread is about to look for orders: what rings later is new.
    pub(super) fn is_awake(&mut self) {
        self.heard = self.alarm.word.load(SeqCst);
    }

    /// Sleeps until the alarm or the bell of a machine rings; with machines, at most as long as they are not
    /// to be looked at.
    pub(super) fn at_words<'a>(&self, machines: impl Iterator<Item = &'a mut dyn Machine>) {
        let mut words = vec![word(&self.alarm.word, self.heard, true)];
        let mut deadline = None;
        for machine in machines {
            deadline = sooner(deadline, machine.deadline());
            let Some(Bell { word: bell, heard }) = machine.bell() else { return };
            words.push(word(bell, heard, false));
        }
        let look = (words.len() > 1).then_some(LOOK_EVERY);
        let end = left(deadline).into_iter().chain(look).min().and_then(end);
        self.alarm.sleeps.store(AT_WORDS, Relaxed);
        fence(SeqCst);
        // Whatever ends the sleep (a ring, the time limit, a signal), the thread looks at everything.
        let _ = waitv(&words, WaitvFlags::empty(), end.as_ref(), ClockId::Monotonic);
        self.alarm.sleeps.store(AWAKE, Relaxed);
    }

    /// The same at the descriptors of machines.
    pub(super) fn at_descriptors<'a>(&mut self, machines: impl Iterator<Item = &'a dyn Machine>) {
        let mut descriptors = vec![PollFd::new(&self.bytes, PollFlags::IN)];
        let mut deadline = None;
        for machine in machines {
            deadline = sooner(deadline, machine.deadline());
            descriptors.push(PollFd::from_borrowed_fd(machine.fd(), PollFlags::IN));
        }
        self.alarm.sleeps.store(AT_DESCRIPTORS, Relaxed);
        fence(SeqCst);
        if self.alarm.word.load(Relaxed) == self.heard {
            let timeout = left(deadline).and_then(|left| Timespec::try_from(left).ok());
            let _ = poll(&mut descriptors, timeout.as_ref());
        }
        drop(descriptors);
        self.alarm.sleeps.store(AWAKE, Relaxed);
        let mut bytes = [0; 256];
        while matches!(self.bytes.read(&mut bytes), Ok(256)) {}
    }
}

fn sooner(first: Option<Instant>, second: Option<Instant>) -> Option<Instant> {
    first.into_iter().chain(second).min()
}

/// How long until a deadline; a little longer, so that `Machine::read` finds it passed.
fn left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1))
}

/// The time of the monotonic clock after so long.
fn end(left: Duration) -> Option<Timespec> {
    clock_gettime(ClockId::Monotonic).checked_add(Timespec::try_from(left).ok()?)
}

/// To sleep as long as a word has a value. The word must stay where it is meanwhile.
fn word(word: &AtomicU32, value: u32, is_private: bool) -> Wait {
    let mut wait = Wait::new();
    wait.val = value.into();
    wait.uaddr = WaitPtr::new(word.as_ptr().cast());
    wait.flags = WaitFlags::SIZE_U32;
    wait.flags.set(WaitFlags::PRIVATE, is_private);
    wait
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// Who has rung, and is late to look whether the thread sleeps, finds it about to sleep for the next
    /// ring.
    #[test]
    fn a_late_ring_takes_nothing_from_the_next_one() {
        for place in [AT_WORDS, AT_DESCRIPTORS] {
            let mut sleeper = Sleeper::new().unwrap();
            let alarm = sleeper.alarm();
            alarm.word.fetch_add(1, SeqCst);
            sleeper.is_awake();
            alarm.sleeps.store(place, SeqCst);
            alarm.wake();
            assert_eq!(alarm.sleeps.load(SeqCst), place, "the next ring wakes it");
        }
    }

    /// What several threads order is seen, however the thread sleeps, and no sleep lasts until a limit: there
    /// is none. Each waits for its order before it gives the next one, so that one lost ring stops
    /// everything.
    #[test]
    fn no_ring_is_lost() {
        const THREADS: usize = 4;
        const ORDERS: u32 = 10_000;
        for at_words in [true, false] {
            let mut sleeper = Sleeper::new().unwrap();
            if at_words && !sleeper.takes(1) {
                // This system cannot sleep at several words.
                continue;
            }
            let orders: Arc<[AtomicU32; THREADS]> = Arc::default();
            let order = |thread: usize| {
                let (alarm, orders) = (sleeper.alarm(), orders.clone());
                move || {
                    for _ in 0..ORDERS {
                        orders[thread].store(1, SeqCst);
                        alarm.ring();
                        while orders[thread].load(SeqCst) != 0 {
                            thread::yield_now();
                        }
                    }
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| thread::spawn(order(thread))).collect();
            let (done, is_done) = mpsc::channel();
            thread::spawn(move || {
                let mut seen = 0;
                while seen != THREADS as u32 * ORDERS {
                    sleeper.is_awake();
                    match orders.iter().map(|order| order.swap(0, SeqCst)).sum() {
                        0 if at_words => sleeper.at_words(std::iter::empty()),
                        0 => sleeper.at_descriptors(std::iter::empty()),
                        orders => seen += orders,
                    }
                }
                done.send(()).unwrap();
            });
            is_done.recv_timeout(Duration::from_secs(60)).expect("every order is seen");
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    }
}
