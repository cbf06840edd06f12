//! Routes found by flooding, as in AODV (Perkins and Royer, 1999).
//!
//! A request goes to all hosts in range, which pass on its first copy, up to a number of hops. The target
//! sends a reply to the host from which it got the request; the reply goes back hop by hop, in frames to one
//! host each. Only the target replies, and routes are not used for anything else: the object of study is how
//! routes are found.

use paceline_kernel::{Context, Time};

use super::Csma;
use super::event::{Body, CsmaEvent, EVERYBODY, Frame};
use super::host::{CsmaHost, Heard};

impl CsmaHost {
    /// Schedules the next request, after an exponentially distributed time.
    pub(super) fn schedule_request(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        let mean_ns = network.request_every.as_nanos() as f64;
        let delay = Time::nanos(cx.rng().exponential(mean_ns) as u64);
        cx.schedule(delay.max(Time::nanos(1)), CsmaEvent::Ask);
    }

    /// Requests a route to a host drawn from all others. Abandons an earlier request without an answer: only
    /// the latest counts.
    pub(super) fn ask(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        let lp = cx.lp().0;
        let other = cx.rng().below(u64::from(network.hosts - 1)) as u32;
        let target = other + u32::from(other >= lp);
        self.requests += 1;
        self.asked_at = Some(cx.now());
        self.tally.asked += 1;
        let body = Body::Request { origin: lp, target, number: self.requests, hops: 1 };
        self.enqueue(network, Frame { sender: lp, receiver: EVERYBODY, body }, cx);
        self.schedule_request(network, cx);
    }

    /// Handles a request or a reply that `sender` has sent or passed on.
    pub(super) fn route(&mut self, network: &Csma, sender: u32, body: Body, cx: &mut Context<'_, Csma>) {
        let lp = cx.lp().0;
        match body {
            Body::Request { origin, target, number, hops } => {
                let is_known = self.heard.get(&origin).is_some_and(|heard| heard.number >= number);
                if origin == lp || is_known {
                    return;
                }
                self.heard.insert(origin, Heard { number, from: sender });
                if target == lp {
                    let body = Body::Reply { origin, number, hops };
                    self.enqueue(network, Frame { sender: lp, receiver: sender, body }, cx);
                } else if hops < network.hop_limit {
                    let body = Body::Request { origin, target, number, hops: hops + 1 };
                    self.enqueue(network, Frame { sender: lp, receiver: EVERYBODY, body }, cx);
                }
            }
            Body::Reply { origin, number, .. } if origin != lp => {
                // A reply to an outdated request is dropped.
                if let Some(heard) = self.heard.get(&origin).filter(|heard| heard.number == number) {
                    self.enqueue(network, Frame { sender: lp, receiver: heard.from, body }, cx);
                }
            }
            Body::Reply { number, hops, .. } => {
                if number == self.requests
                    && let Some(asked_at) = self.asked_at.take()
                {
                    self.tally.answered += 1;
                    self.tally.waited_ns += cx.now().saturating_sub(asked_at).as_nanos();
                    if self.tally.hops.len() <= usize::from(hops) {
                        self.tally.hops.resize(usize::from(hops) + 1, 0);
                    }
                    self.tally.hops[usize::from(hops)] += 1;
                }
            }
            Body::Acknowledgement => {}
        }
    }
}
