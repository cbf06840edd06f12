//! What a process and the simulation that runs it share: requests go out, answers come in.
//!
//! A thread that runs processes has a desk. While the code of a process runs, the desk is the *current* one
//! of the thread, where the process's handle finds it: so nothing is locked, a handle in wrong hands is
//! noticed, and a process that waits keeps next to nothing. A simulation may run within a process of another:
//! the outer desk is put aside meanwhile.
//!
//! Invariant: at most one request that is waited for is open at a time.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::core::{Answer, Look, Name, Outcome, Present, ProcessId, Request, ResourceId};
use crate::watchdog::Slot;
use paceline_kernel::{Rng, Time};
use paceline_network::HostId;

thread_local! {
    static CURRENT: RefCell<Option<AnyDesk>> = const { RefCell::new(None) };
}

/// A desk, whatever the messages.
pub(crate) type AnyDesk = Box<dyn Any + Send>;

/// Takes the current desk away from this thread.
pub(crate) fn leave() -> Option<AnyDesk> {
    CURRENT.take()
}

/// Makes `desk` the current one of this thread, which has none.
pub(crate) fn arrive(desk: AnyDesk) {
    CURRENT.set(Some(desk));
}

/// The code of a process, as it runs.
pub(crate) type Body = Pin<Box<dyn Future<Output = ()> + Send>>;
/// What makes the code of a process.
pub(crate) type Make<P> = Arc<dyn Fn(crate::Process<P>) -> Body + Send + Sync>;
/// What is done when a process has ended, however.
pub(crate) type Hook = Box<dyn FnOnce() + Send>;

/// How the code of a process that another spawns is made.
pub(crate) enum Spawned<P> {
    Once(Box<dyn Begins<P> + Send>),
    Again(Make<P>),
}

/// Code that has not begun. As a future, it makes the future that it is in its first turn, and has that take
/// its place ([`take_begun`]): so nothing is kept of what only the beginning needs.
pub(crate) trait Begins<P>: Future<Output = ()> {
    /// Gives it the handle of its process; once, and first.
    fn give(&mut self, cx: crate::Process<P>);

    /// The whole code, for what runs it where no other can take its place.
    fn whole(self: Box<Self>) -> Body;
}

/// Code, and the handle of its process once that is there.
pub(crate) struct Beginning<P, B>(Option<B>, Option<crate::Process<P>>);

impl<P, B> Beginning<P, B> {
    pub(crate) fn new(code: B) -> Box<Self> {
        Box::new(Self(Some(code), None))
    }

    fn take(&mut self) -> (B, crate::Process<P>) {
        self.0.take().zip(self.1.take()).expect("code begins once, with its handle")
    }
}

impl<P, B> Unpin for Beginning<P, B> {}

impl<P: Send + 'static, B, F> Future for Beginning<P, B>
where
    B: FnOnce(crate::Process<P>) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let (code, cx) = self.take();
        let (id, body) = (cx.id(), Box::pin(code(cx)));
        on_desk(id, |desk: &mut Desk<P>| desk.begun = Some(body));
        Poll::Ready(())
    }
}

impl<P: Send + 'static, B, F> Begins<P> for Beginning<P, B>
where
    B: FnOnce(crate::Process<P>) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    fn give(&mut self, cx: crate::Process<P>) {
        self.1 = Some(cx);
    }

    fn whole(mut self: Box<Self>) -> Body {
        let (code, cx) = self.take();
        // Not before its turn.
        Box::pin(async move { code(cx).await })
    }
}

/// What a process keeps from turn to turn.
pub(crate) struct ProcessState {
    pub(crate) id: ProcessId,
    pub(crate) activities: u32,
    pub(crate) objects: u32,
    /// The thread, by its place among those that run code, on which it blocks on a coroutine; 0 for any.
    pub(crate) home: u16,
    /// Whether a request is open that is waited for.
    pub(crate) waits: bool,
    pub(crate) rng: Rng,
}

