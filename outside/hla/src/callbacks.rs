//! What a federate is called with: the table of the 62 callbacks.
//!
//! A row has the number, the name and the fields.

#![expect(missing_docs, reason = "what each service does, and its fields, stand in the standard")]

use crate::data::ExceptionData;
use crate::table::{callbacks, message};

callbacks! {
    // Federation management.
    1 ConnectionLost { 1 fault_description: string }
    2 ReportFederationExecutions { 1 report: FederationExecutionInformationSet }
    3 ReportFederationExecutionMembers {
        1 federation_name: string, 2 report: FederationExecutionMemberInformationSet,
    }
    4 ReportFederationExecutionDoesNotExist { 1 federation_name: string }
    5 FederateResigned { 1 reason_for_resign_description: string }
    6 SynchronizationPointRegistrationSucceeded { 1 synchronization_point_label: string }
    7 SynchronizationPointRegistrationFailed {
        1 synchronization_point_label: string, 2 reason: (SynchronizationPointFailureReason),
    }
    8 AnnounceSynchronizationPoint { 1 synchronization_point_label: string, 2 user_supplied_tag: bytes }
    9 FederationSynchronized {
        1 synchronization_point_label: string, 2 failed_to_sync_set: FederateHandleSet,
    }
    10 InitiateFederateSave { 1 label: string }
    11 InitiateFederateSaveWithTime { 1 label: string, 2 time: LogicalTime }
    12 FederationSaved {}
    13 FederationNotSaved { 1 reason: (SaveFailureReason) }
    14 FederationSaveStatusResponse { 1 response: FederateHandleSaveStatusPairArray }
    15 RequestFederationRestoreSucceeded { 1 label: string }
    16 RequestFederationRestoreFailed { 1 label: string }
    17 FederationRestoreBegun {}
    18 InitiateFederateRestore {
        1 label: string, 2 federate_name: string, 3 post_restore_federate_handle: FederateHandle,
    }
    19 FederationRestored {}
    20 FederationNotRestored { 1 reason: (RestoreFailureReason) }
    21 FederationRestoreStatusResponse { 1 response: FederateRestoreStatusArray }
    // Declaration management.
    22 StartRegistrationForObjectClass { 1 object_class: ObjectClassHandle }
    23 StopRegistrationForObjectClass { 1 object_class: ObjectClassHandle }
    24 TurnInteractionsOn { 1 interaction_class: InteractionClassHandle }
    25 TurnInteractionsOff { 1 interaction_class: InteractionClassHandle }
    // Object management.
    26 ObjectInstanceNameReservationSucceeded { 1 object_instance_name: string }
    27 ObjectInstanceNameReservationFailed { 1 object_instance_name: string }
    28 MultipleObjectInstanceNameReservationSucceeded { 1 object_instance_names: [string] }
    29 MultipleObjectInstanceNameReservationFailed { 1 object_instance_names: [string] }
    30 DiscoverObjectInstance {
        1 object_instance: ObjectInstanceHandle, 2 object_class: ObjectClassHandle,
        3 object_instance_name: string, 4 producing_federate: FederateHandle,
    }
    31 ReflectAttributeValues {
        1 object_instance: ObjectInstanceHandle, 2 attribute_values: AttributeHandleValueMap,
        3 user_supplied_tag: bytes, 4 transportation_type: TransportationTypeHandle,
        5 producing_federate: FederateHandle, 6 optional_sent_regions: ConveyedRegionSet,
    }
    32 ReflectAttributeValuesWithTime {
        1 object_instance: ObjectInstanceHandle, 2 attribute_values: AttributeHandleValueMap,
        3 user_supplied_tag: bytes, 4 transportation_type: TransportationTypeHandle,
        5 producing_federate: FederateHandle, 6 optional_sent_regions: ConveyedRegionSet,
        7 time: LogicalTime, 8 sent_order_type: (OrderType), 9 received_order_type: (OrderType),
        10 optional_retraction: MessageRetractionHandle,
    }
    33 ReceiveInteraction {
        1 interaction_class: InteractionClassHandle, 2 parameter_values: ParameterHandleValueMap,
        3 user_supplied_tag: bytes, 4 transportation_type: TransportationTypeHandle,
        5 producing_federate: FederateHandle, 6 optional_sent_regions: ConveyedRegionSet,
    }
    34 ReceiveInteractionWithTime {
        1 interaction_class: InteractionClassHandle, 2 parameter_values: ParameterHandleValueMap,
        3 user_supplied_tag: bytes, 4 transportation_type: TransportationTypeHandle,
        5 producing_federate: FederateHandle, 6 optional_sent_regions: ConveyedRegionSet,
        7 time: LogicalTime, 8 sent_order_type: (OrderType), 9 received_order_type: (OrderType),
        10 optional_retraction: MessageRetractionHandle,
    }
    35 ReceiveDirectedInteraction {
        1 interaction_class: InteractionClassHandle, 2 object_instance: ObjectInstanceHandle,
        3 parameter_values: ParameterHandleValueMap, 4 user_supplied_tag: bytes,
        5 transportation_type: TransportationTypeHandle, 6 producing_federate: FederateHandle,
    }
    36 ReceiveDirectedInteractionWithTime {
        1 interaction_class: InteractionClassHandle, 2 object_instance: ObjectInstanceHandle,
        3 parameter_values: ParameterHandleValueMap, 4 user_supplied_tag: bytes,
        5 transportation_type: TransportationTypeHandle, 6 producing_federate: FederateHandle,
        7 time: LogicalTime, 8 sent_order_type: (OrderType), 9 received_order_type: (OrderType),
        10 optional_retraction: MessageRetractionHandle,
    }
    37 RemoveObjectInstance {
        1 object_instance: ObjectInstanceHandle, 2 user_supplied_tag: bytes,
        3 producing_federate: FederateHandle,
    }
    38 RemoveObjectInstanceWithTime {
        1 object_instance: ObjectInstanceHandle, 2 user_supplied_tag: bytes,
        3 producing_federate: FederateHandle, 4 time: LogicalTime, 5 sent_order_type: (OrderType),
        6 received_order_type: (OrderType), 7 optional_retraction: MessageRetractionHandle,
    }
    39 AttributesInScope { 1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet }
    40 AttributesOutOfScope { 1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet }
    41 ProvideAttributeValueUpdate {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    }
    42 TurnUpdatesOnForObjectInstance {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
    }
    43 TurnUpdatesOnForObjectInstanceWithRate {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 update_rate_designator: string,
    }
    44 TurnUpdatesOffForObjectInstance {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
    }
    45 ConfirmAttributeTransportationTypeChange {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 transportation_type: TransportationTypeHandle,
    }
    46 ReportAttributeTransportationType {
        1 object_instance: ObjectInstanceHandle, 2 attribute: AttributeHandle,
        3 transportation_type: TransportationTypeHandle,
    }
    47 ConfirmInteractionTransportationTypeChange {
        1 interaction_class: InteractionClassHandle, 2 transportation_type: TransportationTypeHandle,
    }
    48 ReportInteractionTransportationType {
        1 federate: FederateHandle, 2 interaction_class: InteractionClassHandle,
        3 transportation_type: TransportationTypeHandle,
    }
    // Ownership management.
    49 RequestAttributeOwnershipAssumption {
        1 object_instance: ObjectInstanceHandle, 2 offered_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    }
    50 RequestDivestitureConfirmation {
        1 object_instance: ObjectInstanceHandle, 2 released_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    }
    51 AttributeOwnershipAcquisitionNotification {
        1 object_instance: ObjectInstanceHandle, 2 secured_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    }
    52 AttributeOwnershipUnavailable {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    }
    53 RequestAttributeOwnershipRelease {
        1 object_instance: ObjectInstanceHandle, 2 candidate_attributes: AttributeHandleSet,
        3 user_supplied_tag: bytes,
    }
    54 ConfirmAttributeOwnershipAcquisitionCancellation {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
    }
    55 InformAttributeOwnership {
        1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet,
        3 federate: FederateHandle,
    }
    56 AttributeIsNotOwned { 1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet }
    57 AttributeIsOwnedByRTI { 1 object_instance: ObjectInstanceHandle, 2 attributes: AttributeHandleSet }
    // Time management.
    58 TimeRegulationEnabled { 1 time: LogicalTime }
    59 TimeConstrainedEnabled { 1 time: LogicalTime }
    60 FlushQueueGrant { 1 time: LogicalTime, 2 optimistic_time: LogicalTime }
    61 TimeAdvanceGrant { 1 time: LogicalTime }
    62 RequestRetraction { 1 retraction: MessageRetractionHandle }
}

message!(CallbackSucceeded {});

/// Whether the federate's code took the callback.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum CallbackResult {
    #[prost(message, tag = 1)]
    Succeeded(CallbackSucceeded),
    #[prost(message, tag = 2)]
    Failed(ExceptionData),
}

/// The answer to a callback, as it is sent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CallbackResponse {
    /// Missing in what some clients send.
    #[prost(oneof(CallbackResult), tags(1, 2))]
    pub result: Option<CallbackResult>,
}
