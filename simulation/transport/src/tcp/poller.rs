//! What threads sleep on: an epoll set with the sockets of all peers and an eventfd for wake-ups; and for the
//! helper thread a second set that contains the first one.
//!
//! All sockets are edge-triggered: an event says that something has changed, and the link remembers it until
//! the data has been read. The eventfd is not: several threads look at the set, and only the one that was to
//! be woken may take the wake-up ([`Poller::hush`]). An edge would go to whoever looks first, and leave the
//! sleeper asleep. The first set is watched by the second one for one event at a time (EPOLLONESHOT), when
//! [`Poller::arm`] asks for it. So an arrival wakes the helper thread only while another thread sleeps on
//! something else.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, Result, read, write};
use rustix::time::Timespec;

/// The data of events that do not belong to a peer.
const WAKE: u64 = u64::MAX;

/// The most events of one call.
const EVENTS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) peer: u32,
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
    /// Nothing more will come after what can be read now.
    pub(super) is_ending: bool,
}

/// The descriptors that threads sleep on.
#[derive(Debug)]
pub(super) struct Poller {
    sockets: OwnedFd,
    wake: OwnedFd,
    outer: OwnedFd,
    stop: OwnedFd,
}

impl Poller {
    pub(super) fn new() -> Result<Self> {
        let (sockets, outer) = (epoll::create(CreateFlags::CLOEXEC)?, epoll::create(CreateFlags::CLOEXEC)?);
        let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let (wake, stop) = (bell()?, bell()?);
        let data = EventData::new_u64(WAKE);
        epoll::add(&sockets, &wake, data, EventFlags::IN)?;
        epoll::add(&outer, &stop, data, EventFlags::IN)?;
        epoll::add(&outer, &sockets, data, EventFlags::empty() | EventFlags::ONESHOT)?;
        Ok(Self { sockets, wake, outer, stop })
    }

    pub(super) fn add(&self, peer: u32, socket: impl AsFd) -> Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.sockets, socket, EventData::new_u64(u64::from(peer)), flags)
    }

    /// Calls `each` with the events of sockets, after sleeping up to `most` for them. Also returns, without
    /// events, after [`Poller::wake`] or a signal.
    pub(super) fn wait(&self, most: Duration, mut each: impl FnMut(Event)) {
        let mut events = Vec::with_capacity(EVENTS);
        let most = Timespec::try_from(most).ok();
        // The descriptors are ours and valid: only a signal can end the call with an error.
        if epoll::wait(&self.sockets, spare_capacity(&mut events), most.as_ref()).is_err() {
            return;
        }
        for event in events.iter().filter(|event| event.data.u64() != WAKE) {
            let flags = event.flags;
            let ending = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
            each(Event {
                peer: event.data.u64() as u32,
                is_readable: flags.intersects(EventFlags::IN | ending),
                is_ending: flags.intersects(ending),
                is_writable: flags.intersects(EventFlags::OUT | EventFlags::ERR),
            });
        }
    }

    /// Ends all calls of [`Poller::wait`], the current ones and later ones, until [`Poller::hush`].
    pub(super) fn wake(&self) {
        ring(&self.wake);
    }

    /// Takes the wake-ups so far: called by the thread that they are for, before it checks why it was woken.
    pub(super) fn hush(&self) {
        // If there was none, there is nothing to read.
        let _ = read(&self.wake, &mut [0_u8; 8]);
    }

    /// Lets the next arrival, or one that [`Poller::wait`] has not seen yet, end the sleep of the helper
    /// thread, once.
    pub(super) fn arm(&self) {
        let flags = EventFlags::IN | EventFlags::ONESHOT;
        let armed = epoll::modify(&self.outer, &self.sockets, EventData::new_u64(WAKE), flags);
        debug_assert_eq!(armed, Ok(()), "both sets are ours and open");
    }

    /// The sleep of the helper thread. Returns whether it ended early.
    pub(super) fn nap(&self, most: Duration) -> bool {
        let mut events = Vec::with_capacity(2);
        let most = Timespec::try_from(most).ok();
        epoll::wait(&self.outer, spare_capacity(&mut events), most.as_ref()).is_ok_and(|found| found > 0)
    }

    /// Ends all sleeps of the helper thread from now on.
    pub(super) fn stop(&self) {
        ring(&self.stop);
    }
}

fn ring(bell: &OwnedFd) {
    // If the eventfd is full, it is signalled already.
    let rung = write(bell, &1_u64.to_ne_bytes());
    debug_assert!(matches!(rung, Ok(8) | Err(Errno::AGAIN)), "the eventfd is ours and open");
}
