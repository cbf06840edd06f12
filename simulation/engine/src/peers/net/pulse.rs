//! Signs of life: a thread of each process lets the others know that it is there, and notices who is silent.
//!
//! A process that computes for long sends nothing else; one that the system has stopped, or that cannot be
//! reached, sends nothing at all. So every process sends a short message every quarter of the limit, and one
//! from which no frame has come for the whole limit is lost.
//!
//! The message says of which rounds all messages have been sent: where all processes have said so of the
//! round that is open, and all have contributed to it, what is still missing never comes. A slow process has
//! not contributed yet.
//!
//! Invariant: the thread ends when its handle is dropped, and waits for nobody but the clock until then.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use paceline_kernel::Model;
use paceline_transport::PeerErrorKind;

use super::{Peers, PeersError, PeersErrorKind};
use crate::RunError;

/// Signs of life in the time after which a silent process is lost: one or two may be late on a machine with
/// much to do.
const SIGNS: u32 = 4;

/// Another process of the run gives no sign of life, or does again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The rank of the silent process.
    pub rank: u32,
    /// How long nothing has come from it; none if something has again.
    pub silent: Option<Duration>,
    /// After how long in all it is lost, and ends the run.
    pub limit: Duration,
}

/// The function that is called for processes that give no sign of life.
pub(super) type SilenceListener = Arc<dyn Fn(Silence) + Send + Sync>;

#[derive(Debug)]
pub(crate) struct Pulse {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Starts the thread. A process that is silent for `limit` is lost; `listener` is called before that.
    pub(crate) fn start<M: Model + 'static>(
        peers: &Arc<Peers<M>>,
        limit: Duration,
        listener: Option<SilenceListener>,
    ) -> Result<Self, RunError> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (peers, shared) = (Arc::clone(peers), Arc::clone(&over));
        let beat = move || beat(&peers, &shared, limit, listener.as_deref());
        let thread = Builder::new().name("paceline-pulse".into()).spawn(beat);
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

/// What has been heard of a process.
#[derive(Clone, Copy, Debug)]
struct Heard {
    frames: u64,
    since: Instant,
    is_reported: bool,
}

/// The body of the thread that gives signs of life and watches for those of others.
fn beat<M: Model>(
    peers: &Peers<M>,
    (over, changed): &(Mutex<bool>, Condvar),
    limit: Duration,
    listener: Option<&(dyn Fn(Silence) + Send + Sync)>,
) {
    let nothing = Heard { frames: 0, since: Instant::now(), is_reported: false };
    let mut heard = vec![nothing; peers.transport().ranks() as usize];
    let mut is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        drop(is_over);
        peers.give_sign();
        peers.drain();
        // Whoever handles messages at this moment will look again, as will this thread.
        if let Ok(_handling) = peers.handling.try_lock() {
            peers.look_for_missing();
        }
        if peers.is_pending() {
            // Whoever sleeps may have missed what was taken in here.
            peers.transport().wake();
        }
        let mut nap = limit / SIGNS;
        for rank in peers.others_of(peers.rank()) {
            let left = peers.look_at_silence(rank, &mut heard[rank as usize], limit, listener);
            // Whoever is silent is lost at the limit, and not at the sign of this process after it.
            nap = nap.min(left);
        }
        is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            let waited = changed.wait_timeout(is_over, nap);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<M: Model> Peers<M> {
    /// Looks whether frames have come from the process `rank` since the last look. Gives the time after which
    /// it is lost if none comes.
    fn look_at_silence(
        &self,
        rank: u32,
        heard: &mut Heard,
        limit: Duration,
        listener: Option<&(dyn Fn(Silence) + Send + Sync)>,
    ) -> Duration {
        let (now, frames) = (Instant::now(), self.frames_from(rank));
        if frames != heard.frames {
            if heard.is_reported {
                listener.iter().for_each(|listener| listener(Silence { rank, silent: None, limit }));
            }
            *heard = Heard { frames, since: now, is_reported: false };
            return limit;
        }
        let silent = now.duration_since(heard.since);
        if silent >= limit {
            self.note(PeersError::new(rank, PeersErrorKind::Lost(PeerErrorKind::Silent(limit))));
            self.transport.wake();
            return limit;
        }
        if silent >= limit / 2 && !std::mem::replace(&mut heard.is_reported, true) {
            listener.iter().for_each(|listener| listener(Silence { rank, silent: Some(silent), limit }));
        }
        limit - silent
    }

    /// Lets the others know that this process is there, unless it is sending them something anyway.
    fn give_sign(&self) {
        for rank in self.others_of(self.rank()) {
            // Whoever has it is sending something, which is a sign of life too.
            let Ok(mut outgoing) = self.outgoing[rank as usize].try_lock() else { continue };
            if let Err(error) = outgoing.give_sign(self.now_ns(), |frame| self.transport.send(rank, frame)) {
                self.note(error.into());
            }
        }
    }
}
