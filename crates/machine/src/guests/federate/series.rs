//! How many events a federate had run by when: samples over real time, bounded in number.

/// Samples kept, at most.
const MOST: usize = 512;

/// Samples of (real time in nanoseconds, events committed by then). When there are too many, every second one is dropped, and
/// from then on only every second one taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    samples: Vec<(u64, u64)>,
    stride: u32,
    skipped: u32,
}

impl Default for Series {
    fn default() -> Self {
        Self { samples: Vec::new(), stride: 1, skipped: 0 }
    }
}

impl Series {
    /// The samples, in the order of time.
    pub fn samples(&self) -> &[(u64, u64)] {
        &self.samples
    }

    /// Takes a sample, if it is the turn of one.
    pub(super) fn note(&mut self, now_ns: u64, events: u64) {
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        if self.samples.len() == MOST {
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.stride *= 2;
        }
        self.samples.push((now_ns, events));
    }

    /// Takes the last sample.
    pub(super) fn end(&mut self, now_ns: u64, events: u64) {
        self.samples.push((now_ns, events));
    }
}
