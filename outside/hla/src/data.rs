//! What calls and callbacks have in their fields: the table of 46 messages and the one that holds one of
//! three things, and the table of the 10 enumerations.

#![expect(missing_docs, reason = "what each type and field is for stands in the standard")]

use bytes::Bytes;

use crate::table::{enumerations, messages};

messages! {
    ExceptionData { 1 exception_name: string, 2 details: string }
    RtiConfiguration { 1 configuration_name: string, 2 rti_address: string, 3 additional_settings: string }
    ConfigurationResult {
        1 configuration_used: bool, 2 address_used: bool,
        3 additional_settings_result_code: (AdditionalSettingsResultCode), 4 message: string,
    }
    Credentials { 1 r#type: string, 2 data: bytes }
    FederateRestoreStatus {
        1 pre_restore_handle: FederateHandle, 2 post_restore_handle: FederateHandle,
        3 restore_status: (RestoreStatus),
    }
    FederateRestoreStatusArray { 1 federate_restore_status: [FederateRestoreStatus] }
    FederationExecutionInformation {
        1 federation_execution_name: string, 2 logical_time_implementation_name: string,
    }
    FederationExecutionInformationSet { 1 federation_execution_information: [FederationExecutionInformation] }
    FederationExecutionMemberInformation { 1 federate_name: string, 2 federate_type: string }
    FederationExecutionMemberInformationSet {
        1 federation_execution_member_information: [FederationExecutionMemberInformation],
    }
    FederateHandle { 1 data: bytes }
    FederateHandleSaveStatusPair { 1 federate_handle: FederateHandle, 2 save_status: (SaveStatus) }
    FederateHandleSaveStatusPairArray { 1 federate_handle_save_status_pair: [FederateHandleSaveStatusPair] }
    ObjectClassHandle { 1 data: bytes }
    AttributeHandle { 1 data: bytes }
    InteractionClassHandle { 1 data: bytes }
    ParameterHandle { 1 data: bytes }
    ObjectInstanceHandle { 1 data: bytes }
    AttributeHandleValue { 1 attribute_handle: AttributeHandle, 2 value: bytes }
    AttributeHandleValueMap { 1 attribute_handle_value: [AttributeHandleValue] }
    ParameterHandleValue { 1 parameter_handle: ParameterHandle, 2 value: bytes }
    ParameterHandleValueMap { 1 parameter_handle_value: [ParameterHandleValue] }
    MessageRetractionHandle { 1 data: bytes }
    MessageRetractionReturn {
        1 retraction_handle_is_valid: bool, 2 message_retraction_handle: MessageRetractionHandle,
    }
    LogicalTime { 1 data: bytes }
    LogicalTimeInterval { 1 data: bytes }
    TransportationTypeHandle { 1 data: bytes }
    DimensionHandle { 1 data: bytes }
    RegionHandle { 1 data: bytes }
    TimeQueryReturn { 1 logical_time_is_valid: bool, 2 logical_time: LogicalTime }
    FederateHandleSet { 1 federate_handle: [FederateHandle] }
    DimensionHandleSet { 1 dimension_handle: [DimensionHandle] }
    RegionHandleSet { 1 region_handle: [RegionHandle] }
    AttributeHandleSet { 1 attribute_handle: [AttributeHandle] }
    AttributeSetRegionSetPair { 1 attribute_set: AttributeHandleSet, 2 region_set: RegionHandleSet }
    AttributeSetRegionSetPairList { 1 attribute_set_region_set_pair: [AttributeSetRegionSetPair] }
    InteractionClassHandleSet { 1 interaction_class_handle: [InteractionClassHandle] }
    RangeBounds { 1 lower: uint32, 2 upper: uint32 }
    DimensionAndRange { 1 dimension_handle: DimensionHandle, 2 range_bounds: RangeBounds }
    ConveyedRegion { 1 dimension_and_range: [DimensionAndRange] }
    ConveyedRegionSet { 1 conveyed_regions: [ConveyedRegion] }
    SupplementalReflectInfo {
        1 producing_federate: FederateHandle, 2 conveyed_regions_is_valid: bool,
        3 conveyed_regions: ConveyedRegionSet,
    }
    SupplementalReceiveInfo {
        1 producing_federate: FederateHandle, 2 conveyed_regions_is_valid: bool,
        3 conveyed_regions: ConveyedRegionSet,
    }
    FileFomModule { 1 name: string, 2 content: bytes }
    FomModuleSet { 1 fom_module: [FomModule] }
    JoinResult { 1 federate_handle: FederateHandle, 2 logical_time_implementation_name: string }
}

enumerations! {
    AdditionalSettingsResultCode { 0 SettingsIgnored, 1 SettingsFailedToParse, 2 SettingsApplied }
    CallbackModel { 0 Evoked, 1 Immediate }
    ResignAction {
        0 UnconditionallyDivestAttributes, 1 DeleteObjects, 2 CancelPendingOwnershipAcquisitions,
        3 DeleteObjectsThenDivest, 4 CancelThenDeleteThenDivest, 5 NoAction,
    }
    SynchronizationPointFailureReason {
        0 SynchronizationPointLabelNotUnique, 1 SynchronizationSetMemberNotJoined,
    }
    SaveFailureReason {
        0 RtiUnableToSave, 1 FederateReportedFailureDuringSave, 2 FederateResignedDuringSave,
        3 RtiDetectedFailureDuringSave, 4 SaveTimeCannotBeHonored, 5 SaveAborted,
    }
    RestoreFailureReason {
        0 RtiUnableToRestore, 1 FederateReportedFailureDuringRestore, 2 FederateResignedDuringRestore,
        3 RtiDetectedFailureDuringRestore, 4 RestoreAborted,
    }
    SaveStatus {
        0 NoSaveInProgress, 1 FederateInstructedToSave, 2 FederateSaving,
        3 FederateWaitingForFederationToSave,
    }
    RestoreStatus {
        0 NoRestoreInProgress, 1 FederateRestoreRequestPending, 2 FederateWaitingForRestoreToBegin,
        3 FederatePreparedToRestore, 4 FederateRestoring, 5 FederateWaitingForFederationToRestore,
    }
    OrderType { 0 Receive, 1 Timestamp }
    ServiceGroup {
        0 FederationManagement, 1 DeclarationManagement, 2 ObjectManagement, 3 OwnershipManagement,
        4 TimeManagement, 5 DataDistributionManagement, 6 SupportServices,
    }
}

/// A module of a federation object model, in one of the ways in which federates send it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FomModule {
    /// Missing where the federate sent nothing that this table has.
    #[prost(oneof(FomModuleSource), tags(1, 2, 3))]
    pub source: Option<FomModuleSource>,
}

/// Where the text of a module is.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum FomModuleSource {
    #[prost(message, tag = 1)]
    File(FileFomModule),
    /// A zip archive with the module as its only file.
    #[prost(bytes = "bytes", tag = 2)]
    Compressed(Bytes),
    /// Some clients send a bare file name.
    #[prost(string, tag = 3)]
    Url(String),
}