impl ProcessState {
    pub(crate) fn new(id: ProcessId, rng: Rng) -> Self {
        Self { id, activities: 0, objects: 0, home: 0, waits: false, rng }
    }
}

/// What a thread and the process whose turn it is hand to each other: requests, answers, and where the
/// process runs.
pub(crate) struct Desk<P> {
    /// Of the process whose turn it is.
    pub(crate) process: ProcessState,
    pub(crate) now: Time,
    pub(crate) answer: Option<Answer<P>>,
    /// What its code may look at.
    pub(crate) present: Option<Present>,
    /// How many requests there were when its turn began.
    pub(crate) before: usize,
    /// Whether it waits for a claim in this turn.
    pub(crate) claims: bool,
    /// All that was asked for, by one process after the other.
    pub(crate) requests: Vec<Request<P>>,
    /// The code of the processes that requests in the list spawn, in their order.
    pub(crate) spawned: Vec<Spawned<P>>,
    /// What is to be done when processes have ended.
    pub(crate) hooks: Vec<(ProcessId, Hook)>,
    /// Of the process whose turn it is: its code, which has just begun.
    begun: Option<Body>,
    /// The name that was given last: most processes are called like the one before.
    name: Option<Name>,
    /// Where a watchdog looks.
    pub(crate) slot: Option<Arc<Slot>>,
}

/// No process has a turn.
const NOBODY: ProcessId = ProcessId(u32::MAX);

impl<P> Drop for Desk<P> {
    /// A desk outlasts every turn, unless a process ends the program in its own: then the thread's current
    /// desk is dropped with what else the thread has.
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take().filter(|_| self.process.id != NOBODY) {
            slot.exits(self.process.id, self.now);
        }
    }
}

impl<P: Send + 'static> Desk<P> {
    pub(crate) fn new() -> Box<Self> {
        let process = ProcessState::new(NOBODY, Rng::new(0, 0));
        let (requests, spawned, hooks) = (Vec::new(), Vec::new(), Vec::new());
        let (now, answer, begun, name, slot) = (Time::ZERO, None, None, None, None);
        let (present, before, claims) = (None, 0, false);
        Box::new(Self {
            process,
            now,
            answer,
            present,
            before,
            claims,
            requests,
            spawned,
            hooks,
            begun,
            name,
            slot,
        })
    }

    /// What the process, on this host, would be answered now that looks at a resource; nothing where it must
    /// ask, as what it has asked for in this turn is not done yet.
    pub(crate) fn look(&self, resource: ResourceId, look: Look, host: HostId) -> Option<Outcome> {
        // Of other hosts nothing is known where a world is dealt to federates.
        let present = self.present.as_ref().filter(|_| resource.host == host.0)?;
        let mut asked = self.requests[self.before..].iter();
        if asked.any(|request| request.may_change(resource)) { None } else { present.look(resource, look) }
    }

    /// A name, shared with the process before where that was called so.
    pub(crate) fn name(&mut self, name: &str) -> Name {
        let last = self.name.take().filter(|last| **last == *name);
        self.name.insert(last.unwrap_or_else(|| name.into())).clone()
    }

    /// Runs `code`, which does not panic, with this as the current desk of the thread.
    pub(crate) fn enter<R>(self: Box<Self>, code: impl FnOnce() -> R) -> (Box<Self>, R) {
        let outer = CURRENT.replace(Some(self));
        let result = code();
        let desk = CURRENT.replace(outer).and_then(|desk| desk.downcast().ok());
        (desk.expect("whoever enters another desk leaves it"), result)
    }
}

/// The desk of process `id`, if that is the one whose code runs.
fn with<P: 'static, R>(id: ProcessId, act: impl FnOnce(&mut Desk<P>) -> R) -> Option<R> {
    CURRENT.with_borrow_mut(|current| {
        let desk = current.as_mut()?.downcast_mut::<Desk<P>>()?;
        (desk.process.id == id).then(|| act(desk))
    })
}

