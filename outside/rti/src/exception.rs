//! The exceptions with which calls are answered, by the names of IEEE 1516.1-2025.

use paceline_hla::{Call, ExceptionData, Response};
use thiserror::Error;

/// The exceptions that are in use. The names are those of the standard, which clients look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "what each exception means stands in the standard")]
pub enum Exception {
    AlreadyConnected,
    AsynchronousDeliveryAlreadyDisabled,
    AsynchronousDeliveryAlreadyEnabled,
    AttributeAcquisitionWasNotRequested,
    AttributeAlreadyBeingAcquired,
    AttributeAlreadyBeingDivested,
    AttributeAlreadyOwned,
    AttributeDivestitureWasNotRequested,
    AttributeNotDefined,
    AttributeNotOwned,
    AttributeNotPublished,
    CouldNotCreateLogicalTimeFactory,
    CouldNotOpenFOM,
    CouldNotOpenMIM,
    DeletePrivilegeNotHeld,
    DesignatorIsHLAstandardMIM,
    ErrorReadingFOM,
    ErrorReadingMIM,
    FederateAlreadyExecutionMember,
    FederateHandleNotKnown,
    FederateIsExecutionMember,
    FederateNameAlreadyInUse,
    FederateNotExecutionMember,
    FederateOwnsAttributes,
    FederatesCurrentlyJoined,
    FederationExecutionAlreadyExists,
    FederationExecutionDoesNotExist,
    IllegalName,
    InTimeAdvancingState,
    InconsistentFOM,
    InteractionClassNotDefined,
    InteractionClassNotPublished,
    InteractionParameterNotDefined,
    InvalidAttributeHandle,
    InvalidDimensionHandle,
    InvalidFOM,
    InvalidFederateHandle,
    InvalidInteractionClassHandle,
    InvalidLogicalTime,
    InvalidLookahead,
    InvalidMIM,
    InvalidMessageRetractionHandle,
    InvalidObjectClassHandle,
    InvalidObjectInstanceHandle,
    InvalidOrderName,
    InvalidOrderType,
    InvalidParameterHandle,
    InvalidResignAction,
    InvalidServiceGroup,
    InvalidTransportationName,
    InvalidTransportationTypeHandle,
    InvalidUpdateRateDesignator,
    LogicalTimeAlreadyPassed,
    MessageCanNoLongerBeRetracted,
    NameNotFound,
    NameSetWasEmpty,
    NoAcquisitionPending,
    NotConnected,
    ObjectClassNotDefined,
    ObjectClassNotPublished,
    ObjectInstanceNameInUse,
    ObjectInstanceNameNotReserved,
    ObjectInstanceNotKnown,
    OwnershipAcquisitionPending,
    RTIinternalError,
    RequestForTimeConstrainedPending,
    SynchronizationPointLabelNotAnnounced,
    TimeConstrainedAlreadyEnabled,
    TimeConstrainedIsNotEnabled,
    TimeRegulationAlreadyEnabled,
    TimeRegulationIsNotEnabled,
}

/// Why a call was refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{exception:?}: {details}")]
pub struct CallError {
    /// What the federate's code sees.
    pub exception: Exception,
    /// For whoever reads it: what was wrong, where, and what is allowed.
    pub details: String,
}

impl CallError {
    pub(crate) fn new(exception: Exception, details: impl Into<String>) -> Self {
        Self { exception, details: details.into() }
    }
}

impl From<CallError> for Response {
    fn from(error: CallError) -> Self {
        let exception_name = format!("{:?}", error.exception);
        Self::Exception(ExceptionData { exception_name, details: error.details })
    }
}

/// What a service answers.
pub(crate) type Answer<T> = Result<T, CallError>;

/// The answer to a service that is not there yet.
pub(crate) fn not_yet(call: &Call) -> CallError {
    CallError::new(Exception::RTIinternalError, format!("not yet: {}", call.name()))
}
