//! When frames are sent, why they were sent, and how many were.

/// How many records a frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeLimit {
    /// A multiple of the path's unit that follows the rate of records.
    #[default]
    Adaptive,
    /// This many bytes, or as many as the path allows.
    Bytes(usize),
    /// One record: marshalling is off.
    Off,
}

/// How long a record waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum TimeLimit {
    /// For a time derived from the rate of records, up to a limit.
    Adaptive { most_ns: u64 },
    /// For a fixed time.
    Fixed { ns: u64 },
}

impl Default for TimeLimit {
    fn default() -> Self {
        Self::Adaptive { most_ns: 100_000 }
    }
}

/// When frames are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marshalling {
    /// How much one frame holds.
    pub size: SizeLimit,
    /// How long a record waits in a frame.
    pub time: TimeLimit,
}

/// Why a frame is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has reached its size.
    Size,
    /// Its first record has waited long enough.
    Time,
    /// The caller asked for it.
    Asked,
}

/// Counts of what has been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames handed to the transport.
    pub frames: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Records that were withdrawn before they were sent.
    pub withdrawn: u64,
    /// Frames sent because of their size.
    pub by_size: u64,
    /// Frames sent because of their age.
    pub by_time: u64,
    /// Frames sent because the caller asked for it.
    pub asked: u64,
}
