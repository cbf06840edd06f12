//! Signs of life: a thread of each process lets the others know that it is there, and notices who is silent.
//!
//! A process that computes for long sends nothing else; one that the system has stopped, or that cannot be reached, sends nothing at all. So
//! every process sends a short message every quarter of the limit, and one from which no frame has come for the whole limit is lost.
//!
//! The message tells of which rounds all messages have been sent: where all processes have said so of the round that is open, and all have
//! contributed to it, what is still missing never comes. A slow process has not contributed yet.
//!
//! Invariant: the thread ends when its handle is dropped, and waits for nobody but the clock until then.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use paceline_kernel::Model;
use paceline_transport::PeerErrorKind;

use super::{Peers, PeersError, PeersErrorKind};
use crate::RunError;

/// Signs of life in the time after which a silent process is lost.
const SIGNS: u32 = 4;

/// The handle on the thread.
#[derive(Debug)]
pub(crate) struct Pulse {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Starts the thread. A process that is silent for `limit` is lost.
    pub(crate) fn start<M: Model + 'static>(
        peers: &Arc<Peers<M>>,
        limit: Duration,
    ) -> Result<Self, RunError> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (peers, shared) = (Arc::clone(peers), Arc::clone(&over));
        let thread = Builder::new().name("paceline-pulse".into()).spawn(move || beat(&peers, &shared, limit));
        let failed = |error| RunError::Threads(format!("the thread that gives signs of life: {error}"));
        Ok(Self { over, thread: Some(thread.map_err(failed)?) })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        // A panic of it has been reported.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The thread.
fn beat<M: Model>(peers: &Peers<M>, (over, changed): &(Mutex<bool>, Condvar), limit: Duration) {
    let mut heard: Vec<(u64, Instant)> = vec![(0, Instant::now()); peers.transport().ranks() as usize];
    let mut is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        drop(is_over);
        peers.give_sign();
        peers.drain();
        if let Ok(_handling) = peers.handling.try_lock() {
            peers.look_for_missing();
        }
        if peers.is_pending() {
            // Whoever sleeps may have missed what was taken in here.
            peers.transport().wake();
        }
        let now = Instant::now();
        for rank in peers.others_of(peers.rank()) {
            let (frames, since) = &mut heard[rank as usize];
            let known = peers.frames_from(rank);
            if known != *frames {
                (*frames, *since) = (known, now);
            } else if now.duration_since(*since) > limit {
                peers.note(PeersError::new(rank, PeersErrorKind::Lost(PeerErrorKind::Silent(limit))));
                peers.transport().wake();
            }
        }
        is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            let waited = changed.wait_timeout(is_over, limit / SIGNS);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<M: Model> Peers<M> {
    /// Lets the others know that this process is there, unless it is sending them something anyway.
    fn give_sign(&self) {
        for rank in self.others_of(self.rank()) {
            let Ok(mut outgoing) = self.outgoing[rank as usize].try_lock() else { continue };
            if let Err(error) = outgoing.give_sign(self.now_ns(), |frame| self.transport.send(rank, frame)) {
                self.note(error.into());
            }
        }
    }
}
