//! What federates send to each other.

use paceline_hla::{Callback, callback};

/// A message to one federate.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Reflect(callback::ReflectAttributeValues),
    Receive(callback::ReceiveInteraction),
    Remove(callback::RemoveObjectInstance),
}

impl Body {
    /// As it is received without a time.
    pub(super) fn callback(self) -> Callback {
        match self {
            Self::Reflect(message) => message.into(),
            Self::Receive(message) => message.into(),
            Self::Remove(message) => message.into(),
        }
    }
}
