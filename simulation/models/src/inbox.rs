//! A mailbox of one process, with several receives open at a time.
//!
//! A message's transfer starts once it has a receiver. A process that many others send to keeps several
//! receives open, so that their messages are transferred concurrently, as with a permanent receiver in
//! SimGrid.
//!
//! Invariant: messages are taken in the order in which they were sent, even if a later one arrives first.

use std::collections::VecDeque;

use paceline_kernel::Time;
use paceline_processes::{Activity, Process, RequestError};

/// The open receives of a process on its mailbox, in the order in which they were begun.
pub(crate) struct Inbox<P: 'static> {
    mailbox: u64,
    open: VecDeque<Activity<P>>,
}

impl<P: Send + 'static> Inbox<P> {
    /// Opens `receives` receives, at least one, from `mailbox`.
    pub(crate) fn open(cx: &Process<P>, mailbox: u64, receives: usize) -> Self {
        Self { mailbox, open: (0..receives.max(1)).map(|_| cx.start_receive(mailbox)).collect() }
    }

    /// The oldest receive.
    pub(crate) fn front(&mut self) -> &mut Activity<P> {
        self.open.front_mut().expect("there is a receive for each that is over")
    }

    /// Replaces the oldest receive with a new one.
    pub(crate) fn renew(&mut self, cx: &Process<P>) {
        self.open.push_back(cx.start_receive(self.mailbox));
        self.open.pop_front();
    }

    /// Waits for the next message until `until`; `None` if that time has come.
    pub(crate) async fn next(&mut self, cx: &Process<P>, until: Time) -> Option<P> {
        loop {
            let outcome = self.front().wait_within(cx, until.saturating_sub(cx.now())).await;
            if matches!(outcome, Err(RequestError::TimedOut)) {
                return None;
            }
            self.renew(cx);
            // A failed or cancelled send leaves no message.
            if let Ok(Some(message)) = outcome {
                return Some(message);
            }
        }
    }
}
