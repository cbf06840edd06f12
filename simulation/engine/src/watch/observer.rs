//! Reports what a run does to an observer, during the run.
//!
//! Windows are reported by their board (`protocols/windowed.rs`), pauses by `run/course.rs`, and commits by
//! the federates (`federate/watch.rs` of the kernel), which get the observer between two legs.
//!
//! Invariant: a run without an observer pays nothing but a branch; an observed run has the same result.

use std::sync::Arc;

use paceline_kernel::{CommitObserver, LpId, Model, Time};

/// Receives what happens in a run, on the thread that does it: the time that the observer takes slows the
/// run. An observed federate runs one event after the other, which is slower.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use paceline_engine::{Observer, Simulation};
/// use paceline_kernel::{LpId, Time};
/// # use paceline_kernel::{Context, Model};
/// # struct Tick;
/// # impl Model for Tick {
/// #     type State = ();
/// #     type Event = ();
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 4 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, _: LpId, cx: &mut Context<Self>) { cx.schedule(Time::ZERO, ()); }
/// #     fn handle(&self, _: &mut (), _: &(), cx: &mut Context<Self>) { cx.schedule(Time::secs(1), ()); }
/// # }
///
/// /// Remembers when what happened to LP 2.
/// #[derive(Default)]
/// struct Diary(Mutex<Vec<Time>>);
///
/// impl Observer<Tick> for Diary {
///     fn committed(&self, _federate: u32, lp: LpId, at: Time, _event: &()) {
///         if lp == LpId(2) {
///             self.0.lock().unwrap().push(at);
///         }
///     }
/// }
///
/// let diary = Arc::new(Diary::default());
/// Simulation::new(Tick).until(Time::secs(3)).observe(diary.clone()).run()?;
/// assert_eq!(*diary.0.lock().unwrap(), [Time::ZERO, Time::secs(1), Time::secs(2)]);
/// # Ok::<(), paceline_engine::RunError>(())
/// ```
pub trait Observer<M: Model>: Send + Sync {
    /// `event` has happened to `lp` at `at`, for good. In the total order among the events of a federate, for
    /// as long as the LPs stay dealt to federates as they are; federates run side by side.
    fn committed(&self, federate: u32, lp: LpId, at: Time, event: &M::Event) {
        let _ = (federate, lp, at, event);
    }

    /// A window or a time step opens. No worker goes on before this returns.
    fn window(&self, window: &WindowOpened) {
        let _ = window;
    }

    /// The run stands still: between two legs, or because a call of its owner is over.
    fn paused(&self, pause: &Pause) {
        let _ = pause;
    }
}

/// A window or a time step that opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowOpened {
    /// How many have opened before it since the run paused last.
    pub number: u64,
    /// No event before this is left.
    pub time: Time,
    /// Federates of this process with events in it.
    pub federates: u32,
    /// Events that have happened before it in this process.
    pub events: u64,
}

/// A moment at which the run stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pause {
    /// No event before this is left.
    pub time: Time,
    /// Events that have happened in this process, those before the run was resumed included.
    pub events: u64,
    /// Events waiting in this process, those at or after the horizon among them.
    pub pending: usize,
}

/// The observer of a run, as the engine and the kernel call it.
pub(crate) struct Observing<M: Model> {
    pub(crate) observer: Arc<dyn Observer<M>>,
    /// The observer, as the kernel calls it.
    pub(crate) commits: Arc<dyn CommitObserver<M>>,
}

impl<M: Model + 'static> Observing<M> {
    pub(crate) fn by(observer: Arc<dyn Observer<M>>) -> Self {
        Self { commits: Arc::new(Commits(Arc::clone(&observer))), observer }
    }
}

/// Passes on what the kernel says.
struct Commits<M: Model>(Arc<dyn Observer<M>>);

impl<M: Model> CommitObserver<M> for Commits<M> {
    fn committed(&self, federate: u32, lp: LpId, at: Time, event: &M::Event) {
        self.0.committed(federate, lp, at, event);
    }
}
