//! Activities: messages and computations that proceed while the process that began them does something else.
//!
//! So a process waits for several things at once, such as messages of two mailboxes: it begins both, then
//! calls [`Activity::wait_any`].

use std::fmt;

use paceline_kernel::Time;

use crate::Process;
use crate::core::{Answer, ProcessId, Request, RequestError};
use crate::desk::{ask, post_request_if_running};

/// A message being sent or received, or a computation, that a process has begun. Dropped by that process
/// before it is over, it is cancelled; [`Activity::detach`] lets it proceed alone.
///
/// ```
/// use paceline_processes::{Activity, Process, Simulation};
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
///
/// async fn both(cx: Process<&'static str>) {
///     let mut work = cx.start_compute(2e9);
///     let mut mail = cx.start_receive("mail");
///     let first = Activity::wait_any(&cx, &mut [&mut work, &mut mail]).await.unwrap();
///     assert_eq!((first, cx.now()), (1, Time::secs(1)));
///     assert_eq!(mail.wait(&cx).await, Ok(Some("hello")));
///     assert_eq!(work.wait(&cx).await, Ok(None));
///     assert_eq!(cx.now(), Time::secs(2));
/// }
///
/// let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 1), (1e9, 1)]);
/// simulation.spawn("both", HostId(0), both);
/// simulation.spawn("sender", HostId(1), async |cx| cx.send_detached("mail", "hello", 10.0));
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub struct Activity<P: 'static> {
    owner: ProcessId,
    number: u32,
    over: Option<Answer<P>>,
    /// Whether the core knows of it.
    held: bool,
}

impl<P> fmt::Debug for Activity<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, number, held, .. } = self;
        f.debug_struct("Activity").field("owner", owner).field("number", number).field("held", held).finish()
    }
}

impl<P: Send + 'static> Activity<P> {
    pub(crate) fn new(owner: ProcessId, number: u32) -> Self {
        Self { owner, number, over: None, held: true }
    }

    /// Waits until it is over: the message, where one was received.
    pub async fn wait(&mut self, cx: &Process<P>) -> Result<Option<P>, RequestError> {
        self.wait_for(cx, None).await
    }

    /// Waits until it is over, at most this long; after that it proceeds alone.
    pub async fn wait_within(&mut self, cx: &Process<P>, limit: Time) -> Result<Option<P>, RequestError> {
        self.wait_for(cx, Some(limit)).await
    }

    async fn wait_for(&mut self, cx: &Process<P>, limit: Option<Time>) -> Result<Option<P>, RequestError> {
        if self.over.is_none() {
            if !self.held || self.owner != cx.id() {
                return Err(RequestError::Unknown);
            }
            let activity = self.number;
            let answer = ask::<P, _>(cx.id(), || Request::Await { activity, limit }).await;
            if matches!(answer, Answer::Failed(RequestError::TimedOut)) {
                return Err(RequestError::TimedOut);
            }
            (self.over, self.held) = (Some(answer), false);
        }
        self.outcome()
    }

    fn outcome(&mut self) -> Result<Option<P>, RequestError> {
        match self.over.take() {
            Some(Answer::Message(payload)) => Ok(Some(payload)),
            Some(Answer::Failed(failure)) => Err(failure),
            Some(_) => Ok(None),
            None => Err(RequestError::Unknown),
        }
    }

    /// Waits until one of `activities` is over, and says which: its [`Activity::wait`] gives the outcome at
    /// once.
    pub async fn wait_any(cx: &Process<P>, activities: &mut [&mut Self]) -> Result<usize, RequestError> {
        Self::first(cx, activities, None).await
    }

    /// Waits until one of `activities` is over, at most so long.
    pub async fn wait_any_within(
        cx: &Process<P>,
        activities: &mut [&mut Self],
        limit: Time,
    ) -> Result<usize, RequestError> {
        Self::first(cx, activities, Some(limit)).await
    }

    async fn first(
        cx: &Process<P>,
        activities: &mut [&mut Self],
        limit: Option<Time>,
    ) -> Result<usize, RequestError> {
        if let Some(over) = activities.iter().position(|activity| activity.over.is_some()) {
            return Ok(over);
        }
        let numbers = Self::numbers(cx, activities)?;
        match ask(cx.id(), || Request::Wait { activities: numbers, all: false, limit }).await {
            Answer::Which(place, outcome) => {
                let place = place as usize;
                (activities[place].over, activities[place].held) = (Some(*outcome), false);
                Ok(place)
            }
            Answer::Failed(failure) => Err(failure),
            _ => unreachable!("who waits for the first is answered with it"),
        }
    }

    /// Waits until all of `activities` are over; their [`Activity::wait`] gives the outcomes at once.
    pub async fn wait_all(cx: &Process<P>, activities: &mut [&mut Self]) -> Result<(), RequestError> {
        let mut open: Vec<&mut &mut Self> =
            activities.iter_mut().filter(|activity| activity.over.is_none()).collect();
        let numbers = {
            let same = |activity: &&mut &mut Self| activity.owner == cx.id();
            if !open.iter().all(same) {
                return Err(RequestError::Unknown);
            }
            open.iter().map(|activity| activity.number).collect()
        };
        match ask(cx.id(), || Request::Wait { activities: numbers, all: true, limit: None }).await {
            Answer::All(outcomes) => {
                for (activity, outcome) in open.iter_mut().zip(*outcomes) {
                    (activity.over, activity.held) = (Some(outcome), false);
                }
                Ok(())
            }
            Answer::Failed(failure) => Err(failure),
            _ => unreachable!("who waits for all is answered with all"),
        }
    }

    fn numbers(cx: &Process<P>, activities: &[&mut Self]) -> Result<Vec<u32>, RequestError> {
        let number = |activity: &&mut Self| {
            let is_held = activity.held && activity.owner == cx.id();
            is_held.then_some(activity.number).ok_or(RequestError::Unknown)
        };
        activities.iter().map(number).collect()
    }

    /// Whether it is over.
    pub async fn test(&self, cx: &Process<P>) -> bool {
        if self.over.is_some() || !self.held || self.owner != cx.id() {
            return self.over.is_some();
        }
        matches!(ask::<P, _>(cx.id(), || Request::Test(self.number)).await, Answer::Truth(true))
    }

    /// Cancels it; the other side of a message learns of that.
    pub fn cancel(self) {
        drop(self);
    }

    /// Lets it proceed alone, also after this process has ended; its result is dropped.
    pub fn detach(mut self) {
        if std::mem::take(&mut self.held) {
            post_request_if_running::<P>(self.owner, Request::ReleaseActivity(self.number));
        }
    }
}

impl<P> Drop for Activity<P> {
    fn drop(&mut self) {
        if self.held {
            post_request_if_running::<P>(self.owner, Request::Cancel(self.number));
        }
    }
}
