//! Logical time: the standard's two kinds.

use crate::exception::{Answer, CallError, Exception};

/// Which numbers a federation's times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeKind {
    Float,
    Integer,
}

impl TimeKind {
    /// The kind of this name; floats if there is no name, as the standard has it.
    pub(crate) fn named(name: &str) -> Answer<Self> {
        match name {
            "" | "HLAfloat64Time" => Ok(Self::Float),
            "HLAinteger64Time" => Ok(Self::Integer),
            other => Err(CallError::new(
                Exception::CouldNotCreateLogicalTimeFactory,
                format!("{other} is not known; HLAfloat64Time and HLAinteger64Time are"),
            )),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Float => "HLAfloat64Time",
            Self::Integer => "HLAinteger64Time",
        }
    }
}
