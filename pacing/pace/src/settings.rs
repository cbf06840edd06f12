//! What a user can set, and the defaults.
//!
//! `PaceSettings` is `Copy`, which tests in `start.rs` use: a setting that is not, such as a list, changes
//! them.
//!
//! Without a slice, each way to pace chooses one: `governor/ways.rs` and `plan/slices.rs`, or for sched_ext
//! `sched_ext/loader.rs`.

use std::str::FromStr;
use std::time::Duration;

/// The shortest slice: below it the pacer itself would take too much of a core.
pub const SLICE_MIN: Duration = Duration::from_micros(100);
/// The longest slice: above it threads would wait too long for their turn.
pub const SLICE_MAX: Duration = Duration::from_millis(10);

/// How a command is paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceSettings {
    /// Which policy, or the best that is available.
    pub policy: PolicyChoice,
    /// The time between two scheduling decisions, from [`SLICE_MIN`] to [`SLICE_MAX`]; none: a slice
    /// that suits the length of the program's events.
    pub slice: Option<Duration>,
    /// Whether pacing is compared with running unpaced from time to time, and suspended while it does not
    /// help.
    pub trial: bool,
    /// The least share of a core, in thousandths, of a thread that wants to run; at most 1000. If the shares
    /// of all threads would take too much of the machine, they are reduced evenly.
    pub min_share_permille: u32,
}

impl Default for PaceSettings {
    fn default() -> Self {
        Self { policy: PolicyChoice::Auto, slice: None, trial: true, min_share_permille: 20 }
    }
}

impl PaceSettings {
    /// Refuses values that are out of range.
    pub fn check(&self) -> Result<(), SettingError> {
        if let Some(slice) = self.slice.filter(|slice| !(SLICE_MIN..=SLICE_MAX).contains(slice)) {
            return Err(SettingError::Slice(slice));
        }
        if self.min_share_permille > 1000 {
            return Err(SettingError::MinShare(self.min_share_permille));
        }
        Ok(())
    }
}

/// Which policy paces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PolicyChoice {
    /// The best that is permitted.
    Auto,
    /// The policy in the kernel's extensible scheduling class, or an error.
    SchedExt,
    /// The governor, with real-time priorities or nice levels, or an error.
    Governor,
    /// The normal scheduler; LVTs are published, but no policy uses them.
    None,
}

impl PolicyChoice {
    /// All of them, by the names that [`FromStr`] reads.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("auto", Self::Auto),
        ("sched-ext", Self::SchedExt),
        ("governor", Self::Governor),
        ("none", Self::None),
    ];
}

impl FromStr for PolicyChoice {
    type Err = SettingError;

    fn from_str(name: &str) -> Result<Self, SettingError> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, choice)| *choice).ok_or_else(|| SettingError::Policy(name.to_owned()))
    }
}

/// A setting that makes no sense. Nothing has been started.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// The slice is out of its range.
    #[error("a slice of {0:?} is out of range; allowed: {SLICE_MIN:?} to {SLICE_MAX:?}")]
    Slice(Duration),
    /// The minimum share is above a whole core.
    #[error("a minimum share of {} % is out of range; allowed: 0% to 100%", f64::from(*.0) / 10.0)]
    MinShare(u32),
    /// There is no such policy.
    #[error("there is no policy {0:?}; allowed: auto, sched-ext, governor, none")]
    Policy(String),
}
