//! When frames are to go, why they went, and how many did.

/// How many records a frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeLimit {
    /// A multiple of the path's unit that follows the rate of records.
    #[default]
    Adaptive,
    /// So many bytes, or as many as the path allows.
    Bytes(usize),
    /// One record: marshalling is off.
    Off,
}

/// How long a record waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// As long as it is worth it, but not longer than so many nanoseconds.
    Adaptive {
        /// The most it waits.
        most_ns: u64,
    },
    /// So many nanoseconds.
    Fixed {
        /// The time it waits.
        ns: u64,
    },
}

impl Default for TimeLimit {
    fn default() -> Self {
        Self::Adaptive { most_ns: 100_000 }
    }
}

/// When frames go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marshalling {
    /// How much goes in one.
    pub size: SizeLimit,
    /// How long a record waits in one.
    pub time: TimeLimit,
}

/// Why a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is as large as it should be.
    Size,
    /// Its first record has waited long enough.
    Time,
    /// The caller wants it to.
    Asked,
}

/// What has gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames.
    pub frames: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Records that were withdrawn before they went.
    pub withdrawn: u64,
    /// Frames that went for their size.
    pub by_size: u64,
    /// Frames that went for their age.
    pub by_time: u64,
    /// Frames that went because the caller wanted it.
    pub asked: u64,
}
