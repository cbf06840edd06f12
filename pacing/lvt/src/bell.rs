//! The bell of a page: a futex in its header that a thread rings when it begins to wait, so that a pacer can
//! decide at once instead of at the end of a slice.
//!
//! Invariants: no thread rings unless the pacer listens, so that waiting costs a load and no system call. A
//! lost ring costs a slice: the pacer never waits without a time limit.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::Timespec;

use crate::mapping::Mapping;

/// A page's bell, on the side of the pacer.
#[derive(Debug)]
pub struct Bell {
    mapping: Arc<Mapping>,
    /// The number of rings heard so far, counted round.
    heard: u32,
}

impl Bell {
    pub(crate) fn new(mapping: Arc<Mapping>) -> Self {
        let heard = mapping.bell().load(Relaxed);
        Self { mapping, heard }
    }

    /// Says whether threads that begin to wait are to ring.
    pub fn listen(&self, on: bool) {
        if (self.mapping.held().load(Relaxed) != 0) != on {
            self.mapping.held().store(u32::from(on), Relaxed);
        }
    }

    /// Rings, as a thread does that begins to wait.
    pub(crate) fn ring(mapping: &Mapping) {
        if mapping.held().load(Relaxed) != 0 {
            mapping.bell().fetch_add(1, Release);
            // A pacer that does not listen looks at the page at the end of its slice.
            let _ = futex::wake(mapping.bell(), futex::Flags::empty(), 1);
        }
    }

    /// Waits for a ring since the last call, `limit` at most; whether there was one. Where the memory of the
    /// page has no futexes, as that of a BPF map, it returns at once, with [`Errno::FAULT`].
    ///
    /// # Errors
    ///
    /// What the system says, except that time is up, or that a signal has come.
    pub fn wait(&mut self, limit: Duration) -> rustix::io::Result<bool> {
        let limit = Timespec::try_from(limit).map_err(|_| Errno::INVAL)?;
        match futex::wait(self.mapping.bell(), futex::Flags::empty(), self.heard, Some(&limit)) {
            Ok(()) | Err(Errno::AGAIN | Errno::TIMEDOUT | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let now = self.mapping.bell().load(Acquire);
        Ok(std::mem::replace(&mut self.heard, now) != now)
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.listen(false);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use crate::{Page, Publisher};

    #[test]
    fn a_thread_that_begins_to_wait_is_heard_if_somebody_listens() {
        let page = Page::create_sealed(4).expect("there is memory");
        let mut bell = page.bell().expect("a sealed page has one");
        thread::scope(|scope| {
            let publish = || {
                let mut publisher = Publisher::claim(&page, "waits").expect("there is a free slot");
                publisher.set_waiting(true);
            };
            scope.spawn(publish).join().expect("nothing panics");
            assert!(!bell.wait(Duration::from_millis(1)).expect("memory has futexes"), "nobody listened");
            bell.listen(true);
            scope.spawn(publish);
            assert!(bell.wait(Duration::from_secs(30)).expect("memory has futexes"));
            assert!(!bell.wait(Duration::from_millis(1)).expect("memory has futexes"), "heard once");
        });
    }
}
