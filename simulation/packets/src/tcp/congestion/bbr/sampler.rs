//! Samples of the delivery rate (draft-ietf-ccwg-bbr, section "Delivery Rate Samples").

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::tcp::spans::Span;

/// What was known when something was sent: one for all that left at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Snapshot {
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    in_flight: u64,
    lost: u64,
    is_app_limited: bool,
}

/// The sampler (state C of the draft).
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct Sampler {
    /// Bytes delivered and lost so far.
    pub delivered: u64,
    pub lost: u64,
    /// When data was last delivered, and when the newest data delivered had been sent.
    delivered_at: Time,
    first_sent: Time,
    /// Samples are limited by the application until this is delivered; 0 for not.
    app_limited: u64,
    /// In the order of time.
    log: VecDeque<Snapshot>,
}

/// A sample (RS of the draft).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Something was delivered.
    pub has_data: bool,
    /// What had been delivered, and lost, when the newest delivered data was sent.
    pub prior_delivered: u64,
    prior_lost: u64,
    /// The time in which it was sent, and in which it was acknowledged.
    send_elapsed: Time,
    ack_elapsed: Time,
    /// Bytes delivered, and lost, between its transmission and its ACK.
    pub delivered: u64,
    pub lost: u64,
    /// Bytes under way when it was sent.
    pub in_flight: u64,
    /// Bytes newly delivered by this ACK.
    pub newly_delivered: u64,
    /// Bytes a second; 0 for no reliable sample.
    pub rate: u64,
    pub is_app_limited: bool,
}

impl Sampler {
    /// Data leaves; `before` and `after`: bytes under way without and with it.
    pub(super) fn on_sent(&mut self, now: Time, before: u64, after: u64) {
        // A pause in which nothing was under way does not count: it would make the link look slow.
        if before == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        if let Some(last) = self.log.back_mut().filter(|last| last.sent == now) {
            last.in_flight = after;
            return;
        }
        self.log.push_back(Snapshot {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            in_flight: after,
            lost: self.lost,
            is_app_limited: self.app_limited != 0,
        });
    }

    fn snapshot(&self, sent: Time) -> Option<&Snapshot> {
        self.log.binary_search_by_key(&sent, |snapshot| snapshot.sent).ok().map(|at| &self.log[at])
    }

    /// A span has been delivered (`UpdateRateSample`).
    pub(super) fn on_arrival(&mut self, sample: &mut Sample, span: &Span, now: Time) {
        self.delivered += u64::from(span.length);
        self.delivered_at = now;
        sample.newly_delivered += u64::from(span.length);
        let Some(snapshot) = self.snapshot(span.sent).copied() else { return };
        if !sample.has_data || span.sent >= self.first_sent {
            sample.has_data = true;
            sample.prior_delivered = snapshot.delivered;
            sample.prior_lost = snapshot.lost;
            sample.in_flight = snapshot.in_flight;
            sample.is_app_limited = snapshot.is_app_limited;
            sample.send_elapsed = span.sent.saturating_sub(snapshot.first_sent);
            sample.ack_elapsed = now.saturating_sub(snapshot.delivered_at);
            self.first_sent = span.sent;
        }
    }

    /// What a lost span says (`HandleLostPacket`): bytes under way when it was sent, bytes lost since, and
    /// whether the application was the limit.
    pub(super) fn on_lost(&mut self, span: &Span) -> Option<(u64, u64, bool)> {
        self.lost += u64::from(span.length);
        self.snapshot(span.sent)
            .map(|snapshot| (snapshot.in_flight, self.lost - snapshot.lost, snapshot.is_app_limited))
    }

    /// Completes the sample of an ACK (`GenerateRateSample`).
    pub(super) fn complete(&mut self, sample: &mut Sample, min_rtt: Time) {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if !sample.has_data {
            return;
        }
        sample.delivered = self.delivered - sample.prior_delivered;
        sample.lost = self.lost - sample.prior_lost;
        let interval = sample.send_elapsed.max(sample.ack_elapsed);
        // In less than any round trip acknowledgements came in a lump: the link is not as fast as that.
        let is_reliable = min_rtt == Time::MAX || interval >= min_rtt;
        if is_reliable && interval > Time::ZERO {
            let rate = u128::from(sample.delivered) * u128::from(Time::TICKS_PER_SECOND);
            sample.rate = u64::try_from(rate / u128::from(interval.as_ticks())).unwrap_or(u64::MAX);
        }
    }

    /// The connection has less to send than it may (`MarkConnectionAppLimited`).
    pub(super) const fn mark_app_limited(&mut self, in_flight: u64) {
        let until = self.delivered + in_flight;
        // 0 stands for not limited.
        self.app_limited = if until > 0 { until } else { 1 };
    }

    pub(super) const fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    pub(super) fn log_length(&self) -> usize {
        self.log.len()
    }

    /// Nothing that is outstanding was sent before `oldest`.
    pub(super) fn forget_before(&mut self, oldest: Time) {
        while self.log.front().is_some_and(|snapshot| snapshot.sent < oldest) {
            self.log.pop_front();
        }
    }

    /// Snapshots are in order and not ahead of the sums.
    pub(super) fn is_consistent(&self) -> bool {
        let is_past =
            |snapshot: &Snapshot| snapshot.delivered <= self.delivered && snapshot.lost <= self.lost;
        self.log.iter().is_sorted_by_key(|snapshot| snapshot.sent) && self.log.iter().all(is_past)
    }
}
