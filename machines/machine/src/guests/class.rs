//! Problem classes of the NAS Parallel Benchmarks (co-scheduling thesis, section 2.3.1).
//!
//! Invariant: sizes are those of the benchmarks' own tables (NPB 2.4, `setparams`).

/// A problem class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// For trying out.
    S,
    /// For a workstation of 1995.
    W,
    /// The smallest of the standard problems.
    A,
    /// About four times A.
    B,
    /// About four times B.
    C,
    /// About sixteen times C.
    D,
}

impl Class {
    /// All of them, smallest first.
    pub const ALL: [Self; 6] = [Self::S, Self::W, Self::A, Self::B, Self::C, Self::D];

    /// The letter by which NPB names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::W => "W",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }

    /// EP: the binary logarithm of the number of pairs.
    pub(crate) const fn ep_log_pairs(self) -> u32 {
        match self {
            Self::S => 24,
            Self::W => 25,
            Self::A => 28,
            Self::B => 30,
            Self::C => 32,
            Self::D => 36,
        }
    }

    /// LU: grid points a side, and iterations.
    pub(crate) const fn lu_size(self) -> (u32, u32) {
        match self {
            Self::S => (12, 50),
            Self::W => (33, 300),
            Self::A => (64, 250),
            Self::B => (102, 250),
            Self::C => (162, 250),
            Self::D => (408, 300),
        }
    }
}