/// The desk of process `id`, whose code must be what runs.
pub(crate) fn on_desk<P: 'static, R>(id: ProcessId, act: impl FnOnce(&mut Desk<P>) -> R) -> R {
    with(id, act).unwrap_or_else(|| {
        panic!(
            "the handle of process {id} was used outside of its code; every process has a handle of its own"
        )
    })
}

/// The code of the running process, where that has just begun.
pub(crate) fn take_begun<P: 'static>(id: ProcessId) -> Option<Body> {
    with(id, |desk: &mut Desk<P>| desk.begun.take()).flatten()
}

/// The running process resumes on this thread only, or on any if it is 0.
pub(crate) fn set_home<P: 'static>(home: u16) {
    CURRENT.with_borrow_mut(|current| {
        let desk = current.as_mut().and_then(|desk| desk.downcast_mut::<Desk<P>>());
        desk.expect("whoever runs a process has a desk").process.home = home;
    });
}

/// Asks for something without waiting for an answer.
pub(crate) fn post_request<P: 'static>(id: ProcessId, request: Request<P>) {
    on_desk(id, |desk| desk.requests.push(request));
}

/// Asks for something on behalf of whichever process runs on this thread, if one does.
pub(crate) fn post_request_of_any<P: 'static>(request: Request<P>) {
    CURRENT.with_borrow_mut(|current| {
        let desk = current.as_mut().and_then(|desk| desk.downcast_mut::<Desk<P>>());
        if let Some(desk) = desk {
            desk.requests.push(request);
        }
    });
}

/// Acts at the desk of a process if it still runs and this is its code.
pub(crate) fn on_desk_if_running<P: 'static, R>(
    id: ProcessId,
    act: impl FnOnce(&mut Desk<P>) -> R,
) -> Option<R> {
    with(id, act)
}

/// Asks for something if the process still runs and this is its code.
pub(crate) fn post_request_if_running<P: 'static>(id: ProcessId, request: Request<P>) {
    with(id, |desk: &mut Desk<P>| desk.requests.push(request));
}

/// Asks for something and waits for the answer. The request is made where it is to lie: most are much smaller
/// than the largest, as which they would be moved.
#[inline(always)]
pub(crate) fn ask<P: 'static, F: FnOnce() -> Request<P>>(id: ProcessId, request: F) -> Ask<P, F> {
    Ask { id, request: Some(request), open: false, payload: PhantomData }
}

/// A request and the wait for its answer. Dropped before that, the process waits for it no more.
pub(crate) struct Ask<P: 'static, F> {
    id: ProcessId,
    request: Option<F>,
    open: bool,
    payload: PhantomData<P>,
}

impl<P, F> Unpin for Ask<P, F> {}

impl<P, F: FnOnce() -> Request<P>> Future for Ask<P, F> {
    type Output = Answer<P>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer<P>> {
        let this = &mut *self;
        let request = this.request.take();
        let poll = on_desk(this.id, |desk| {
            if let Some(request) = request {
                assert!(
                    !desk.process.waits,
                    "a process waits for one thing at a time; to wait for several, begin them as activities and use wait_any"
                );
                desk.requests.push(request());
                desk.process.waits = true;
                return Poll::Pending;
            }
            match Answer::take_plain(&mut desk.answer) {
                Some(answer) => {
                    desk.process.waits = false;
                    Poll::Ready(answer)
                }
                None => Poll::Pending,
            }
        });
        this.open = poll.is_pending();
        poll
    }
}

impl<P, F> Drop for Ask<P, F> {
    fn drop(&mut self) {
        if self.open {
            with(self.id, |desk: &mut Desk<P>| {
                desk.process.waits = false;
                let answer = Answer::take_plain(&mut desk.answer);
                desk.requests.push(Request::Abandon(answer));
            });
        }
    }
}
