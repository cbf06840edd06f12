//! Estimates from the records so far: the time between two records and the bytes of a record, as moving
//! averages (each new value counts one eighth); and the size and waiting time of a frame that follow from
//! them.
//!
//! Records often come in bursts, all at one time. A burst is one value of the average: the time since the
//! burst before, divided among the records of that one.

/// The approximate cost of sending a frame: some hundred nanoseconds through shared memory, some microseconds
/// through a socket.
const FRAME_COST_NS: u64 = 1_000;

/// A frame may take as long to fill as this many frames take to send.
const FRAMES_TO_FILL: u64 = 20;

/// The most units of a frame.
const UNITS_MAX: u64 = 16;

/// Averages count in 256ths.
const ONE: u64 = 256;

#[derive(Debug, Default)]
pub(super) struct Estimate {
    gap: u64,
    bytes: u64,
    last_ns: u64,
    /// Records at `last_ns`.
    burst: u64,
}

impl Estimate {
    /// Takes in a record of `bytes` bytes at `now_ns`. A pause counts as at most twice `most_ns`, so that it
    /// is soon forgotten.
    #[inline]
    pub(super) fn record(&mut self, bytes: usize, now_ns: u64, most_ns: u64) {
        if now_ns > self.last_ns {
            let since = (now_ns - self.last_ns).min(most_ns.saturating_mul(2)).min(1 << 40);
            self.gap = average(self.gap, since * ONE / self.burst.max(1));
            (self.last_ns, self.burst) = (now_ns, 0);
        }
        self.burst += 1;
        // The first record sets the average.
        let bytes = bytes as u64 * ONE;
        self.bytes = if self.bytes == 0 { bytes } else { average(self.bytes, bytes) };
    }

    /// The mean bytes of a record.
    #[inline]
    pub(super) fn record_bytes(&self) -> usize {
        (self.bytes / ONE) as usize
    }

    /// The time in which records of this many bytes in total are expected.
    fn fill_ns(&self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(self.gap) / self.bytes.max(1)
    }

    /// The number of units of a frame.
    #[inline]
    pub(super) fn units(&self, unit: usize) -> usize {
        let fill_ns = self.fill_ns(unit);
        if fill_ns * UNITS_MAX <= FRAME_COST_NS * FRAMES_TO_FILL {
            return UNITS_MAX as usize;
        }
        (FRAME_COST_NS * FRAMES_TO_FILL / fill_ns).clamp(1, UNITS_MAX) as usize
    }

    /// How long a frame of `size` bytes waits: not at all if no record is expected within `most_ns`, else
    /// twice the time in which it is expected to fill.
    #[inline]
    pub(super) fn patience_ns(&self, size: usize, most_ns: u64) -> u64 {
        if self.gap / ONE >= most_ns {
            0
        } else {
            self.fill_ns(size).saturating_mul(2).clamp(FRAME_COST_NS.min(most_ns), most_ns)
        }
    }

    /// How long a frame waits while the receiver waits for it: the cost of sending a frame, if a record is
    /// expected within that time.
    #[inline]
    pub(super) fn patience_waited_for_ns(&self) -> u64 {
        if self.gap / ONE >= FRAME_COST_NS { 0 } else { FRAME_COST_NS }
    }
}

/// The average after `new`, which counts one eighth.
#[inline]
fn average(old: u64, new: u64) -> u64 {
    old - old / 8 + new / 8
}
