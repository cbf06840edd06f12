//! How many events a federate had run by when: samples over real time, bounded in number.

/// Samples kept, at most.
const MOST: usize = 512;

/// Samples of (real time in nanoseconds, events committed by then). When there are too many, every second one
/// is dropped, and from then on only every second one taken.
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

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn however_many_samples_there_are_few_are_kept_and_none_lie_far_apart() {
        for count in [0, 1, MOST as u64, 10_000, 123_456] {
            let mut series = Series::default();
            (0..count).for_each(|n| series.note(n, 3 * n));
            series.end(count, 3 * count);
            let samples = series.samples();
            assert!(samples.len() <= MOST + 1 && samples.is_sorted(), "of {count}");
            assert!(samples.iter().all(|(at_ns, events)| *events == 3 * at_ns), "of {count}");
            let apart = count / MOST as u64 * 4 + 1;
            assert!(samples.windows(2).all(|pair| pair[1].0 - pair[0].0 <= apart), "of {count}");
            assert_eq!(samples.last(), Some(&(count, 3 * count)));
        }
    }
}
