//! Who may be about to send again: a VCPU that was running when DOM0 last got a message.
//!
//! The host does not say who has sent. If several VCPUs run, each of them may have, and counts as the sender.
//!
//! Invariant: an extension ends at most a span after the message, and lets nobody go more than a span beyond
//! its turn, however much is sent.

use crate::MICROSECOND;

/// A system call that sends, with the way through a guest's network stack, takes some microseconds; cold
/// caches, an interrupt or DOM0 come on top.
const MOST_NS: u64 = 50 * MICROSECOND;

/// When DOM0 got its last message.
#[derive(Debug)]
pub(super) struct Sending {
    span_ns: u64,
    last_ns: Option<u64>,
}

impl Sending {
    /// Nothing has been sent. Extensions are no longer than `most_ns`.
    pub fn new(most_ns: u64) -> Self {
        Self { span_ns: most_ns.min(MOST_NS), last_ns: None }
    }

    /// DOM0 gets a message.
    pub fn note(&mut self, now_ns: u64) {
        self.last_ns = Some(now_ns);
    }

    /// For how long a VCPU that has been running since `since_ns` may go on although its turn is over: by
    /// `ahead_ns`, which is not positive. Not positive if it may not.
    pub fn extends_ns(&self, now_ns: u64, since_ns: u64, ahead_ns: i64) -> i64 {
        let Some(last_ns) = self.last_ns.filter(|last_ns| since_ns <= *last_ns) else { return ahead_ns };
        let left_ns = (last_ns + self.span_ns).saturating_sub(now_ns);
        (left_ns as i64).min(self.span_ns as i64 + ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_ran_when_it_was_sent_may_go_on_and_for_a_span_at_most() {
        let mut sending = Sending::new(20 * MICROSECOND);
        let extends = |sending: &Sending, now: u64, since: u64, ahead: i64| {
            sending.extends_ns(now * MICROSECOND, since * MICROSECOND, ahead * 1_000)
        };
        assert_eq!(extends(&sending, 100, 0, -1), -1_000);
        sending.note(100 * MICROSECOND);
        assert_eq!(extends(&sending, 105, 100, 0), 15_000);
        assert_eq!(extends(&sending, 105, 100, -8), 12_000);
        assert!(extends(&sending, 105, 100, -20) <= 0, "a span beyond its turn");
        assert!(extends(&sending, 120, 100, 0) <= 0, "a span after the message");
        assert_eq!(extends(&sending, 105, 101, -1), -1_000);
    }
}
