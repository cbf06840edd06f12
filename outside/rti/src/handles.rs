//! Handles as they are sent: four bytes, the greatest first. None is 0.

use paceline_hla::{
    AttributeHandle, AttributeHandleSet, Bytes, DimensionHandle, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, TransportationTypeHandle,
};

use crate::exception::{Answer, CallError, Exception};

/// A message that holds a handle.
pub(crate) trait Handle: Sized {
    /// What a call is answered with if the bytes are no handle.
    const INVALID: Exception;

    fn from_bytes(bytes: Bytes) -> Self;
    fn bytes(&self) -> &[u8];

    fn of(number: u32) -> Self {
        Self::from_bytes(Bytes::copy_from_slice(&number.to_be_bytes()))
    }

    fn some(number: u32) -> Option<Self> {
        Some(Self::of(number))
    }
}

macro_rules! handles {
    ($($name:ident: $invalid:ident),* $(,)?) => {$(
        impl Handle for $name {
            const INVALID: Exception = Exception::$invalid;

            fn from_bytes(data: Bytes) -> Self {
                Self { data }
            }

            fn bytes(&self) -> &[u8] {
                &self.data
            }
        }
    )*};
}

handles! {
    AttributeHandle: InvalidAttributeHandle,
    DimensionHandle: InvalidDimensionHandle,
    FederateHandle: InvalidFederateHandle,
    InteractionClassHandle: InvalidInteractionClassHandle,
    ObjectClassHandle: InvalidObjectClassHandle,
    ObjectInstanceHandle: ObjectInstanceNotKnown,
    ParameterHandle: InvalidParameterHandle,
    TransportationTypeHandle: InvalidTransportationTypeHandle,
}

/// Attributes as they are sent.
pub(crate) fn attribute_set(attributes: impl IntoIterator<Item = u32>) -> Option<AttributeHandleSet> {
    let attribute_handle = attributes.into_iter().map(AttributeHandle::of).collect();
    Some(AttributeHandleSet { attribute_handle })
}

/// The number of a handle that a federate sent.
pub(crate) fn number<H: Handle>(handle: Option<&H>) -> Answer<u32> {
    let bytes = handle.map(Handle::bytes).unwrap_or_default();
    let four: Result<[u8; 4], _> = bytes.try_into();
    four.map(u32::from_be_bytes).map_err(|_| {
        CallError::new(H::INVALID, format!("a handle has 4 bytes, this one has {}", bytes.len()))
    })
}
