//! What can go wrong with a guest.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Why a guest cannot start or go on. Times are virtual, in nanoseconds: where the guest stood last.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GuestError {
    /// The emulator is not there.
    #[error("the emulator is missing ({}); run scripts/emulator, or set PACELINE_EMULATOR to its folder", path.display())]
    NoEmulator {
        /// What of it was not found.
        path: PathBuf,
    },
    /// A setting is outside of what is allowed.
    #[error("guest {guest}: {reason}")]
    Setting {
        /// The guest's name.
        guest: String,
        /// Which setting, and what is allowed.
        reason: String,
    },
    /// A file that the guest needs cannot be used.
    #[error("guest {guest}: {what} {}: {source}", path.display())]
    File {
        /// The guest's name.
        guest: String,
        /// What the file is for.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The emulator's process could not be started.
    #[error("guest {guest}: the emulator cannot be started: {source}")]
    Start {
        /// The guest's name.
        guest: String,
        /// What the system says.
        source: io::Error,
    },
    /// The plugin cannot work with this emulator, or the coordinator not with this plugin.
    #[error("guest {guest}: {reason}")]
    Refused {
        /// The guest's name.
        guest: String,
        /// What the plugin says.
        reason: String,
    },
    /// The emulator's process ended by itself, or somebody ended it.
    #[error("guest {guest}: the emulator {how} after {} of virtual time{last_words}", Seconds(*time_ns))]
    Died {
        /// The guest's name.
        guest: String,
        /// Where the guest stood last.
        time_ns: u64,
        /// The status or the signal.
        how: String,
        /// What it wrote last.
        last_words: Box<LastWords>,
    },
    /// The guest ran longer in real time than its settings allow.
    #[error(
        "guest {guest}: the emulator has not answered for {} s, after {} of virtual time{last_words}",
        patience.as_secs_f64(),
        Seconds(*time_ns)
    )]
    Hung {
        /// The guest's name.
        guest: String,
        /// Where the guest stood last.
        time_ns: u64,
        /// What its settings allow.
        patience: Duration,
        /// What it wrote last.
        last_words: Box<LastWords>,
    },
    /// More left the guest's cards in one grant than its settings allow.
    #[error(
        "guest {guest}: floods its cards: more than {most_bytes} bytes of frames in one grant, at {} of virtual time",
        Seconds(*time_ns)
    )]
    Flooded {
        /// The guest's name.
        guest: String,
        /// When the frame left that was one too many.
        time_ns: u64,
        /// What its settings allow.
        most_bytes: u64,
    },
    /// What came over the socket makes no sense.
    #[error("guest {guest}: {reason}, after {} of virtual time", Seconds(*time_ns))]
    Protocol {
        /// The guest's name.
        guest: String,
        /// Where the guest stood last.
        time_ns: u64,
        /// What is wrong with what it sent.
        reason: String,
    },
    /// The guest's state could not be written.
    #[error("guest {guest}: cannot be saved at {} of virtual time: {reason}", Seconds(*time_ns))]
    Save {
        /// The guest's name.
        guest: String,
        /// Where the guest stands.
        time_ns: u64,
        /// What the emulator says.
        reason: String,
    },
}

impl GuestError {
    /// The same with other times in place of those of the guest's clock.
    #[must_use]
    pub fn at_times(mut self, time_of: impl FnOnce(u64) -> u64) -> Self {
        match &mut self {
            Self::Died { time_ns, .. }
            | Self::Hung { time_ns, .. }
            | Self::Flooded { time_ns, .. }
            | Self::Protocol { time_ns, .. }
            | Self::Save { time_ns, .. } => *time_ns = time_of(*time_ns),
            Self::NoEmulator { .. }
            | Self::Setting { .. }
            | Self::File { .. }
            | Self::Start { .. }
            | Self::Refused { .. } => {}
        }
        self
    }
}

/// The ends of what a guest's emulator wrote to standard error and the guest to its console, for messages.
#[derive(Debug, Default)]
pub struct LastWords {
    /// Lines of standard error.
    pub errors: Vec<String>,
    /// Lines of the console.
    pub console: Vec<String>,
}

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, lines) in [("emulator", &self.errors), ("console", &self.console)] {
            for line in lines {
                write!(f, "\n  {name}: {line}")?;
            }
        }
        Ok(())
    }
}

/// Nanoseconds, shown as seconds with all digits.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
