//! What the records so far let expect: the time from one to the next and the bytes of one, as averages that forget (each new value
//! counts an eighth), and what follows from them for the size and the age of a frame.

/// What it costs to send a frame, about: some hundred nanoseconds through shared memory, some microseconds through a socket.
const FRAME_COST_NS: u64 = 1_000;

/// A frame may take as long to fill as so many cost to send.
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
}

impl Estimate {
    /// A record of so many bytes comes at `now_ns`. A pause counts as twice `most_ns` at most, so that it is soon forgotten.
    #[inline]
    pub(super) fn record(&mut self, bytes: usize, now_ns: u64, most_ns: u64) {
        let gap = now_ns.saturating_sub(self.last_ns).min(most_ns.saturating_mul(2)).min(1 << 40);
        self.last_ns = now_ns;
        self.gap = average(self.gap, gap);
        // The first one says all that is known.
        self.bytes = if self.bytes == 0 { bytes as u64 * ONE } else { average(self.bytes, bytes as u64) };
    }

    /// Bytes of a record.
    #[inline]
    pub(super) fn record_bytes(&self) -> usize {
        (self.bytes / ONE) as usize
    }

    /// The time in which so many bytes of records come.
    fn fill_ns(&self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(self.gap) / self.bytes.max(1)
    }

    /// Units of a frame.
    #[inline]
    pub(super) fn units(&self, unit: usize) -> usize {
        let fill_ns = self.fill_ns(unit);
        if fill_ns * UNITS_MAX <= FRAME_COST_NS * FRAMES_TO_FILL {
            return UNITS_MAX as usize;
        }
        (FRAME_COST_NS * FRAMES_TO_FILL / fill_ns).clamp(1, UNITS_MAX) as usize
    }

    /// How long a frame of `size` bytes waits: not at all if no record is expected within `most_ns`, else twice as long as it should take
    /// to fill.
    #[inline]
    pub(super) fn patience_ns(&self, size: usize, most_ns: u64) -> u64 {
        if self.gap / ONE >= most_ns {
            0
        } else {
            self.fill_ns(size).saturating_mul(2).clamp(FRAME_COST_NS.min(most_ns), most_ns)
        }
    }

    /// How long a frame waits that the receiver waits for: as long as a frame costs, if a record is expected within that.
    #[inline]
    pub(super) fn patience_waited_for_ns(&self) -> u64 {
        if self.gap / ONE >= FRAME_COST_NS { 0 } else { FRAME_COST_NS }
    }
}

/// `old` with `new` counting an eighth, in 256ths.
#[inline]
fn average(old: u64, new: u64) -> u64 {
    old - old / 8 + new * (ONE / 8)
}
