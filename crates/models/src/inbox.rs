//! A mailbox of one process, with several receives open at a time.
//!
//! A message flows once it has a receiver. Somebody to whom many send keeps several receives open, so that their messages flow
//! side by side, as they do to a permanent receiver in SimGrid.
//!
//! Invariant: messages are taken in the order in which they were sent, also where a later one arrives first.

use std::collections::VecDeque;

use paceline_kernel::Time;
use paceline_processes::{Activity, Failure, Process};

/// See the module.
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

    /// Opens a receive instead of the oldest one.
    pub(crate) fn renew(&mut self, cx: &Process<P>) {
        self.open.push_back(cx.start_receive(self.mailbox));
        self.open.pop_front();
    }

    /// Waits for the next message until `until`; none where that has come.
    pub(crate) async fn next(&mut self, cx: &Process<P>, until: Time) -> Option<P> {
        loop {
            let outcome = self.front().wait_within(cx, until.saturating_sub(cx.now())).await;
            if matches!(outcome, Err(Failure::TimedOut)) {
                return None;
            }
            self.renew(cx);
            // Whose sender has given it up has no message.
            if let Ok(Some(message)) = outcome {
                return Some(message);
            }
        }
    }
}
