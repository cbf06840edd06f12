//! The run of a federate, which works on whatever thread of the engine has it, or on a thread of its own.
//!
//! Coroutines that block stay on their thread ([`ContextKind::Coroutine`](crate::ContextKind)), and the
//! engine's threads take federates from each other: so a federate with such processes has a thread, which its
//! run is handed to and back in every instant. Invariant: `run` is `None` only while that thread executes it.

use std::ops::{Deref, DerefMut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use paceline_kernel::Time;
use paceline_network::Network;

use super::part::Apart;
use crate::context;
use crate::report::RunError;
use crate::simulation::run::Run;
use paceline_engine::EndedBy;

type BoxedRun<P, N> = Box<Run<P, Apart<N>>>;
type Worked = Result<EndedBy, RunError>;

/// The run of a federate, with the thread that it belongs to once a process of it has blocked on a coroutine.
pub(super) struct Housed<P, N> {
    run: Option<BoxedRun<P, N>>,
    home: Option<Home<P, N>>,
}

struct Home<P, N> {
    to: Sender<(BoxedRun<P, N>, Time)>,
    from: Receiver<(BoxedRun<P, N>, Worked)>,
}

impl<P: Send + 'static, N: Network + Send + Sync> Housed<P, N> {
    /// A run that works on any thread.
    pub(super) fn anywhere(run: Run<P, Apart<N>>) -> Self {
        Self { run: Some(Box::new(run)), home: None }
    }

    /// A run that works on a thread of its own in `scope`, until this is dropped.
    pub(super) fn at_home<'s>(run: Run<P, Apart<N>>, scope: &'s Scope<'s, '_>) -> Self
    where
        N: 's,
    {
        let ((to, work), (said, from)) = (channel::<(BoxedRun<P, N>, Time)>(), channel());
        scope.spawn(move || {
            for (mut run, until) in work {
                let worked = run.work(until);
                if said.send((run, worked)).is_err() {
                    break;
                }
            }
            context::end_all();
        });
        Self { run: Some(Box::new(run)), home: Some(Home { to, from }) }
    }

    /// Goes through all rounds up to `until`.
    pub(super) fn work(&mut self, until: Time) -> Worked {
        let Some(home) = &self.home else { return (**self).work(until) };
        let run = self.run.take().expect("the run is here");
        let handed = home.to.send((run, until)).ok().and_then(|()| home.from.recv().ok());
        let (run, worked) = handed.expect("its thread is there as long as this");
        self.run = Some(run);
        worked
    }
}

impl<P, N> Deref for Housed<P, N> {
    type Target = Run<P, Apart<N>>;

    fn deref(&self) -> &Self::Target {
        self.run.as_ref().expect("the run is here")
    }
}

impl<P, N> DerefMut for Housed<P, N> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.run.as_mut().expect("the run is here")
    }
}
