//! The wait for a claim.
//!
//! A wait is a future that makes its claim when it is polled first. Several may be open at once, so waits can
//! be combined in any way; one that is dropped before its end withdraws its claim, and what it was given and
//! had not seen goes to the next.
//!
//! Invariant: a claim is withdrawn, answered, or open as long as its wait is there.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use paceline_kernel::Time;
use paceline_network::HostId;

use super::error::WaitError;
use crate::core::{Answer, Failure, Look, Outcome, ProcessId, Request, ResourceId, Want};
use crate::desk::{Desk, on_desk, on_desk_if_running};

/// What a wait is for.
#[derive(Debug)]
pub(super) enum Order {
    Claim(ResourceId, Want),
    /// Of a process of this host.
    Look(ResourceId, Look, HostId),
    Hold(Time),
    Interruption,
}

/// A claim that was made: by whom, its number, and for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed {
    pub(super) process: ProcessId,
    pub(super) claim: u32,
    /// Of no meaning where it is for a time alone.
    pub(super) resource: ResourceId,
}

/// What comes of a claim that was answered.
pub(super) type Read<T> = fn(Claimed, Outcome) -> Result<T, WaitError>;

/// A wait that ends with a `T`; it is to be awaited by the process from whose handle it was made.
///
/// Dropped before that, it leaves nothing behind: the process waits in no line, and holds nothing.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Process, Simulation, WaitError};
///
/// async fn customer(cx: Process<()>) -> Result<(), WaitError> {
///     let counter = cx.resource(1);
///     let first = counter.request(&cx).await?;
///     let second = counter.request(&cx).within(Time::secs(3)).await;
///     assert_eq!((second.err(), cx.now()), (Some(WaitError::TimedOut), Time::secs(3)));
///     drop(first);
///     assert!(counter.try_request(&cx).await.is_some());
///     Ok(())
/// }
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// simulation.spawn("customer", HostId(0), async |cx| customer(cx).await.unwrap());
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Debug)]
#[must_use = "a wait does nothing before it is awaited"]
pub struct Wait<P: Send + 'static, T> {
    claimed: Claimed,
    /// What to ask for; nothing when that was done.
    pub(super) order: Option<Order>,
    limit: Time,
    /// Whether the claim was made and not answered.
    is_open: bool,
    read: Read<T>,
    payload: PhantomData<fn() -> P>,
}

impl<P: Send + 'static, T> Wait<P, T> {
    pub(super) fn new(process: ProcessId, order: Order, read: Read<T>) -> Self {
        let resource = match &order {
            Order::Claim(resource, _) | Order::Look(resource, ..) => *resource,
            Order::Hold(_) | Order::Interruption => ResourceId::NONE,
        };
        let (claimed, order, payload) = (Claimed { process, claim: 0, resource }, Some(order), PhantomData);
        Self { claimed, order, limit: Time::MAX, is_open: false, read, payload }
    }

    /// Waits at most for this span; then it ends with [`WaitError::TimedOut`]. With a span of zero it ends in
    /// this instant. A service that has begun is not limited.
    pub fn within(mut self, limit: Time) -> Self {
        self.limit = limit;
        self
    }

    /// What is asked for, until it was.
    pub(super) fn want(&mut self) -> Option<&mut Want> {
        match &mut self.order {
            Some(Order::Claim(_, want)) => Some(want),
            _ => None,
        }
    }

    /// Makes the claim.
    fn ask(&mut self, desk: &mut Desk<P>, order: Order) {
        let claim = desk.process.activities;
        desk.process.activities = claim.wrapping_add(1) & (u32::MAX >> 2);
        (self.claimed.claim, self.is_open) = (claim, true);
        desk.requests.push(match order {
            Order::Claim(resource, want) => Request::Claim { claim, resource, want, limit: self.limit },
            Order::Look(resource, look, _) => {
                Request::Claim { claim, resource, want: Want::Look(look), limit: self.limit }
            }
            Order::Hold(span) => Request::Hold { claim, span },
            Order::Interruption => Request::Interruption(claim),
        });
    }
}

impl<P: Send + 'static, T> Future for Wait<P, T> {
    type Output = Result<T, WaitError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let order = this.order.take();
        let outcome = on_desk(this.claimed.process, |desk: &mut Desk<P>| {
            let seen = match &order {
                // What is there to be seen needs no turn.
                Some(Order::Look(resource, look, host)) => desk.look(*resource, *look, *host),
                _ => None,
            };
            let outcome = match order {
                Some(_) if seen.is_some() => seen,
                Some(order) => {
                    this.ask(desk, order);
                    None
                }
                None => Answer::take_outcome(&mut desk.answer, this.claimed.claim),
            };
            desk.claims |= outcome.is_none();
            outcome
        });
        match outcome {
            None => Poll::Pending,
            Some(outcome) => {
                this.is_open = false;
                Poll::Ready(match outcome {
                    Outcome::Failed(failure) => Err(failure.into()),
                    outcome => (this.read)(this.claimed, outcome),
                })
            }
        }
    }
}

impl<P: Send + 'static, T> Drop for Wait<P, T> {
    fn drop(&mut self) {
        if self.is_open {
            let Claimed { process, claim, resource } = self.claimed;
            on_desk_if_running(process, |desk: &mut Desk<P>| {
                let unseen = Answer::take_outcome(&mut desk.answer, claim);
                desk.requests.push(Request::Withdraw { claim, resource, unseen });
            });
        }
    }
}

/// For claims that are answered with nothing.
pub(super) fn nothing(_: Claimed, outcome: Outcome) -> Result<(), WaitError> {
    match outcome {
        Outcome::Done => Ok(()),
        _ => unreachable!("such a claim is answered with nothing"),
    }
}

/// Why a claim failed, for those that only look.
pub(super) fn unknown() -> WaitError {
    Failure::Unknown.into()
}
