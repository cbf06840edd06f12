//! What clients may ask of a server: each limit has a name, a default, and is named where it is reached.

use std::time::Duration;

use paceline_rti::RtiLimits;
use thiserror::Error;

/// A limit that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum LimitError {
    /// There is none of this name.
    #[error("{name:?} is no limit; allowed are {allowed}")]
    Name { name: String, allowed: String },
    /// The value is no number, or 0.
    #[error("{name}={value}: allowed is a whole number{unit} from 1 on")]
    Value { name: String, value: String, unit: &'static str },
    /// There is no `=`.
    #[error("{text:?} is no limit with its value, such as federations=16")]
    NoValue { text: String },
}

macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident $name:literal = $default:literal, $unit:literal;)*) => {
        /// The limits of a server.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $field: usize,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Limits {
            /// The names of all limits, their values, and what these count.
            pub fn rows(&self) -> Vec<(&'static str, usize, &'static str)> {
                vec![$(($name, self.$field, $unit),)*]
            }

            /// Sets a limit by a text such as `federations=16`.
            pub fn set(&mut self, text: &str) -> Result<(), LimitError> {
                let split = text.split_once('=');
                let (name, value) = split.ok_or_else(|| LimitError::NoValue { text: text.to_owned() })?;
                let (field, unit) = match name {
                    $($name => (&mut self.$field, $unit),)*
                    _ => {
                        let allowed = [$($name),*].join(", ");
                        return Err(LimitError::Name { name: name.to_owned(), allowed });
                    }
                };
                *field = value.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                    LimitError::Value { name: name.to_owned(), value: value.to_owned(), unit }
                })?;
                Ok(())
            }
        }
    };
}

limits! {
    /// The most bytes of a frame of a session.
    frame_bytes "frame-bytes" = 0x100_0000, " of bytes";
    /// The most sessions that clients of one address may have.
    sessions_per_address "sessions-per-address" = 4096, " of sessions";
    /// The most federations at a time.
    federations "federations" = 1024, " of federations";
    /// The most names that federates of one federation may have reserved without using them.
    reserved_names "reserved-names" = 0x10_0000, " of names";
    /// The most bytes of modules that a federation keeps.
    module_bytes "module-bytes" = 0x1000_0000, " of bytes";
    /// As long as a client has not acknowledged so many bytes, calls that send to it are not answered.
    unacknowledged_bytes "unacknowledged-bytes" = 0x40_0000, " of bytes";
    /// The most bytes that wait for a client. One for which more would have to wait is given up.
    queued_bytes "queued-bytes" = 0x1000_0000, " of bytes";
    /// How long a client may take from its connection to its session.
    first_message_seconds "first-message-seconds" = 10, " of seconds";
    /// How long a session is kept without a connection.
    reconnection_seconds "reconnection-seconds" = 60, " of seconds";
}

impl Limits {
    /// Those that decide what calls are answered with.
    pub fn of_infrastructure(&self) -> RtiLimits {
        RtiLimits {
            federations: self.federations,
            reserved_names: self.reserved_names,
            module_bytes: self.module_bytes,
        }
    }

    /// How long a client may take from its connection to its session.
    pub fn first_message(&self) -> Duration {
        Duration::from_secs(self.first_message_seconds as u64)
    }

    /// How long a session is kept without a connection.
    pub fn reconnection(&self) -> Duration {
        Duration::from_secs(self.reconnection_seconds as u64)
    }
}
