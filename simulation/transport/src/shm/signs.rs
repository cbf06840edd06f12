//! Signs of life through shared memory: a thread of each process counts up in its [`Post`](super::Post), and
//! notices whose count stands still.
//!
//! A process that has ended is found by its lock, at once ([`Watch`](super::link::Watch)). One that the
//! system has stopped holds its lock for ever, and only its silence shows that nothing will come from it. The
//! engine looks for silence as well, but only once its run has begun, and not while a process reads its
//! model.
//!
//! Invariant: the thread ends when its handle is dropped, and waits for nobody but the clock until then.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use super::{JOINED, SharedMemory};
use crate::silence::{Limits, Verdict};
use crate::sync::Ordering;
use crate::{PeerErrorKind, Transport};

#[derive(Debug)]
pub(crate) struct Signs {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Signs {
    pub(crate) fn start(shared: &Arc<SharedMemory>, limits: Limits) -> io::Result<Self> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (shared, ended) = (Arc::clone(shared), Arc::clone(&over));
        let thread = Builder::new().name("signs of life".to_owned());
        let thread = thread.spawn(move || give(&shared, &ended, limits))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Signs {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        // It panics only if an invariant is broken, which has been reported then.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The body of the thread that gives signs of life and watches for those of others.
fn give(shared: &SharedMemory, (over, changed): &(Mutex<bool>, Condvar), limits: Limits) {
    let every = limits.every();
    let mut last = Instant::now();
    let mut heard = vec![(0, last); shared.links.len()];
    let mut is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        drop(is_over);
        let now = Instant::now();
        shared.region.post(shared.member).signs.fetch_add(1, Ordering::Relaxed);
        // If this process was stopped itself, the others may have been too: their silence starts anew.
        let was_stopped = now.duration_since(last) > 2 * every;
        last = now;
        let mut nap = every;
        for member in shared.others() {
            let (signs, since) = &mut heard[member];
            let (link, post) = (&shared.links[member], shared.region.post(member));
            let known = post.signs.load(Ordering::Relaxed);
            if known != *signs || was_stopped || post.state.load(Ordering::Acquire) != JOINED {
                (*signs, *since) = (known, now);
            }
            match limits.judge(now.duration_since(*since), link.has_spoken()) {
                Verdict::Alive(left) | Verdict::Late(left) => nap = nap.min(left),
                Verdict::Lost(limit) if link.lost().is_none() => {
                    link.lose(PeerErrorKind::Silent(limit));
                    shared.wake();
                }
                Verdict::Lost(_) => {}
            }
        }
        is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            is_over = changed.wait_timeout(is_over, nap).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
