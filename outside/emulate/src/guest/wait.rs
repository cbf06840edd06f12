//! Waiting for a guest: at the page that it shares with the coordinator, or at its socket.
//!
//! A coordinator of one guest waits at the page, where most answers are. One of several guests sleeps until
//! one of their bells rings, or polls their sockets, and calls [`Guest::read`].
//!
//! Who waits for one guest has nothing else to do, and looks for its answer for some microseconds before it
//! sleeps; the guest does the same for the next order. One of several does not: more guests than cores is the
//! normal case, and a core on which somebody looks is one on which nobody computes.
//!
//! A guest that does not answer is given up after its patience in real time. One whose emulator is at work
//! all the while is held up by what else runs on the machine: it has as much again in CPU.

use super::page::Answering;
use super::spin::{self, Spins};
use super::wire::{Order, next_ns};
use super::{Guest, GuestError, GuestState, Stopped};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::sync::atomic::AtomicU32;
use std::thread;
use std::time::{Duration, Instant};

/// How often a coordinator that waits at the page looks at the socket, which alone says that the emulator has
/// ended.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How this process waits for a guest.
#[derive(Debug)]
pub(super) struct Listening {
    /// All answers that can be are at the page, since somebody listens to the bell.
    rings: bool,
    /// The bell has not rung since, but the socket was looked at then.
    looked: Instant,
    spins: Spins,
    /// The longest spin of either side: none where there is one core.
    longest: Duration,
}

impl Default for Listening {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let longest = if cores > 1 { spin::LONGEST } else { Duration::ZERO };
        Self { rings: false, looked: Instant::now(), spins: Spins::default(), longest }
    }
}

impl Listening {
    pub(super) fn rings(&self) -> bool {
        self.rings
    }

    /// The guest is given an order now; how its answer is waited for.
    pub(super) fn answering(&mut self, order: Order) -> Answering {
        self.looked = Instant::now();
        match (order, self.rings) {
            // What a guest says when it is saved goes over the socket.
            (Order::Save, _) => Answering::default(),
            (Order::Grant { .. }, true) => Answering { waits_here: true, spin_ns: 0 },
            (Order::Grant { .. }, false) => {
                Answering { waits_here: false, spin_ns: self.longest.as_nanos() as u32 }
            }
        }
    }
}

impl Guest {
    /// The bell of the guest, which runs: a word, and what it is until the guest rings. Whoever sleeps until
    /// it is something else (futex(2)) is woken when [`read`](Self::read) may give something; but not by an
    /// emulator that has ended, for which `read` looks every 20 ms. `None` before the guest has stood for the
    /// first time.
    ///
    /// From the first call on its answers come by the bell alone, which costs half as much, and the
    /// descriptor of [`AsFd`](std::os::fd::AsFd) need not become readable.
    pub fn bell(&mut self) -> Option<(&AtomicU32, u32)> {
        let page = self.page.as_ref()?;
        if !self.listening.rings {
            self.listening.rings = true;
            page.expect_answer();
        }
        Some(page.listen())
    }

    /// What the page says of a guest that runs. Asks the system only if the bell has rung, or it is time to
    /// look whether the guest is still there.
    pub(super) fn read_page(&mut self) -> Result<Option<Stopped>, GuestError> {
        let Some(page) = self.page.as_mut() else { return self.receive(RecvFlags::DONTWAIT) };
        page.wake_up();
        if let Some((time_ns, next)) = page.answer().filter(|_| self.order.is_some()) {
            return Ok(Some(self.stopped(time_ns, next_ns(next), GuestState::Standing)));
        }
        let now = Instant::now();
        if !page.has_rung() && now.saturating_duration_since(self.listening.looked) < LOOK_EVERY {
            return Ok(None);
        }
        self.listening.looked = now;
        self.receive(RecvFlags::DONTWAIT)
    }

    /// Waits until the guest stands again.
    pub fn wait(&mut self) -> Result<Stopped, GuestError> {
        loop {
            let stopped = match self.page {
                Some(_) => self.wait_at_page()?,
                // One that has not greeted yet has no page. The socket has the guest's patience as its limit.
                None => self.receive(RecvFlags::empty())?,
            };
            if let Some(stopped) = stopped {
                return Ok(stopped);
            }
        }
    }

    /// Waits until the guest says something, or it is time to look whether it is still there.
    fn wait_at_page(&mut self) -> Result<Option<Stopped>, GuestError> {
        let page = self.page.as_mut().expect("it has greeted");
        page.expect_answer();
        let Listening { spins, longest, .. } = &mut self.listening;
        let may_spin = !longest.is_zero() && spins.is_next_worth_it();
        let has_rung = may_spin && page.spin(*longest);
        if may_spin {
            spins.ended(has_rung);
        }
        if !page.has_rung() {
            page.sleep(LOOK_EVERY);
        }
        if let Some((time_ns, next)) = page.answer() {
            return Ok(Some(self.stopped(time_ns, next_ns(next), GuestState::Standing)));
        }
        self.receive(RecvFlags::DONTWAIT)
    }

    pub(super) fn receive(&mut self, flags: RecvFlags) -> Result<Option<Stopped>, GuestError> {
        if let Some(stopped) = self.take_records()? {
            return Ok(Some(stopped));
        }
        loop {
            let received = recv(&self.socket, self.inbox.space(), flags);
            match received {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Err(self.died()),
                Ok((count, _)) => self.inbox.received(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(self.broken(&format!("its socket: {error}"))),
            }
            // An answer that has come counts, however late this process reads it.
            if let Some(stopped) = self.take_records()? {
                return Ok(Some(stopped));
            }
            // Looked at after frames, too: a guest that sends without end does not answer either.
            if self.order.is_some_and(|(_, since)| since.elapsed() >= self.patience) && !self.is_held_up() {
                return Err(self.hung());
            }
            if received == Err(Errno::AGAIN) {
                return Ok(None);
            }
        }
    }

    /// Whether a guest whose patience is over is to be waited for once more: its emulator would compute if it
    /// had a core, and has not used as much of one since the patience was over for the first time.
    fn is_held_up(&mut self) -> bool {
        let Some((order, _)) = self.order else { return false };
        let cpu = self.process.cpu_time();
        let used = cpu.saturating_sub(*self.held_up.get_or_insert(cpu));
        let is_held_up = self.process.is_runnable() && used < self.patience;
        if is_held_up {
            self.order = Some((order, Instant::now()));
        }
        is_held_up
    }

    /// Sleeps until something comes over the socket, or the guest is to be given up.
    pub(super) fn sleep(&self) -> Result<(), GuestError> {
        let left = self.deadline().map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        // A little later than the deadline, so that `read` finds it passed.
        let left = left + Duration::from_millis(1);
        let timeout = left.try_into().ok();
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(self.broken(&format!("its socket: {error}"))),
        }
    }
}
