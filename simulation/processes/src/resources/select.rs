//! Waits for several things at once: the first of them, or all.
//!
//! They are futures over waits, which withdraw their claims when they are dropped: the losers leave nothing
//! behind. At most one of the waits may be one of the process's plain ones (`sleep`, `receive`, `join`, ...):
//! a process has one of those open at a time.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// One of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// What the first gave.
    First(A),
    /// What the second gave.
    Second(B),
}

/// Waits for the first of two; the other is dropped. Where both have ended, the first of the list counts.
pub async fn race<A: IntoFuture, B: IntoFuture>(first: A, second: B) -> Either<A::Output, B::Output> {
    let (mut first, mut second) = (pin!(first.into_future()), pin!(second.into_future()));
    poll_fn(|cx| {
        if let Poll::Ready(output) = first.as_mut().poll(cx) {
            return Poll::Ready(Either::First(output));
        }
        second.as_mut().poll(cx).map(Either::Second)
    })
    .await
}

/// Waits for the first of several waits of one kind: says which it was, and what it gave. The others are
/// dropped. Panics without any.
pub async fn any_of<W: IntoFuture>(waits: impl IntoIterator<Item = W>) -> (usize, W::Output) {
    let mut waits: Vec<_> = waits.into_iter().map(|wait| Box::pin(wait.into_future())).collect();
    assert!(!waits.is_empty(), "a wait for the first of none would never end");
    poll_fn(|cx| {
        let mut each = waits.iter_mut().enumerate();
        let first = each.find_map(|(place, wait)| match wait.as_mut().poll(cx) {
            Poll::Ready(output) => Some((place, output)),
            Poll::Pending => None,
        });
        first.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// Waits for all of several waits of one kind, and gives what each gave.
pub async fn all_of<W: IntoFuture>(waits: impl IntoIterator<Item = W>) -> Vec<W::Output> {
    let mut waits: Vec<Awaited<W>> =
        waits.into_iter().map(|wait| Awaited::Open(Box::pin(wait.into_future()))).collect();
    poll_fn(|cx| {
        let mut are_over = true;
        for wait in &mut waits {
            are_over &= wait.is_over(cx);
        }
        if are_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let over = waits.into_iter().map(|wait| match wait {
        Awaited::Over(output) => output,
        Awaited::Open(_) => unreachable!("all are over"),
    });
    over.collect()
}

enum Awaited<W: IntoFuture> {
    Open(Pin<Box<W::IntoFuture>>),
    Over(W::Output),
}

impl<W: IntoFuture> Awaited<W> {
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if let Self::Open(wait) = self {
            match wait.as_mut().poll(cx) {
                Poll::Ready(output) => *self = Self::Over(output),
                Poll::Pending => return false,
            }
        }
        true
    }
}

/// Waits for the first of several different waits, and evaluates what belongs to it; the others are
/// withdrawn before that. Where several have ended, the first of the list counts.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Process, Resource, Simulation, select};
///
/// async fn customer(cx: Process<()>, counter: Resource) {
///     select! {
///         place = counter.request(&cx) => {
///             let _place = place.unwrap();
///             cx.sleep(Time::secs(10)).await;
///         }
///         _ = cx.hold(Time::secs(3)) => println!("{} has lost patience", cx.name()),
///     }
/// }
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let counter = simulation.resource(HostId(0), 1);
/// for name in ["one", "other"] {
///     simulation.spawn(name, HostId(0), move |cx| customer(cx, counter));
/// }
/// assert_eq!(simulation.run()?.end_time, Time::secs(10));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[macro_export]
macro_rules! select {
    (@race $wait:expr) => { $wait };
    (@race $wait:expr, $($more:expr),+) => {
        $crate::resources::race($wait, $crate::select!(@race $($more),+))
    };
    (@match $ended:expr; $output:pat => $then:expr) => {
        match $ended { $output => $then }
    };
    (@match $ended:expr; $output:pat => $then:expr, $($outputs:pat => $thens:expr),+) => {
        match $ended {
            $crate::resources::Either::First($output) => $then,
            $crate::resources::Either::Second(ended) => {
                $crate::select!(@match ended; $($outputs => $thens),+)
            }
        }
    };
    // Blocks need no comma behind them, as in a match.
    (@arms [$($done:tt)*] $output:pat = $wait:expr => $then:block, $($rest:tt)+) => {
        $crate::select!(@arms [$($done)* ($output, $wait, $then)] $($rest)+)
    };
    (@arms [$($done:tt)*] $output:pat = $wait:expr => $then:block $($rest:tt)+) => {
        $crate::select!(@arms [$($done)* ($output, $wait, $then)] $($rest)+)
    };
    (@arms [$($done:tt)*] $output:pat = $wait:expr => $then:expr, $($rest:tt)+) => {
        $crate::select!(@arms [$($done)* ($output, $wait, $then)] $($rest)+)
    };
    (@arms [$(($outputs:pat, $waits:expr, $thens:expr))*] $output:pat = $wait:expr => $then:expr $(,)?) => {{
        let ended = $crate::select!(@race $($waits,)* $wait).await;
        $crate::select!(@match ended; $($outputs => $thens,)* $output => $then)
    }};
    ($($arms:tt)+) => {
        $crate::select!(@arms [] $($arms)+)
    };
}
