//! Publishing local virtual time to a pacer outside, such as `paceline pace`, on the page that `PACELINE_LVT`
//! names.
//!
//! Each worker thread has a slot, and so has a thread that runs an outside federate here. Its LVT there is
//! that of the federate it runs, the earliest time at which it may still commit anything: so whoever paces
//! threads runs first the worker that holds up the others, as [`crate::workers::ready`] does with federates.
//! While a worker has nothing to do, it says that it waits. What a board has to do: publish the LVT of the
//! federate before it runs, and after it has run, while no other worker can take it yet.
//!
//! Invariants: nothing here changes what a run computes; a run that cannot publish runs on, and
//! [`crate::Report::unpaced`] says why; without a page, a worker pays a branch or two a turn.

#[cfg(all(target_os = "linux", feature = "lvt"))]
pub(crate) use paceline_lvt::Publisher;

use paceline_kernel::Time;

#[cfg(not(all(target_os = "linux", feature = "lvt")))]
pub(crate) use elsewhere::Publisher;

/// The page of a run, if there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Publishing {
    #[cfg(all(target_os = "linux", feature = "lvt"))]
    page: Option<std::sync::Arc<paceline_lvt::Page>>,
    /// The first thing that kept anybody from publishing.
    trouble: std::sync::Arc<std::sync::OnceLock<String>>,
}

#[cfg(all(target_os = "linux", feature = "lvt"))]
impl Publishing {
    pub(crate) fn on(page: std::sync::Arc<paceline_lvt::Page>) -> Self {
        Self { page: Some(page), ..Self::default() }
    }

    /// A run begins: without a page of its own, it takes the one that the environment names.
    pub(crate) fn begin(&mut self) {
        if self.page.is_none() {
            match paceline_lvt::Page::from_env() {
                Ok(page) => self.page = page.map(std::sync::Arc::new),
                Err(error) => self.note_error(&error),
            }
        }
    }

    /// A slot for the calling thread, which has this name on the page.
    fn claim(&self, name: &str) -> Publisher {
        let Some(page) = &self.page else { return Publisher::absent() };
        Publisher::claim(page, name).unwrap_or_else(|error| {
            self.note_error(&error);
            Publisher::absent()
        })
    }

    fn note_error(&self, error: &paceline_lvt::Error) {
        self.trouble.get_or_init(|| error.to_string());
    }
}

#[cfg(all(target_os = "linux", feature = "lvt"))]
impl<M: paceline_kernel::Model> crate::Simulation<M> {
    /// Publishes the LVT of its threads on `page`, instead of on the one that the environment variable
    /// `PACELINE_LVT` names.
    pub fn publish(mut self, page: std::sync::Arc<paceline_lvt::Page>) -> Self {
        self.publishing = Publishing::on(page);
        self
    }
}

#[cfg(not(all(target_os = "linux", feature = "lvt")))]
impl Publishing {
    pub(crate) fn begin(&mut self) {}

    fn claim(&self, _name: &str) -> Publisher {
        Publisher
    }
}

impl Publishing {
    /// A slot for the calling thread, which is this worker.
    pub(crate) fn worker(&self, worker: usize) -> WorkerLvt {
        WorkerLvt(self.claim(&format!("paceline worker {worker}")))
    }

    /// A slot for the calling thread, which runs an outside federate.
    pub(crate) fn outside(&self, federate: u32) -> Publisher {
        self.claim(&format!("paceline federate {federate}"))
    }

    /// Why not all threads could publish.
    pub(crate) fn into_trouble(self) -> Option<String> {
        self.trouble.get().cloned()
    }
}

/// The LVT of one worker, on its way to the page. It stays on the worker's thread, whose slot it has.
#[derive(Debug)]
pub(crate) struct WorkerLvt(Publisher);

impl WorkerLvt {
    /// The worker runs a federate that does nothing before `lvt` any more. That is computed only where there
    /// is a page.
    #[inline]
    pub(crate) fn publish(&mut self, lvt: impl FnOnce() -> Time) {
        if self.0.is_present() {
            publish(&mut self.0, lvt());
        }
    }

    /// The worker has nothing to do, or has something again.
    #[inline]
    pub(crate) fn set_waiting(&mut self, waiting: bool) {
        self.0.set_waiting(waiting);
    }
}

/// Publishes a federate's LVT; the end of time means that there is nothing left.
pub(crate) fn publish(publisher: &mut Publisher, lvt: Time) {
    match lvt {
        Time::MAX => publisher.publish_done(),
        lvt => publisher.publish(lvt.as_nanos()),
    }
}

/// There is no page on other systems, and none without the feature `lvt`.
#[cfg(not(all(target_os = "linux", feature = "lvt")))]
mod elsewhere {
    #[derive(Debug)]
    pub(crate) struct Publisher;

    impl Publisher {
        pub(crate) fn is_present(&self) -> bool {
            false
        }

        pub(crate) fn publish(&mut self, _lvt_ns: u64) {}

        pub(crate) fn publish_done(&mut self) {}

        pub(crate) fn set_waiting(&mut self, _waiting: bool) {}
    }
}
