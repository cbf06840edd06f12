//! Waiting for a guest: at the page that it shares with the coordinator, or at its socket.
//!
//! A coordinator of one guest waits at the page, where most answers are. One of several guests polls their
//! sockets and calls [`Guest::read`]; each guest then answers over its socket.
//!
//! A guest that does not answer is given up after its patience in real time. One whose emulator is at work
//! all the while is held up by what else runs on the machine: it has as much again in CPU.

use super::wire::next_ns;
use super::{Guest, GuestError, GuestState, Stopped};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::time::{Duration, Instant};

/// How often a coordinator that waits at the page looks at the socket, which alone says that the emulator has
/// ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Guest {
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
